// SPDX-License-Identifier: Apache-2.0
#pragma once
// The learning rate as a pure function of the number of updates already applied: nothing to save,
// nothing that could advance per micro-batch. Warmup-stable-decay after Hu et al. 2024,
// https://arxiv.org/abs/2404.06395; cosine after Loshchilov & Hutter 2017, without restarts.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fount/config/recipe.hpp>

namespace fount::optim {

/// The schedule of that name, or nothing.
constexpr std::optional<Schedule> parse_schedule(std::string_view name) {
  for (const Schedule schedule :
       {Schedule::constant, Schedule::linear, Schedule::cosine, Schedule::warmup_stable_decay}) {
    if (name == name_of(schedule)) return schedule;
  }
  return std::nullopt;
}

/// Linear warm-up to `peak`, then `kind` down to `floor`, which is reached at total_steps and kept.
struct LearningRate {
  Schedule kind = Schedule::cosine;
  double peak = 0;
  double floor = 0;  // unused by constant
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  // unused by constant
  double decay_fraction = 0.2;   // of total_steps: the linear end of warmup_stable_decay

  /// Learning rate of the update with 0-based index `step`: finite for every step, also past the
  /// end, and for any lengths, zero included. The first of N warm-up steps uses peak / (N + 1).
  double at(std::int64_t step) const {
    step = std::max<std::int64_t>(step, 0);
    if (step < warmup_steps) {
      return peak * (static_cast<double>(step) + 1) / (static_cast<double>(warmup_steps) + 1);
    }
    if (kind == Schedule::constant) return peak;
    if (step >= total_steps) return floor;
    const std::int64_t start = std::max(warmup_steps, decay_start());
    if (step < start) return peak;
    // total_steps > step >= start, so the length is positive.
    const double done =
        static_cast<double>(step - start) / static_cast<double>(total_steps - start);
    const double left = kind == Schedule::cosine ? 0.5 * (1 + std::cos(pi * done)) : 1 - done;
    return floor + left * (peak - floor);
  }

 private:
  static constexpr double pi = 3.14159265358979323846;

  /// First step of the way down: 0 for schedules that start it right after the warm-up.
  std::int64_t decay_start() const {
    if (kind != Schedule::warmup_stable_decay) return 0;
    const double fraction = std::clamp(decay_fraction, 0.0, 1.0);
    return total_steps - std::llround(fraction * static_cast<double>(total_steps));
  }
};

}  // namespace fount::optim
