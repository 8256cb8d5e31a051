// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scaled dot-product attention and its gradients. The loops are in ops/cpu/, the shape of a call in
// ops/attention_shape.hpp; projections and rotary embedding are other ops. Softmax by tiles after
// Milakov & Gimelshein 2018 and Dao 2023: no (num_queries, num_keys) matrix is stored.

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/ops/attention_shape.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {

/// softmax(mask(q k^T * scale)) v, one sequence and head at a time.
/// @param[out] out (batch_size, num_queries, num_heads, head_dim); rows that see no key are 0
/// @param[out] lse (batch_size, num_heads, num_queries) log of the sum of the exponentials of the
///                 visible scores, -inf where there are none; null where no backward will follow
/// @param[in]  q   (batch_size, num_queries, num_heads, head_dim)
/// @param[in]  k   (batch_size, num_keys, num_kv_heads, head_dim)   @param[in] v the same
/// @throws ShapeError, ConfigError for a shape that check_attention refuses
/// @see Milakov & Gimelshein 2018, algorithm 3: https://arxiv.org/abs/1805.02867
template <Element A>
void attention_forward(const Cpu& cpu, const AttentionShape& shape, A* out, compute_t<A>* lse,
                       const A* q, const A* k, const A* v);

/// Gradients of attention_forward; probabilities are computed again from lse, tile by tile.
/// Overwrites d_q, d_k and d_v, which lie as q, k and v do; rows beyond num_keys stay untouched.
/// @param[in] d_out as out   @param[in] out, lse what forward wrote for the same q, k, v, shape
/// @throws ShapeError, ConfigError for a shape that check_attention refuses
/// @see Dao 2023, algorithm 2: https://arxiv.org/abs/2307.08691
template <Element A>
void attention_backward(const Cpu& cpu, const AttentionShape& shape, A* d_q, A* d_k, A* d_v,
                        const A* d_out, const A* out, const compute_t<A>* lse, const A* q,
                        const A* k, const A* v);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/attention.hpp>
