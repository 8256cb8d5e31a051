// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear layers: y = x W^T + bias and its three gradients, as products for ops/matmul.hpp.
// Weights are (out, in), activations (rows, features), all row-major and contiguous. A, W and G are
// what activations, weights and gradients are stored in.

#include <algorithm>
#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/ops/matmul.hpp>

namespace fount::ops {

/// Extents of a linear layer at work on `rows` vectors.
struct LinearShape {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

inline namespace FOUNT_CPU_NAMESPACE {

/// y = x W^T + bias.
/// @param[out] y (rows, out)   @param[in] x (rows, in)   @param[in] weight (out, in)
/// @param[in] bias (out), or null for none
template <Element A, Element W>
void linear_forward(const Cpu& cpu, A* y, const A* x, const W* weight, const W* bias,
                    const LinearShape& shape) {
  matmul<A, A, W>(cpu, {.m = shape.rows, .n = shape.out, .k = shape.in,
                        .c = y, .c_row_stride = shape.out,
                        .a = x, .a_row_stride = shape.in,
                        .b = weight, .b_row_stride = 1, .b_col_stride = shape.in,
                        .bias = bias});
}

/// d_x = [d_x +] d_y W.
/// @param[out] d_x (rows, in), added to if `accumulate`, else overwritten whatever it holds
/// @param[in] d_y (rows, out)   @param[in] weight (out, in)
template <Element A, Element W>
void linear_backward_input(const Cpu& cpu, A* d_x, const A* d_y, const W* weight,
                           const LinearShape& shape, bool accumulate = false) {
  matmul<A, A, W>(cpu, {.m = shape.rows, .n = shape.in, .k = shape.out,
                        .c = d_x, .c_row_stride = shape.in,
                        .a = d_y, .a_row_stride = shape.out,
                        .b = weight, .b_row_stride = shape.in,
                        .accumulate = accumulate});
}

/// d_weight = [d_weight +] d_y^T x.
/// @param[in,out] d_weight (out, in), added to if `accumulate`, else overwritten whatever it holds
/// @param[in] d_y (rows, out)   @param[in] x (rows, in)
template <Element G, Element A>
void linear_backward_weight(const Cpu& cpu, G* d_weight, const A* d_y, const A* x,
                            const LinearShape& shape, bool accumulate = true) {
  matmul<G, A, A>(cpu, {.m = shape.out, .n = shape.in, .k = shape.rows,
                        .c = d_weight, .c_row_stride = shape.in,
                        .a = d_y, .a_row_stride = 1, .a_col_stride = shape.out,
                        .b = x, .b_row_stride = shape.in,
                        .accumulate = accumulate});
}

/// d_bias += the sum of the rows of d_y. Each sum is taken in blocks of rows that depend on
/// `rows` alone, so it is the same for any number of threads.
/// @param[in,out] d_bias (out)   @param[in] d_y (rows, out)
template <Element G, Element A>
void linear_backward_bias(const Cpu& cpu, G* d_bias, const A* d_y, std::int64_t rows,
                          std::int64_t out) {
  using T = compute_t<A>;
  constexpr std::int64_t chunk = 64;         // columns of one task
  constexpr std::int64_t block_rows = 64;    // short sums of short sums round less than one long
  const auto sum_columns = [&](std::int64_t task, int) {
    const std::int64_t first = task * chunk;
    const std::int64_t columns = std::min(chunk, out - first);
    T total[chunk] = {};
    for (std::int64_t row = 0; row < rows;) {
      T partial[chunk] = {};
      const std::int64_t end = std::min(rows, row + block_rows);
      for (; row < end; ++row) {
        const A* d = d_y + row * out + first;
        for (std::int64_t j = 0; j < columns; ++j) partial[j] += value_of(d[j]);
      }
      for (std::int64_t j = 0; j < columns; ++j) total[j] += partial[j];
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      d_bias[first + j] = static_cast<G>(value_of(d_bias[first + j]) + total[j]);
    }
  };
  const std::int64_t tasks = (out + chunk - 1) / chunk;
  if (rows * out < 32768) {  // not worth waking the other threads
    for (std::int64_t task = 0; task < tasks; ++task) sum_columns(task, 0);
  } else {
    cpu.parallel(tasks, sum_columns);
  }
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
