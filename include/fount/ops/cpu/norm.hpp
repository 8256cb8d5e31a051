// SPDX-License-Identifier: Apache-2.0
#pragma once
// The row loops of ops/norm.hpp on the processor. A row stays in the first-level cache over its few
// passes, so memory is read once; parameter gradients go through one partial sum per fixed chunk of
// rows, added up in the order of the chunks.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/ops/norm.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// The row to normalise: the residual's own, or its sum with delta, stored on the way.
template <Real T>
const T* row_to_normalise(const NormForward<T>& n, std::int64_t row) {
  const std::int64_t C = n.hidden_size;
  const T* residual = n.residual + row * C;
  if (n.delta == nullptr) return residual;
  const T* delta = n.delta + row * C;
  T* __restrict sum = n.sum + row * C;
  for (std::int64_t i = 0; i < C; ++i) sum[i] = residual[i] + delta[i];
  return sum;
}

template <Real T>
void layer_norm_row(const NormForward<T>& n, std::int64_t row) {
  const std::int64_t C = n.hidden_size;
  const T* x = row_to_normalise(n, row);
  const T mean = lane_sum<T>(C, [=](std::int64_t i) { return x[i]; }) / static_cast<T>(C);
  const T square = lane_sum<T>(C, [=](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  const T rstd = T(1) / std::sqrt(square / static_cast<T>(C) + n.eps);
  n.mean[row] = mean;
  n.rstd[row] = rstd;
  T* __restrict out = n.out + row * C;
  const T* weight = n.weight;
  const T* bias = n.bias;
  if (bias != nullptr) {
    for (std::int64_t i = 0; i < C; ++i) out[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
  } else {
    for (std::int64_t i = 0; i < C; ++i) out[i] = (x[i] - mean) * rstd * weight[i];
  }
}

/// 1 / root mean square of x[0..count).
template <Real T>
T reciprocal_rms(const T* x, std::int64_t count, T eps) {
  const T square = lane_sum<T>(count, [=](std::int64_t i) { return x[i] * x[i]; });
  return T(1) / std::sqrt(square / static_cast<T>(count) + eps);
}

template <Real T>
void rms_norm_row(const NormForward<T>& n, std::int64_t row) {
  const std::int64_t C = n.hidden_size;
  const T* x = row_to_normalise(n, row);
  const T rstd = reciprocal_rms(x, C, n.eps);
  n.rstd[row] = rstd;
  T* __restrict out = n.out + row * C;
  const T* weight = n.weight;
  for (std::int64_t i = 0; i < C; ++i) out[i] = x[i] * rstd * weight[i];
}

/// With y = d_out * weight and h = (x - mean) * rstd, d_x = rstd * (y - avg(y) - h * avg(y * h)).
/// Adds the row's share of the parameter gradients to d_weight and d_bias.
template <Real T, bool Accumulate>
void layer_norm_backward_row(T* __restrict d_x, T* __restrict d_weight, T* __restrict d_bias,
                             const NormBackward<T>& n, std::int64_t row) {
  const std::int64_t C = n.hidden_size;
  const T* x = n.x + row * C;
  const T* d_out = n.d_out + row * C;
  const T* weight = n.weight;
  const T mean = n.mean[row];
  const T rstd = n.rstd[row];
  const T share = T(1) / static_cast<T>(C);
  const T average = share * lane_sum<T>(C, [=](std::int64_t i) { return d_out[i] * weight[i]; });
  const T slope = share * lane_sum<T>(C, [=](std::int64_t i) {
                    return d_out[i] * weight[i] * ((x[i] - mean) * rstd);
                  });
  for (std::int64_t i = 0; i < C; ++i) {
    const T h = (x[i] - mean) * rstd;
    const T d = rstd * (d_out[i] * weight[i] - average - h * slope);
    d_x[i] = Accumulate ? d_x[i] + d : d;
    d_weight[i] += d_out[i] * h;
    d_bias[i] += d_out[i];
  }
}

/// The same without mean: d_x = rstd * (y - h * avg(y * h)).
template <Real T, bool Accumulate>
void rms_norm_backward_row(T* __restrict d_x, T* __restrict d_weight, const NormBackward<T>& n,
                           std::int64_t row) {
  const std::int64_t C = n.hidden_size;
  const T* x = n.x + row * C;
  const T* d_out = n.d_out + row * C;
  const T* weight = n.weight;
  const T rstd = n.rstd[row];
  const T slope = rstd / static_cast<T>(C) *
                  lane_sum<T>(C, [=](std::int64_t i) { return d_out[i] * weight[i] * x[i]; });
  for (std::int64_t i = 0; i < C; ++i) {
    const T h = x[i] * rstd;
    const T d = rstd * (d_out[i] * weight[i] - h * slope);
    d_x[i] = Accumulate ? d_x[i] + d : d;
    d_weight[i] += d_out[i] * h;
  }
}

/// d_parameter[i] += partial sums of column i, in the order of the chunks.
template <Real T>
void add_partial_sums(const Cpu& cpu, T* d_parameter, const T* partial, std::int64_t num_partials,
                      std::int64_t partial_stride, std::int64_t size) {
  constexpr std::int64_t columns = 256;
  parallel_chunks(cpu, size, columns, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = 0; p < num_partials; ++p) {
      const T* __restrict from = partial + p * partial_stride;
      T* __restrict to = d_parameter;
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  });
}

}  // namespace detail

template <Real T>
void layer_norm_forward(const Cpu& cpu, const NormForward<T>& n) {
  parallel_chunks(cpu, n.rows, rows_per_chunk(n.hidden_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) detail::layer_norm_row(n, r);
                  });
}

template <Real T>
void rms_norm_forward(const Cpu& cpu, const NormForward<T>& n) {
  parallel_chunks(cpu, n.rows, rows_per_chunk(n.hidden_size),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) detail::rms_norm_row(n, r);
                  });
}

template <Real T>
void layer_norm_backward(const Cpu& cpu, const NormBackward<T>& n) {
  if (n.rows == 0) return;  // scratch has no elements then, and may be null
  const std::int64_t C = n.hidden_size;
  const std::int64_t chunk = norm_chunk_rows(n.rows);
  parallel_chunks(cpu, n.rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    T* d_weight = n.scratch + begin / chunk * 2 * C;
    T* d_bias = d_weight + C;
    std::fill(d_weight, d_weight + 2 * C, T(0));
    for (std::int64_t r = begin; r < end; ++r) {
      T* d_x = n.d_x + r * C;
      n.accumulate_d_x ? detail::layer_norm_backward_row<T, true>(d_x, d_weight, d_bias, n, r)
                       : detail::layer_norm_backward_row<T, false>(d_x, d_weight, d_bias, n, r);
    }
  });
  const std::int64_t chunks = norm_chunks(n.rows);
  detail::add_partial_sums(cpu, n.d_weight, n.scratch, chunks, 2 * C, C);
  if (n.d_bias != nullptr) {
    detail::add_partial_sums(cpu, n.d_bias, n.scratch + C, chunks, 2 * C, C);
  }
}

template <Real T>
void rms_norm_backward(const Cpu& cpu, const NormBackward<T>& n) {
  const std::int64_t C = n.hidden_size;
  const std::int64_t chunk = norm_chunk_rows(n.rows);
  parallel_chunks(cpu, n.rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    T* d_weight = n.scratch + begin / chunk * C;
    std::fill(d_weight, d_weight + C, T(0));
    for (std::int64_t r = begin; r < end; ++r) {
      T* d_x = n.d_x + r * C;
      n.accumulate_d_x ? detail::rms_norm_backward_row<T, true>(d_x, d_weight, n, r)
                       : detail::rms_norm_backward_row<T, false>(d_x, d_weight, n, r);
    }
  });
  detail::add_partial_sums(cpu, n.d_weight, n.scratch, norm_chunks(n.rows), C, C);
}

template <Real T>
void rms_norm_heads_forward(const Cpu& cpu, const HeadNormForward<T>& n) {
  const auto [rows, H, D] = n.shape;
  parallel_chunks(cpu, rows, rows_per_chunk(H * D), [&, H = H, D = D](auto begin, auto end) {
    for (std::int64_t i = begin * H; i < end * H; ++i) {
      const T* x = n.x + i / H * n.x_stride + i % H * D;
      const T* weight = n.weight;
      const T rstd = detail::reciprocal_rms(x, D, n.eps);
      n.rstd[i] = rstd;
      store_each(n.out + i / H * n.out_stride + i % H * D, 0, D,
                 [=](std::int64_t d) { return x[d] * rstd * weight[d]; });
    }
  });
}

template <Real T>
void rms_norm_heads_backward(const Cpu& cpu, const HeadNormBackward<T>& n) {
  const auto [rows, H, D] = n.shape;
  const std::int64_t chunk = norm_chunk_rows(rows);
  parallel_chunks(cpu, rows, chunk, [&, H = H, D = D](auto begin, auto end) {
    T* __restrict d_weight = n.scratch + begin / chunk * D;
    std::fill(d_weight, d_weight + D, T(0));
    for (std::int64_t i = begin * H; i < end * H; ++i) {
      const T* x = n.x + i / H * n.x_stride + i % H * D;
      const T* d_out = n.d_out + i / H * n.d_out_stride + i % H * D;
      const T* weight = n.weight;
      const T rstd = n.rstd[i];
      for (std::int64_t d = 0; d < D; ++d) d_weight[d] += d_out[d] * x[d] * rstd;
      const T slope = rstd * rstd / static_cast<T>(D) *
                      lane_sum<T>(D, [=](std::int64_t d) { return d_out[d] * weight[d] * x[d]; });
      store_each(n.d_x + i / H * n.d_x_stride + i % H * D, 0, D,
                 [=](std::int64_t d) { return rstd * (d_out[d] * weight[d] - x[d] * slope); });
    }
  });
  detail::add_partial_sums(cpu, n.d_weight, n.scratch, norm_chunks(rows), D, D);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
