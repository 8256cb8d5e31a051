// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of ops/embedding.hpp on the processor: forward by rows, backward by columns, so that no
// two threads ever add to one element. The contracts are in the header above.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fount/backend/chunks.hpp>
#include <fount/ops/embedding.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

inline std::int64_t token_row(const EmbeddingRows& at, std::int64_t row) { return at.ids[row]; }
inline std::int64_t position_row(const EmbeddingRows& at, std::int64_t row) {
  return at.position_offset + at.first_position + row % at.seq_len;
}

/// Columns of one task.
inline constexpr std::int64_t scatter_width = 64;

/// d_table[row, begin..end) += d_out[r, begin..end) for all r in order.
template <Element G, Element A, class TableRow>
void scatter_columns(G* d_table, const A* d_out, const EmbeddingRows& at, std::int64_t begin,
                     std::int64_t end, std::byte*, TableRow table_row) {
  for (std::int64_t r = 0; r < at.rows; ++r) {
    G* __restrict to = d_table + table_row(r) * at.hidden_size;
    const A* __restrict from = d_out + r * at.hidden_size;
    for (std::int64_t i = begin; i < end; ++i) to[i] += value_of(from[i]);
  }
}

/// The same for gradients of 16 bits, which could not hold the sum of a frequent token while it
/// grows: rows are sorted by where they go, and each sum is rounded once a piece.
template <Element G, Element A, class TableRow>
  requires(!std::is_same_v<G, compute_t<G>>)
void scatter_columns(G* d_table, const A* d_out, const EmbeddingRows& at, std::int64_t begin,
                     std::int64_t end, std::byte* workspace, TableRow table_row) {
  struct Source {
    std::int32_t to, from;
    bool operator<(const Source& other) const {
      return to != other.to ? to < other.to : from < other.from;
    }
  };
  constexpr auto piece = static_cast<std::int64_t>(Cpu::workspace_bytes_per_thread) /
                         static_cast<std::int64_t>(sizeof(Source));
  auto* const sources = reinterpret_cast<Source*>(workspace);
  for (std::int64_t first = 0; first < at.rows; first += piece) {
    const std::int64_t count = std::min(piece, at.rows - first);
    for (std::int64_t r = 0; r < count; ++r) {
      sources[r] = {static_cast<std::int32_t>(table_row(first + r)), static_cast<std::int32_t>(r)};
    }
    std::sort(sources, sources + count);
    for (std::int64_t s = 0; s < count;) {
      G* const to = d_table + std::int64_t{sources[s].to} * at.hidden_size + begin;
      compute_t<G> sums[scatter_width];
      for (std::int64_t i = 0; i < end - begin; ++i) sums[i] = value_of(to[i]);
      const std::int32_t row = sources[s].to;
      for (; s < count && sources[s].to == row; ++s) {
        const A* const from = d_out + (first + sources[s].from) * at.hidden_size + begin;
        for (std::int64_t i = 0; i < end - begin; ++i) sums[i] += value_of(from[i]);
      }
      for (std::int64_t i = 0; i < end - begin; ++i) to[i] = static_cast<G>(sums[i]);
    }
  }
}

}  // namespace detail

template <Element A, Element W>
void embedding_forward(const Cpu& cpu, const EmbeddingForward<A, W>& e) {
  const EmbeddingRows& at = e.at;
  const std::int64_t C = at.hidden_size;
  parallel_chunks(cpu, at.rows, rows_per_chunk(C), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const W* token = e.tokens + detail::token_row(at, r) * C;
      const W* position =
          e.positions == nullptr ? nullptr : e.positions + detail::position_row(at, r) * C;
      const W* type = e.token_type;
      A* const out = e.out + r * C;
      if (position != nullptr && type != nullptr) {
        store_each(out, 0, C, [=](std::int64_t i) {
          return value_of(token[i]) + value_of(position[i]) + value_of(type[i]);
        });
      } else if (position != nullptr || type != nullptr) {
        const W* other = position != nullptr ? position : type;
        store_each(out, 0, C,
                   [=](std::int64_t i) { return value_of(token[i]) + value_of(other[i]); });
      } else {
        store_each(out, 0, C, [=](std::int64_t i) { return value_of(token[i]); });
      }
    }
  });
}

template <Element G, Element A>
void embedding_backward(const Cpu& cpu, const EmbeddingBackward<G, A>& e) {
  const EmbeddingRows& at = e.at;
  constexpr std::int64_t columns = detail::scatter_width;
  cpu.parallel(num_chunks(at.hidden_size, columns), [&](std::int64_t chunk, int thread) {
    const std::int64_t begin = chunk * columns;
    const std::int64_t end = std::min(begin + columns, at.hidden_size);
    std::byte* const workspace = cpu.workspace(thread);
    detail::scatter_columns(e.d_tokens, e.d_out, at, begin, end, workspace,
                            [&](std::int64_t r) { return detail::token_row(at, r); });
    if (e.d_positions != nullptr) {
      detail::scatter_columns(e.d_positions, e.d_out, at, begin, end, workspace,
                              [&](std::int64_t r) { return detail::position_row(at, r); });
    }
    if (e.d_token_type != nullptr) {
      detail::scatter_columns(e.d_token_type, e.d_out, at, begin, end, workspace,
                              [](std::int64_t) { return std::int64_t{0}; });
    }
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
