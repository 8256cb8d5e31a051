// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scalar formulas shared by host and device: exp, tanh, erf, sigmoid, and the activations with
// their derivatives. In float they are branch-free, so a loop over them vectorises at -O3 without
// -ffast-math; loops over tensors are in ops/. Argument reduction after Cody & Waite 1980.

#include <bit>
#include <cmath>
#include <cstdint>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::math {
inline namespace FOUNT_CPU_NAMESPACE {

namespace detail {

inline constexpr float exp_lowest = -104.0F;  // exp rounds to 0 here, and to infinity at
inline constexpr float exp_highest = 89.0F;

/// exp(x) = 2^exponent * (1 + fraction), |fraction| < 0.42.
struct ExpParts {
  float fraction;
  std::int32_t exponent;
};

/// Precondition: x in [-104, 89] or NaN (which lands in `fraction`).
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline ExpParts exp_parts(float x) {
  constexpr float magic = 0x1.8p23F;  // adding it leaves the rounded integer in the low bits
  const float shifted = x * 1.44269504F + magic;
  const float n = shifted - magic;
  const auto exponent = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) -
                                                  std::bit_cast<std::uint32_t>(magic));
  // ln 2 in two parts; the first has so few bits that n times it is exact.
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float q = 1.392620336e-3F;
  q = q * r + 8.363194882e-3F;
  q = q * r + 4.166655450e-2F;
  q = q * r + 0.1666657689F;
  q = q * r + 0.5F;
  return {r + r * r * q, exponent};
}

[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float power_of_two(std::int32_t exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23U);
}

[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float with_sign_of(float magnitude, float sign) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) |
                              (std::bit_cast<std::uint32_t>(sign) & 0x80000000U));
}

[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float magnitude_of(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
}

/// condition ? a : b by masks: from `?:` g++ 12 makes branches, and then the loop stays scalar.
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float select(bool condition, float a, float b) {
  const std::uint32_t mask = condition ? 0xffffffffU : 0U;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) |
                              (std::bit_cast<std::uint32_t>(b) & ~mask));
}
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline double select(bool condition, double a, double b) {
  return condition ? a : b;
}

/// The argument moved into [lowest, highest]; NaN stays NaN, which std::clamp does not promise.
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T clamped(T x, T lowest, T highest) {
  const T raised = select(x < lowest, lowest, x);
  return select(x > highest, highest, raised);
}

}  // namespace detail

/// e^x to 1 ulp, gradual underflow included; NaN in, NaN out.
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float exp(float x) {
  const auto [fraction, exponent] =
      detail::exp_parts(detail::clamped(x, detail::exp_lowest, detail::exp_highest));
  // Two factors: 2^128 and 2^-150 are no floats, and only the last product may round.
  const std::int32_t half = exponent >> 1;
  return (1.0F + fraction) * detail::power_of_two(half) * detail::power_of_two(exponent - half);
}
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline double exp(double x) { return std::exp(x); }

/// Hyperbolic tangent to 2 ulp; odd, +-1 at infinity.
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float tanh(float x) {
  // Two forms: a fit of tanh(x)/x in x^2 below 0.55, 1 - 2 / (exp(2x) + 1) above.
  const float a = detail::clamped(detail::magnitude_of(x), 0.0F, 10.0F);
  const float s = a * a;
  float p = -6.542541984e-3F;
  p = p * s + 2.127274826e-2F;
  p = p * s - 5.390334769e-2F;
  p = p * s + 0.1333308225F;
  p = p * s - 0.3333333176F;
  const float result =
      detail::select(a > 0.55F, 1.0F - 2.0F / (exp(2.0F * a) + 1.0F), a + a * (p * s));
  return detail::with_sign_of(result, x);
}
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline double tanh(double x) { return std::tanh(x); }

/// Error function to 2 ulp; odd, +-1 at infinity.
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline float erf(float x) {
  // Two fits (least maximum error): erf(x)/x in x^2 below 0.9, log(erfc x) in x above.
  const float a = detail::clamped(detail::magnitude_of(x), 0.0F, 4.0F);
  const float s = a * a;
  float p = 7.875875063e-5F;
  p = p * s - 8.016864287e-4F;
  p = p * s + 5.189087423e-3F;
  p = p * s - 2.685421201e-2F;
  p = p * s + 0.1128359472F;
  p = p * s - 0.3761262667F;
  p = p * s + 0.128379166F;  // 1 less than the fit's 2/sqrt(pi): a is added below, exactly
  float q = 1.971810123e-4F;
  q = q * a - 3.055603738e-3F;
  q = q * a + 2.227708349e-2F;
  q = q * a - 0.1040373733F;
  q = q * a - 0.6370597172F;
  q = q * a - 1.127749594F;
  q = q * a - 1.774853030e-4F;
  const float result = detail::select(a > 0.9F, 1.0F - exp(q), a + a * p);
  return detail::with_sign_of(result, x);
}
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline double erf(double x) { return std::erf(x); }

/// Natural logarithm: needed once a row, so the library's.
template <Real T>
FOUNT_HOST_DEVICE inline T log(T x) {
  return std::log(x);
}

/// 1 / (1 + e^-x), without overflow on either side.
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T sigmoid(T x) {
  const T e = math::exp(detail::select(x < T(0), x, -x));
  return detail::select(x < T(0), e, T(1)) / (T(1) + e);
}

/// x * sigmoid(x): SiLU, the gate of SwiGLU (Shazeer 2020, https://arxiv.org/abs/2002.05202).
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T silu(T x) {
  return x * sigmoid(x);
}
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T silu_derivative(T x) {
  const T s = sigmoid(x);
  // Past +-150 the derivative is 1 or 0 to the last bit; unclamped, infinity times 0 is NaN.
  return s * (T(1) + detail::clamped(x, T(-150), T(150)) * (T(1) - s));
}

namespace detail {

/// 2 sqrt(2/pi) (x + 0.044715 x^3): gelu_tanh(x) = x * sigmoid of this.
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T gelu_argument(T x) {
  constexpr T scale = T(1.5957691216057307118);
  return scale * x * (T(1) + T(0.044715) * x * x);
}

}  // namespace detail

/// GELU by its tanh formula (Hendrycks & Gimpel 2016, https://arxiv.org/abs/1606.08415), written as
/// x * sigmoid(2u) since (1 + tanh u) / 2 = sigmoid(2u): no cancellation on the negative side.
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T gelu_tanh(T x) {
  return x * sigmoid(detail::gelu_argument(x));
}
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T gelu_tanh_derivative(T x) {
  constexpr T scale = T(1.5957691216057307118);
  // Past +-20 the derivative is 1 or 0 to the last bit; unclamped, infinity times 0 is NaN.
  const T c = detail::clamped(x, T(-20), T(20));
  const T s = sigmoid(detail::gelu_argument(c));
  return s + c * s * (T(1) - s) * scale * (T(1) + T(3 * 0.044715) * c * c);
}

/// x times the normal distribution function: the exact GELU.
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T gelu_erf(T x) {
  return T(0.5) * x * (T(1) + math::erf(x * T(0.70710678118654752440)));
}
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T gelu_erf_derivative(T x) {
  constexpr T density_at_0 = T(0.39894228040143267794);
  const T c = detail::clamped(x, T(-40), T(40));  // the density is 0 there; infinity times 0 is NaN
  const T density = density_at_0 * math::exp(T(-0.5) * c * c);
  return T(0.5) * (T(1) + math::erf(c * T(0.70710678118654752440))) + c * density;
}

/// max(x, 0); NaN stays NaN. The derivative at 0 is 0.
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T relu(T x) {
  return detail::select(x < T(0), T(0), x);
}
template <Real T>
[[gnu::always_inline]] FOUNT_HOST_DEVICE inline T relu_derivative(T x) {
  return detail::select(x > T(0), T(1), T(0));
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::math
