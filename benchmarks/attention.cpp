// SPDX-License-Identifier: Apache-2.0
// bench.ops.attention: causal attention, forward and backward, on a fused projection. Bound: the
// peak rate of float, in which bf16 is multiplied here, too. FLOPs are those of the tiles that the
// mask leaves, in whole or in part: each panel of queries times the keys that one of them sees; 2
// products forward, 5 backward. The softmax counts for nothing, so the fraction stays below that of a
// plain product.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fount/ops/attention.hpp>

#include "harness/measure.hpp"

namespace {

using namespace fount;

struct Axes {
  const char* variant;
  int batch_size, num_heads, num_kv_heads, seq_len, head_dim;
  float dropout = 0;
  float softcap = 0;
};

constexpr Axes table[] = {{"gpt2", 4, 12, 12, 256, 64},
                          {"gpt2", 1, 12, 12, 1024, 64},
                          {"gpt2_dropout", 4, 12, 12, 256, 64, 0.1F},
                          {"gpt2_softcap", 4, 12, 12, 256, 64, 0, 30.0F},
                          {"grouped", 1, 16, 4, 1024, 128},
                          {"char", 12, 4, 4, 64, 32}};

enum class Direction : std::uint8_t { forward, backward };

/// Multiply-adds of one product of scores, over the tiles that are computed.
double visible_pairs(const Axes& axes, int panel_width) {
  double pairs = 0;
  for (int first = 0; first < axes.seq_len; first += panel_width) {
    const int end = std::min(axes.seq_len, first + panel_width);
    pairs += static_cast<double>(end - first) * end;
  }
  return pairs * axes.batch_size * axes.num_heads;
}

ops::AttentionShape shape_of(const Axes& axes) {
  const auto [variant, B, H, K, S, D, dropout, softcap] = axes;
  const std::int64_t row = std::int64_t{H + 2 * K} * D;
  return {.batch_size = B,
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
}

template <Element A>
bench::ArithmeticWork make(const Cpu& cpu, const Axes& axes, Direction direction) {
  using T = compute_t<A>;
  const ops::AttentionShape shape = shape_of(axes);
  const std::int64_t tokens = std::int64_t{axes.batch_size} * axes.seq_len;
  const std::int64_t qkv_size = tokens * shape.q_stride;
  const std::int64_t out_size = tokens * shape.out_stride;
  bench::ArithmeticWork work;
  work.memory = bench::touched_memory(2 * (qkv_size + out_size) * Bytes{sizeof(A)} +
                                      tokens * axes.num_heads * Bytes{sizeof(T)} + MiB(1));
  Committer cursor(work.memory.data(), work.memory.size());
  A* const qkv = cursor.take<A>(qkv_size);
  A* const d_qkv = cursor.take<A>(qkv_size);
  A* const out = cursor.take<A>(out_size);
  A* const d_out = cursor.take<A>(out_size);
  T* const lse = cursor.take<T>(tokens * axes.num_heads);
  bench::fill(qkv, qkv_size, 0.5F);
  bench::fill(d_out, out_size, 0.5F);
  const std::int64_t k = std::int64_t{axes.num_heads} * axes.head_dim;
  const std::int64_t v = k + std::int64_t{axes.num_kv_heads} * axes.head_dim;
  const auto forward = [=, &cpu](std::int64_t) {
    ops::attention_forward<A>(cpu, shape, out, lse, qkv, qkv + k, qkv + v);
  };
  const double product =
      2.0 * axes.head_dim * visible_pairs(axes, ops::attention_detail::panel_width<T>);
  work.dtype = dtype_of<T>;
  if (direction == Direction::forward) {
    work.flops = 2 * product;
    work.op = forward;
    return work;
  }
  forward(0);
  work.flops = 5 * product;
  work.op = [=, &cpu](std::int64_t) {
    ops::attention_backward<A>(cpu, shape, d_qkv, d_qkv + k, d_qkv + v, d_out, out, lse, qkv,
                               qkv + k, qkv + v);
  };
  return work;
}

template <Element A>
void register_dtype(const Cpu& cpu, const std::string& dtype) {
  for (const Axes& axes : table) {
    const std::string shape =
        "/B:" + std::to_string(axes.batch_size) + "/T:" + std::to_string(axes.seq_len) +
        "/H:" + std::to_string(axes.num_heads) + "/D:" + std::to_string(axes.head_dim);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      bench::register_arithmetic(
          cpu,
          "attention/" + std::string(axes.variant) + shape +
              (direction == Direction::forward ? "/forward/" : "/backward/") + dtype,
          [&cpu, axes, direction] { return make<A>(cpu, axes, direction); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](const Cpu& cpu) {
    register_dtype<float>(cpu, "fp32");
    register_dtype<bf16>(cpu, "bf16");
  });
}
