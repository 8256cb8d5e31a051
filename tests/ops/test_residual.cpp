// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/residual.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

constexpr std::int64_t counts[] = {0, 1, 3, 63, 64, 65, 769, 40'001};  // the last: three chunks

Dropout some_dropout(float rate) {
  return {{.seed = 7, .step = 3, .site = 5, .purpose = RandomPurpose::dropout}, rate};
}

}  // namespace

TEMPLATE_TEST_CASE("fill, zero, accumulate and add do what they say", "[ops][residual]", float,
                   double) {
  const Cpu cpu(2);
  for (const auto count : counts) {
    CAPTURE(count);
    const auto a = random_vector<TestType>(count, 1);
    const auto b = random_vector<TestType>(count, 2);
    auto sum = nan_vector<TestType>(count);
    ops::add(cpu, sum.data(), a.data(), b.data(), count);
    auto accumulated = a;
    ops::accumulate(cpu, accumulated.data(), b.data(), count);
    auto in_place = b;
    ops::add(cpu, in_place.data(), a.data(), in_place.data(), count);
    auto filled = nan_vector<TestType>(count);
    ops::fill(cpu, filled.data(), TestType(2.5), count);
    auto zeroed = nan_vector<TestType>(count);
    ops::zero(cpu, zeroed.data(), count);
    bool right = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      right = right && sum[i] == a[i] + b[i] && accumulated[i] == sum[i] && in_place[i] == sum[i] &&
              filled[i] == TestType(2.5) && zeroed[i] == 0;
    }
    CHECK(right);
  }
}

TEMPLATE_TEST_CASE("dropout multiplies by the factor of the flat index", "[ops][residual]", float,
                   double) {
  const Dropout dropout = some_dropout(0.3F);
  for (const auto count : counts) {
    CAPTURE(count);
    const auto in = random_vector<TestType>(count, 1);
    auto out = nan_vector<TestType>(count);
    ops::dropout_forward(Cpu(2), out.data(), in.data(), dropout, count);
    auto in_place = in;
    ops::dropout_forward(Cpu(3), in_place.data(), in_place.data(), dropout, count);
    auto d_in = nan_vector<TestType>(count);
    ops::dropout_backward(Cpu(1), d_in.data(), in.data(), dropout, count);
    bool right = true;
    for (std::size_t i = 0; i < in.size(); ++i) {
      right = right && out[i] == in[i] * TestType(dropout.factor(i));
    }
    CHECK(right);
    CHECK(same_bits(in_place, out));
    CHECK(same_bits(d_in, out));
  }
}

TEST_CASE("dropout drops its share and keeps the mean", "[ops][residual]") {
  const std::int64_t count = 100'000;
  std::vector<double> x(static_cast<std::size_t>(count), 1.0);
  ops::dropout_forward(Cpu(1), x.data(), x.data(), some_dropout(0.1F), count);
  double dropped = 0, sum = 0;
  for (const double v : x) {
    dropped += v == 0 ? 1 : 0;
    sum += v;
  }
  CHECK(dropped / static_cast<double>(count) == Approx(0.1).margin(0.004));
  CHECK(sum / static_cast<double>(count) == Approx(1.0).margin(0.005));
}

TEST_CASE("inactive dropout copies", "[ops][residual]") {
  const auto in = random_vector<float>(1000, 1);
  auto out = nan_vector<float>(1000);
  ops::dropout_forward(Cpu(1), out.data(), in.data(), some_dropout(0.0F), 1000);
  CHECK(same_bits(out, in));
}
