// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of bf16 in tile registers: 16 x 32 numbers times 32 x 16 in one instruction, sixteen times
// the arithmetic of AVX-512 in float (AMX; Intel Xeon from Sapphire Rapids on). Where there are such
// registers pairs in vectors are no match: there vdpbf16ps does half of what floats do.
// Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter "Intel AMX".

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fount/backend/tile_registers.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/ops/cpu/matmul_bf16.hpp>
#include <fount/ops/cpu/matmul_pack.hpp>
#include <fount/ops/cpu/matmul_tile.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// Two by two square registers of sums. B is packed as for pairs in vectors, A as blocks of rows.
/// @tparam Registers numbers 0 to 3 hold sums, 4 and 5 two blocks of A, 6 and 7 two of B
template <class Registers>
struct BlockTile : PairPacking<64, 32> {
  using TileRegisters = Registers;
  using Session = typename Registers::Session;
  static void prepare() { Registers::prepare(); }
  static constexpr int short_rows = 16;  // one register
  static constexpr int words_per_block = 16;
  static constexpr std::int64_t most_words = 512;  // 1024 numbers: 512 and 1536 were no faster
  static constexpr std::int64_t tiles_per_task = 8;  // 512 KiB, about what vectors have, too
};

/// Packs rows of A for tiles of `Height` rows, one behind the other: (blocks, Height, 16) words each.
/// What rows and steps A lacks is zero.
/// @param words along k, whole blocks
template <class Tile, int Height, Element S>
void pack_blocks(typename Tile::Word* tiles, std::int64_t words, StripSource<S> from,
                 std::int64_t rows) {
  using Vector = typename Tile::Vector;
  constexpr int square = Tile::words_per_block;
  constexpr std::int64_t steps = square * Tile::steps_per_word;  // of one block
  for (std::int64_t block = 0; block * square < words; ++block) {
    const S* const corner = from.data + block * steps * from.depth_stride;
    const auto present = static_cast<int>(std::min(steps, from.depth - block * steps));
    for (std::int64_t row = 0; row < num_chunks(rows, Height) * Height; row += square) {
      auto* const to = tiles + row / Height * Height * words +
                       (block * Height + row % Height) * square;
      const S* const lines = corner + row * from.line_stride;
      const auto lines_present = static_cast<int>(std::clamp<std::int64_t>(rows - row, 0, square));
      if (present == steps && from.depth_stride == 1) {
#pragma GCC unroll 16
        for (int i = 0; i < square; ++i) {
          Vector line = {};
          if (i < lines_present) Tile::load_line(line, lines + i * from.line_stride);
          std::memcpy(to + i * square, &line, sizeof line);
        }
      } else if (present == steps && from.line_stride == 1 && lines_present == square) {
        Vector turned[square];
#pragma GCC unroll 16
        for (int k = 0; k < square; ++k) {
          typename Tile::Word side_by_side[square];
          Tile::template copy_words<square>(side_by_side,
                                            lines + k * Tile::steps_per_word * from.depth_stride,
                                            from.depth_stride, Tile::steps_per_word);
          std::memcpy(&turned[k], side_by_side, sizeof turned[k]);
        }
        transpose(turned);
#pragma GCC unroll 16
        for (int i = 0; i < square; ++i) std::memcpy(to + i * square, &turned[i], sizeof turned[i]);
      } else {
        for (int i = 0; i < square; ++i) {
          for (int k = 0; k < square; ++k) {
            const int left = present - k * Tile::steps_per_word;
            to[i * square + k] =
                i < lines_present && left > 0
                    ? Tile::load_word(lines + i * from.line_stride +
                                          k * Tile::steps_per_word * from.depth_stride,
                                      from.depth_stride, left)
                    : typename Tile::Word(0);
          }
        }
      }
    }
  }
}

/// C = [C +] A * B [+ bias] for one tile of Rows rows and Width vectors, in (Rows / 16) x Width
/// registers. A is never in place.
template <class Tile, int Rows, int Width, bool InPlace, Element TC, Element TB>
  requires TakesBlocks<Tile>
void multiply_tile(const TileTask<typename Tile::Word, TC, TB>& task) {
  using Registers = typename Tile::TileRegisters;
  using Word = typename Tile::Word;
  using Vector = typename Tile::Vector;
  constexpr int square = Tile::words_per_block;
  constexpr int Height = Rows / square;
  constexpr int width = Width * square;
  constexpr int row_bytes = square * static_cast<int>(sizeof(Word));

  for (int i = 0; i < std::min(task.rows, Rows); ++i) ask_for_row(task, i, width);
  Registers::template clear<0>();
  if constexpr (Width > 1) Registers::template clear<1>();
  if constexpr (Height > 1) Registers::template clear<2>();
  if constexpr (Height > 1 && Width > 1) Registers::template clear<3>();

  const Word* a = task.a;
  const Word* b = task.b;
  std::uintptr_t ahead = task.ahead.address;
  std::uintptr_t next_b = task.next_b;
  const std::int64_t row_blocks =
      task.ahead.row_steps > 0 ? num_chunks(task.ahead.row_steps, square) : task.depth;
  std::int64_t in_row = 0;
  std::uintptr_t next = ahead;
  for (std::int64_t k = 0; k < task.depth; k += square, a += Rows * square, b += width * square) {
    for (std::uintptr_t i = 0; i < square * Ahead::bytes_per_step; i += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(next + i), 0, 2);
    }
    next += square * Ahead::bytes_per_step;
    if (++in_row == row_blocks) {
      in_row = 0;
      ahead += static_cast<std::uintptr_t>(task.ahead.row_stride);
      next = ahead;
    }
    for (std::int64_t i = 0; i < square * task.next_b_step; i += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(next_b + static_cast<std::uintptr_t>(i)), 0, 2);
    }
    next_b += static_cast<std::uintptr_t>(square * task.next_b_step);
    Registers::template load<4>(a, row_bytes);
    Registers::template load<6>(b, Width * row_bytes);
    Registers::template multiply_add<0>();
    if constexpr (Width > 1) {
      Registers::template load<7>(b + square, Width * row_bytes);
      Registers::template multiply_add<1>();
    }
    if constexpr (Height > 1) {
      Registers::template load<5>(a + square * square, row_bytes);
      Registers::template multiply_add<2>();
      if constexpr (Width > 1) Registers::template multiply_add<3>();
    }
  }

  const auto store = [](float* to, std::int64_t stride) {
    const auto bytes = stride * static_cast<std::int64_t>(sizeof(float));
    Registers::template store<0>(to, bytes);
    if constexpr (Width > 1) Registers::template store<1>(to + square, bytes);
    if constexpr (Height > 1) Registers::template store<2>(to + square * stride, bytes);
    if constexpr (Height > 1 && Width > 1) {
      Registers::template store<3>(to + square * stride + square, bytes);
    }
  };
  const bool whole = task.rows >= Rows && task.columns >= width;
  if constexpr (std::is_same_v<TC, float>) {
    if (whole && task.bias == nullptr && !task.accumulate) {
      store(task.c, task.c_row_stride);
      return;
    }
  }
  alignas(64) float sums[Rows * width];
  store(sums, width);
  if (!whole) return store_edge(task, sums, width);
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < width; j += Tile::lanes) {
      Vector value;
      std::memcpy(&value, sums + i * width + j, sizeof value);
      finish_vector(task, i, j, value);
    }
  }
}

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
