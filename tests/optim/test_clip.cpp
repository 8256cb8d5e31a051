// SPDX-License-Identifier: Apache-2.0
#include <fount/optim/clip.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

template <class T>
double squared_norm(const Cpu& cpu, const std::vector<T>& x) {
  const auto count = static_cast<std::int64_t>(x.size());
  auto partials = nan_vector<double>(optim::norm_partials(count));
  return optim::squared_norm(cpu, x.data(), count, partials.data());
}

}  // namespace

TEMPLATE_TEST_CASE("squared_norm is the sum of squares in double", "[optim][clip]", float, double) {
  for (const std::int64_t count : {0, 1, 3, 17, 769, 65'536, 65'537, 200'003}) {
    CAPTURE(count);
    const auto x = random_vector<TestType>(count, 1);
    const double one = squared_norm(Cpu(1), x);
    CHECK(one == Approx(dot(x, x)).epsilon(1e-12));
    CHECK(squared_norm(Cpu(2), x) == one);
    CHECK(squared_norm(Cpu(3), x) == one);
  }
}

TEST_CASE("squared_norm does not overflow where float squares would", "[optim][clip]") {
  CHECK(squared_norm(Cpu(1), std::vector<float>{3e30F, 4e30F}) == Approx(25e60));
}

TEST_CASE("squared_norm lets NaN and infinity through", "[optim][clip]") {
  for (const std::size_t at : {std::size_t{0}, std::size_t{70'000}, std::size_t{99'999}}) {
    std::vector<float> x(100'000, 1.0F);
    x[at] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(squared_norm(Cpu(2), x)));
    x[at] = -std::numeric_limits<float>::infinity();
    CHECK(std::isinf(squared_norm(Cpu(2), x)));
  }
}

TEST_CASE("clip_factor scales long gradients to max_norm and leaves short ones", "[optim][clip]") {
  CHECK(optim::clip_factor(4, 1) == Approx(0.25));
  CHECK(optim::clip_factor(4, 1) == 1 / (4 + 1e-6));
  CHECK(optim::clip_factor(0.5, 1) == 1);
  CHECK(optim::clip_factor(0, 1) == 1);
  CHECK(optim::clip_factor(1e9, 0) == 1);
  CHECK(optim::clip_factor(1e9, -1) == 1);
  CHECK(optim::clip_factor(std::numeric_limits<double>::infinity(), 1) == 0);
  CHECK(std::isnan(optim::clip_factor(std::nan(""), 1)));
}

TEST_CASE("the room for partial sums is known at compile time", "[optim][clip]") {
  STATIC_REQUIRE(optim::norm_partials(0) == 0);
  STATIC_REQUIRE(optim::norm_partials(1) == 1);
  STATIC_REQUIRE(optim::norm_partials(65'537) == 2);
}
