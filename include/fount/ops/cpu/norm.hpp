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
#include <type_traits>

#include <fount/backend/chunks.hpp>
#include <fount/backend/prefetch.hpp>
#include <fount/ops/norm.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// out[i] = value(i) along a row. Where results are rounded, in blocks: see round_each.
template <Element A, class Value>
[[gnu::always_inline]] inline void write_row(A* __restrict out, std::int64_t count, Value value) {
  if constexpr (std::is_same_v<A, compute_t<A>>) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = value(i);
  } else {
    store_each(out, 0, count, value);
  }
}

/// The row to normalise: the residual's own, or its sum with delta, stored on the way.
template <Element A, Element W>
const A* row_to_normalise(const NormForward<A, W>& n, std::int64_t row) {
  const std::int64_t C = n.hidden_size;
  const A* residual = n.residual + row * C;
  if (n.delta == nullptr) return residual;
  const A* delta = n.delta + row * C;
  A* sum = n.sum + row * C;
  write_row(sum, C, [=](std::int64_t i) { return value_of(residual[i]) + value_of(delta[i]); });
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
  const std::int64_t C = n.hidden_size;
  const A* x = row_to_normalise(n, row);
  const T mean = lane_sum<T>(C, [=](std::int64_t i) { return value_of(x[i]); }) / static_cast<T>(C);
  const T square = lane_sum<T>(
      C, [=](std::int64_t i) { return (value_of(x[i]) - mean) * (value_of(x[i]) - mean); });
  const T rstd = T(1) / std::sqrt(square / static_cast<T>(C) + n.eps);
  n.mean[row] = mean;
  n.rstd[row] = rstd;
  ask_for_next_row(n, row);
  A* out = n.out + row * C;
  const W* weight = n.weight;
  const W* bias = n.bias;
  // Each in one expression, so that the compiler may fuse multiplication and addition.
  if (bias != nullptr) {
    write_row(out, C, [=](std::int64_t i) {
      return (value_of(x[i]) - mean) * rstd * value_of(weight[i]) + value_of(bias[i]);
    });
  } else {
    write_row(out, C,
              [=](std::int64_t i) { return (value_of(x[i]) - mean) * rstd * value_of(weight[i]); });
  }
}

/// 1 / root mean square of x[0..count).
template <Element A>
compute_t<A> reciprocal_rms(const A* x, std::int64_t count, compute_t<A> eps) {
  using T = compute_t<A>;
  const T square =
      lane_sum<T>(count, [=](std::int64_t i) { return value_of(x[i]) * value_of(x[i]); });
  return T(1) / std::sqrt(square / static_cast<T>(count) + eps);
}

template <Element A, Element W>
void rms_norm_row(const NormForward<A, W>& n, std::int64_t row) {
  using T = compute_t<A>;
  const std::int64_t C = n.hidden_size;
  const A* x = row_to_normalise(n, row);
  const T rstd = reciprocal_rms(x, C, n.eps);
  n.rstd[row] = rstd;
  ask_for_next_row(n, row);
  const W* weight = n.weight;
  write_row(n.out + row * C, C,
            [=](std::int64_t i) { return value_of(x[i]) * rstd * value_of(weight[i]); });
}

/// d_x[i] = [d_x[i] +] gradient(i) along a row; `gradient` may add to other rows as it goes.
/// The row after this one is asked for meanwhile: the arithmetic hides it. Not through store_each,
/// with which a row of LayerNorm took a sixth longer (Zen 4, g++ 12).
template <bool Accumulate, Element A, Element W, Element G, class Gradient>
[[gnu::always_inline]] inline void write_gradient_row(const NormBackward<A, W, G>& n,
                                                      std::int64_t row, Gradient gradient) {
  constexpr int columns = 64;
  const std::int64_t C = n.hidden_size;
  for_each_block<columns>(0, C, [&](std::int64_t begin, auto count) {
    A* __restrict d_x = n.d_x + row * C + begin;
    const auto value = [&](std::int64_t j) {
      const compute_t<A> d = gradient(begin + j);
      return Accumulate ? value_of(d_x[j]) + d : d;
    };
    const auto ahead = static_cast<std::uintptr_t>((row + 1) * C + begin) * sizeof(A);
    for (const A* array : {static_cast<const A*>(n.d_x), n.x, n.d_out}) {
      prefetch<columns * sizeof(A)>(reinterpret_cast<std::uintptr_t>(array) + ahead);
    }
    if constexpr (std::is_same_v<A, compute_t<A>>) {
      for (std::int64_t j = 0; j < count; ++j) d_x[j] = value(j);
    } else {
      compute_t<A> block[columns];
      for (std::int64_t j = 0; j < count; ++j) block[j] = value(j);
      round_each(d_x, block, count);
    }
  });
}

/// With y = d_out * weight and h = (x - mean) * rstd, d_x = rstd * (y - avg(y) - h * avg(y * h)).
/// Adds the row's share of the parameter gradients to d_weight and d_bias.
template <bool Accumulate, Element A, Element W, Element G>
void layer_norm_backward_row(const NormBackward<A, W, G>& n, std::int64_t row,
                             compute_t<A>* __restrict d_weight, compute_t<A>* __restrict d_bias) {
  using T = compute_t<A>;
  const std::int64_t C = n.hidden_size;
  const A* x = n.x + row * C;
  const A* d_out = n.d_out + row * C;
  const W* weight = n.weight;
  const T mean = n.mean[row];
  const T rstd = n.rstd[row];
  const T share = T(1) / static_cast<T>(C);
  const auto [sum, centred] = lane_sums<T, 2>(C, [=](std::int64_t i) {
    const T y = value_of(d_out[i]) * value_of(weight[i]);
    return std::array{y, y * (value_of(x[i]) - mean)};
  });
  const T average = share * sum;
  const T slope = share * (rstd * centred);
  write_gradient_row<Accumulate>(n, row, [&](std::int64_t i) {
    const T h = (value_of(x[i]) - mean) * rstd;
    const T d_y = value_of(d_out[i]);
    d_weight[i] += d_y * h;
    d_bias[i] += d_y;
    return rstd * (d_y * value_of(weight[i]) - average - h * slope);
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
  const W* weight = n.weight;
  const T rstd = n.rstd[row];
  const T slope = rstd / static_cast<T>(C) * lane_sum<T>(C, [=](std::int64_t i) {
                    return value_of(d_out[i]) * value_of(weight[i]) * value_of(x[i]);
                  });
  write_gradient_row<Accumulate>(n, row, [&](std::int64_t i) {
    const T h = value_of(x[i]) * rstd;
    const T d_y = value_of(d_out[i]);
    d_weight[i] += d_y * h;
    return rstd * (d_y * value_of(weight[i]) - h * slope);
  });
}

/// d_parameter[i] += partial sums of column i, in the order of the chunks, rounded once. For
/// several parameters of `size` elements, whose partial sums lie one behind the other; null stands
/// for none.
template <Element G, Real T, std::size_t N>
void add_partial_sums(const Cpu& cpu, const std::array<G*, N>& d_parameters, const T* partial,
                      std::int64_t num_partials, std::int64_t size) {
  constexpr std::int64_t columns = 128;
  const std::int64_t pieces = num_chunks(size, columns);
  cpu.parallel(static_cast<std::int64_t>(N) * pieces, [&](std::int64_t task, int) {
    const std::int64_t parameter = task / pieces;
    const std::int64_t begin = task % pieces * columns;
    const std::int64_t count = std::min(columns, size - begin);
    G* const to = d_parameters[static_cast<std::size_t>(parameter)];
    if (to == nullptr) return;
    T sums[columns];
    for (std::int64_t i = 0; i < count; ++i) sums[i] = value_of(to[begin + i]);
    for (std::int64_t p = 0; p < num_partials; ++p) {
      const T* from = partial + (p * static_cast<std::int64_t>(N) + parameter) * size + begin;
      for (std::int64_t i = 0; i < count; ++i) sums[i] += from[i];
    }
    for (std::int64_t i = 0; i < count; ++i) to[begin + i] = static_cast<G>(sums[i]);
  });
}

/// body(sums, row) for every row; `sums` are the partial sums of its chunk, hidden_size for each of
/// the N parameters, which go to the parameters' gradients at the end.
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
  add_partial_sums(cpu, d_parameters, n.scratch, norm_chunks(n.rows), n.hidden_size);
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
    n.accumulate_d_x
        ? detail::layer_norm_backward_row<true>(n, row, sums, sums + n.hidden_size)
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
  detail::add_partial_sums(cpu, std::array{n.d_weight}, n.scratch, norm_chunks(rows), D);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
