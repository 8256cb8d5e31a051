// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of ops/embedding.hpp on the processor: forward by rows, backward by columns, so that no
// two threads ever add to one element. The contracts are in the header above.

#include <algorithm>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/ops/embedding.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

inline std::int64_t token_row(const EmbeddingRows& at, std::int64_t row) { return at.ids[row]; }
inline std::int64_t position_row(const EmbeddingRows& at, std::int64_t row) {
  return at.position_offset + at.first_position + row % at.seq_len;
}

/// d_table[row, begin..end) += d_out[r, begin..end) for all r in order.
template <Real T, class TableRow>
void scatter_columns(T* d_table, const T* d_out, const EmbeddingRows& at, std::int64_t begin,
                     std::int64_t end, TableRow table_row) {
  for (std::int64_t r = 0; r < at.rows; ++r) {
    T* __restrict to = d_table + table_row(r) * at.hidden_size;
    const T* __restrict from = d_out + r * at.hidden_size;
    for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
  }
}

}  // namespace detail

template <Real T>
void embedding_forward(const Cpu& cpu, const EmbeddingForward<T>& e) {
  const EmbeddingRows& at = e.at;
  const std::int64_t C = at.hidden_size;
  parallel_chunks(cpu, at.rows, rows_per_chunk(C), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      T* __restrict out = e.out + r * C;
      const T* token = e.tokens + detail::token_row(at, r) * C;
      std::copy(token, token + C, out);
      if (e.positions != nullptr) {
        const T* position = e.positions + detail::position_row(at, r) * C;
        for (std::int64_t i = 0; i < C; ++i) out[i] += position[i];
      }
      if (e.token_type != nullptr) {
        for (std::int64_t i = 0; i < C; ++i) out[i] += e.token_type[i];
      }
    }
  });
}

template <Real T>
void embedding_backward(const Cpu& cpu, const EmbeddingBackward<T>& e) {
  const EmbeddingRows& at = e.at;
  constexpr std::int64_t columns = 64;
  parallel_chunks(cpu, at.hidden_size, columns, [&](std::int64_t begin, std::int64_t end) {
    detail::scatter_columns(e.d_tokens, e.d_out, at, begin, end,
                            [&](std::int64_t r) { return detail::token_row(at, r); });
    if (e.d_positions != nullptr) {
      detail::scatter_columns(e.d_positions, e.d_out, at, begin, end,
                              [&](std::int64_t r) { return detail::position_row(at, r); });
    }
    if (e.d_token_type != nullptr) {
      detail::scatter_columns(e.d_token_type, e.d_out, at, begin, end,
                              [](std::int64_t) { return std::int64_t{0}; });
    }
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
