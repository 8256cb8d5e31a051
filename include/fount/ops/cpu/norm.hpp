// SPDX-License-Identifier: Apache-2.0
#pragma once
// The row loops of ops/norm.hpp on the processor. A row stays in the first-level cache over its few
// passes, so memory is read once; parameter gradients go through one partial sum per fixed chunk of
// rows, added up in the order of the chunks. Loops over rows take their arrays by value: then no
// store through a pointer can seem to change the pointers. What is multiplied and added goes
// through multiply_add(): the same row is computed by several copies of a formula, in loops of its
// own and in shared ones, with delta and without, and all must round alike.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fount/backend/chunks.hpp>
#include <fount/backend/pairs.hpp>
#include <fount/ops/norm.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// For the rows of [begin, end): start(place, row, sums) at every pair of a row, then
/// measure(row, sums) -> m, then finish(place, row, m) at every pair. A row is finished in the loop
/// that starts the next one: so memory is read at an even pace, while numbers of the first-level
/// cache are computed with, and not in bursts between stretches of arithmetic.
template <Order O, Real T, class Sums, class Start, class Measure, class Finish>
[[gnu::always_inline]] inline void for_rows_in_turn(std::int64_t begin, std::int64_t end,
                                                    std::int64_t size, Sums sums, Start start,
                                                    Measure measure, Finish finish) {
  const Sums none = sums;
  for_each_pair<O, T>(
      0, size, [&](auto at) __attribute__((always_inline)) { start(at, begin, sums); });
  for (std::int64_t row = begin; row < end; ++row) {
    const auto measured = measure(row, sums);
    sums = none;
    if (row + 1 < end) {
      for_each_pair<O, T>(
          0, size, [&](auto at) __attribute__((always_inline)) {
            start(at, row + 1, sums);
            finish(at, row, measured);
          });
    } else {
      for_each_pair<O, T>(
          0, size, [&](auto at) __attribute__((always_inline)) { finish(at, row, measured); });
    }
  }
}

/// x of NormForward at a place of the row that begins at `first`, as it is stored: the residual, or
/// its sum with delta, which is stored on the way.
template <bool HasDelta, class Place, Element A, Element W>
[[gnu::always_inline]] inline auto numbers_to_normalise(Place at, const NormForward<A, W>& n,
                                                        std::int64_t first) {
  auto x = at.load(n.residual + first);
  if constexpr (HasDelta) {
    on_each([](auto& a, const auto& b) { a += b; }, x, at.load(n.delta + first));
    at.store(n.sum + first, x);
    if constexpr (!std::is_same_v<A, compute_t<A>>) x = at.load(n.sum + first);
  }
  return x;
}

template <bool HasDelta, Element A, Element W>
void layer_norm_rows(const NormForward<A, W> n, std::int64_t begin, std::int64_t end) {
  using T = compute_t<A>;
  constexpr Order order = order_of<A, W>;
  struct Row {
    T mean, rstd;
  };
  const std::int64_t C = n.hidden_size;
  const T share = T(1) / static_cast<T>(C);
  const A* const x = HasDelta ? n.sum : n.residual;
  for_rows_in_turn<order, T>(
      begin, end, C, RowSum<T>(),
      [=](auto at, std::int64_t row, RowSum<T>& sum) __attribute__((always_inline)) {
        on_each([](auto& sum, const auto& x) { sum += x; }, at.of(sum),
                numbers_to_normalise<HasDelta>(at, n, row * C));
      },
      [=](std::int64_t row, const RowSum<T>& sum) __attribute__((always_inline)) {
        const T mean = sum.total() * share;
        RowSum<T> squares;
        for_each_pair<order, T>(
            0, C, [&](auto at) __attribute__((always_inline)) {
              on_each(
                  [=](auto& sum, const auto& x) { sum = multiply_add(x - mean, x - mean, sum); },
                  at.of(squares), at.load(x + row * C));
            });
        const T rstd = T(1) / std::sqrt(multiply_add(squares.total(), share, n.eps));
        n.mean[row] = mean;
        n.rstd[row] = rstd;
        return Row{mean, rstd};
      },
      [=](auto at, std::int64_t row, Row m) __attribute__((always_inline)) {
        auto y = at.load(x + row * C);
        if (n.bias != nullptr) {
          on_each([=](auto& y, const auto& w,
                      const auto& b) { y = multiply_add((y - m.mean) * m.rstd, w, b); },
                  y, at.load(n.weight), at.load(n.bias));
        } else {
          on_each([=](auto& y, const auto& w) { y = (y - m.mean) * m.rstd * w; }, y,
                  at.load(n.weight));
        }
        at.store(n.out + row * C, y);
      });
}

template <bool HasDelta, Element A, Element W>
void rms_norm_rows(const NormForward<A, W> n, std::int64_t begin, std::int64_t end) {
  using T = compute_t<A>;
  const std::int64_t C = n.hidden_size;
  const A* const x = HasDelta ? n.sum : n.residual;
  for_rows_in_turn<order_of<A, W>, T>(
      begin, end, C, RowSum<T>(),
      [=](auto at, std::int64_t row, RowSum<T>& squares) __attribute__((always_inline)) {
        on_each([](auto& sum, const auto& x) { sum = multiply_add(x, x, sum); }, at.of(squares),
                numbers_to_normalise<HasDelta>(at, n, row * C));
      },
      [=](std::int64_t row, const RowSum<T>& squares) __attribute__((always_inline)) {
        const T rstd = T(1) / std::sqrt(squares.total() / static_cast<T>(C) + n.eps);
        n.rstd[row] = rstd;
        return rstd;
      },
      [=](auto at, std::int64_t row, T rstd) __attribute__((always_inline)) {
        auto y = at.load(x + row * C);
        on_each([=](auto& y, const auto& w) { y = y * rstd * w; }, y, at.load(n.weight));
        at.store(n.out + row * C, y);
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

/// With y = d_out * weight and h = (x - mean) * rstd, d_x = rstd * (y - avg(y) - h * avg(y * h)).
/// Adds the rows' share of the parameter gradients to d_weight and d_bias, which are dealt.
template <bool Accumulate, Element A, Element W, Element G>
void layer_norm_backward_rows(const NormBackward<A, W, G> n, std::int64_t begin, std::int64_t end,
                              compute_t<A>* __restrict d_weight, compute_t<A>* __restrict d_bias) {
  using T = compute_t<A>;
  struct Sums {
    RowSum<T> plain, centred;  // of y, and of y * (x - mean)
  };
  struct Row {
    T mean, rstd, average, slope;
  };
  const std::int64_t C = n.hidden_size;
  const T share = T(1) / static_cast<T>(C);
  for_rows_in_turn<order_of<A, W>, T>(
      begin, end, C, Sums(),
      [=](auto at, std::int64_t row, Sums& sums) __attribute__((always_inline)) {
        const T mean = n.mean[row];
        on_each(
            [=](auto& sum, auto& centred, const auto& d_y, const auto& w, const auto& x) {
              const auto y = d_y * w;
              sum += y;
              centred = multiply_add(y, x - mean, centred);
            },
            at.of(sums.plain), at.of(sums.centred), at.load(n.d_out + row * C), at.load(n.weight),
            at.load(n.x + row * C));
      },
      [=](std::int64_t row, const Sums& sums) __attribute__((always_inline)) {
        const T rstd = n.rstd[row];
        return Row{n.mean[row], rstd, share * sums.plain.total(),
                   share * (rstd * sums.centred.total())};
      },
      [=](auto at, std::int64_t row, Row m) __attribute__((always_inline)) {
        A* const d_x = n.d_x + row * C;
        auto d = Accumulate ? at.load(d_x) : at.zero();
        auto d_w = at.load_dealt(d_weight);
        auto d_b = at.load_dealt(d_bias);
        on_each(
            [=](auto& d, auto& d_w, auto& d_b, const auto& d_y, const auto& w, const auto& x) {
              const auto h = (x - m.mean) * m.rstd;
              d_w = multiply_add(d_y, h, d_w);
              d_b += d_y;
              const auto centred = multiply_add(d_y, w, -m.average);
              d = multiply_add(m.rstd, multiply_add(h, -m.slope, centred), d);
            },
            d, d_w, d_b, at.load(n.d_out + row * C), at.load(n.weight), at.load(n.x + row * C));
        at.store_dealt(d_weight, d_w);
        at.store_dealt(d_bias, d_b);
        at.store(d_x, d);
      });
}

/// The same without mean: d_x = rstd * (y - h * avg(y * h)).
template <bool Accumulate, Element A, Element W, Element G>
void rms_norm_backward_rows(const NormBackward<A, W, G> n, std::int64_t begin, std::int64_t end,
                            compute_t<A>* __restrict d_weight) {
  using T = compute_t<A>;
  struct Row {
    T rstd, slope;
  };
  const std::int64_t C = n.hidden_size;
  for_rows_in_turn<order_of<A, W>, T>(
      begin, end, C, RowSum<T>(),
      [=](auto at, std::int64_t row, RowSum<T>& sum) __attribute__((always_inline)) {
        on_each([](auto& sum, const auto& d_y, const auto& w,
                   const auto& x) { sum = multiply_add(d_y * w, x, sum); },
                at.of(sum), at.load(n.d_out + row * C), at.load(n.weight), at.load(n.x + row * C));
      },
      [=](std::int64_t row, const RowSum<T>& sum) __attribute__((always_inline)) {
        const T rstd = n.rstd[row];
        return Row{rstd, rstd / static_cast<T>(C) * sum.total()};
      },
      [=](auto at, std::int64_t row, Row m) __attribute__((always_inline)) {
        A* const d_x = n.d_x + row * C;
        auto d = Accumulate ? at.load(d_x) : at.zero();
        auto d_w = at.load_dealt(d_weight);
        on_each(
            [=](auto& d, auto& d_w, const auto& d_y, const auto& w, const auto& x) {
              const auto h = x * m.rstd;
              d_w = multiply_add(d_y, h, d_w);
              d = multiply_add(m.rstd, multiply_add(h, -m.slope, d_y * w), d);
            },
            d, d_w, at.load(n.d_out + row * C), at.load(n.weight), at.load(n.x + row * C));
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
    const T* const from = partial + parameter * size;
    for_each_pair<O, T>(begin, begin + count, [=](auto at) {
      auto sum = at.load(to);
      for (std::int64_t p = 0; p < num_partials; ++p) {
        on_each([](auto& sum, const auto& part) { sum += part; }, sum,
                at.load_dealt(from + p * static_cast<std::int64_t>(N) * size));
      }
      at.store(to, sum);
    });
  });
}

/// body(sums, begin, end) for every chunk of rows; `sums` are its partial sums, hidden_size for
/// each of the N parameters, dealt in the order of A and W, which go to the parameters' gradients
/// at the end.
template <std::size_t N, Element A, Element W, Element G, class Body>
void norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& n,
                   const std::array<G*, N>& d_parameters, Body body) {
  using T = compute_t<A>;
  const std::int64_t size = static_cast<std::int64_t>(N) * n.hidden_size;
  const std::int64_t chunk = norm_chunk_rows(n.rows);
  parallel_chunks(cpu, n.rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    T* const sums = n.scratch + begin / chunk * size;
    std::fill(sums, sums + size, T(0));
    body(sums, begin, end);
  });
  add_partial_sums<order_of<A, W>>(cpu, d_parameters, n.scratch, norm_chunks(n.rows),
                                   n.hidden_size);
}

}  // namespace detail

template <Element A, Element W>
void layer_norm_forward(const Cpu& cpu, const NormForward<A, W>& n) {
  parallel_chunks(cpu, n.rows, rows_per_chunk(n.hidden_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    n.delta != nullptr ? detail::layer_norm_rows<true>(n, begin, end)
                                       : detail::layer_norm_rows<false>(n, begin, end);
                  });
}

template <Element A, Element W>
void rms_norm_forward(const Cpu& cpu, const NormForward<A, W>& n) {
  parallel_chunks(cpu, n.rows, rows_per_chunk(n.hidden_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    n.delta != nullptr ? detail::rms_norm_rows<true>(n, begin, end)
                                       : detail::rms_norm_rows<false>(n, begin, end);
                  });
}

template <Element A, Element W, Element G>
void layer_norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& n) {
  if (n.rows == 0) return;  // scratch has no elements then, and may be null
  detail::norm_backward<2>(cpu, n, {n.d_weight, n.d_bias}, [&](auto* sums, auto begin, auto end) {
    auto* const d_bias = sums + n.hidden_size;
    n.accumulate_d_x ? detail::layer_norm_backward_rows<true>(n, begin, end, sums, d_bias)
                     : detail::layer_norm_backward_rows<false>(n, begin, end, sums, d_bias);
  });
}

template <Element A, Element W, Element G>
void rms_norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& n) {
  detail::norm_backward<1>(cpu, n, {n.d_weight}, [&](auto* sums, auto begin, auto end) {
    n.accumulate_d_x ? detail::rms_norm_backward_rows<true>(n, begin, end, sums)
                     : detail::rms_norm_backward_rows<false>(n, begin, end, sums);
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
