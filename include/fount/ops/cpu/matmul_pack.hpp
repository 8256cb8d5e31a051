// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packing for the matrix multiplication: a strip of an operand, copied so that the kernel reads
// it in one forward stream. Strips are (depth, width) with the width consecutive; what the operand
// lacks to fill the width is zero or a repeated line, and never reaches C. What an operand is stored
// in becomes the tile's words here, so that the kernel knows nothing else.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fount/backend/shuffle.hpp>
#include <fount/backend/stored.hpp>
#include <fount/backend/chunks.hpp>
#include <fount/backend/prefetch.hpp>
#include <fount/backend/streaming.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

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

/// How many of the steps along k that word number `word` stands for exist.
template <class Tile>
constexpr int steps_present(std::int64_t depth, std::int64_t word) {
  constexpr std::int64_t steps = Tile::steps_per_word;
  return static_cast<int>(std::min(steps, depth - word * steps));
}

/// How packed words are written: into the caches, for this thread, or past them, for all.
enum class Store : std::uint8_t { cached, streamed };

/// Writes a vector of words; past the caches only where every vector of the strip is aligned.
template <class Tile, int Width, Store How>
[[gnu::always_inline]] inline void store_words(typename Tile::Word* to,
                                               const typename Tile::Vector& words) {
  if constexpr (How == Store::streamed && Width % Tile::lanes == 0) {
    stream_vector(to, words);
  } else {
    std::memcpy(to, &words, sizeof words);
  }
}

/// For lines that are consecutive along k. Stores whole vectors in ascending order, so that what
/// one step writes beyond `Width` the next puts right: up to one vector beyond the strip is lost.
template <class Tile, int Width, Store How, Element S>
void pack_transposed(typename Tile::Word* strip, const StripSource<S>& from) {
  constexpr int lanes = Tile::lanes;
  constexpr int steps = Tile::steps_per_word;
  constexpr int squares = (Width + lanes - 1) / lanes;
  const S* lines[squares * lanes];
  for (int i = 0; i < squares * lanes; ++i) {
    lines[i] = from.data + std::min(i, from.lines - 1) * from.line_stride;
  }
  std::int64_t k = 0;  // in words
  for (; (k + lanes) * steps <= from.depth; k += lanes) {
    typename Tile::Vector square[squares][lanes];
#pragma GCC unroll 4
    for (int s = 0; s < squares; ++s) {
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        Tile::load_line(square[s][i], lines[s * lanes + i] + k * steps);
      }
      transpose(square[s]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) {
#pragma GCC unroll 4
      for (int s = 0; s < squares; ++s) {
        store_words<Tile, Width, How>(strip + (k + i) * Width + s * lanes, square[s][i]);
      }
    }
  }
  for (; k * steps < from.depth; ++k) {
    const int present = steps_present<Tile>(from.depth, k);
    for (int i = 0; i < Width; ++i) {
      strip[k * Width + i] = Tile::load_word(lines[i] + k * steps, 1, present);
    }
  }
}

/// Packs one strip; `Width` is that of the kernel which reads it.
template <class Tile, int Width, Store How, Element S>
void pack_strip(typename Tile::Word* strip, const StripSource<S>& from) {
  using Word = typename Tile::Word;
  constexpr std::int64_t steps = Tile::steps_per_word;
  if (from.depth_stride == 1) return pack_transposed<Tile, Width, How>(strip, from);
  for (std::int64_t k = 0; k * steps < from.depth; ++k) {
    const S* source = from.data + k * steps * from.depth_stride;
    const int present = steps_present<Tile>(from.depth, k);
    Word* words = strip + k * Width;
    for (int i = 0; i < from.lines; ++i) {
      words[i] = Tile::load_word(source + i * from.line_stride, from.depth_stride, present);
    }
    for (int i = from.lines; i < Width; ++i) words[i] = Word(0);
  }
}

/// Packs `count` whole strips of neighbouring lines that are consecutive in memory, all strips
/// one word of k at a time: reads then run along the lines, which is how memory likes it. The rows
/// are short, so what comes a few words later is asked for, too, which may lie beyond the operand:
/// the processor's own prefetching begins anew with every row.
template <class Tile, int Width, Store How, Element S>
void pack_rows(typename Tile::Word* strips, std::int64_t strip_stride, const StripSource<S>& from,
               std::int64_t count) {
  constexpr std::int64_t steps = Tile::steps_per_word;
  constexpr std::int64_t words_ahead = 4;
  // Lines of which a half is streamed, then a half of many others, go to memory twice.
  constexpr bool whole_lines = Width * sizeof(typename Tile::Word) % 64 == 0;
  const std::int64_t depth = num_chunks(from.depth, steps);
  const std::int64_t row_bytes = from.depth_stride * static_cast<std::int64_t>(sizeof(S));
  for (std::int64_t k = 0; k < depth; ++k) {
    const S* source = from.data + k * steps * from.depth_stride;
    const int present = steps_present<Tile>(from.depth, k);
    auto* words = strips + k * Width;
    for (std::int64_t s = 0; s < count; ++s, source += Width, words += strip_stride) {
      auto ahead = reinterpret_cast<std::uintptr_t>(source) +
                   static_cast<std::uintptr_t>(words_ahead * steps * row_bytes);
#pragma GCC unroll 2
      for (int step = 0; step < steps; ++step) {
        prefetch<Width * sizeof(S)>(ahead);
        ahead += static_cast<std::uintptr_t>(row_bytes);
      }
      if constexpr (How == Store::streamed && whole_lines) {
        typename Tile::Word copied[Width];
        Tile::template copy_words<Width>(copied, source, from.depth_stride, present);
        for (int i = 0; i < Width; i += Tile::lanes) {
          typename Tile::Vector vector;
          std::memcpy(&vector, copied + i, sizeof vector);
          stream_vector(words + i, vector);
        }
      } else {
        Tile::template copy_words<Width>(words, source, from.depth_stride, present);
      }
    }
  }
}

/// Packs the neighbouring strips of `words` words that cover `lines` lines. All are Width wide but
/// the last, which is HalfWidth wide where that is enough. What is packed may be a part of the
/// strips, from `first_word` to `last_word`; `from` is that part, and `from.lines` is not used. Words
/// beyond the depth of `from` become zero.
/// @param strips aligned to a vector where they are streamed
template <class Tile, int Width, int HalfWidth, Store How, Element S>
void pack_strips(typename Tile::Word* strips, std::int64_t words, StripSource<S> from,
                 std::int64_t lines, std::int64_t first_word, std::int64_t last_word) {
  const std::int64_t end = first_word + num_chunks(from.depth, Tile::steps_per_word);
  for (std::int64_t i = 0; end < last_word && i * Width < lines; ++i) {
    const std::int64_t width = lines - i * Width > HalfWidth ? Width : HalfWidth;
    auto* const strip = strips + i * words * Width;
    std::fill(strip + end * width, strip + last_word * width, typename Tile::Word(0));
  }
  std::int64_t done = 0;
  if (from.line_stride == 1 && from.depth_stride != 1) {
    done = lines / Width;
    pack_rows<Tile, Width, How>(strips + first_word * Width, words * Width, from, done);
    from.data += done * Width;
  }
  for (; done * Width < lines; ++done, from.data += Width * from.line_stride) {
    auto* strip = strips + done * words * Width;
    from.lines = static_cast<int>(std::min<std::int64_t>(Width, lines - done * Width));
    if (from.lines > HalfWidth) {
      pack_strip<Tile, Width, How>(strip + first_word * Width, from);
    } else {
      pack_strip<Tile, HalfWidth, How>(strip + first_word * HalfWidth, from);
    }
  }
}

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
