// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packing for the matrix multiplication: a strip of an operand, copied so that the kernel reads
// it in one forward stream. Strips are (depth, width) with the width consecutive; what the operand
// lacks to fill the width is zero or a repeated line, and never reaches C. Operands of 16 bits
// become floats here, so that the kernel knows only the types it computes in.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/ops/cpu/shuffle.hpp>
#include <fount/ops/cpu/stored.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// A strip of an operand: `lines` rows of A, or columns of B, over `depth` steps along k.
template <Element S>
struct StripSource {
  const S* data = nullptr;
  std::int64_t line_stride = 0, depth_stride = 0;
  int lines = 0;
  std::int64_t depth = 0;
};

/// Exchanges the blocks of Size x Size off the diagonal between two vectors of a square.
template <int Size, class Vector, int... Lane>
inline void exchange(Vector& low, Vector& high, std::integer_sequence<int, Lane...>) {
  constexpr int lanes = static_cast<int>(sizeof...(Lane));
  const Vector a = low;
  const Vector b = high;
  shuffle<((Lane & Size) == 0 ? Lane : Lane - Size + lanes)...>(low, a, b);
  shuffle<((Lane & Size) == 0 ? Lane + Size : Lane + lanes)...>(high, a, b);
}

/// Transposes a square of vectors: blocks of 1, then 2, 4, ... change places (Eklundh 1972).
template <int Size = 1, int Lanes, class Vector>
inline void transpose(Vector (&square)[Lanes]) {
  if constexpr (Size < Lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < Lanes; ++i) {
      if ((i & Size) == 0) {
        exchange<Size>(square[i], square[i + Size], std::make_integer_sequence<int, Lanes>{});
      }
    }
    transpose<Size * 2>(square);
  }
}

/// For lines that are consecutive along k. Stores whole vectors in ascending order, so that what
/// one step writes beyond `Width` the next puts right: up to one vector beyond the strip is lost.
template <class Tile, int Width, Element S>
void pack_transposed(typename Tile::Element* strip, const StripSource<S>& from) {
  constexpr int lanes = Tile::lanes;
  constexpr int squares = (Width + lanes - 1) / lanes;
  const S* lines[squares * lanes];
  for (int i = 0; i < squares * lanes; ++i) {
    lines[i] = from.data + std::min(i, from.lines - 1) * from.line_stride;
  }
  std::int64_t k = 0;
  for (; k + lanes <= from.depth; k += lanes) {
    typename Tile::Vector square[squares][lanes];
#pragma GCC unroll 4
    for (int s = 0; s < squares; ++s) {
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        load_vector(square[s][i], lines[s * lanes + i] + k);
      }
      transpose(square[s]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) {
#pragma GCC unroll 4
      for (int s = 0; s < squares; ++s) {
        std::memcpy(strip + (k + i) * Width + s * lanes, &square[s][i], sizeof square[s][i]);
      }
    }
  }
  for (; k < from.depth; ++k) {
    for (int i = 0; i < Width; ++i) strip[k * Width + i] = value_of(lines[i][k]);
  }
}

/// Packs one strip; `Width` is that of the kernel which reads it.
template <class Tile, int Width, Element S>
void pack_strip(typename Tile::Element* strip, const StripSource<S>& from) {
  using T = typename Tile::Element;
  if (from.depth_stride == 1) return pack_transposed<Tile, Width>(strip, from);
  for (std::int64_t k = 0; k < from.depth; ++k) {
    const S* source = from.data + k * from.depth_stride;
    T* step = strip + k * Width;
    for (int i = 0; i < from.lines; ++i) step[i] = value_of(source[i * from.line_stride]);
    for (int i = from.lines; i < Width; ++i) step[i] = T(0);
  }
}

/// Packs `count` whole strips of neighbouring lines that are consecutive in memory, all strips
/// one step of k at a time: reads then run along the lines, which is how memory likes it.
template <class Tile, int Width, Element S>
void pack_rows(typename Tile::Element* strips, const StripSource<S>& from, std::int64_t count) {
  using T = typename Tile::Element;
  const std::int64_t strip_stride = from.depth * Width;
  for (std::int64_t k = 0; k < from.depth; ++k) {
    const S* source = from.data + k * from.depth_stride;
    T* step = strips + k * Width;
    for (std::int64_t s = 0; s < count; ++s, source += Width, step += strip_stride) {
      copy_values(step, source, Width);
    }
  }
}

/// Packs the neighbouring strips that cover `lines` lines. All are Width wide but the last, which
/// is HalfWidth wide where that is enough; `from.lines` is not used.
template <class Tile, int Width, int HalfWidth, Element S>
void pack_strips(typename Tile::Element* strips, StripSource<S> from, std::int64_t lines) {
  std::int64_t done = 0;
  if (from.line_stride == 1 && from.depth_stride != 1) {
    done = lines / Width;
    pack_rows<Tile, Width>(strips, from, done);
    from.data += done * Width;
  }
  for (; done * Width < lines; ++done, from.data += Width * from.line_stride) {
    auto* strip = strips + done * from.depth * Width;
    from.lines = static_cast<int>(std::min<std::int64_t>(Width, lines - done * Width));
    if (from.lines > HalfWidth) {
      pack_strip<Tile, Width>(strip, from);
    } else {
      pack_strip<Tile, HalfWidth>(strip, from);
    }
  }
}

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
