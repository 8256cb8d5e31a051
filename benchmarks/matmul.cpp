// SPDX-License-Identifier: Apache-2.0
// How near the matrix multiplication comes to the processor's peak at the shapes of GPT models.
// The peak is measured in turn with the products, and every call is timed alone: what else runs on
// the machine can only slow a call down. Of each product it prints the best call by the clock on
// the wall, and the rate per second of processor time, which a busy machine hardly changes
// (run with OMP_WAIT_POLICY=passive then, or waiting counts as work).
// Usage: bench_matmul [threads] [rounds]

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <fount/ops/linear.hpp>

namespace {

using namespace fount;
using Clock = std::chrono::steady_clock;
using Vector = ops::detail::NativeTile<float>::Vector;

constexpr int lanes = ops::detail::NativeTile<float>::lanes;
constexpr int weights_in_turn = 4;  // as many as leave the caches at GPT-2's size

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

/// Multiply-adds on registers alone, on every thread at once. Result in GFLOP/s.
double measure_peak(const Cpu& cpu) {
  constexpr int chains = 12;
  constexpr std::int64_t steps = 200000;
  std::vector<float> keep(static_cast<std::size_t>(cpu.threads()));
  const auto start = Clock::now();
  cpu.parallel(cpu.threads(), [&](std::int64_t index, int) {
    Vector sums[chains];
    Vector a{};
    Vector b{};
    a += 1.0F;
    b += 1e-9F;
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sums[i] = b * static_cast<float>(i);
    for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
      for (int i = 0; i < chains; ++i) sums[i] += a * b;
      asm volatile("" : "+x"(a), "+x"(b));  // or the compiler sees that every step is the same
    }
    float total = 0;
    for (const Vector& sum : sums) total += sum[0];
    keep[static_cast<std::size_t>(index)] = total;
  });
  const double elapsed = seconds_since(start);
  volatile float sink = keep[0];
  static_cast<void>(sink);
  return 2.0 * chains * lanes * static_cast<double>(steps) * cpu.threads() / elapsed * 1e-9;
}

struct Row {
  const char* name;
  ops::LinearShape shape;
};

enum Op { forward, backward_input, backward_weight, num_ops };

struct Layer {
  Row row;
  std::vector<float> x, weight, y, bias;
  std::vector<double> gflops[num_ops];
  double flops[num_ops] = {}, seconds[num_ops] = {};  // done, and what they took of processors

  explicit Layer(const Row& r)
      : row(r),
        x(static_cast<std::size_t>(r.shape.rows * r.shape.in), 0.5F),
        weight(static_cast<std::size_t>(weights_in_turn * r.shape.in * r.shape.out), 0.01F),
        y(static_cast<std::size_t>(r.shape.rows * r.shape.out), 0.25F),
        bias(static_cast<std::size_t>(r.shape.out), 0.1F) {}

  void run(const Cpu& cpu, int op, std::int64_t turn) {
    const ops::LinearShape& s = row.shape;
    float* w = weight.data() + turn % weights_in_turn * s.in * s.out;
    switch (op) {
      case forward: ops::linear_forward(cpu, y.data(), x.data(), w, bias.data(), s); break;
      case backward_input: ops::linear_backward_input(cpu, x.data(), y.data(), w, s); break;
      default: ops::linear_backward_weight(cpu, w, y.data(), x.data(), s); break;
    }
  }

  /// Adds the GFLOP/s of a few calls, some milliseconds of work.
  void measure(const Cpu& cpu, int op) {
    const ops::LinearShape& s = row.shape;
    const double once = 2.0 * static_cast<double>(s.rows * s.in * s.out);
    const auto repeats = std::max<std::int64_t>(2, static_cast<std::int64_t>(5e8 / once));
    const double before = processor_seconds();
    for (std::int64_t i = 0; i < repeats; ++i) {
      const auto start = Clock::now();
      run(cpu, op, i);
      gflops[op].push_back(once / seconds_since(start) * 1e-9);
    }
    seconds[op] += processor_seconds() - before;
    flops[op] += once * static_cast<double>(repeats);
    // Values must stay ordinary numbers however often gradients were added.
    std::fill(weight.begin(), weight.end(), 0.01F);
    std::fill(x.begin(), x.end(), 0.5F);
    std::fill(y.begin(), y.end(), 0.25F);
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : available_threads();
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const Cpu cpu(threads);
  const std::vector<Row> rows = {
      {"char qkv", {768, 128, 384}},       {"char proj", {768, 128, 128}},
      {"char fc", {768, 128, 512}},        {"char fc_proj", {768, 512, 128}},
      {"char head", {768, 128, 65}},       {"quick qkv", {1024, 256, 768}},
      {"quick fc", {1024, 192, 768}},      {"gpt2 qkv 256", {256, 768, 2304}},
      {"gpt2 proj 256", {256, 768, 768}},  {"gpt2 fc 256", {256, 768, 3072}},
      {"gpt2 fcp 256", {256, 3072, 768}},  {"gpt2 qkv 1024", {1024, 768, 2304}},
      {"gpt2 proj 1024", {1024, 768, 768}}, {"gpt2 fc 1024", {1024, 768, 3072}},
      {"gpt2 fcp 1024", {1024, 3072, 768}}};
  std::vector<Layer> layers(rows.begin(), rows.end());
  std::vector<double> peaks;
  for (int round = 0; round < rounds; ++round) {
    for (Layer& layer : layers) {
      for (int op = 0; op < num_ops; ++op) {
        peaks.push_back(measure_peak(cpu));
        layer.measure(cpu, op);
      }
    }
  }
  const double peak = *std::max_element(peaks.begin(), peaks.end());
  std::printf("fp32, %d threads, %d lanes, %d rounds; peak best %.1f GFLOP/s, median %.1f\n"
              "GFLOP/s of the best call (its fraction of the best peak; that by processor time)\n",
              threads, lanes, rounds, peak, median(peaks));
  std::printf("%-16s %-18s %21s %21s %21s\n", "layer", "rows x in x out", "forward",
              "d_input", "d_weight");
  for (const Layer& layer : layers) {
    const ops::LinearShape& s = layer.row.shape;
    std::printf("%-16s %4lld x %4lld x %4lld ", layer.row.name, static_cast<long long>(s.rows),
                static_cast<long long>(s.in), static_cast<long long>(s.out));
    for (int op = 0; op < num_ops; ++op) {
      const double best = *std::max_element(layer.gflops[op].begin(), layer.gflops[op].end());
      std::printf("  %7.1f (%.2f; %.2f)", best, best / peak,
                  layer.flops[op] / layer.seconds[op] * 1e-9 * threads / peak);
    }
    std::printf("\n");
  }
  return 0;
}
