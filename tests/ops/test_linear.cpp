// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/linear.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace fount;

using Count = std::int64_t;

template <class T> constexpr double tolerance = std::is_same_v<T, double> ? 1e-14 : 1e-6;

template <class T>
std::vector<T> numbers(Count count, unsigned seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761U + 1;
  for (T& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<T>(static_cast<double>(state >> 8U) / 8388608.0 - 1.0);
  }
  return values;
}

/// At (i, j) of a matrix whose rows have `columns` elements.
std::size_t at(Count i, Count j, Count columns) {
  return static_cast<std::size_t>(i * columns + j);
}

/// ||a - b|| / ||b||, summed in long double.
template <class T>
double relative_error(const std::vector<T>& a, const std::vector<long double>& b) {
  long double difference = 0;
  long double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return difference == 0 ? 0 : static_cast<double>(std::sqrt(difference / norm));
}

const std::vector<ops::LinearShape> shapes = {{1, 1, 1},    {1, 128, 65}, {3, 7, 5},
                                              {7, 64, 33},  {33, 17, 97}, {65, 100, 31},
                                              {130, 24, 70}};

}  // namespace

TEMPLATE_TEST_CASE("linear_forward is x times the weight's rows, plus bias", "[ops][linear]",
                   float, double) {
  using T = TestType;
  const Cpu cpu(2);
  for (const ops::LinearShape& s : shapes) {
    for (const bool with_bias : {false, true}) {
      const auto x = numbers<T>(s.rows * s.in, 1);
      const auto weight = numbers<T>(s.out * s.in, 2);
      const auto bias = numbers<T>(s.out, 3);
      std::vector<T> y(at(s.rows, 0, s.out), std::numeric_limits<T>::quiet_NaN());
      ops::linear_forward(cpu, y.data(), x.data(), weight.data(),
                          with_bias ? bias.data() : nullptr, s);
      std::vector<long double> expected(y.size());
      for (Count r = 0; r < s.rows; ++r) {
        for (Count o = 0; o < s.out; ++o) {
          long double sum = with_bias ? bias[at(0, o, 0)] : T(0);
          for (Count i = 0; i < s.in; ++i) {
            sum += static_cast<long double>(x[at(r, i, s.in)]) * weight[at(o, i, s.in)];
          }
          expected[at(r, o, s.out)] = sum;
        }
      }
      CHECK(relative_error(y, expected) <= tolerance<T>);
    }
  }
}

TEMPLATE_TEST_CASE("linear_backward_input is d_y times the weight, written or added",
                   "[ops][linear]", float, double) {
  using T = TestType;
  const Cpu cpu(2);
  for (const ops::LinearShape& s : shapes) {
    for (const bool accumulate : {false, true}) {
      const auto d_y = numbers<T>(s.rows * s.out, 1);
      const auto weight = numbers<T>(s.out * s.in, 2);
      auto d_x = numbers<T>(s.rows * s.in, 3);
      std::vector<long double> expected(d_x.size());
      for (Count r = 0; r < s.rows; ++r) {
        for (Count i = 0; i < s.in; ++i) {
          long double sum = accumulate ? d_x[at(r, i, s.in)] : T(0);
          for (Count o = 0; o < s.out; ++o) {
            sum += static_cast<long double>(d_y[at(r, o, s.out)]) * weight[at(o, i, s.in)];
          }
          expected[at(r, i, s.in)] = sum;
        }
      }
      if (!accumulate) d_x.assign(d_x.size(), std::numeric_limits<T>::quiet_NaN());
      ops::linear_backward_input(cpu, d_x.data(), d_y.data(), weight.data(), s, accumulate);
      CHECK(relative_error(d_x, expected) <= tolerance<T>);
    }
  }
}

TEMPLATE_TEST_CASE("linear_backward_weight and _bias add to the gradients", "[ops][linear]", float,
                   double) {
  using T = TestType;
  const Cpu cpu(2);
  for (const ops::LinearShape& s : shapes) {
    const auto d_y = numbers<T>(s.rows * s.out, 1);
    const auto x = numbers<T>(s.rows * s.in, 2);
    auto d_weight = numbers<T>(s.out * s.in, 3);
    auto d_bias = numbers<T>(s.out, 4);
    std::vector<long double> weights(d_weight.begin(), d_weight.end());
    std::vector<long double> biases(d_bias.begin(), d_bias.end());
    for (Count r = 0; r < s.rows; ++r) {
      for (Count o = 0; o < s.out; ++o) {
        const long double d = d_y[at(r, o, s.out)];
        biases[at(0, o, 0)] += d;
        for (Count i = 0; i < s.in; ++i) weights[at(o, i, s.in)] += d * x[at(r, i, s.in)];
      }
    }
    ops::linear_backward_weight(cpu, d_weight.data(), d_y.data(), x.data(), s);
    ops::linear_backward_bias(cpu, d_bias.data(), d_y.data(), s.rows, s.out);
    CHECK(relative_error(d_weight, weights) <= tolerance<T>);
    CHECK(relative_error(d_bias, biases) <= tolerance<T>);
  }
}

TEST_CASE("linear_backward_bias gives the same bits for any number of threads", "[ops][linear]") {
  constexpr Count rows = 601, out = 203;
  const auto d_y = numbers<float>(rows * out, 1);
  std::vector<float> first(out, 0.5F);
  ops::linear_backward_bias(Cpu(1), first.data(), d_y.data(), rows, out);
  for (const int threads : {2, 3}) {
    std::vector<float> d_bias(out, 0.5F);
    ops::linear_backward_bias(Cpu(threads), d_bias.data(), d_y.data(), rows, out);
    CHECK(d_bias == first);
  }
}

TEST_CASE("linear layers of no rows leave everything as it was", "[ops][linear]") {
  const Cpu cpu(2);
  const ops::LinearShape s{.rows = 0, .in = 3, .out = 2};
  const std::vector<double> weight(6, 1.0);
  std::vector<double> d_weight(6, 2.0);
  std::vector<double> d_bias(2, 3.0);
  const double* const none = nullptr;
  ops::linear_forward<double>(cpu, nullptr, none, weight.data(), none, s);
  ops::linear_backward_input<double>(cpu, nullptr, none, weight.data(), s);
  ops::linear_backward_weight(cpu, d_weight.data(), none, none, s);
  ops::linear_backward_bias(cpu, d_bias.data(), none, s.rows, s.out);
  CHECK(d_weight == std::vector<double>(6, 2.0));
  CHECK(d_bias == std::vector<double>(2, 3.0));
}
