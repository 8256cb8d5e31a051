// SPDX-License-Identifier: Apache-2.0
#pragma once
// Square roots of many numbers at once. std::sqrt reports negative arguments through errno, so
// g++ calls it one number at a time unless -fno-math-errno; the instruction itself has no such tie.

#include <cmath>
#include <cstdint>

#include <fount/core/macros.hpp>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// x[i] = sqrt(x[i]), correctly rounded; NaN for a negative x[i].
inline void square_roots(float* x, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__AVX512F__)
  constexpr __mmask16 all = 0xffff;  // the unmasked form warns of an uninitialised value in g++ 12
  for (; i + 16 <= count; i += 16) {
    _mm512_storeu_ps(x + i, _mm512_maskz_sqrt_ps(all, _mm512_loadu_ps(x + i)));
  }
#elif defined(__AVX__)
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(x + i, _mm256_sqrt_ps(_mm256_loadu_ps(x + i)));
#elif defined(__SSE2__)
  for (; i + 4 <= count; i += 4) _mm_storeu_ps(x + i, _mm_sqrt_ps(_mm_loadu_ps(x + i)));
#endif
  for (; i < count; ++i) x[i] = std::sqrt(x[i]);
}

inline void square_roots(double* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = std::sqrt(x[i]);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
