// SPDX-License-Identifier: Apache-2.0
#pragma once
// The innermost loop of the matrix multiplication: one tile of C stays in registers while a strip
// of A and a packed strip of B stream by. Blocking and packing are not here.
// After Van Zee & van de Geijn 2015 (BLIS), https://doi.org/10.1145/2764454

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fount/backend/stored.hpp>
#include <fount/backend/chunks.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/unroll.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// The register tile of one instruction set: Rows rows of two vectors each.
template <Real T, int VectorBytes, int Rows>
struct MatmulTile {
  using Sum = T;
  typedef T Vector __attribute__((vector_size(VectorBytes)));
  using Word = T;                          // what operands are packed in
  static constexpr int steps_per_word = 1;  // along k

  static constexpr int lanes = VectorBytes / static_cast<int>(sizeof(T));
  static constexpr int rows = Rows;
  static constexpr int columns = 2 * lanes;
  static constexpr int short_rows = (Rows + 2) / 2;  // of the kernels for what remains at the
  static constexpr int half_columns = lanes;         // lower and right edge of C
  static constexpr int words_per_block = 1;  // along k, that the kernel takes at once
  /// Words along k that are summed in registers before C is touched again: 1024 floats, so that the
  /// gradient of a weight over four sequences of 256 is written once. Strips of B then live in the L2
  /// cache, and that is near enough: with 768 floats 6.1 cycles a step of the 6 x 16 tile, of 6.0 at
  /// peak (AMD EPYC, Zen 3, g++ 12).
  static constexpr std::int64_t most_words = 4096 / static_cast<int>(sizeof(Word));
  /// Tiles of C that one task stacks up, so that a strip of B is used often while it is near.
  static constexpr std::int64_t tiles_per_task = 9;
  /// Words along k that are written out one behind the other, with one prefetch of what comes next. Beside the 12 multiply-adds of a step of 6 x 2 vectors there were 15 other instructions; eight
  /// steps at once have 9 a step. Products were 1.00 to 1.34 times as fast (AMD EPYC, Zen 3; most where
  /// another program shares the core). Taller tiles hide those behind more multiply-adds and stay as they
  /// were measured; multiplications that are not fused need the registers (SSE2: 0.7 times as fast).
  static constexpr int steps_at_once = VectorBytes == 32 ? 8 : 1;
  /// Rows of A that lie consecutive along k are read where they are while their pointers fit
  /// the general registers; taller tiles pack them.
  static constexpr bool reads_a_in_place = Rows <= 6;

  /// What must hold before any thread multiplies tiles, and what while one does; these need nothing.
  static void prepare() {}
  struct Session {};

  [[gnu::always_inline]] static void multiply_add(Vector& sums, const Vector& b, Word a) {
    sums += b * a;
  }

  // What packing makes words from. `present` steps along k are there, at most steps_per_word.

  /// Words of one line that is consecutive along k.
  template <Element S>
  [[gnu::always_inline]] static void load_line(Vector& words, const S* from) {
    load_vector(words, from);
  }
  template <Element S>
  [[gnu::always_inline]] static Word load_word(const S* from, std::int64_t, int) {
    return value_of(*from);
  }
  /// One word from each of `Width` lines that lie side by side.
  template <int Width, Element S>
  [[gnu::always_inline]] static void copy_words(Word* to, const S* from, std::int64_t, int) {
    copy_values(to, from, Width);
  }
};

// 14 x 2 sums + 2 of B + 1 of A fill the 32 registers of AVX-512, 6 x 2 + 3 the 16 of AVX2, and
// 4 x 2 + 3 leave SSE2 room for the products that it cannot fuse.
#if defined(__AVX512F__)
template <Real T> using NativeTile = MatmulTile<T, 64, 14>;
#elif defined(__AVX2__) && defined(__FMA__)
template <Real T> using NativeTile = MatmulTile<T, 32, 6>;
#else
template <Real T> using NativeTile = MatmulTile<T, 16, 4>;
#endif

/// Tiles whose kernel takes many words along k at once, each row of A with its words side by side.
template <class Tile>
concept TakesBlocks = Tile::words_per_block > 1;

/// Memory that will be packed soon, fetched into the second-level cache while the arithmetic runs:
/// rows of `row_steps` times `bytes_per_step` bytes, one step for each word along k. An address may
/// lie beyond the operand: fetching ahead never faults.
struct Ahead {
  static constexpr std::int64_t bytes_per_step = 8;
  std::uintptr_t address = 0;
  std::int64_t row_steps = 0;  // 0: nothing to fetch
  std::int64_t row_stride = 0;  // bytes
};

/// One tile of C and what it is made of. Sums beyond (rows, columns) are computed and dropped.
template <class Word, Element TC, Element TB>
struct TileTask {
  std::int64_t depth = 0;                     // words along k
  const Word* a = nullptr;                    // packed (depth, Rows) or in blocks (depth / words of a
                                              // block, Rows, words of a block), or in place (rows, depth)
  std::int64_t a_row_stride = 0;              // in place only
  const Word* b = nullptr;                    // packed (depth, Vectors * lanes)
  TC* c = nullptr;                            // (rows, columns), any alignment
  std::int64_t c_row_stride = 0;
  const TB* bias = nullptr;                   // (columns) or absent
  bool accumulate = false;
  int rows = 0, columns = 0;
  Ahead ahead = {};
  /// This tile's share of the strip of B that comes next, fetched into the second-level cache, too:
  /// `next_b_step` bytes for each word along k.
  std::uintptr_t next_b = 0;
  std::int64_t next_b_step = 0;
};

/// Writes the part of a tile of sums that lies inside C.
template <class Word, Element TC, Element TB>
void store_edge(const TileTask<Word, TC, TB>& task, const compute_t<TC>* sums,
                int sums_row_stride) {
  for (int i = 0; i < task.rows; ++i) {
    TC* c = task.c + i * task.c_row_stride;
    for (int j = 0; j < task.columns; ++j) {
      auto value = sums[i * sums_row_stride + j];
      if (task.bias != nullptr) value += value_of(task.bias[j]);
      c[j] = static_cast<TC>(task.accumulate ? value_of(c[j]) + value : value);
    }
  }
}

/// Asks for the part of a row of C that a tile of `width` columns will write.
template <class Word, Element TC, Element TB>
[[gnu::always_inline]] inline void ask_for_row(const TileTask<Word, TC, TB>& task, int row, int width) {
  const TC* const c = task.c + std::min(row, task.rows - 1) * task.c_row_stride;
  __builtin_prefetch(c, 1);
  __builtin_prefetch(c + std::min(width, task.columns) - 1, 1);
}

/// Adds to a vector of sums what the task adds to them, and writes it to C.
template <class Vector, class Word, Element TC, Element TB>
[[gnu::always_inline]] inline void finish_vector(const TileTask<Word, TC, TB>& task, int row, int column,
                                                 Vector& sums) {
  TC* const c = task.c + row * task.c_row_stride + column;
  Vector other;
  if (task.bias != nullptr) {
    load_vector(other, task.bias + column);
    sums += other;
  }
  if (task.accumulate) {
    load_vector(other, c);
    sums = other + sums;
  }
  store_vector(c, sums);
}

/// C = [C +] A * B [+ bias] for one tile of Rows rows and Vectors vectors.
template <class Tile, int Rows, int Vectors, bool InPlace, Element TC, Element TB>
  requires(!TakesBlocks<Tile>)
void multiply_tile(const TileTask<typename Tile::Word, TC, TB>& task) {
  using T = typename Tile::Sum;
  using Word = typename Tile::Word;
  using Vector = typename Tile::Vector;
  constexpr int width = Vectors * Tile::lanes;
  constexpr int line_bytes = 64;
  constexpr int words_ahead = 8;  // of B, on their way from the second-level cache to the first

  const Vector zero{};  // not in the lambda: nvcc 13.0 fails on it there
  Vector sums[Rows][Vectors];
  const Word* a_rows[Rows];
  unroll<Rows>([&](auto i) __attribute__((always_inline)) {
    a_rows[i] = task.a + std::min<int>(i, task.rows - 1) * task.a_row_stride;
    ask_for_row(task, i, width);
    unroll<Vectors>([&](auto j) __attribute__((always_inline)) { sums[i][j] = zero; });
  });

  const Word* a = task.a;
  const Word* b = task.b;
  std::int64_t k = 0;
  const auto multiply = [&]<int Steps>() __attribute__((always_inline)) {
    unroll<Steps>([&](auto step) __attribute__((always_inline)) {
      // One step behind the other: loads that move up across steps leave the sums too few registers.
      if constexpr (Steps > 1) __asm__ volatile("" : : : "memory");
      Vector b_vectors[Vectors];
      unroll<Vectors>([&](auto j) __attribute__((always_inline)) {
        constexpr int offset = step * width + j * Tile::lanes;
        const Word* const from = b + offset;
        if constexpr (offset * sizeof(Word) % line_bytes == 0) {
          __builtin_prefetch(from + words_ahead * width);
        }
        std::memcpy(&b_vectors[j], from, sizeof b_vectors[j]);
      });
      unroll<Rows>([&](auto i) __attribute__((always_inline)) {
        const Word factor = InPlace ? a_rows[i][k + step] : a[step * Rows + i];
        unroll<Vectors>([&](auto j) __attribute__((always_inline)) {
          Tile::multiply_add(sums[i][j], b_vectors[j], factor);
        });
      });
    });
    k += Steps;
    a += Steps * Rows;
    b += Steps * width;
  };

  constexpr int steps = Tile::steps_at_once;
  std::uintptr_t ahead = task.ahead.address;
  std::uintptr_t next_b = task.next_b;
  [[maybe_unused]] std::uintptr_t next_b_end = next_b;
  const auto next_b_bytes = static_cast<std::uintptr_t>(steps * task.next_b_step);
  const std::int64_t row_steps =
      task.ahead.row_steps > 0 ? num_chunks(task.ahead.row_steps, steps) * steps : task.depth;
  while (k + steps <= task.depth) {
    const std::int64_t end = std::min(task.depth, k + row_steps) - (steps - 1);
    std::uintptr_t next = ahead;
    ahead += static_cast<std::uintptr_t>(task.ahead.row_stride);
    while (k < end) {
      __builtin_prefetch(reinterpret_cast<const void*>(next), 0, 2);
      next += steps * Ahead::bytes_per_step;
      if constexpr (steps > 1) {
        next_b_end += next_b_bytes;
        for (; next_b < next_b_end; next_b += line_bytes) {  // every line once
          __builtin_prefetch(reinterpret_cast<const void*>(next_b), 0, 2);
        }
      } else if constexpr (!InPlace) {  // pointers to the rows of A leave it no register
        __builtin_prefetch(reinterpret_cast<const void*>(next_b), 0, 2);
        next_b += next_b_bytes;
      }
      multiply.template operator()<steps>();
    }
  }
  if constexpr (steps > 1) {
    while (k < task.depth) multiply.template operator()<1>();
  }

  if (task.rows < Rows || task.columns < width) {
    T inside[Rows * width];
    unroll<Rows>([&](auto i) __attribute__((always_inline)) {
      unroll<Vectors>([&](auto j) __attribute__((always_inline)) {
        std::memcpy(inside + i * width + j * Tile::lanes, &sums[i][j], sizeof(Vector));
      });
    });
    store_edge(task, inside, width);
    return;
  }
  unroll<Rows>([&](auto i) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto j) __attribute__((always_inline)) {
      finish_vector(task, i, j * Tile::lanes, sums[i][j]);
    });
  });
}

/// Picks the kernel whose rows and vectors cover the task most tightly.
template <class Tile, bool InPlace, Element TC, Element TB>
void multiply_covering_tile(const TileTask<typename Tile::Word, TC, TB>& task) {
  constexpr int low = Tile::short_rows;
  if (task.columns > Tile::half_columns) {
    if (task.rows > low) return multiply_tile<Tile, Tile::rows, 2, InPlace, TC, TB>(task);
    return multiply_tile<Tile, low, 2, InPlace, TC, TB>(task);
  }
  if (task.rows > low) return multiply_tile<Tile, Tile::rows, 1, InPlace, TC, TB>(task);
  return multiply_tile<Tile, low, 1, InPlace, TC, TB>(task);
}

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
