// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention on the processor: how a call is cut into pieces that do not depend on the number of
// threads. What happens inside a piece is in attention_forward.hpp and attention_backward.hpp.

#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/error.hpp>
#include <fount/ops/attention.hpp>
#include <fount/ops/cpu/attention_backward.hpp>
#include <fount/ops/cpu/attention_forward.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {

template <Element A>
void attention_forward(const Cpu& cpu, const AttentionShape& shape, A* out, compute_t<A>* lse,
                       const A* q, const A* k, const A* v) {
  namespace detail = attention_detail;
  check_attention(shape);
  const int blocks = (shape.num_queries + detail::query_tile - 1) / detail::query_tile;
  const std::int64_t heads = std::int64_t{shape.batch_size} * shape.num_heads;
  cpu.parallel(heads * blocks, [&](std::int64_t item, int thread) {
    // Late blocks first: under a causal mask they take longest.
    const int block = blocks - 1 - static_cast<int>(item / heads);
    const int b = static_cast<int>(item % heads / shape.num_heads);
    const int h = static_cast<int>(item % shape.num_heads);
    detail::forward_block(shape, b, h, block, cpu.workspace(thread), out, lse, q, k, v);
  });
}

template <Element A>
void attention_backward(const Cpu& cpu, const AttentionShape& shape, A* d_q, A* d_k, A* d_v,
                        const A* d_out, const A* out, const compute_t<A>* lse, const A* q,
                        const A* k, const A* v) {
  namespace detail = attention_detail;
  check_attention(shape);
  const detail::BackwardCall<A> call{shape, d_q, d_k, d_v, d_out, out, lse, q, k, v};
  const int query_blocks = (shape.num_queries + detail::query_tile - 1) / detail::query_tile;
  const int key_blocks = (shape.num_keys + detail::key_tile - 1) / detail::key_tile;
  const std::int64_t groups = std::int64_t{shape.batch_size} * shape.num_kv_heads;
  const std::int64_t heads = std::int64_t{shape.batch_size} * shape.num_heads;
  const auto rounds = (groups + cpu.threads() - 1) / cpu.threads();

  // One pass takes 5 products a tile but only as many pieces as there are key heads; two passes
  // take 7, in many pieces. Every element is summed in the same order either way. Sums of keys that
  // their 16 bits could not hold grow in the workspace, which has room for some thousands of keys.
  const bool sums_fit =
      !detail::sums_keys_apart<A> ||
      shape.num_keys <= detail::BackwardTiles<compute_t<A>>::most_summed_keys(shape.head_dim);
  if (sums_fit && 5 * rounds * cpu.threads() <= 7 * groups) {
    cpu.parallel(groups, [&](std::int64_t item, int thread) {
      const int b = static_cast<int>(item / shape.num_kv_heads);
      const int kv_head = static_cast<int>(item % shape.num_kv_heads);
      detail::backward_group(call, b, kv_head, {0, shape.num_keys}, detail::Gradients::all,
                             cpu.workspace(thread));
    });
    return;
  }
  cpu.parallel(heads * query_blocks, [&](std::int64_t item, int thread) {
    const int block = query_blocks - 1 - static_cast<int>(item / heads);
    const int b = static_cast<int>(item % heads / shape.num_heads);
    const int h = static_cast<int>(item % shape.num_heads);
    detail::backward_block(call, b, h, block, {0, shape.num_keys}, detail::Gradients::queries,
                           cpu.workspace(thread));
  });
  cpu.parallel(groups * key_blocks, [&](std::int64_t item, int thread) {
    const int first = static_cast<int>(item / groups) * detail::key_tile;
    const int b = static_cast<int>(item % groups / shape.num_kv_heads);
    const int kv_head = static_cast<int>(item % shape.num_kv_heads);
    detail::backward_group(call, b, kv_head,
                           {first, std::min(first + detail::key_tile, shape.num_keys)},
                           detail::Gradients::keys_and_values, cpu.workspace(thread));
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
