// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector registers: how wide they are, and numbers on their way between them and memory.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

#if defined(__SSE2__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Bytes of a vector register, by the name of the instruction set.
namespace register_bytes {
inline constexpr int amx_bf16 = 64;
inline constexpr int avx512_bf16 = 64;
inline constexpr int avx512 = 64;
inline constexpr int avx2 = 32;
inline constexpr int portable = 16;
}  // namespace register_bytes
inline constexpr int vector_bytes = register_bytes::FOUNT_CPU_NAMESPACE;

/// Numbers in a register.
template <class T>
inline constexpr int vector_width = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
struct Vectors {
  using Register [[gnu::vector_size(vector_bytes)]] = T;
  using Memory [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

template <class T>
using Vector = typename Vectors<T>::Register;
/// The bits of floats.
using Words = Vector<std::uint32_t>;

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename Vectors<T>::Memory*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(std::type_identity_t<T>* to, Vector<T> value) {
  *reinterpret_cast<typename Vectors<T>::Memory*>(to) = value;
}

/// The square root, correctly rounded; NaN of a negative number. Not std::sqrt for registers: that
/// reports negative arguments through errno, and g++ calls it one number at a time.
[[gnu::always_inline]] inline float square_root(float x) { return std::sqrt(x); }
[[gnu::always_inline]] inline double square_root(double x) { return std::sqrt(x); }
[[gnu::always_inline]] inline Vector<float> square_root(Vector<float> x) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  constexpr __mmask16 all = 0xffff;  // the unmasked form warns of an uninitialised value in g++ 12
  return reinterpret_cast<Vector<float>>(_mm512_maskz_sqrt_ps(all, reinterpret_cast<__m512>(x)));
#elif FOUNT_HAS_AVX2
  return reinterpret_cast<Vector<float>>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#elif defined(__SSE2__) && !defined(__CUDACC__)
  return reinterpret_cast<Vector<float>>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
#else
  for (int i = 0; i < vector_width<float>; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}
[[gnu::always_inline]] inline Vector<double> square_root(Vector<double> x) {
  for (int i = 0; i < vector_width<double>; ++i) x[i] = std::sqrt(x[i]);
  return x;
}

/// Whether a lane of one of the two is NaN.
[[gnu::always_inline]] inline bool any_nan(Vector<float> a, Vector<float> b) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                            _CMP_UNORD_Q) != 0;
#elif FOUNT_HAS_AVX2
  return _mm256_movemask_ps(_mm256_cmp_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b),
                                          _CMP_UNORD_Q)) != 0;
#elif defined(__SSE2__) && !defined(__CUDACC__)
  return _mm_movemask_ps(
             _mm_cmpunord_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b))) != 0;
#else
  bool found = false;
  for (int i = 0; i < vector_width<float>; ++i) found = found || a[i] != a[i] || b[i] != b[i];
  return found;
#endif
}

/// The upper halves of the words of `upper`, the lower halves of those of `lower`.
[[gnu::always_inline]] inline Words merge_halves(Words upper, Words lower) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  constexpr int choose =
      0xca;  // of each bit: the first operand's is set ? the second's : the third's
  return reinterpret_cast<Words>(_mm512_ternarylogic_epi32(
      _mm512_set1_epi32(static_cast<int>(0xffff0000U)), reinterpret_cast<__m512i>(upper),
      reinterpret_cast<__m512i>(lower), choose));
#elif FOUNT_HAS_AVX2
  return reinterpret_cast<Words>(
      _mm256_blend_epi16(reinterpret_cast<__m256i>(lower), reinterpret_cast<__m256i>(upper), 0xaa));
#else
  return (upper & 0xffff0000U) | (lower & 0xffffU);
#endif
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
