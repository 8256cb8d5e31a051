// SPDX-License-Identifier: Apache-2.0
#pragma once
// Clipping by the norm of all gradients together: the sum of squares of a buffer, and the factor
// that follows from the norm. Pascanu et al. 2013, https://arxiv.org/abs/1211.5063.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::optim {

/// Elements whose squares make one partial sum.
inline constexpr std::int64_t norm_chunk = 65536;

/// Partial sums that squared_norm needs room for.
constexpr std::int64_t norm_partials(std::int64_t count) {
  return (count + norm_chunk - 1) / norm_chunk;
}

/// min(1, max_norm / (norm + 1e-6)), as PyTorch has it; 1 where max_norm is not positive: no
/// clipping. A NaN norm gives NaN: the caller skips such a step.
inline double clip_factor(double norm, double max_norm) {
  if (!(max_norm > 0)) return 1;
  const double factor = max_norm / (norm + 1e-6);
  return factor > 1 ? 1 : factor;
}

inline namespace FOUNT_CPU_NAMESPACE {

/// Sum of squares in double, over fixed chunks added in order; NaN and infinity come through.
/// @param[in] x (count)   @param[out] partials (norm_partials(count)), overwritten
template <Element T>
double squared_norm(const Cpu& cpu, const T* x, std::int64_t count, double* partials) {
  parallel_chunks(cpu, count, norm_chunk, [=](std::int64_t begin, std::int64_t end) {
    const T* chunk = x + begin;
    partials[begin / norm_chunk] = lane_sum<double>(end - begin, [=](std::int64_t i) {
      return static_cast<double>(value_of(chunk[i])) * static_cast<double>(value_of(chunk[i]));
    });
  });
  double sum = 0;
  for (std::int64_t p = 0; p < norm_partials(count); ++p) sum += partials[p];
  return sum;
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
