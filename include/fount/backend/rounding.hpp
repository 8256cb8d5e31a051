// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results on their way to memory: many numbers rounded at once to what they are stored in. The same
// bits as static_cast gives one by one; stochastic rounding is in core/random.hpp.

#include <cstdint>
#include <type_traits>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

#if FOUNT_HAS_BF16_PRODUCTS && defined(__AVX512DQ__)
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// to[i] = from[i] for i in [0, count), to nearest even.
template <Element S>
[[gnu::always_inline]] inline void round_each(S* to, const compute_t<S>* from, std::int64_t count) {
  std::int64_t i = 0;
#if FOUNT_HAS_BF16_PRODUCTS && defined(__AVX512DQ__)
  if constexpr (std::is_same_v<S, bf16>) {
    constexpr int lanes = 32;
    constexpr int subnormal = 0x20;
    for (; i + lanes <= count; i += lanes) {
      const __m512 low = _mm512_loadu_ps(from + i);
      const __m512 high = _mm512_loadu_ps(from + i + lanes / 2);
      // The instruction takes subnormal numbers for 0. They are rare: those go the other way.
      if ((_mm512_fpclass_ps_mask(low, subnormal) | _mm512_fpclass_ps_mask(high, subnormal)) != 0) {
        for (int j = 0; j < lanes; ++j) to[i + j] = static_cast<S>(from[i + j]);
      } else {
        _mm512_storeu_si512(to + i, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
      }
    }
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<S>(from[i]);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
