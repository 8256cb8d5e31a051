// SPDX-License-Identifier: Apache-2.0
#pragma once
// The row loops of ops/norm.hpp on the processor. A row stays in the first-level cache over its few
// passes, so memory is read once; parameter gradients go through one partial sum per fixed chunk of
// rows, added up in the order of the chunks.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/backend/pairs.hpp>
#include <fount/backend/prefetch.hpp>
#include <fount/ops/norm.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// The row to normalise: the residual's own, or its sum with delta, stored on the way. `read(place,
/// x)` sees its numbers as they are stored.
template <Order O, Element A, Element W, class Read>
[[gnu::always_inline]] inline const A* row_to_normalise(const NormForward<A, W>& n,
                                                        std::int64_t row, Read read) {
  using T = compute_t<A>;
  const std::int64_t C = n.hidden_size;
  const A* residual = n.residual + row * C;
  if (n.delta == nullptr) {
    for_each_pair<O, T>(
        0, C, [=](auto at) __attribute__((always_inline)) { read(at, at.load(residual)); });
    return residual;
  }
  const A* delta = n.delta + row * C;
  A* sum = n.sum + row * C;
  for_each_pair<O, T>(
      0, C, [=](auto at) __attribute__((always_inline)) {
        auto x = at.load(residual);
        on_each([](auto& a, const auto& b) { a += b; }, x, at.load(delta));
        at.store(sum, x);
        read(at, at.load(sum));
      });
  return sum;
}

/// Asks for what the row after this one is made from and, in 32 bits and more, for where it goes:
/// meanwhile this one is finished from the first-level cache. (In 16 bits asking for lines to write
/// cost 5 %: Xeon with AMX, two threads.) The last row asks beyond the arrays.
template <Element A, Element W>
[[gnu::always_inline]] inline void ask_for_next_row(const NormForward<A, W>& n, std::int64_t row) {
  constexpr std::size_t line = 64;
  const auto bytes = static_cast<std::uintptr_t>(n.hidden_size) * sizeof(A);
  const auto end = static_cast<std::uintptr_t>(row + 2) * bytes;
  for (std::uintptr_t at = end - bytes; at < end; at += line) {
    prefetch<line>(reinterpret_cast<std::uintptr_t>(n.residual) + at);
    if (n.delta != nullptr) {
      prefetch<line>(reinterpret_cast<std::uintptr_t>(n.delta) + at);
      if constexpr (sizeof(A) > 2) {
        prefetch<line, AskedFor::writing>(reinterpret_cast<std::uintptr_t>(n.sum) + at);
      }
    }
    if constexpr (sizeof(A) > 2) {
      prefetch<line, AskedFor::writing>(reinterpret_cast<std::uintptr_t>(n.out) + at);
    }
  }
}

template <Element A, Element W>
void layer_norm_row(const NormForward<A, W>& n, std::int64_t row) {
  using T = compute_t<A>;
  constexpr Order order = order_of<A, W>;
  const std::int64_t C = n.hidden_size;
  const T share = T(1) / static_cast<T>(C);
  RowSum<T> sum;
  const A* x = row_to_normalise<order>(n, row, [&](auto at, auto x) {
    on_each([](auto& sum, const auto& x) { sum += x; }, at.of(sum), x);
  });
  const T mean = sum.total() * share;
  RowSum<T> squares;
  for_each_pair<order, T>(0, C, [&](auto at) {
    on_each([=](auto& sum, const auto& x) { sum += (x - mean) * (x - mean); }, at.of(squares),
            at.load(x));
  });
  const T rstd = T(1) / std::sqrt(squares.total() * share + n.eps);
  n.mean[row] = mean;
  n.rstd[row] = rstd;
  ask_for_next_row(n, row);
  A* out = n.out + row * C;
  const W* weight = n.weight;
  const W* bias = n.bias;
  // Each in one expression, so that the compiler may fuse multiplication and addition.
  if (bias != nullptr) {
    for_each_pair<order, T>(0, C, [=](auto at) {
      auto y = at.load(x);
      on_each([=](auto& y, const auto& w, const auto& b) { y = (y - mean) * rstd * w + b; }, y,
              at.load(weight), at.load(bias));
      at.store(out, y);
    });
  } else {
    for_each_pair<order, T>(0, C, [=](auto at) {
      auto y = at.load(x);
      on_each([=](auto& y, const auto& w) { y = (y - mean) * rstd * w; }, y, at.load(weight));
      at.store(out, y);
    });
  }
}

template <Element A, Element W>
void rms_norm_row(const NormForward<A, W>& n, std::int64_t row) {
  using T = compute_t<A>;
  constexpr Order order = order_of<A, W>;
  const std::int64_t C = n.hidden_size;
  RowSum<T> squares;
  const A* x = row_to_normalise<order>(n, row, [&](auto at, auto x) {
    on_each([](auto& sum, const auto& x) { sum += x * x; }, at.of(squares), x);
  });
  const T rstd = T(1) / std::sqrt(squares.total() / static_cast<T>(C) + n.eps);
  n.rstd[row] = rstd;
  ask_for_next_row(n, row);
  A* out = n.out + row * C;
  const W* weight = n.weight;
  for_each_pair<order, T>(0, C, [=](auto at) {
    auto y = at.load(x);
    on_each([=](auto& y, const auto& w) { y = y * rstd * w; }, y, at.load(weight));
    at.store(out, y);
  });
}

/// 1 / root mean square of x[0..count).
template <Element A>
compute_t<A> reciprocal_rms(const A* x, std::int64_t count, compute_t<A> eps) {
  using T = compute_t<A>;
  const T square =
      lane_sum<T>(count, [=](std::int64_t i) { return value_of(x[i]) * value_of(x[i]); });
  return T(1) / std::sqrt(square / static_cast<T>(count) + eps);
}

/// Pairs of a row of gradients, from left to right. The row after it is asked for meanwhile:
/// the arithmetic hides it.
template <Element A, Element W, Element G, class Body>
[[gnu::always_inline]] inline void for_each_gradient_pair(const NormBackward<A, W, G>& n,
                                                          std::int64_t row, Body body) {
  constexpr int columns = 64;
  const std::int64_t C = n.hidden_size;
  for_each_block<columns>(0, C, [&](std::int64_t begin, auto count) {
    const auto ahead = static_cast<std::uintptr_t>((row + 1) * C + begin) * sizeof(A);
    for (const A* array : {static_cast<const A*>(n.d_x), n.x, n.d_out}) {
      prefetch<columns * sizeof(A)>(reinterpret_cast<std::uintptr_t>(array) + ahead);
    }
    for_each_pair<order_of<A, W>, compute_t<A>>(begin, begin + count, body);
  });
}

/// With y = d_out * weight and h = (x - mean) * rstd, d_x = rstd * (y - avg(y) - h * avg(y * h)).
/// Adds the row's share of the parameter gradients to d_weight and d_bias, which are dealt.
template <bool Accumulate, Element A, Element W, Element G>
void layer_norm_backward_row(const NormBackward<A, W, G>& n, std::int64_t row,
                             compute_t<A>* __restrict d_weight, compute_t<A>* __restrict d_bias) {
  using T = compute_t<A>;
  const std::int64_t C = n.hidden_size;
  const A* x = n.x + row * C;
  const A* d_out = n.d_out + row * C;
  A* d_x = n.d_x + row * C;
  const W* weight = n.weight;
  const T mean = n.mean[row];
  const T rstd = n.rstd[row];
  const T share = T(1) / static_cast<T>(C);
  RowSum<T> sum, centred;
  for_each_pair<order_of<A, W>, T>(0, C, [&](auto at) {
    on_each(
        [=](auto& sum, auto& centred, const auto& d_y, const auto& w, const auto& x) {
          const auto y = d_y * w;
          sum += y;
          centred += y * (x - mean);
        },
        at.of(sum), at.of(centred), at.load(d_out), at.load(weight), at.load(x));
  });
  const T average = share * sum.total();
  const T slope = share * (rstd * centred.total());
  for_each_gradient_pair(n, row, [=](auto at) {
    auto d = Accumulate ? at.load(d_x) : at.zero();
    auto d_w = at.load_dealt(d_weight);
    auto d_b = at.load_dealt(d_bias);
    on_each(
        [=](auto& d, auto& d_w, auto& d_b, const auto& d_y, const auto& w, const auto& x) {
          const auto h = (x - mean) * rstd;
          d_w += d_y * h;
          d_b += d_y;
          d += rstd * (d_y * w - average - h * slope);
        },
        d, d_w, d_b, at.load(d_out), at.load(weight), at.load(x));
    at.store_dealt(d_weight, d_w);
    at.store_dealt(d_bias, d_b);
    at.store(d_x, d);
  });
}

/// The same without mean: d_x = rstd * (y - h * avg(y * h)).
template <bool Accumulate, Element A, Element W, Element G>
void rms_norm_backward_row(const NormBackward<A, W, G>& n, std::int64_t row,
                           compute_t<A>* __restrict d_weight) {
  using T = compute_t<A>;
  const std::int64_t C = n.hidden_size;
  const A* x = n.x + row * C;
  const A* d_out = n.d_out + row * C;
  A* d_x = n.d_x + row * C;
  const W* weight = n.weight;
  const T rstd = n.rstd[row];
  RowSum<T> sum;
  for_each_pair<order_of<A, W>, T>(0, C, [&](auto at) {
    on_each([=](auto& sum, const auto& d_y, const auto& w, const auto& x) { sum += d_y * w * x; },
            at.of(sum), at.load(d_out), at.load(weight), at.load(x));
  });
  const T slope = rstd / static_cast<T>(C) * sum.total();
  for_each_gradient_pair(n, row, [=](auto at) {
    auto d = Accumulate ? at.load(d_x) : at.zero();
    auto d_w = at.load_dealt(d_weight);
    on_each(
        [=](auto& d, auto& d_w, const auto& d_y, const auto& w, const auto& x) {
          const auto h = x * rstd;
          d_w += d_y * h;
          d += rstd * (d_y * w - h * slope);
        },
        d, d_w, at.load(d_out), at.load(weight), at.load(x));
    at.store_dealt(d_weight, d_w);
    at.store(d_x, d);
  });
}

/// d_parameter[i] += partial sums of column i, in the order of the chunks, rounded once. For
/// several parameters of `size` elements, whose partial sums lie one behind the other; null stands
/// for none. The sums were dealt in order O.
template <Order O, Element G, Real T, std::size_t N>
void add_partial_sums(const Cpu& cpu, const std::array<G*, N>& d_parameters, const T* partial,
                      std::int64_t num_partials, std::int64_t size) {
  constexpr std::int64_t columns = 128;
  static_assert(columns % pair_size<T> == 0, "a pair must lie in one piece");
  const std::int64_t pieces = num_chunks(size, columns);
  cpu.parallel(static_cast<std::int64_t>(N) * pieces, [&](std::int64_t task, int) {
    const std::int64_t parameter = task / pieces;
    const std::int64_t begin = task % pieces * columns;
    const std::int64_t count = std::min(columns, size - begin);
    G* const to = d_parameters[static_cast<std::size_t>(parameter)];
    if (to == nullptr) return;
    T sums[columns];
    const auto place = [=](std::int64_t i) { return dealt_index<O, T>(i, count); };
    for (std::int64_t i = 0; i < count; ++i) sums[place(i)] = value_of(to[begin + i]);
    for (std::int64_t p = 0; p < num_partials; ++p) {
      const T* from = partial + (p * static_cast<std::int64_t>(N) + parameter) * size + begin;
      for (std::int64_t i = 0; i < count; ++i) sums[i] += from[i];
    }
    for (std::int64_t i = 0; i < count; ++i) to[begin + i] = static_cast<G>(sums[place(i)]);
  });
}

/// body(sums, row) for every row; `sums` are the partial sums of its chunk, hidden_size for each of
/// the N parameters, dealt in the order of A and W, which go to the parameters' gradients at the
/// end.
template <std::size_t N, Element A, Element W, Element G, class Body>
void norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& n,
                   const std::array<G*, N>& d_parameters, Body body) {
  using T = compute_t<A>;
  const std::int64_t size = static_cast<std::int64_t>(N) * n.hidden_size;
  const std::int64_t chunk = norm_chunk_rows(n.rows);
  parallel_chunks(cpu, n.rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    T* const sums = n.scratch + begin / chunk * size;
    std::fill(sums, sums + size, T(0));
    for (std::int64_t row = begin; row < end; ++row) body(sums, row);
  });
  add_partial_sums<order_of<A, W>>(cpu, d_parameters, n.scratch, norm_chunks(n.rows),
                                   n.hidden_size);
}

}  // namespace detail

template <Element A, Element W>
void layer_norm_forward(const Cpu& cpu, const NormForward<A, W>& n) {
  parallel_chunks(cpu, n.rows, rows_per_chunk(n.hidden_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) detail::layer_norm_row(n, r);
                  });
}

template <Element A, Element W>
void rms_norm_forward(const Cpu& cpu, const NormForward<A, W>& n) {
  parallel_chunks(cpu, n.rows, rows_per_chunk(n.hidden_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) detail::rms_norm_row(n, r);
                  });
}

template <Element A, Element W, Element G>
void layer_norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& n) {
  if (n.rows == 0) return;  // scratch has no elements then, and may be null
  detail::norm_backward<2>(cpu, n, {n.d_weight, n.d_bias}, [&](auto* sums, std::int64_t row) {
    n.accumulate_d_x ? detail::layer_norm_backward_row<true>(n, row, sums, sums + n.hidden_size)
                     : detail::layer_norm_backward_row<false>(n, row, sums, sums + n.hidden_size);
  });
}

template <Element A, Element W, Element G>
void rms_norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& n) {
  detail::norm_backward<1>(cpu, n, {n.d_weight}, [&](auto* sums, std::int64_t row) {
    n.accumulate_d_x ? detail::rms_norm_backward_row<true>(n, row, sums)
                     : detail::rms_norm_backward_row<false>(n, row, sums);
  });
}

template <Element A, Element W>
void rms_norm_heads_forward(const Cpu& cpu, const HeadNormForward<A, W>& n) {
  using T = compute_t<A>;
  const auto [rows, H, D] = n.shape;
  parallel_chunks(cpu, rows, rows_per_chunk(H * D), [&, H = H, D = D](auto begin, auto end) {
    for (std::int64_t i = begin * H; i < end * H; ++i) {
      const A* x = n.x + i / H * n.x_stride + i % H * D;
      const W* weight = n.weight;
      const T rstd = detail::reciprocal_rms(x, D, n.eps);
      n.rstd[i] = rstd;
      store_each(n.out + i / H * n.out_stride + i % H * D, 0, D,
                 [=](std::int64_t d) { return value_of(x[d]) * rstd * value_of(weight[d]); });
    }
  });
}

template <Element A, Element W, Element G>
void rms_norm_heads_backward(const Cpu& cpu, const HeadNormBackward<A, W, G>& n) {
  using T = compute_t<A>;
  const auto [rows, H, D] = n.shape;
  const std::int64_t chunk = norm_chunk_rows(rows);
  parallel_chunks(cpu, rows, chunk, [&, H = H, D = D](auto begin, auto end) {
    T* __restrict d_weight = n.scratch + begin / chunk * D;
    std::fill(d_weight, d_weight + D, T(0));
    for (std::int64_t i = begin * H; i < end * H; ++i) {
      const A* x = n.x + i / H * n.x_stride + i % H * D;
      const A* d_out = n.d_out + i / H * n.d_out_stride + i % H * D;
      const W* weight = n.weight;
      const T rstd = n.rstd[i];
      for (std::int64_t d = 0; d < D; ++d) {
        d_weight[d] += value_of(d_out[d]) * value_of(x[d]) * rstd;
      }
      const T slope = rstd * rstd / static_cast<T>(D) * lane_sum<T>(D, [=](std::int64_t d) {
                        return value_of(d_out[d]) * value_of(weight[d]) * value_of(x[d]);
                      });
      store_each(n.d_x + i / H * n.d_x_stride + i % H * D, 0, D, [=](std::int64_t d) {
        return rstd * (value_of(d_out[d]) * value_of(weight[d]) - value_of(x[d]) * slope);
      });
    }
  });
  detail::add_partial_sums<Order::consecutive>(cpu, std::array{n.d_weight}, n.scratch,
                                               norm_chunks(rows), D);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
