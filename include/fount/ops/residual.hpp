// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise ops on flat buffers: fill, sum of two, accumulation, dropout. Adding a residual as
// part of a normalisation is in ops/norm.hpp. Dropout: Srivastava et al. 2014, JMLR 15.

#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {

/// x[i] = value.   @param[out] x (count)
template <Element T>
void fill(const Cpu& cpu, T* x, T value, std::int64_t count);

/// x[i] = 0.   @param[out] x (count)
template <Element T>
void zero(const Cpu& cpu, T* x, std::int64_t count);

/// x[i] += y[i].   @param[in,out] x (count)   @param[in] y (count), no part of x
template <Element T>
void accumulate(const Cpu& cpu, T* x, const T* y, std::int64_t count);

/// out[i] = a[i] + b[i]; out may be a or b.   @param[out] out (count)   @param[in] a, b (count)
template <Element T>
void add(const Cpu& cpu, T* out, const T* a, const T* b, std::int64_t count);

/// out[i] = in[i] * dropout.factor(i), a plain copy where dropout is not active; out may be in.
/// The index is the position in this buffer, so that backward draws the same mask again.
/// @param[out] out (count)   @param[in] in (count)
template <Element T>
void dropout_forward(const Cpu& cpu, T* out, const T* in, const Dropout& dropout,
                     std::int64_t count);

/// d_in[i] = d_out[i] * dropout.factor(i), with the Dropout of the forward call; d_in may be d_out.
/// @param[out] d_in (count)   @param[in] d_out (count)
template <Element T>
void dropout_backward(const Cpu& cpu, T* d_in, const T* d_out, const Dropout& dropout,
                      std::int64_t count);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/residual.hpp>
