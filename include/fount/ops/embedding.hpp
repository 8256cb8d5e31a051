// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of embedding tables, looked up by token and position and added; and the way back, which adds
// gradients to the rows used. Ids are not checked here: the loader and the tokenizer did.

#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {

/// Which table rows each row of the output takes. Row r is token ids[r] at table position
/// position_offset + first_position + r mod seq_len.
struct EmbeddingRows {
  const std::int32_t* ids = nullptr;  // (rows), each in [0, V)
  std::int64_t rows = 0;              // B * seq_len
  std::int64_t seq_len = 1;
  std::int64_t hidden_size = 0;
  std::int64_t position_offset = 0;  // unused rows in front of the position table
  std::int64_t first_position = 0;   // position of the first token: not 0 behind a KV cache
};

template <Element A, Element W = A>
struct EmbeddingForward {
  A* out = nullptr;               // (rows, C), overwritten
  const W* tokens = nullptr;      // (V, C)
  const W* positions = nullptr;   // (position rows, C), may be absent
  const W* token_type = nullptr;  // (C), added to every row; may be absent
  EmbeddingRows at;
};

template <Element G, Element A = G>
struct EmbeddingBackward {
  G* d_tokens = nullptr;      // (V, C), added to
  G* d_positions = nullptr;   // (position rows, C), added to; may be absent
  G* d_token_type = nullptr;  // (C), added to; may be absent
  const A* d_out = nullptr;   // (rows, C)
  EmbeddingRows at;
};

inline namespace FOUNT_CPU_NAMESPACE {

/// out[r] = tokens[id of r] + positions[position of r] + token_type.
template <Element A, Element W = A>
void embedding_forward(const Cpu& cpu, const EmbeddingForward<A, W>& embedding);

/// Adds every row of d_out to the table rows it came from. An element receives its terms in the
/// order of the rows, whatever the number of threads: threads share out columns, not rows.
template <Element G, Element A = G>
void embedding_backward(const Cpu& cpu, const EmbeddingBackward<G, A>& embedding);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/embedding.hpp>
