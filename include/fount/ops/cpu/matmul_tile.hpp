// SPDX-License-Identifier: Apache-2.0
#pragma once
// The innermost loop of the matrix multiplication: one tile of C stays in registers while a strip
// of A and a packed strip of B stream by. Blocking and packing are not here.
// After Van Zee & van de Geijn 2015 (BLIS), https://doi.org/10.1145/2764454

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/ops/cpu/stored.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// The register tile of one instruction set: Rows rows of two vectors each.
template <Real T, int VectorBytes, int Rows>
struct MatmulTile {
  using Element = T;
  typedef T Vector __attribute__((vector_size(VectorBytes)));

  static constexpr int lanes = VectorBytes / static_cast<int>(sizeof(T));
  static constexpr int rows = Rows;
  static constexpr int columns = 2 * lanes;
  static constexpr int half_rows = (Rows + 1) / 2;  // of the kernels for what remains at the
  static constexpr int half_columns = lanes;        // lower and right edge of C
  /// Rows of A that lie consecutive along k are read where they are while their pointers fit
  /// the general registers; taller tiles pack them.
  static constexpr bool reads_a_in_place = Rows <= 6;
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

/// One tile of C and what it is made of. Sums beyond (rows, columns) are computed and dropped.
template <Element TC, Element TB>
struct TileTask {
  using T = compute_t<TC>;
  std::int64_t depth = 0;                     // steps along k
  const T* a = nullptr;                       // packed (depth, Rows), or in place (rows, depth)
  std::int64_t a_row_stride = 0;              // in place only
  const T* b = nullptr;                       // packed (depth, Vectors * lanes)
  TC* c = nullptr;                            // (rows, columns), any alignment
  std::int64_t c_row_stride = 0;
  const TB* bias = nullptr;                   // (columns) or absent
  bool accumulate = false;
  int rows = 0, columns = 0;
};

/// Writes the part of a tile of sums that lies inside C.
template <Element TC, Element TB>
void store_edge(const TileTask<TC, TB>& task, const compute_t<TC>* sums, int sums_row_stride) {
  for (int i = 0; i < task.rows; ++i) {
    TC* c = task.c + i * task.c_row_stride;
    for (int j = 0; j < task.columns; ++j) {
      auto value = sums[i * sums_row_stride + j];
      if (task.bias != nullptr) value += value_of(task.bias[j]);
      c[j] = static_cast<TC>(task.accumulate ? value_of(c[j]) + value : value);
    }
  }
}

/// C = [C +] A * B [+ bias] for one tile of Rows rows and Vectors vectors.
template <class Tile, int Rows, int Vectors, bool InPlace, Element TC, Element TB>
void multiply_tile(const TileTask<TC, TB>& task) {
  using T = typename Tile::Element;
  using Vector = typename Tile::Vector;
  constexpr int width = Vectors * Tile::lanes;

  // Every loop over the tile is unrolled and vectors are copied one by one, never as an array:
  // otherwise g++ keeps the sums in memory, at a sixth of the speed.
  Vector sums[Rows][Vectors];
  const T* a_rows[Rows];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    a_rows[i] = task.a + std::min(i, task.rows - 1) * task.a_row_stride;
    __builtin_prefetch(task.c + std::min(i, task.rows - 1) * task.c_row_stride, 1);
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) sums[i][j] = Vector{};
  }

  const T* a = task.a;
  const T* b = task.b;
  for (std::int64_t k = 0; k < task.depth; ++k, a += Rows, b += width) {
    Vector b_vectors[Vectors];
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) {
      std::memcpy(&b_vectors[j], b + j * Tile::lanes, sizeof b_vectors[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const T factor = InPlace ? a_rows[i][k] : a[i];
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) sums[i][j] += b_vectors[j] * factor;
    }
  }

  if (task.rows < Rows || task.columns < width) {
    T inside[Rows * width];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) {
        const Vector value = sums[i][j];
        std::memcpy(inside + i * width + j * Tile::lanes, &value, sizeof value);
      }
    }
    store_edge(task, inside, width);
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    TC* c = task.c + i * task.c_row_stride;
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) {
      Vector value = sums[i][j];
      Vector other;
      if (task.bias != nullptr) {
        load_vector(other, task.bias + j * Tile::lanes);
        value += other;
      }
      if (task.accumulate) {
        load_vector(other, c + j * Tile::lanes);
        value = other + value;
      }
      store_vector(c + j * Tile::lanes, value);
    }
  }
}

/// Picks the kernel whose rows and vectors cover the task most tightly.
template <class Tile, bool InPlace, Element TC, Element TB>
void multiply_covering_tile(const TileTask<TC, TB>& task) {
  constexpr int half = Tile::half_rows;
  if (task.columns > Tile::half_columns) {
    if (task.rows > half) return multiply_tile<Tile, Tile::rows, 2, InPlace>(task);
    return multiply_tile<Tile, half, 2, InPlace>(task);
  }
  if (task.rows > half) return multiply_tile<Tile, Tile::rows, 1, InPlace>(task);
  return multiply_tile<Tile, half, 1, InPlace>(task);
}

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
