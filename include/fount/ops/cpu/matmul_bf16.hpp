// SPDX-License-Identifier: Apache-2.0
#pragma once
// The register tile for operands in bf16 where the processor multiplies pairs of them and adds in
// float: twice the arithmetic of floats (AVX-512 BF16, vdpbf16ps). A word of a strip is two steps
// along k. Products are exact; subnormal numbers count as zero.

#include <fount/ops/cpu/matmul_tile.hpp>

#if FOUNT_HAS_BF16_PRODUCTS
#include <immintrin.h>
#endif

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

#if FOUNT_HAS_BF16_PRODUCTS

struct PairTile : MatmulTile<float, 64, 14> {
  using Word = std::uint32_t;  // the lower half comes first along k
  static constexpr int steps_per_word = 2;
  static constexpr bool reads_a_in_place = false;

  [[gnu::always_inline]] static void multiply_add(Vector& sums, const Vector& b, Word a) {
    sums = reinterpret_cast<Vector>(_mm512_dpbf16_ps(
        reinterpret_cast<__m512>(sums),
        reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
        reinterpret_cast<__m512bh>(b)));
  }

  [[gnu::always_inline]] static void load_line(Vector& words, const bf16* from) {
    std::memcpy(&words, from, sizeof words);
  }
  [[gnu::always_inline]] static void load_line(Vector& words, const float* from) {
    words = reinterpret_cast<Vector>(
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + lanes), _mm512_loadu_ps(from)));
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
#pragma GCC unroll 2
    for (int i = 0; i < Width; i += lanes) {
      constexpr unsigned all = 0xffff;
      const auto lines = static_cast<__mmask16>(Width - i >= lanes ? all : (1U << (Width - i)) - 1U);
      const auto second = static_cast<__mmask16>(present > 1 ? lines : 0);
      _mm512_mask_storeu_epi32(to + i, lines, pairs(from + i, lines, from + i + stride, second));
    }
  }

 private:
  static bf16 rounded(bf16 value) { return value; }
  static bf16 rounded(float value) { return bf16(value); }

  /// Lane i holds a[i] and b[i]; lanes that are masked out hold zero and are not read.
  template <Element S>
  [[gnu::always_inline]] static __m512i pairs(const S* a, __mmask16 of_a, const S* b,
                                              __mmask16 of_b) {
    return reinterpret_cast<__m512i>(halves(a, of_a) | halves(b, of_b) << 16U);
  }
  [[gnu::always_inline]] static Words<lanes>::Long halves(const bf16* from, __mmask16 mask) {
    return widened(_mm256_maskz_loadu_epi16(mask, from));
  }
  [[gnu::always_inline]] static Words<lanes>::Long halves(const float* from, __mmask16 mask) {
    return widened(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from)));
  }
  // The intrinsic for this warns of an uninitialised value in g++ 12.
  template <class Register>
  [[gnu::always_inline]] static Words<lanes>::Long widened(Register words) {
    return __builtin_convertvector(reinterpret_cast<Words<lanes>::Short>(words),
                                   Words<lanes>::Long);
  }
};

/// bf16 with bf16 or with float, which is then rounded to bf16.
template <class A, class B>
inline constexpr bool multiplies_pairs =
    (std::is_same_v<A, bf16> && (std::is_same_v<B, bf16> || std::is_same_v<B, float>)) ||
    (std::is_same_v<A, float> && std::is_same_v<B, bf16>);

/// The tile for operands that are stored as A and B.
template <Element A, Element B>
using TileFor = std::conditional_t<multiplies_pairs<A, B>, PairTile, NativeTile<compute_t<A>>>;

#else

template <Element A, Element B>
inline constexpr bool multiplies_pairs = false;

template <Element A, Element B>
using TileFor = NativeTile<compute_t<A>>;

#endif

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
