// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results on their way to memory: many numbers rounded at once to what they are stored in. The same
// bits as one by one, by static_cast or by round_stochastically() in core/random.hpp.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>
#include <fount/core/unroll.hpp>

#if FOUNT_HAS_AVX2
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// to[i] = from[i] for i in [0, count), to nearest even.
template <Element S>
[[gnu::always_inline]] inline void round_each(S* to, const compute_t<S>* from, std::int64_t count) {
  std::int64_t i = 0;
#if FOUNT_HAS_BF16_PRODUCTS && defined(__AVX512DQ__) && !defined(__CUDACC__)
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

/// Numbers that lie so far apart share a random word.
inline constexpr std::int64_t shared_word_distance = 16;
/// Words for `count` numbers.
constexpr std::int64_t rounding_words(std::int64_t count) {
  constexpr std::int64_t run = 2 * shared_word_distance;
  return (count + run - 1) / run * shared_word_distance;
}

}  // namespace FOUNT_CPU_NAMESPACE

#if FOUNT_HAS_AVX2
namespace detail {
inline namespace FOUNT_CPU_NAMESPACE {

#if defined(__AVX512BW__) && defined(__AVX512DQ__)
/// A run of thirty-two numbers, two registers of them; false if one is not finite and nothing is done.
[[gnu::always_inline]] inline bool round_run_stochastically(bf16* to, const float* from,
                                                            const std::uint32_t* words,
                                                            unsigned rotation) {
  typedef std::uint32_t Words __attribute__((vector_size(64)));
  typedef std::uint16_t Halves __attribute__((vector_size(64)));
  constexpr int not_finite = 0x01 | 0x08 | 0x10 | 0x80;  // NaN, +infinity, -infinity, NaN
  const __m512 low = _mm512_loadu_ps(from);
  const __m512 high = _mm512_loadu_ps(from + shared_word_distance);
  if ((_mm512_fpclass_ps_mask(low, not_finite) | _mm512_fpclass_ps_mask(high, not_finite)) != 0) {
    return false;
  }
  Words word;
  std::memcpy(&word, words, sizeof word);
  const auto rotated = [&word](unsigned by) {
    return by == 0 ? word : word >> by | word << (32U - by);
  };
  const Words first = reinterpret_cast<Words>(low) + (rotated(rotation) & 0xffffU);
  const Words second = reinterpret_cast<Words>(high) + (rotated((rotation + 16U) % 32U) & 0xffffU);
  const Halves upper_halves = __builtin_shufflevector(
      reinterpret_cast<Halves>(first), reinterpret_cast<Halves>(second), 1, 3, 5, 7, 9, 11, 13, 15,
      17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(upper_halves));
  return true;
}
#else
/// A run of thirty-two numbers, four registers of them; false if one is not finite and nothing is done.
[[gnu::always_inline]] inline bool round_run_stochastically(bf16* to, const float* from,
                                                            const std::uint32_t* words,
                                                            unsigned rotation) {
  typedef std::uint32_t Words __attribute__((vector_size(32)));
  const auto load = [](const void* address) __attribute__((always_inline)) {
    Words all;
    std::memcpy(&all, address, sizeof all);
    return all;
  };
  constexpr int lanes = 8;
  Words rounded[4];
  Words not_finite{};
  unroll<4>([&](auto i) __attribute__((always_inline)) {
    const Words word = load(words + i % 2 * lanes);
    const unsigned by = (rotation + i / 2 * 16U) % 32U;
    const Words random = by == 0 ? word : word >> by | word << (32U - by);
    const Words value = load(from + i * lanes);
    not_finite |= reinterpret_cast<Words>((value & 0x7f800000U) == 0x7f800000U);
    rounded[i] = (value + (random & 0xffffU)) >> 16U;
  });
  if (_mm256_testz_si256(reinterpret_cast<__m256i>(not_finite), reinterpret_cast<__m256i>(not_finite)) == 0) {
    return false;
  }
  unroll<2>([&](auto i) __attribute__((always_inline)) {
    // Quarters of the two registers take turns.
    const __m256i packed = _mm256_packus_epi32(reinterpret_cast<__m256i>(rounded[2 * i]),
                                               reinterpret_cast<__m256i>(rounded[2 * i + 1]));
    const __m256i in_order = _mm256_permute4x64_epi64(packed, 0b11'01'10'00);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * 2 * lanes), in_order);
  });
  return true;
}
#endif

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace detail
#endif

inline namespace FOUNT_CPU_NAMESPACE {

/// to[i] = round_stochastically(from[i], r) for i in [0, count), where r are 16 bits from bit `rotation`
/// on, around the end of the word, that number 32 j + i takes of words[16 j + i]. Number 32 j + 16 + i
/// takes the 16 that those leave.
/// @param words (rounding_words(count))   @param rotation in [0, 32)
[[gnu::always_inline]] inline void round_each_stochastically(bf16* to, const float* from,
                                                             std::int64_t count,
                                                             const std::uint32_t* words,
                                                             unsigned rotation) {
  constexpr std::int64_t half = shared_word_distance;
  for (std::int64_t begin = 0; begin < count; words += half) {
#if FOUNT_HAS_AVX2
    if (count - begin >= 2 * half &&
        detail::round_run_stochastically(to + begin, from + begin, words, rotation)) {
      begin += 2 * half;
      continue;
    }
#endif
    for (const unsigned taken : {rotation, rotation + 16U}) {
      const std::int64_t size = std::min(half, count - begin);
      for (std::int64_t i = 0; i < size; ++i) {
        to[begin + i] =
            round_stochastically(from[begin + i], std::rotr(words[i], static_cast<int>(taken)));
      }
      begin += size;
    }
  }
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
