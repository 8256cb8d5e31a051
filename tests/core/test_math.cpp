// SPDX-License-Identifier: Apache-2.0
#include <fount/core/math.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"

using namespace fount;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Distance from the exact result in units of the last place of a float near it.
double ulps(float found, double exact) {
  if (std::isnan(exact)) return std::isnan(found) ? 0 : 1e30;
  const auto rounded = static_cast<float>(exact);
  if (std::isinf(rounded)) return found == rounded ? 0 : 1e30;
  int exponent = 0;
  std::frexp(std::fmax(std::fabs(rounded), 0x1p-126F), &exponent);
  return std::fabs(static_cast<double>(found) - exact) / std::ldexp(1.0, exponent - 24);
}

/// Largest error over every stride-th float, both signs, subnormals, infinities and NaNs included.
template <class Function, class Exact>
double largest_ulps(Function function, Exact exact) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U); bits += 1009) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    worst = std::fmax(worst, ulps(function(x), exact(static_cast<double>(x))));
  }
  return worst;
}

/// Central difference in double.
template <class Function>
double slope(Function function, double x) {
  const double h = 1e-5;
  return (function(x + h) - function(x - h)) / (2 * h);
}

}  // namespace

TEST_CASE("float exp, tanh and erf are within 2 ulp of double over all floats", "[core][math]") {
  CHECK(largest_ulps([](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }) <
        1.5);
  CHECK(largest_ulps([](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }) <
        2);
  CHECK(largest_ulps([](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }) <
        2);
  CHECK(largest_ulps([](float x) { return math::sigmoid(x); },
                     [](double x) { return 1 / (1 + std::exp(-x)); }) < 3);
}

TEST_CASE("scalar formulas are right at the ends of the number line", "[core][math]") {
  CHECK(math::exp(-infinity) == 0.0F);
  CHECK(math::exp(infinity) == infinity);
  CHECK(math::exp(0.0F) == 1.0F);
  CHECK(math::exp(88.73F) == infinity);
  CHECK(math::exp(-103.0F) == std::numeric_limits<float>::denorm_min());
  CHECK(math::exp(-105.0F) == 0.0F);
  CHECK(math::tanh(infinity) == 1.0F);
  CHECK(math::tanh(-infinity) == -1.0F);
  CHECK(std::signbit(math::tanh(-0.0F)));
  CHECK(math::erf(-infinity) == -1.0F);
  CHECK(math::erf(1e-30F) == Approx(1.1283791670955126e-30));
  CHECK(math::sigmoid(-infinity) == 0.0F);
  CHECK(math::sigmoid(infinity) == 1.0F);
  CHECK(math::relu(-infinity) == 0.0F);
  for (const float value :
       {math::exp(not_a_number), math::tanh(not_a_number), math::erf(not_a_number),
        math::sigmoid(not_a_number), math::relu(not_a_number), math::silu(not_a_number),
        math::gelu_tanh(not_a_number), math::gelu_erf(not_a_number),
        math::gelu_tanh_derivative(not_a_number), math::gelu_erf_derivative(not_a_number),
        math::silu_derivative(not_a_number)}) {
    CHECK(std::isnan(value));
  }
}

TEST_CASE("activations saturate without NaN at huge arguments", "[core][math]") {
  for (const float x : {60.0F, 1e4F, 1e19F, 3e38F}) {
    CAPTURE(x);
    CHECK(math::gelu_tanh(x) == x);
    CHECK(math::gelu_erf(x) == x);
    CHECK(math::silu(x) == x);
    CHECK(math::gelu_tanh(-x) == 0.0F);
    CHECK(math::gelu_erf(-x) == 0.0F);
    CHECK(std::fabs(math::silu(-x)) < 1e-24F);
    CHECK(math::gelu_tanh_derivative(x) == 1.0F);
    CHECK(math::gelu_erf_derivative(x) == 1.0F);
    CHECK(math::silu_derivative(x) == 1.0F);
    CHECK(std::fabs(math::gelu_tanh_derivative(-x)) < 1e-24F);
    CHECK(std::fabs(math::gelu_erf_derivative(-x)) < 1e-24F);
    CHECK(std::fabs(math::silu_derivative(-x)) < 1e-24F);
  }
}

TEST_CASE("activations follow their definitions", "[core][math]") {
  for (double x = -6; x <= 6; x += 0.125) {
    CAPTURE(x);
    const double inner = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    CHECK(math::gelu_tanh(x) == Approx(0.5 * x * (1 + std::tanh(inner))).margin(1e-14));
    CHECK(math::gelu_erf(x) == Approx(0.5 * x * std::erfc(-x / std::sqrt(2.0))).margin(1e-14));
    CHECK(math::silu(x) == Approx(x / (1 + std::exp(-x))).margin(1e-14));
    const auto f = static_cast<float>(x);
    CHECK(math::gelu_tanh(f) == Approx(math::gelu_tanh(x)).margin(5e-7));
    CHECK(math::gelu_erf(f) == Approx(math::gelu_erf(x)).margin(5e-7));
    CHECK(math::silu(f) == Approx(math::silu(x)).margin(5e-7));
    CHECK(math::gelu_tanh_derivative(f) == Approx(math::gelu_tanh_derivative(x)).margin(5e-7));
    CHECK(math::gelu_erf_derivative(f) == Approx(math::gelu_erf_derivative(x)).margin(5e-7));
    CHECK(math::silu_derivative(f) == Approx(math::silu_derivative(x)).margin(5e-7));
  }
}

TEST_CASE("activation derivatives match central differences", "[core][math]") {
  for (double x = -6.03; x <= 6; x += 0.125) {
    CAPTURE(x);
    CHECK(math::gelu_tanh_derivative(x) ==
          Approx(slope([](double v) { return math::gelu_tanh(v); }, x)).margin(1e-9));
    CHECK(math::gelu_erf_derivative(x) ==
          Approx(slope([](double v) { return math::gelu_erf(v); }, x)).margin(1e-9));
    CHECK(math::silu_derivative(x) ==
          Approx(slope([](double v) { return math::silu(v); }, x)).margin(1e-9));
    CHECK(math::relu_derivative(x) ==
          Approx(slope([](double v) { return math::relu(v); }, x)).margin(1e-9));
  }
}
