// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/activation.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <fount/core/math.hpp>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

constexpr Activation activations[] = {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu,
                                      Activation::swiglu};

std::int64_t inputs_per_output(Activation activation) {
  return activation == Activation::swiglu ? 2 : 1;
}

/// Inputs in [-3, 3), none so near to 0 that a difference would step across the kink of relu.
template <class T>
std::vector<T> inputs(std::int64_t count) {
  auto x = random_vector<T>(count, 1);
  for (T& v : x) v = T(3) * v + (v < 0 ? T(-0.01) : T(0.01));
  return x;
}

double expected(Activation activation, const std::vector<double>& x, std::size_t i,
                std::int64_t size) {
  const double v = x[i];
  switch (activation) {
    case Activation::gelu_tanh:
      return 0.5 * v *
             (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
    case Activation::gelu_erf: return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    case Activation::relu: return std::fmax(v, 0.0);
    case Activation::swiglu: {
      const auto F = static_cast<std::size_t>(size);
      const double gate = x[i / F * 2 * F + i % F];
      return gate / (1 + std::exp(-gate)) * x[i / F * 2 * F + F + i % F];
    }
  }
  return 0;
}

}  // namespace

TEMPLATE_TEST_CASE("activations follow their formulas at awkward sizes", "[ops][activation]", float,
                   double) {
  const Cpu cpu(2);
  for (const Activation activation : activations) {
    for (const std::int64_t rows : {0, 1, 7, 33}) {
      for (const std::int64_t size : {1, 2, 3, 17, 128, 769}) {
        CAPTURE(name_of(activation), rows, size);
        const auto x = inputs<TestType>(rows * size * inputs_per_output(activation));
        const auto exact = converted<double>(x);
        auto out = nan_vector<TestType>(rows * size);
        ops::activation_forward(cpu, activation, out.data(), x.data(), rows, size);
        std::vector<double> wanted(out.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
          wanted[i] = expected(activation, exact, i, size);
        }
        CHECK(distance(out, wanted) <= (sizeof(TestType) == 4 ? 1e-6 : 1e-14));
      }
    }
  }
}

TEST_CASE("activation backward matches central differences", "[ops][activation]") {
  const Cpu cpu(1);
  for (const Activation activation : activations) {
    for (const std::int64_t size : {1, 5, 70}) {
      CAPTURE(name_of(activation), size);
      const std::int64_t rows = 3;
      auto x = inputs<double>(rows * size * inputs_per_output(activation));
      auto d_out = random_vector<double>(rows * size, 2);
      auto out = nan_vector<double>(rows * size);
      const auto wanted = central_differences(x, [&] {
        ops::activation_forward(cpu, activation, out.data(), x.data(), rows, size);
        return dot(out, d_out);
      });
      auto d_x = nan_vector<double>(static_cast<std::int64_t>(x.size()));
      ops::activation_backward(cpu, activation, d_x.data(), d_out.data(), x.data(), rows, size);
      CHECK(distance(d_x, wanted) < 1e-8);
    }
  }
}

TEST_CASE("activations in float follow double, on any number of threads and in place",
          "[ops][activation]") {
  const std::int64_t rows = 33;
  const std::int64_t size = 769;
  for (const Activation activation : activations) {
    CAPTURE(name_of(activation));
    const auto x = inputs<float>(rows * size * inputs_per_output(activation));
    const auto exact_x = converted<double>(x);
    const auto d_out = random_vector<float>(rows * size, 2);
    const auto exact_d_out = converted<double>(d_out);
    auto exact = nan_vector<double>(static_cast<std::int64_t>(x.size()));
    ops::activation_backward(Cpu(1), activation, exact.data(), exact_d_out.data(), exact_x.data(),
                             rows, size);
    std::vector<float> first_out, first_d_x;
    for (const int threads : {1, 2, 3}) {
      const Cpu cpu(threads);
      auto out = nan_vector<float>(rows * size);
      auto d_x = nan_vector<float>(static_cast<std::int64_t>(x.size()));
      ops::activation_forward(cpu, activation, out.data(), x.data(), rows, size);
      ops::activation_backward(cpu, activation, d_x.data(), d_out.data(), x.data(), rows, size);
      CHECK(distance(d_x, exact) < 1e-6);
      if (threads == 1) {
        first_out = out;
        first_d_x = d_x;
      }
      CHECK(same_bits(out, first_out));
      CHECK(same_bits(d_x, first_d_x));
      auto in_place = x;
      ops::activation_backward(cpu, activation, in_place.data(), d_out.data(), in_place.data(),
                               rows, size);
      CHECK(same_bits(in_place, first_d_x));
      if (activation == Activation::swiglu) continue;
      in_place = x;
      ops::activation_forward(cpu, activation, in_place.data(), in_place.data(), rows, size);
      CHECK(same_bits(in_place, first_out));
      in_place = d_out;
      ops::activation_backward(cpu, activation, in_place.data(), in_place.data(), x.data(), rows,
                               size);
      CHECK(same_bits(in_place, first_d_x));
    }
  }
}
