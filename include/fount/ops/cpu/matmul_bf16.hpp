// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands in bf16: a word of a strip is two of them, which follow each other along k. And the register
// tile for processors that multiply pairs and add in float: twice the arithmetic of floats on Zen 4
// and 5 (AVX-512 BF16, vdpbf16ps). Products are exact; subnormal numbers count as zero.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fount/backend/stored.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/ops/cpu/matmul_tile.hpp>

#if FOUNT_HAS_BF16_PRODUCTS
#include <immintrin.h>
#endif

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// How words of two bf16 are packed, the one that comes first along k in the lower half; operands in
/// float are rounded.
template <int VectorBytes, int Rows>
struct PairPacking : MatmulTile<float, VectorBytes, Rows> {
  using Base = MatmulTile<float, VectorBytes, Rows>;
  using typename Base::Vector;
  using Base::lanes;
  using Word = std::uint32_t;
  static constexpr int steps_per_word = 2;
  static constexpr bool reads_a_in_place = false;

  template <Element S>
  [[gnu::always_inline]] static void load_line(Vector& words, const S* from) {
    if constexpr (std::is_same_v<S, bf16>) {
      std::memcpy(&words, from, sizeof words);
#if FOUNT_HAS_BF16_PRODUCTS
    } else if constexpr (lanes == 16) {
      words = reinterpret_cast<Vector>(
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + lanes), _mm512_loadu_ps(from)));
#endif
    } else {
      Word all[lanes];
      for (int i = 0; i < lanes; ++i) all[i] = load_word(from + 2 * i, 1, 2);
      std::memcpy(&words, all, sizeof words);
    }
  }

  template <Element S>
  [[gnu::always_inline]] static Word load_word(const S* from, std::int64_t stride, int present) {
    const Word first = rounded(from[0]).bits;
    const Word second = present > 1 ? rounded(from[stride]).bits : 0U;
    return first | second << 16U;
  }

  template <int Width, Element S>
  [[gnu::always_inline]] static void copy_words(Word* to, const S* from, std::int64_t stride,
                                                int present) {
#if FOUNT_HAS_BF16_PRODUCTS
    if constexpr (lanes == 16) {
#pragma GCC unroll 2
      for (int i = 0; i < Width; i += lanes) {
        constexpr unsigned all = 0xffff;
        const auto lines = static_cast<__mmask16>(Width - i >= lanes ? all : (1U << (Width - i)) - 1U);
        const auto second = static_cast<__mmask16>(present > 1 ? lines : 0);
        _mm512_mask_storeu_epi32(to + i, lines, pairs(from + i, lines, from + i + stride, second));
      }
      return;
    }
#endif
    for (int i = 0; i < Width; ++i) to[i] = load_word(from + i, stride, present);
  }

 private:
  static bf16 rounded(bf16 value) { return value; }
  static bf16 rounded(float value) { return bf16(value); }

#if FOUNT_HAS_BF16_PRODUCTS
  using Long = typename StoredWords<lanes>::Long;

  /// Lane i holds a[i] and b[i]; lanes that are masked out hold zero and are not read.
  template <Element S>
  [[gnu::always_inline]] static __m512i pairs(const S* a, __mmask16 of_a, const S* b,
                                              __mmask16 of_b) {
    return reinterpret_cast<__m512i>(halves(a, of_a) | halves(b, of_b) << 16U);
  }
  [[gnu::always_inline]] static Long halves(const bf16* from, __mmask16 mask) {
    return widened(_mm256_maskz_loadu_epi16(mask, from));
  }
  [[gnu::always_inline]] static Long halves(const float* from, __mmask16 mask) {
    return widened(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from)));
  }
  // The intrinsic for this warns of an uninitialised value in g++ 12.
  template <class Register>
  [[gnu::always_inline]] static Long widened(Register words) {
    return __builtin_convertvector(reinterpret_cast<typename StoredWords<lanes>::Short>(words), Long);
  }
#endif
};

#if FOUNT_HAS_BF16_PRODUCTS

struct PairTile : PairPacking<64, 14> {
  [[gnu::always_inline]] static void multiply_add(Vector& sums, const Vector& b, Word a) {
    sums = reinterpret_cast<Vector>(_mm512_dpbf16_ps(
        reinterpret_cast<__m512>(sums),
        reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
        reinterpret_cast<__m512bh>(b)));
  }
};

/// bf16 with bf16 or with float, which is then rounded to bf16.
template <class A, class B>
inline constexpr bool multiplies_pairs =
    (std::is_same_v<A, bf16> && (std::is_same_v<B, bf16> || std::is_same_v<B, float>)) ||
    (std::is_same_v<A, float> && std::is_same_v<B, bf16>);

#else

template <Element A, Element B>
inline constexpr bool multiplies_pairs = false;

#endif

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
