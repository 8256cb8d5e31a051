// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding of query and key heads in place, in the half-split layout of Hugging
// Face's Llama: element i is paired with i + head_dim/2. Scaled variants of the frequencies are not
// here. Su et al. 2021, "RoFormer", https://arxiv.org/abs/2104.09864.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {

/// Heads to rotate: element (b, t, h, d) stands at
/// x[(b * seq_len + t) * stride + h * head_dim + d] and token t is at position position_offset + t.
struct RotaryShape {
  int batch_size = 0;
  int seq_len = 0;
  int num_heads = 0;
  int head_dim = 0;         // even
  std::int64_t stride = 0;  // elements from one token to the next
  int position_offset = 0;
  int max_positions = 0;  // rows of the table
};

/// Elements of the table of rotary_table.
constexpr std::int64_t rotary_table_size(int max_positions, int head_dim) {
  return std::int64_t{max_positions} * head_dim;
}

inline namespace FOUNT_CPU_NAMESPACE {
namespace rotary_detail {

inline void require_even(int head_dim) {
  if (head_dim >= 0 && head_dim % 2 == 0) return;
  throw ShapeError("rotary: head_dim is " + std::to_string(head_dim) +
                   ", expected an even number: element i is rotated with i + head_dim/2");
}

inline void check(const RotaryShape& shape) {
  require_even(shape.head_dim);
  const std::int64_t row = std::int64_t{shape.num_heads} * shape.head_dim;
  if (shape.batch_size < 0 || shape.seq_len < 0 || shape.num_heads < 0 || shape.stride < row) {
    throw ShapeError("rotary: batch_size " + std::to_string(shape.batch_size) + ", seq_len " +
                     std::to_string(shape.seq_len) + ", num_heads " +
                     std::to_string(shape.num_heads) + ", stride " + std::to_string(shape.stride) +
                     "; expected none below 0 and stride at least num_heads * head_dim");
  }
  const std::int64_t end = std::int64_t{shape.position_offset} + shape.seq_len;
  if (shape.position_offset < 0 || end > shape.max_positions) {
    throw ShapeError("rotary: positions " + std::to_string(shape.position_offset) + " to " +
                     std::to_string(end) + ", expected 0 to max_positions, which is " +
                     std::to_string(shape.max_positions) + "; fill a longer table");
  }
}

/// Turns every pair by its angle, or back.
template <bool Inverse, Element A>
void rotate(const Cpu& cpu, A* x, const compute_t<A>* table, const RotaryShape& shape) {
  using T = compute_t<A>;
  check(shape);
  const int D = shape.head_dim, half = D / 2;
  constexpr int chunk = 16;  // tokens a piece of work; whatever the number of threads
  const std::int64_t tokens = std::int64_t{shape.batch_size} * shape.seq_len;
  cpu.parallel((tokens + chunk - 1) / chunk, [&](std::int64_t piece, int) {
    const std::int64_t end = std::min(tokens, (piece + 1) * chunk);
    for (std::int64_t token = piece * chunk; token < end; ++token) {
      const std::int64_t position = shape.position_offset + token % shape.seq_len;
      const T* const cosine = table + position * D;
      const T* const sine = cosine + half;
      for (int h = 0; h < shape.num_heads; ++h) {
        A* const first = x + token * shape.stride + std::int64_t{h} * D;
        A* const second = first + half;
        for (int i = 0; i < half; ++i) {
          const T a = value_of(first[i]), b = value_of(second[i]);
          const T s = Inverse ? -sine[i] : sine[i];
          first[i] = static_cast<A>(a * cosine[i] - b * s);
          second[i] = static_cast<A>(b * cosine[i] + a * s);
        }
      }
    }
  });
}

}  // namespace rotary_detail

/// Fills the cosines and sines of every position, computed in double and rounded once.
/// @param[out] table (max_positions, 2, head_dim/2): cosines, then sines, of
///                   position * theta^(-2i / head_dim); rotary_table_size elements
/// @param theta base of the frequencies, 10000 in the paper
/// @throws ShapeError for an odd head_dim or a negative extent; ConfigError for theta not above 0
template <Real T>
void rotary_table(T* table, int max_positions, int head_dim, float theta) {
  rotary_detail::require_even(head_dim);
  if (max_positions < 0) {
    throw ShapeError("rotary: max_positions is " + std::to_string(max_positions) +
                     ", expected 0 or more");
  }
  if (!(theta > 0.0F) || !std::isfinite(theta)) {
    throw ConfigError("rotary: theta is " + std::to_string(theta) +
                      ", expected a number above 0 (10000 in the paper)");
  }
  const int half = head_dim / 2;
  for (int i = 0; i < half; ++i) {
    const double frequency = std::pow(static_cast<double>(theta), -2.0 * i / head_dim);
    for (std::int64_t position = 0; position < max_positions; ++position) {
      const double angle = static_cast<double>(position) * frequency;
      table[position * head_dim + i] = static_cast<T>(std::cos(angle));
      table[position * head_dim + half + i] = static_cast<T>(std::sin(angle));
    }
  }
}

/// Rotates the first num_heads heads of each token in place.
/// @param[in,out] x first head of the first token, see RotaryShape
/// @param[in] table (max_positions, 2, head_dim/2) from rotary_table
/// @throws ShapeError for an odd head_dim, a stride below a row, or positions beyond the table
template <Element A>
void rotary_forward(const Cpu& cpu, A* x, const compute_t<A>* table, const RotaryShape& shape) {
  rotary_detail::rotate<false>(cpu, x, table, shape);
}

/// Turns the gradient of rotated heads into that of the heads, in place: the inverse rotation.
/// @throws ShapeError as rotary_forward
template <Element A>
void rotary_backward(const Cpu& cpu, A* d_x, const compute_t<A>* table, const RotaryShape& shape) {
  rotary_detail::rotate<true>(cpu, d_x, table, shape);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
