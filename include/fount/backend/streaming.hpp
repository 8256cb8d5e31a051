// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory written past the caches: for what other threads will read. An ordinary store must first take
// the line from every cache that holds it, and where two threads share no cache (processors of several
// chiplets or sockets) each of these waits for the other's.

#include <cstring>

#include <fount/core/macros.hpp>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Writes a vector to an address that is a multiple of its size. Other threads may read it after
/// finish_streams() and whatever tells them so.
template <class Vector>
[[gnu::always_inline]] inline void stream_vector(void* to, const Vector& value) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Vector) == sizeof(__m512i)) {
    _mm512_stream_si512(static_cast<__m512i*>(to), reinterpret_cast<const __m512i&>(value));
    return;
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(Vector) == sizeof(__m256i)) {
    _mm256_stream_si256(static_cast<__m256i*>(to), reinterpret_cast<const __m256i&>(value));
    return;
  }
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(Vector) == sizeof(__m128i)) {
    _mm_stream_si128(static_cast<__m128i*>(to), reinterpret_cast<const __m128i&>(value));
    return;
  }
#endif
  std::memcpy(to, &value, sizeof value);
}

/// Orders what was streamed before everything that this thread writes from here on.
inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
