// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix multiplication: what is asked for, in one struct, and the function that does it.
// The bodies are in ops/cpu/; linear layers and their gradients are in ops/linear.hpp.

#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {

/// C(m, n) = [C +] A(m, k) * B(k, n) [+ bias(n)]. Strides count elements, so either operand may be
/// stored transposed (row_stride 1) or be a block of a larger matrix. C must not overlap an input.
/// Each may be stored in a format of its own: sums are taken in float (double for double), and
/// rounded once, where they reach C. Where the instruction set multiplies bf16 (AVX-512 BF16,
/// AMX), an operand in float beside one in bf16 is rounded to bf16 first.
template <Element TC, Element TA = TC, Element TB = TA>
struct Matmul {
  std::int64_t m = 0, n = 0, k = 0;
  TC* c = nullptr;  // (m, n), consecutive within a row
  std::int64_t c_row_stride = 0;
  const TA* a = nullptr;  // (m, k)
  std::int64_t a_row_stride = 0, a_col_stride = 1;
  const TB* b = nullptr;  // (k, n)
  std::int64_t b_row_stride = 0, b_col_stride = 1;
  const TB* bias = nullptr;  // (n), added to every row; may be absent
  bool accumulate = false;  // add to C; otherwise C is only written and may hold anything
};

inline namespace FOUNT_CPU_NAMESPACE {

/// Carries out `problem` on all threads of `cpu`; small problems stay on the calling thread.
/// The sum of each element of C is taken in an order that depends on k alone: the result is the
/// same, bit for bit, for any number of threads. Allocates nothing. Not to be called from inside
/// Cpu::parallel: see matmul_in_task.
/// @throws ShapeError if an extent is negative or rows of C overlap; DeviceError if the program is
/// compiled for AMX and the system does not give it the tile registers
template <Element TC, Element TA = TC, Element TB = TA>
void matmul(const Cpu& cpu, const Matmul<TC, TA, TB>& problem);

/// The same result on the calling thread, from inside Cpu::parallel: `thread` is the number given
/// to the body, whose workspace is overwritten.
/// @throws ShapeError and DeviceError as matmul does; a body must not throw, so check shapes before the
/// loop, and where operands are bf16 call require_tile_registers() of backend/tile_registers.hpp in
/// programs for AMX
template <Element TC, Element TA = TC, Element TB = TA>
void matmul_in_task(const Cpu& cpu, int thread, const Matmul<TC, TA, TB>& problem);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/matmul.hpp>
