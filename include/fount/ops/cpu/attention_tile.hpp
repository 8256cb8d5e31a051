// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of small tiles that lie in a thread's cache, and the packing that makes them: the inner
// loops of attention. Not a general matrix multiplication: nothing here blocks for a cache.
// Register tile after Goto & van de Geijn 2008.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fount/backend/shuffle.hpp>
#include <fount/backend/stored.hpp>
#include <fount/backend/vectors.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace attention_detail {

/// Queries that are computed side by side, one in each lane of two registers.
template <Real T>
inline constexpr int panel_width = 2 * vector_width<T>;

/// The next register of elements, as numbers to compute with.
template <Element A>
[[gnu::always_inline]] inline Vector<compute_t<A>> load_values(const A* from) {
  using T = compute_t<A>;
  if constexpr (std::is_same_v<A, T>) {
    return load<T>(from);
  } else {
    Vector<T> result;
    load_vector(result, from);
    return result;
  }
}

/// Where row r of a tile starts: data + r * stride.
template <class T>
struct Rows {
  T* data;
  std::ptrdiff_t stride;
  T* operator[](std::ptrdiff_t row) const { return data + row * stride; }
  operator Rows<const T>() const { return {data, stride}; }  // NOLINT: as T* to const T*
};

/// How the left factor lies: element (r, k) at a[r][k], or at a[k][r].
enum class Left : std::uint8_t { by_row, by_depth };
/// What happens to what the product's tile held.
enum class Write : std::uint8_t { replace, add };

/// c (Height, panel_width) = or += a (Height, depth) times b (depth, panel_width), held in
/// registers. Every element sums over depth in ascending order, whatever the height. Never narrower
/// than two registers: g++ tuned for Zen splits the multiply-adds of a lone accumulator, and the
/// bits would depend on the height.
template <int Height, Left L, Write W, Real T>
[[gnu::always_inline]] inline void register_tile(Rows<T> c, Rows<const T> a, Rows<const T> b,
                                                 int depth) {
  constexpr int lanes = vector_width<T>;
  Vector<T> sum[Height][2];
#pragma GCC unroll 8
  for (int r = 0; r < Height; ++r) {
#pragma GCC unroll 2
    for (int w = 0; w < 2; ++w) {
      if constexpr (W == Write::add) {
        sum[r][w] = load<T>(c[r] + w * lanes);
      } else {
        sum[r][w] = Vector<T>{};
      }
    }
  }
  for (int k = 0; k < depth; ++k) {
    const Vector<T> right[2] = {load<T>(b[k]), load<T>(b[k] + lanes)};
#pragma GCC unroll 8
    for (int r = 0; r < Height; ++r) {
      const T left = L == Left::by_row ? a[r][k] : a[k][r];
      sum[r][0] += left * right[0];
      sum[r][1] += left * right[1];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Height; ++r) {
    store<T>(c[r], sum[r][0]);
    store<T>(c[r] + lanes, sum[r][1]);
  }
}

/// One column of register tiles, `rows` high: sixes first, then what is left.
template <Left L, Write W, Real T>
void product_column(Rows<T> c, Rows<const T> a, Rows<const T> b, int rows, int depth) {
  const std::ptrdiff_t step = L == Left::by_row ? a.stride : 1;
  int row = 0;
  const auto c_at = [&] { return Rows<T>{c[row], c.stride}; };
  const auto a_at = [&] { return Rows<const T>{a.data + row * step, a.stride}; };
  for (; row + 6 <= rows; row += 6) register_tile<6, L, W, T>(c_at(), a_at(), b, depth);
  if (row + 4 <= rows) {
    register_tile<4, L, W, T>(c_at(), a_at(), b, depth);
    row += 4;
  }
  if (row + 2 <= rows) {
    register_tile<2, L, W, T>(c_at(), a_at(), b, depth);
    row += 2;
  }
  if (row < rows) register_tile<1, L, W, T>(c_at(), a_at(), b, depth);
}

/// c (rows, columns) = or += a (rows, depth) times b (depth, columns); columns a multiple of
/// panel_width.
template <Left L, Write W, Real T>
void tile_product(Rows<T> c, Rows<const T> a, Rows<const T> b, int rows, int columns, int depth) {
  for (int column = 0; column < columns; column += panel_width<T>) {
    product_column<L, W, T>({c.data + column, c.stride}, a, {b.data + column, b.stride}, rows,
                            depth);
  }
}

/// to += factor * from, or to = factor * from. Whole registers first: rows are short, and a call of
/// memmove for each costs more than the copy.
template <Write W, Real T, Element A>
inline void scale_row(T* to, const A* from, int count, T factor) {
  constexpr int lanes = vector_width<T>;
  int d = 0;
  for (; d + lanes <= count; d += lanes) {
    Vector<T> value = factor * load_values(from + d);
    if constexpr (W == Write::add) value += load<T>(to + d);
    store<T>(to + d, value);
  }
  for (; d < count; ++d) {
    if constexpr (W == Write::add) {
      to[d] += factor * value_of(from[d]);
    } else {
      to[d] = factor * value_of(from[d]);
    }
  }
}

/// to = factor * from, rounded to what `to` is stored in.
template <Element A>
inline void store_row(A* to, const compute_t<A>* from, int count, compute_t<A> factor) {
  using T = compute_t<A>;
  constexpr int lanes = vector_width<T>;
  int d = 0;
  for (; d + lanes <= count; d += lanes) {
    store_vector<A, Vector<T>>(to + d, factor * load<T>(from + d));
  }
  for (; d < count; ++d) to[d] = static_cast<A>(factor * from[d]);
}

/// Zeros in `count` elements, a multiple of vector_width.
template <Real T>
inline void zero_row(T* to, int count) {
  for (int d = 0; d < count; d += vector_width<T>) store<T>(to + d, Vector<T>{});
}

/// Sum of products, in an order that depends on `count` only.
template <Element A>
inline compute_t<A> dot(const A* a, const A* b, int count) {
  using T = compute_t<A>;
  constexpr int lanes = vector_width<T>;
  Vector<T> sum[2] = {};
  int d = 0;
  for (; d + 2 * lanes <= count; d += 2 * lanes) {
    sum[0] += load_values(a + d) * load_values(b + d);
    sum[1] += load_values(a + d + lanes) * load_values(b + d + lanes);
  }
  T total = T(0);
  for (; d < count; ++d) total += value_of(a[d]) * value_of(b[d]);
  sum[0] += sum[1];
  for (int lane = 0; lane < lanes; ++lane) total += sum[0][lane];
  return total;
}

/// Copies `rows` rows of `columns` elements, times `factor`; the rest of each row becomes 0.
template <Real T, Element A>
void pack_rows(Rows<T> to, Rows<const A> from, int rows, int columns, T factor) {
  for (int r = 0; r < rows; ++r) {
    scale_row<Write::replace>(to[r], from[r], columns, factor);
    for (std::ptrdiff_t d = columns; d < to.stride; ++d) to[r][d] = T(0);
  }
}

/// Elements 0, 0, 1, 1, ... of a and b in turn from the lower halves, or from the upper ones.
template <Real T, bool Upper, int... I>
[[gnu::always_inline]] inline Vector<T> interleave(Vector<T> a, Vector<T> b,
                                                   std::integer_sequence<int, I...>) {
  constexpr int lanes = vector_width<T>;
  constexpr int first = Upper ? lanes / 2 : 0;
  Vector<T> result;
  shuffle<(first + I / 2 + (I % 2) * lanes)...>(result, a, b);
  return result;
}

/// Transposes a square of registers: log2(lanes) perfect shuffles of its rows.
template <Real T>
[[gnu::always_inline]] inline void transpose(Vector<T> (&square)[vector_width<T>]) {
  constexpr int lanes = vector_width<T>;
  constexpr auto indices = std::make_integer_sequence<int, lanes>{};
#pragma GCC unroll 4
  for (int done = 1; done < lanes; done *= 2) {
    Vector<T> mixed[lanes];
#pragma GCC unroll 16
    for (int r = 0; r < lanes / 2; ++r) {
      mixed[2 * r] = interleave<T, false>(square[r], square[r + lanes / 2], indices);
      mixed[2 * r + 1] = interleave<T, true>(square[r], square[r + lanes / 2], indices);
    }
#pragma GCC unroll 16
    for (int r = 0; r < lanes; ++r) square[r] = mixed[r];
  }
}

/// Transposes `rows` rows into panels (panel, columns, panel_width); lanes beyond the last row are
/// 0.
template <Real T, Element A>
void pack_panels(T* to, Rows<const A> from, int rows, int columns) {
  constexpr int lanes = vector_width<T>;
  constexpr int width = panel_width<T>;
  for (int first = 0; first < (rows + width - 1) / width * width; first += lanes) {
    T* const panel = to + first / width * std::ptrdiff_t{width} * columns + first % width;
    const int present = std::clamp(rows - first, 0, lanes);
    int d = 0;
    for (; d + lanes <= columns; d += lanes) {
      Vector<T> square[lanes] = {};
      if (present == lanes) {
#pragma GCC unroll 16
        for (int r = 0; r < lanes; ++r) square[r] = load_values(from[first + r] + d);
      } else {
        for (int r = 0; r < present; ++r) square[r] = load_values(from[first + r] + d);
      }
      transpose<T>(square);
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) store<T>(panel + (d + r) * width, square[r]);
    }
    for (; d < columns; ++d) {
      for (int r = 0; r < lanes; ++r) {
        panel[d * width + r] = r < present ? value_of(from[first + r][d]) : T(0);
      }
    }
  }
}

}  // namespace attention_detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
