// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nonlinearity between the two feed-forward projections, chosen at run time once a call.
// The formulas are in core/math.hpp; SwiGLU after Shazeer 2020, https://arxiv.org/abs/2002.05202.

#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/config/model_config.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {

/// out = activation(x); swiglu: x = [gate | up] in each row and out = silu(gate) * up.
/// @param[out] out (rows, size), may be x unless swiglu
/// @param[in] x (rows, size), for swiglu (rows, 2 * size)
template <Element T>
void activation_forward(const Cpu& cpu, Activation activation, T* out, const T* x,
                        std::int64_t rows, std::int64_t size);

/// Gradient with respect to x, from the x of the forward call.
/// @param[out] d_x as x; overwritten, and may be x itself, or d_out unless swiglu
/// @param[in] d_out (rows, size)   @param[in] x (rows, size), for swiglu (rows, 2 * size)
template <Element T>
void activation_backward(const Cpu& cpu, Activation activation, T* d_x, const T* d_out, const T* x,
                         std::int64_t rows, std::int64_t size);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/activation.hpp>
