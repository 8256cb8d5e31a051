// SPDX-License-Identifier: Apache-2.0
// bench.ops.matmul: the three products of every linear layer of GPT-2 124M and of nanoGPT's
// character model, as training calls them and with all packing, by Fount and by the libraries it
// was built with. Bound: the peak rate for the dtype. At the end: the share of the peak over all
// products of a model.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/measure.hpp"
#include "libraries/library.hpp"

namespace {

using namespace fount;
using bench::Library;
using bench::Product;

struct Layer {
  const char* model;
  const char* name;
  std::int64_t in, out;
  int count;  // in the model
  bool is_head;
  std::vector<std::int64_t> rows;
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> table = {
      {"gpt2", "qkv", 768, 2304, 12, false, {256, 1024, 4096}},
      {"gpt2", "proj", 768, 768, 12, false, {256, 1024, 4096}},
      {"gpt2", "fc", 768, 3072, 12, false, {256, 1024, 4096}},
      {"gpt2", "fc_proj", 3072, 768, 12, false, {256, 1024, 4096}},
      {"gpt2", "head", 768, 50304, 1, true, {256, 1024}},
      {"char", "qkv", 128, 384, 4, false, {768}},
      {"char", "proj", 128, 128, 4, false, {768}},
      {"char", "fc", 128, 512, 4, false, {768}},
      {"char", "fc_proj", 512, 128, 4, false, {768}},
      {"char", "head", 128, 65, 1, true, {768}},
  };
  return table;
}

enum class Op : std::uint8_t { forward, d_input, d_weight };

const char* name_of(Op op) {
  return op == Op::forward ? "forward" : op == Op::d_input ? "d_input" : "d_weight";
}

/// The product, with the types of fp32 or of bf16_mixed. The head's logits are float in Fount;
/// others that want both operands alike get them in bf16.
Product product_of(const Layer& layer, std::int64_t rows, Op op, DType dtype, bool float_logits) {
  const DType logits = layer.is_head && float_logits ? DType::float32 : dtype;
  switch (op) {
    case Op::forward:
      return {rows,  layer.out, layer.in, false, true, layer.is_head ? DType::float32 : dtype,
              dtype, dtype};
    case Op::d_input: return {rows, layer.in, layer.out, false, false, dtype, logits, dtype};
    case Op::d_weight: break;
  }
  return {layer.out, layer.in, rows, true, false, DType::float32, logits, dtype};
}

Bytes bytes_of(DType dtype, std::int64_t count) {
  return align_up(count * static_cast<Bytes>(size_of(dtype)));
}

void fill(std::byte* data, DType dtype, std::int64_t count, float scale) {
  dtype == DType::bfloat16 ? bench::fill(reinterpret_cast<bf16*>(data), count, scale)
                           : bench::fill(reinterpret_cast<float*>(data), count, scale);
}

/// Weights, or their gradients, rotate over as many copies as no cache holds: training comes back
/// to a layer only after all others.
bench::ArithmeticWork make(const Product& p, Op op, DType dtype, const bench::Multiply& multiply) {
  const Bytes a_bytes = bytes_of(p.a_type, p.m * p.k);
  const Bytes b_bytes = bytes_of(p.b_type, p.k * p.n);
  const Bytes c_bytes = bytes_of(p.c_type, p.m * p.n);
  const bool rotate_c = op == Op::d_weight;
  const Bytes turn_bytes = rotate_c ? c_bytes : b_bytes;
  const auto copies = static_cast<std::int64_t>(bench::copies_beyond_caches(turn_bytes));
  bench::ArithmeticWork work;
  work.memory = bench::touched_memory(a_bytes + b_bytes + c_bytes + (copies - 1) * turn_bytes);
  std::byte* const a = work.memory.data();
  std::byte* const b = a + a_bytes;
  std::byte* const c = b + b_bytes * (rotate_c ? 1 : copies);
  fill(a, p.a_type, p.m * p.k, 1.0F);
  for (std::int64_t copy = 0; copy < (rotate_c ? 1 : copies); ++copy) {
    fill(b + copy * b_bytes, p.b_type, p.k * p.n, 0.05F);
  }
  work.flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  work.dtype = dtype;
  work.op = [=](std::int64_t turn) {
    const std::int64_t offset = turn % copies * turn_bytes;
    rotate_c ? multiply(c + offset, a, b) : multiply(c, a, b + offset);
  };
  return work;
}

/// What the summary adds up, by model, dtype, rows and library.
using Group = std::tuple<std::string, std::string, std::int64_t, std::string>;
struct Entry {
  Group group;
  double flops = 0;  // of all layers like this one
  bool is_head = false;
};

/// Google Benchmark's console, and below it one line for each group.
class Summary : public benchmark::ConsoleReporter {
 public:
  Summary() : ConsoleReporter(OO_Tabular) {}  // colours are not for files

  void add(const std::string& name, Entry entry) { entries_[name] = std::move(entry); }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto entry = entries_.find(run.run_name.function_name);
      if (run.run_type != Run::RT_Iteration || entry == entries_.end() || run.error_occurred) {
        continue;
      }
      Sums& sums = groups_[entry->second.group];
      // Each repetition counts again, in both sums.
      const double ideal = entry->second.flops;
      sums.add(ideal, ideal / run.counters.at("fraction"), entry->second.is_head);
    }
    ConsoleReporter::ReportRuns(runs);
  }

  void Finalize() override {
    ConsoleReporter::Finalize();
    if (groups_.empty()) return;
    std::printf(
        "\nShare of the peak over all products together, each weighted with its FLOPs\n"
        "%-6s %-6s %6s  %-10s %9s %9s %9s\n",
        "model", "dtype", "rows", "library", "products", "blocks", "with head");
    for (const auto& [group, sums] : groups_) {
      const auto& [model, dtype, rows, library] = group;
      std::printf("%-6s %-6s %6lld  %-10s %9d %9.3f ", model.c_str(), dtype.c_str(),
                  static_cast<long long>(rows), library.c_str(), sums.products,
                  sums.ideal[0] / sums.spent[0]);
      if (sums.spent[1] > 0) {
        std::printf("%9.3f\n", (sums.ideal[0] + sums.ideal[1]) / (sums.spent[0] + sums.spent[1]));
      } else {
        std::printf("%9s\n", "-");
      }
    }
    std::fflush(stdout);
  }

 private:
  /// FLOPs done, and those that the peak would have done in the same time; blocks and head.
  struct Sums {
    double ideal[2] = {}, spent[2] = {};
    int products = 0;

    void add(double flops, double flops_at_peak, bool is_head) {
      ideal[is_head ? 1 : 0] += flops;
      spent[is_head ? 1 : 0] += flops_at_peak;
      ++products;
    }
  };

  std::map<std::string, Entry> entries_;
  std::map<Group, Sums> groups_;
};

void register_product(const Cpu& cpu, Summary& summary, const Library& library, const Layer& layer,
                      std::int64_t rows, Op op, DType dtype) {
  const Product product = product_of(layer, rows, op, dtype, library.name == "fount");
  if (!library.prepare(cpu, product)) return;
  const std::string dtype_name = dtype == DType::bfloat16 ? "bf16" : "fp32";
  const std::string name = "matmul/" + std::string(layer.model) + "/" + library.name + "/" +
                           dtype_name + "/rows:" + std::to_string(rows) + "/" + layer.name + "/" +
                           name_of(op);
  summary.add(name, {{layer.model, dtype_name, rows, library.name},
                     2.0 * layer.count * static_cast<double>(rows * layer.in * layer.out),
                     layer.is_head});
  bench::register_arithmetic(cpu, name, [&cpu, library, product, op, dtype] {
    return make(product, op, dtype, library.prepare(cpu, product));
  });
}

}  // namespace

int main(int argc, char** argv) {
  Summary summary;
  const auto register_rows = [&summary](const Cpu& cpu) {
    for (const Library& library : bench::libraries()) {
      for (const DType dtype : {DType::float32, DType::bfloat16}) {
        for (const Layer& layer : layers()) {
          for (const std::int64_t rows : layer.rows) {
            for (const Op op : {Op::forward, Op::d_input, Op::d_weight}) {
              register_product(cpu, summary, library, layer, rows, op, dtype);
            }
          }
        }
      }
    }
  };
  return bench::run(argc, argv, register_rows, &summary);
}
