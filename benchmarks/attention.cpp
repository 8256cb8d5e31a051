// SPDX-License-Identifier: Apache-2.0
// bench.ops.attention: GFLOP/s of causal attention, forward and backward, on a fused projection.
// A GFLOP here is one that the mask leaves: half the square, 2 products forward and 5 backward.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fount/backend/threads.hpp>
#include <fount/ops/attention.hpp>

namespace {

struct Axes {
  int batch_size, num_heads, num_kv_heads, seq_len, head_dim;
  float dropout, softcap;
};

/// Median seconds of `repeats` calls, after one that is not counted.
template <class Body>
double median_seconds(int repeats, Body&& body) {
  body();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

template <fount::Real T>
void measure(const fount::Cpu& cpu, const Axes& axes, const char* dtype) {
  const auto [B, H, K, S, D, dropout, softcap] = axes;
  const std::int64_t row = std::int64_t{H + 2 * K} * D;
  fount::ops::AttentionShape shape{.batch_size = B,
                                   .num_heads = H,
                                   .num_kv_heads = K,
                                   .head_dim = D,
                                   .num_queries = S,
                                   .num_keys = S,
                                   .q_stride = row,
                                   .k_stride = row,
                                   .v_stride = row,
                                   .out_stride = std::int64_t{H} * D,
                                   .k_batch_stride = row * S,
                                   .v_batch_stride = row * S,
                                   .softcap = softcap,
                                   .dropout = {{}, dropout}};
  const auto tokens = static_cast<std::size_t>(B * S);
  std::vector<T> qkv(tokens * static_cast<std::size_t>(row)), d_qkv(qkv.size());
  std::vector<T> out(tokens * static_cast<std::size_t>(H * D)), d_out(out.size());
  std::vector<T> lse(tokens * static_cast<std::size_t>(H));
  const fount::RandomStream stream{};
  for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<T>(stream.uniform(i)) - T(0.5);
  for (std::size_t i = 0; i < out.size(); ++i)
    d_out[i] = static_cast<T>(stream.uniform(i)) - T(0.5);
  T* const k = qkv.data() + H * D;
  T* const v = k + K * D;
  const double flops = 2.0 * B * H * (0.5 * S * (S + 1.0)) * D * 1e-9;
  const int repeats = std::clamp(static_cast<int>(4.0 / flops), 5, 400);
  const double forward = median_seconds(repeats, [&] {
    fount::ops::attention_forward<T>(cpu, shape, out.data(), lse.data(), qkv.data(), k, v);
  });
  const double backward = median_seconds(repeats, [&] {
    fount::ops::attention_backward<T>(cpu, shape, d_qkv.data(), d_qkv.data() + H * D,
                                      d_qkv.data() + (H + K) * D, d_out.data(), out.data(),
                                      lse.data(), qkv.data(), k, v);
  });
  std::printf(
      "%-8s B=%-3d H=%-3d K=%-3d T=%-5d D=%-4d dropout=%.1f softcap=%-3.0f  "
      "forward %8.3f ms %6.1f GFLOP/s   backward %8.3f ms %6.1f GFLOP/s\n",
      dtype, B, H, K, S, D, static_cast<double>(dropout), static_cast<double>(softcap),
      forward * 1e3, 2 * flops / forward, backward * 1e3, 5 * flops / backward);
}

}  // namespace

/// bench_attention [threads]
int main(int argc, char** argv) {
  const fount::Cpu cpu(argc > 1 ? std::atoi(argv[1]) : fount::available_threads());
  std::printf("bench.ops.attention, %d threads, median\n", cpu.threads());
  const Axes table[] = {
      {12, 4, 4, 64, 32, 0, 0},    {4, 12, 12, 256, 64, 0, 0},    {1, 12, 12, 1024, 64, 0, 0},
      {1, 16, 4, 1024, 128, 0, 0}, {4, 12, 12, 256, 64, 0.1F, 0}, {4, 12, 12, 256, 64, 0, 30.0F},
  };
  for (const Axes& axes : table) measure<float>(cpu, axes, "float32");
  measure<double>(cpu, table[1], "float64");
  return 0;
}
