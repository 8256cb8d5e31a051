// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types: float, double and the two 16-bit storage formats with exact conversions.
// Arithmetic on 16-bit values happens in float; this file only stores and converts.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <fount/core/macros.hpp>

namespace fount {

/// Brain floating point: the upper half of a float. Rounds to nearest even; NaN stays NaN.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  FOUNT_HOST_DEVICE constexpr explicit bf16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffU) > 0x7f800000U) {
      bits = static_cast<std::uint16_t>((word >> 16U) | 0x40U);
    } else {
      bits = static_cast<std::uint16_t>((word + 0x7fffU + ((word >> 16U) & 1U)) >> 16U);
    }
  }
  FOUNT_HOST_DEVICE constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
  friend constexpr bool operator==(bf16, bf16) = default;  // bitwise: the storage is the same
};

/// IEEE 754 binary16. Rounds to nearest even; overflow gives infinity, subnormals are kept.
struct fp16 {
  std::uint16_t bits = 0;

  constexpr fp16() = default;
  FOUNT_HOST_DEVICE constexpr explicit fp16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16U) & 0x8000U;
    const std::uint32_t magnitude = word & 0x7fffffffU;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000U) {
      half = 0x7e00U;                         // NaN
    } else if (magnitude >= 0x47800000U) {
      half = 0x7c00U;                         // 65536 and above, infinity included
    } else if (magnitude >= 0x38800000U) {    // normal: drop 13 bits, ties to even
      const std::uint32_t rebased = magnitude - 0x38000000U;
      half = (rebased + 0xfffU + ((rebased >> 13U) & 1U)) >> 13U;
    } else if (magnitude >= 0x33000000U) {    // subnormal: the mantissa with its hidden one
      const std::uint32_t shift = 126U - (magnitude >> 23U);
      const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
      const std::uint32_t kept = mantissa >> shift;
      const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
      const std::uint32_t tie = 1U << (shift - 1U);
      half = kept + ((rest > tie || (rest == tie && (kept & 1U) != 0)) ? 1U : 0U);
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }
  FOUNT_HOST_DEVICE constexpr explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
    const std::uint32_t mantissa = bits & 0x3ffU;
    if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13U));
    if (exponent != 0) {
      return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
    }
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  friend constexpr bool operator==(fp16, fp16) = default;
};

/// Run-time and compile-time name of an element type; `none` is "no such buffer".
enum class DType : std::uint8_t { none, float16, bfloat16, float32, float64 };

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::none: return 0;
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::float32: return 4;
    case DType::float64: return 8;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::none: return "none";
    case DType::float16: return "float16";
    case DType::bfloat16: return "bfloat16";
    case DType::float32: return "float32";
    case DType::float64: return "float64";
  }
  return "none";
}

namespace detail {
template <DType D> struct ElementOf { using type = void; };
template <> struct ElementOf<DType::float16> { using type = fp16; };
template <> struct ElementOf<DType::bfloat16> { using type = bf16; };
template <> struct ElementOf<DType::float32> { using type = float; };
template <> struct ElementOf<DType::float64> { using type = double; };
}  // namespace detail

/// The C++ type that stores one element of `D`.
template <DType D> using element_t = typename detail::ElementOf<D>::type;

/// A type that kernels compute in.
template <class T> concept Real = std::is_same_v<T, float> || std::is_same_v<T, double>;

/// A type that a tensor may be stored in.
template <class T> concept Element = Real<T> || std::is_same_v<T, bf16> || std::is_same_v<T, fp16>;

/// What kernels compute in for tensors stored as T: float for the 16-bit formats.
template <Element T> using compute_t = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// A stored element as the number to compute with; `static_cast<T>` rounds it back.
template <Element T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE constexpr compute_t<T> value_of(T stored) {
  return static_cast<compute_t<T>>(stored);
}

template <Element T> inline constexpr DType dtype_of =
    std::is_same_v<T, double>  ? DType::float64
    : std::is_same_v<T, float> ? DType::float32
    : std::is_same_v<T, bf16>  ? DType::bfloat16
                               : DType::float16;

}  // namespace fount
