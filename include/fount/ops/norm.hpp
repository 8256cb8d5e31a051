// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normalisation of rows, with the residual sum in front of it in the same pass: LayerNorm
// (Ba et al. 2016, https://arxiv.org/abs/1607.06450) and RMSNorm (Zhang & Sennrich 2019,
// https://arxiv.org/abs/1910.07467), the latter also per attention head, for QK-norm. A, W and
// G are what activations, weights and gradients are stored in; statistics are float or double.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {

/// x = residual + delta; out = norm(x) * weight + bias, along rows of C = hidden_size elements.
template <Element A, Element W = A>
struct NormForward {
  using T = compute_t<A>;
  A* out = nullptr;             // (rows, C), overwritten; overlaps no input
  A* sum = nullptr;             // (rows, C), receives x; only where there is a delta
  T* mean = nullptr;            // (rows), kept for backward; LayerNorm only
  T* rstd = nullptr;            // (rows), 1 / sqrt(variance or mean square + eps), for backward
  const A* residual = nullptr;  // (rows, C)
  const A* delta = nullptr;     // (rows, C), may be absent: then x is the residual itself
  const W* weight = nullptr;    // (C)
  const W* bias = nullptr;      // (C), may be absent; LayerNorm only
  std::int64_t rows = 0;
  std::int64_t hidden_size = 0;
  T eps = T(1e-5);  // added inside the root, unitless
};

/// Gradients of NormForward with respect to x (hence to residual and delta alike) and parameters.
template <Element A, Element W = A, Element G = W>
struct NormBackward {
  using T = compute_t<A>;
  static_assert(std::is_same_v<compute_t<G>, T>, "gradients of parameters are summed in T");
  A* d_x = nullptr;           // (rows, C), added to or overwritten, see below
  G* d_weight = nullptr;      // (C), added to
  G* d_bias = nullptr;        // (C), added to; absent where there is no bias
  const A* d_out = nullptr;   // (rows, C), no part of d_x
  const A* x = nullptr;       // (rows, C), what forward normalised: sum, or residual
  const T* mean = nullptr;    // (rows), LayerNorm only
  const T* rstd = nullptr;    // (rows)
  const W* weight = nullptr;  // (C)
  T* scratch = nullptr;       // layer_norm_scratch or rms_norm_scratch elements
  std::int64_t rows = 0;
  std::int64_t hidden_size = 0;
  bool accumulate_d_x = false;  // true: d_x += gradient, as the residual stream wants it
};

/// Heads of D = head_dim consecutive elements, H of them at the start of each row of a wider
/// buffer.
struct HeadShape {
  std::int64_t rows = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
};

/// RMSNorm of each head on its own, all with one weight.
template <Element A, Element W = A>
struct HeadNormForward {
  using T = compute_t<A>;
  A* out = nullptr;           // (rows, H, D) at out_stride; may be x
  T* rstd = nullptr;          // (rows, H)
  const A* x = nullptr;       // (rows, H, D) at x_stride
  const W* weight = nullptr;  // (D)
  HeadShape shape;
  std::int64_t out_stride = 0;  // elements from one row to the next
  std::int64_t x_stride = 0;
  T eps = T(1e-5);
};

template <Element A, Element W = A, Element G = W>
struct HeadNormBackward {
  using T = compute_t<A>;
  A* d_x = nullptr;           // (rows, H, D) at d_x_stride, overwritten; may be d_out
  G* d_weight = nullptr;      // (D), added to
  const A* d_out = nullptr;   // (rows, H, D) at d_out_stride
  const A* x = nullptr;       // (rows, H, D) at x_stride: the input of forward, not its output
  const T* rstd = nullptr;    // (rows, H)
  const W* weight = nullptr;  // (D)
  T* scratch = nullptr;       // rms_norm_heads_scratch elements
  HeadShape shape;
  std::int64_t d_x_stride = 0;
  std::int64_t d_out_stride = 0;
  std::int64_t x_stride = 0;
};

/// Rows whose parameter gradients are summed together: at most 64 partial sums, so that scratch
/// stays small; at least 32 rows each, so that adding the partial sums stays cheap (with 16 they
/// and the ends of the runs took a tenth of the time).
constexpr std::int64_t norm_chunk_rows(std::int64_t rows) {
  return std::max<std::int64_t>(32, (rows + 63) / 64);
}
/// Partial sums of the parameter gradients: one for each such run of rows.
constexpr std::int64_t norm_chunks(std::int64_t rows) {
  return (rows + norm_chunk_rows(rows) - 1) / norm_chunk_rows(rows);
}

/// Elements of scratch that the backward functions need.
constexpr std::int64_t layer_norm_scratch(std::int64_t rows, std::int64_t hidden_size) {
  return norm_chunks(rows) * 2 * hidden_size;
}
constexpr std::int64_t rms_norm_scratch(std::int64_t rows, std::int64_t hidden_size) {
  return norm_chunks(rows) * hidden_size;
}
constexpr std::int64_t rms_norm_heads_scratch(const HeadShape& shape) {
  return norm_chunks(shape.rows) * shape.head_dim;
}

inline namespace FOUNT_CPU_NAMESPACE {

/// out = (x - mean) * rstd * weight [+ bias]. The variance is taken around the mean, in a second
/// pass over the row: E[x^2] - E[x]^2 loses all digits where the mean is large.
template <Element A, Element W = A>
void layer_norm_forward(const Cpu& cpu, const NormForward<A, W>& norm);

/// The gradient through layer_norm_forward; the same for any number of threads.
template <Element A, Element W = A, Element G = W>
void layer_norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& norm);

/// out = x * rstd * weight.
template <Element A, Element W = A>
void rms_norm_forward(const Cpu& cpu, const NormForward<A, W>& norm);

/// The gradient through rms_norm_forward; the same for any number of threads.
template <Element A, Element W = A, Element G = W>
void rms_norm_backward(const Cpu& cpu, const NormBackward<A, W, G>& norm);

template <Element A, Element W = A>
void rms_norm_heads_forward(const Cpu& cpu, const HeadNormForward<A, W>& norm);

template <Element A, Element W = A, Element G = W>
void rms_norm_heads_backward(const Cpu& cpu, const HeadNormBackward<A, W, G>& norm);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/norm.hpp>
