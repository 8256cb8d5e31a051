// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory report of `<model> plan`: what a run needs, what there is, whether it fits, and the
// largest batch and sequence that do. Nothing is allocated to answer.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include <fount/core/units.hpp>
#include <fount/train/plan.hpp>

namespace fount {

struct PlanQuestion {
  MemoryPlan plan;
  std::int64_t num_parameters = 0;
  Bytes memory = 0;   // of the machine
  Bytes reserve = 0;  // outside the plan: kernel workspaces
};

/// A tenth of the machine is kept back for everything else.
constexpr Bytes available_bytes(Bytes memory) { return memory - memory / 10; }

constexpr bool is_feasible(const PlanQuestion& q) {
  return q.plan.total() + q.reserve <= available_bytes(q.memory);
}

inline std::string gib(Bytes bytes) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / 1073741824.0);
  return text;
}

/// The report as text.
inline std::string plan_report(const PlanQuestion& q) {
  std::string text;
  const auto row = [&text](const std::string& name, const std::string& value,
                           const std::string& comment) {
    std::string line = "  " + name + ": " + value;
    if (!comment.empty()) {
      line.resize(std::max<std::size_t>(line.size() + 2, 28), ' ');
      line += "# " + comment;
    }
    text += line + "\n";
  };
  const Bytes required = q.plan.total() + q.reserve;
  const auto percent = [required](Bytes of) {
    char number[32];
    std::snprintf(number, sizeof number, "%.1f%%",
                  of > 0 ? 100.0 * static_cast<double>(required) / static_cast<double>(of) : 0.0);
    return std::string(number);
  };
  text += "Memory Requirements:\n";
  row("Model", gib(q.plan.model()), "weights");
  row("Gradients", gib(q.plan.gradients()), "");
  row("Optimizer", gib(q.plan.optimizer()), "moments and master weights");
  row("Activations", gib(q.plan.activations()), "kept for backward, scratch, batch, cache");
  row("Total", gib(q.plan.total()), with_commas(q.plan.total()) + " bytes, one allocation");
  row("Parameters", with_commas(q.num_parameters), "");
  text += "\nFeasibility Check:\n";
  row("Required", gib(required), "total and " + format_bytes(q.reserve) + " of kernel workspaces");
  row("Available", gib(available_bytes(q.memory)), gib(q.memory) + " with 10 % kept back");
  row("Utilization", percent(available_bytes(q.memory)), "of what is available");
  row("Utilization of the whole memory", percent(q.memory), "");
  row("Feasible", is_feasible(q) ? "✓ yes" : "✗ no", "");
  text += "\nBuffers:\n";
  for (int i = 0; i < q.plan.num_regions; ++i) {
    const auto& region = q.plan.regions[static_cast<std::size_t>(i)];
    row(std::string(region.name), format_bytes(region.bytes),
        "from byte " + with_commas(region.offset));
  }
  return text;
}

/// The largest n in [0, limit] that fits, if fitting only gets harder with n; 0: none.
inline int largest_that_fits(int limit, const std::function<bool(int)>& fits) {
  int low = 0;
  int high = limit;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace fount
