// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one call of attention computes, and which calls are refused. The functions are declared in
// ops/attention.hpp. Vaswani et al. 2017; grouped key heads after Ainslie et al. 2023.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <fount/config/model_config.hpp>
#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>

namespace fount::ops {

/// Largest head the kernels have tiles for.
inline constexpr int max_head_dim = 256;

/// What one call computes. Element (b, t, h, d) of q stands at
/// q[(b * num_queries + t) * q_stride + h * head_dim + d], the same for out with out_stride;
/// of k at k[b * k_batch_stride + t * k_stride + h * head_dim + d], the same for v. So q, k and v
/// may be slices of one fused projection, and k and v a cache with room for more tokens.
/// Query head h attends to key head h / (num_heads / num_kv_heads).
struct AttentionShape {
  int batch_size = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;  // 1 .. max_head_dim
  int num_queries = 0;
  int num_keys = 0;
  int query_offset = 0;  // position of query 0 among the keys

  std::int64_t q_stride = 0;  // elements from one token to the next
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  std::int64_t out_stride = 0;
  std::int64_t k_batch_stride = 0;  // elements from one sequence to the next
  std::int64_t v_batch_stride = 0;

  Mask mask = Mask::causal;
  int window = 0;        // sliding_window: the query at position i sees keys i-window+1 .. i
  float softcap = 0.0F;  // softcap * tanh(score / softcap) of the scaled score; 0: off
  float scale = 0.0F;    // 0: 1 / sqrt(head_dim)

  /// (batch_size, num_keys) or null. A query sees only keys with its own id, which is that of key
  /// query_offset + t; combines with any mask. Tokens with id -1 are padding: they see nothing and
  /// nobody sees them.
  const std::int32_t* documents = nullptr;

  /// Of the probabilities; the element of (b, h, query i, key j) has index
  /// ((b * num_heads + h) * num_queries + i) * num_keys + j.
  Dropout dropout = {};
};

inline namespace FOUNT_CPU_NAMESPACE {
namespace attention_detail {

inline void require_shape(bool holds, const char* what, std::int64_t found, const char* expected) {
  if (holds) return;
  throw ShapeError(std::string("attention: ") + what + " is " + std::to_string(found) +
                   ", expected " + expected + "; see AttentionShape");
}
inline void require_config(bool holds, const char* what, double found, const char* expected) {
  if (holds) return;
  throw ConfigError(std::string("attention: ") + what + " is " + std::to_string(found) +
                    ", expected " + expected + "; see AttentionShape");
}

}  // namespace attention_detail

/// @throws ShapeError for extents, offsets or strides that fit no tensor; ConfigError for a window,
///         scale, soft cap or dropout rate outside its range
inline void check_attention(const AttentionShape& shape) {
  using attention_detail::require_config;
  using attention_detail::require_shape;
  const std::int64_t query_row = std::int64_t{shape.num_heads} * shape.head_dim;
  const std::int64_t key_row = std::int64_t{shape.num_kv_heads} * shape.head_dim;
  const std::int64_t past_queries = std::int64_t{shape.query_offset} + shape.num_queries;
  const bool several = shape.batch_size > 1;

  require_shape(shape.batch_size >= 0, "batch_size", shape.batch_size, "0 or more");
  require_shape(shape.num_kv_heads >= 1, "num_kv_heads", shape.num_kv_heads, "1 or more");
  require_shape(shape.num_heads >= 1 && shape.num_heads % shape.num_kv_heads == 0, "num_heads",
                shape.num_heads, "a multiple of num_kv_heads");
  require_shape(shape.head_dim >= 1 && shape.head_dim <= max_head_dim, "head_dim", shape.head_dim,
                "1 to 256");
  require_shape(shape.num_queries >= 0, "num_queries", shape.num_queries, "0 or more");
  require_shape(shape.num_keys >= 0, "num_keys", shape.num_keys, "0 or more");
  require_shape(shape.query_offset >= 0, "query_offset", shape.query_offset, "0 or more");
  require_shape(past_queries < std::numeric_limits<int>::max(), "query_offset + num_queries",
                past_queries, "a 32-bit position");
  require_shape(shape.q_stride >= query_row, "q_stride", shape.q_stride,
                "at least num_heads * head_dim");
  require_shape(shape.out_stride >= query_row, "out_stride", shape.out_stride,
                "at least num_heads * head_dim");
  require_shape(shape.k_stride >= key_row, "k_stride", shape.k_stride,
                "at least num_kv_heads * head_dim");
  require_shape(shape.v_stride >= key_row, "v_stride", shape.v_stride,
                "at least num_kv_heads * head_dim");
  require_shape(!several || shape.k_batch_stride >= shape.num_keys * shape.k_stride,
                "k_batch_stride", shape.k_batch_stride, "at least num_keys * k_stride");
  require_shape(!several || shape.v_batch_stride >= shape.num_keys * shape.v_stride,
                "v_batch_stride", shape.v_batch_stride, "at least num_keys * v_stride");
  require_shape(shape.documents == nullptr || past_queries <= shape.num_keys,
                "query_offset + num_queries", past_queries,
                "at most num_keys, where every token needs its document id");
  require_config(shape.mask != Mask::sliding_window || shape.window >= 1, "window", shape.window,
                 "1 or more with a sliding window");
  require_config(shape.softcap >= 0.0F && std::isfinite(shape.softcap), "softcap", shape.softcap,
                 "0 (off) or a positive number");
  require_config(std::isfinite(shape.scale), "scale", shape.scale,
                 "0 (1 / sqrt(head_dim)) or a number");
  require_config(shape.dropout.rate >= 0.0F && shape.dropout.rate < 1.0F, "dropout rate",
                 shape.dropout.rate, "0 or more and less than 1");
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
