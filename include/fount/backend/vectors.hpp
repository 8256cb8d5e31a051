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

namespace vector_detail {

/// A number in every lane of a V. (A product with 1 is no instruction; 0 would be one to add.)
template <class V, class N>
[[gnu::always_inline]] inline V spread(const N& n) {
  if constexpr (std::is_same_v<V, N>) {
    return n;
  } else {
    return (V{} + N(1)) * n;
  }
}

[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] inline double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__FP_FAST_FMA)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] inline Vector<float> multiply_add(Vector<float> a, Vector<float> b,
                                                         Vector<float> c) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  return reinterpret_cast<Vector<float>>(_mm512_fmadd_ps(
      reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif FOUNT_HAS_AVX2 && defined(__FMA__)
  return reinterpret_cast<Vector<float>>(_mm256_fmadd_ps(
      reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#elif defined(__FMA__) || defined(__FP_FAST_FMAF)
  for (int i = 0; i < vector_width<float>; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] inline Vector<double> multiply_add(Vector<double> a, Vector<double> b,
                                                          Vector<double> c) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  return reinterpret_cast<Vector<double>>(_mm512_fmadd_pd(
      reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif FOUNT_HAS_AVX2 && defined(__FMA__)
  return reinterpret_cast<Vector<double>>(_mm256_fmadd_pd(
      reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
#elif defined(__FMA__) || defined(__FP_FAST_FMA)
  for (int i = 0; i < vector_width<double>; ++i) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}

}  // namespace vector_detail

/// a * b + c of registers or of numbers, one of which may stand for a register of its copies. It is
/// rounded once where the processor has such an instruction, and twice where not. Of `a * b + c`
/// written out the compiler makes one or the other, as it suits the loop around it: then a row has
/// other bits in another loop.
template <class A, class B, class C>
[[gnu::always_inline]] inline auto multiply_add(const A& a, const B& b, const C& c) {
  using V = std::conditional_t<!std::is_arithmetic_v<A>, A,
                               std::conditional_t<!std::is_arithmetic_v<B>, B, C>>;
  return vector_detail::multiply_add(vector_detail::spread<V>(a), vector_detail::spread<V>(b),
                                     vector_detail::spread<V>(c));
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
