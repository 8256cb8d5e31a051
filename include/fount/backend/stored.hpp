// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of stored elements: loading widens 16-bit formats to what kernels compute in, storing
// rounds them back. By reference: a vector wider than the processor's registers has no agreed way
// to be passed.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

#if FOUNT_HAS_AVX2
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Words of 16 and 32 bits, as many as a vector of floats has lanes.
template <int Lanes>
struct StoredWords {
  typedef std::uint16_t Short __attribute__((vector_size(2 * Lanes)));
  typedef std::uint32_t Long __attribute__((vector_size(4 * Lanes)));
};

}  // namespace FOUNT_CPU_NAMESPACE

namespace detail {
inline namespace FOUNT_CPU_NAMESPACE {

/// Words of 16 bits, as many as `out` has lanes, as words of 32. By hand where one instruction does
/// it: g++ 12 makes four of a __builtin_convertvector, halves and all.
template <int Lanes, class Long>
[[gnu::always_inline]] inline void widen(Long& out, const void* from) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  if constexpr (Lanes == 16) {
    constexpr __mmask16 all = 0xffff;  // g++ 12 warns of an uninitialised value in the other form
    out = reinterpret_cast<Long>(_mm512_maskz_cvtepu16_epi32(
        all, _mm256_loadu_si256(static_cast<const __m256i*>(from))));
    return;
  }
#endif
#if FOUNT_HAS_AVX2
  if constexpr (Lanes == 8) {
    out = reinterpret_cast<Long>(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from))));
    return;
  }
#endif
  typename StoredWords<Lanes>::Short stored;
  std::memcpy(&stored, from, sizeof stored);
  out = __builtin_convertvector(stored, Long);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace detail

inline namespace FOUNT_CPU_NAMESPACE {

/// The elements from `from` on, as numbers to compute with.
template <class Vector, Element S>
[[gnu::always_inline]] inline void load_vector(Vector& out, const S* from) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(compute_t<S>));
  if constexpr (std::is_same_v<S, compute_t<S>>) {
    std::memcpy(&out, from, sizeof out);
  } else if constexpr (std::is_same_v<S, bf16>) {
    typename StoredWords<lanes>::Long words;
    detail::widen<lanes>(words, from);
    words <<= 16U;
    std::memcpy(&out, &words, sizeof out);
  } else {
    compute_t<S> values[lanes];
    for (int i = 0; i < lanes; ++i) values[i] = value_of(from[i]);
    std::memcpy(&out, values, sizeof out);
  }
}

/// `values`, rounded to what the elements from `to` on are stored in.
template <Element S, class Vector>
[[gnu::always_inline]] inline void store_vector(S* to, const Vector& values) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(compute_t<S>));
  if constexpr (std::is_same_v<S, compute_t<S>>) {
    std::memcpy(to, &values, sizeof values);
  } else if constexpr (std::is_same_v<S, bf16>) {
    typename StoredWords<lanes>::Long words;
    std::memcpy(&words, &values, sizeof words);
    // As the constructor of bf16 does: to nearest even, NaN stays NaN.
    const auto is_nan = values != values;
    const auto nearest = (words + 0x7fffU + ((words >> 16U) & 1U)) >> 16U;
    const auto nan = (words >> 16U) | 0x40U;
    const typename StoredWords<lanes>::Long result = is_nan ? nan : nearest;
    const auto stored = __builtin_convertvector(result, typename StoredWords<lanes>::Short);
    std::memcpy(static_cast<void*>(to), &stored, sizeof stored);
  } else {
    compute_t<S> all[lanes];
    std::memcpy(all, &values, sizeof all);
    for (int i = 0; i < lanes; ++i) to[i] = static_cast<S>(all[i]);
  }
}

/// to[i] = from[i] for `count` elements.
template <Element S>
[[gnu::always_inline]] inline void copy_values(compute_t<S>* __restrict to, const S* from,
                                               std::int64_t count) {
  if constexpr (std::is_same_v<S, compute_t<S>>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(S));
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value_of(from[i]);
  }
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
