// SPDX-License-Identifier: Apache-2.0
#include <fount/optim/sgd.hpp>

#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;
using optim::Segment;
using optim::Sgd;

TEMPLATE_TEST_CASE("sgd follows a scalar reference, plain and Nesterov", "[optim][sgd]", float,
                   double) {
  for (const bool nesterov : {false, true}) {
    for (const std::int64_t count : {0, 1, 17, 769, 40'001}) {
      CAPTURE(nesterov, count);
      const Sgd rule{.momentum = 0.8, .nesterov = nesterov};
      auto weight = random_vector<TestType>(count, 1);
      auto wanted = converted<double>(weight);
      std::vector<TestType> velocity(weight.size());
      std::vector<double> speed(weight.size());
      for (std::int64_t step = 1; step <= 5; ++step) {
        const auto gradient = random_vector<TestType>(count, 1 + static_cast<std::uint32_t>(step));
        rule.apply(
            Cpu(2),
            Segment<TestType>{weight.data(), gradient.data(), {velocity.data(), nullptr}, count},
            {.lr = 0.1, .weight_decay = 0.05, .gradient_scale = 0.5, .step = step});
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const double g = 0.5 * static_cast<double>(gradient[i]);
          speed[i] = 0.8 * speed[i] + g;
          wanted[i] -= 0.1 * ((nesterov ? g + 0.8 * speed[i] : speed[i]) + 0.05 * wanted[i]);
        }
      }
      const double tolerance = sizeof(TestType) == 4 ? 1e-6 : 1e-14;
      CHECK(distance(weight, wanted) <= tolerance);
      CHECK(distance(velocity, speed) <= tolerance);
    }
  }
}

TEST_CASE("sgd without momentum is gradient descent", "[optim][sgd]") {
  std::vector<double> weight = {1, 2, 3};
  const std::vector<double> gradient = {1, -1, 0};
  std::vector<double> velocity(3);
  for (int step = 0; step < 2; ++step) {
    Sgd{.momentum = 0}.apply(
        Cpu(1), Segment<double>{weight.data(), gradient.data(), {velocity.data(), nullptr}, 3},
        {.lr = 0.25});
  }
  CHECK(weight == std::vector<double>{0.5, 2.5, 3});
}

TEST_CASE("sgd is bit-identical for any number of threads", "[optim][sgd]") {
  const auto run = [](int threads) {
    auto weight = random_vector<float>(40'001, 1);
    auto velocity = random_vector<float>(40'001, 2);
    const auto gradient = random_vector<float>(40'001, 3);
    Sgd{}.apply(Cpu(threads),
                Segment<float>{weight.data(), gradient.data(), {velocity.data(), nullptr}, 40'001},
                {.lr = 0.1, .weight_decay = 0.1});
    return weight;
  };
  CHECK(same_bits(run(2), run(1)));
  CHECK(same_bits(run(3), run(1)));
}
