// SPDX-License-Identifier: Apache-2.0
#pragma once
// Square roots of many numbers at once. std::sqrt reports negative arguments through errno, so
// g++ calls it one number at a time unless -fno-math-errno; the instruction itself has no such tie.

#include <cmath>
#include <cstdint>
#include <limits>

#include <fount/core/macros.hpp>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// x[i] = sqrt(x[i]), correctly rounded; NaN for a negative x[i].
inline void square_roots(float* x, std::int64_t count) {
#if defined(__AVX512F__)
  constexpr std::int64_t lanes = 16;
  constexpr __mmask16 all = 0xffff;  // the unmasked form warns of an uninitialised value in g++ 12
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
    _mm512_storeu_ps(x + i, _mm512_maskz_sqrt_ps(all, _mm512_loadu_ps(x + i)));
  }
#elif defined(__AVX__)
  constexpr std::int64_t lanes = 8;
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
    _mm256_storeu_ps(x + i, _mm256_sqrt_ps(_mm256_loadu_ps(x + i)));
  }
#elif defined(__SSE2__)
  constexpr std::int64_t lanes = 4;
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
    _mm_storeu_ps(x + i, _mm_sqrt_ps(_mm_loadu_ps(x + i)));
  }
#else
  constexpr std::int64_t lanes = std::numeric_limits<std::int64_t>::max();  // no registers: one by one
#endif
  for (std::int64_t i = count / lanes * lanes; i < count; ++i) x[i] = std::sqrt(x[i]);
}

inline void square_roots(double* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = std::sqrt(x[i]);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
