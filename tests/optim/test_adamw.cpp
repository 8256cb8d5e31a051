// SPDX-License-Identifier: Apache-2.0
#include <fount/optim/adamw.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;
using optim::AdamW;
using optim::Segment;
using optim::UpdateScalars;

namespace {

template <class T>
struct State {
  std::vector<T> weight, m, v;
  explicit State(std::int64_t count)
      : weight(random_vector<T>(count, 1)),
        m(static_cast<std::size_t>(count)),
        v(static_cast<std::size_t>(count)) {}
  void step(const Cpu& cpu, const AdamW& rule, const std::vector<T>& gradient,
            const UpdateScalars& scalars) {
    rule.apply(cpu,
               Segment<T>{weight.data(),
                          gradient.data(),
                          {m.data(), v.data()},
                          static_cast<std::int64_t>(weight.size())},
               scalars);
  }
};

/// Algorithm 2 of Loshchilov & Hutter, line by line.
struct Reference {
  std::vector<double> w, m, v;
  void step(const AdamW& rule, const std::vector<double>& gradient, const UpdateScalars& s) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = s.gradient_scale * gradient[i];
      m[i] = rule.beta1 * m[i] + (1 - rule.beta1) * g;
      v[i] = rule.beta2 * v[i] + (1 - rule.beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(rule.beta1, s.step));
      const double v_hat = v[i] / (1 - std::pow(rule.beta2, s.step));
      w[i] -= s.lr * (m_hat / (std::sqrt(v_hat) + rule.eps) + s.weight_decay * w[i]);
    }
  }
};

UpdateScalars scalars_of(std::int64_t step) {
  return {.lr = 1e-2 / static_cast<double>(step),
          .weight_decay = 0.1,
          .gradient_scale = 0.7,
          .step = step};
}

}  // namespace

TEST_CASE("adamw follows a scalar reference for ten steps", "[optim][adamw]") {
  const AdamW rule{.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
  for (const std::int64_t count : {0, 1, 3, 127, 128, 129, 769, 40'001}) {
    CAPTURE(count);
    State<double> state(count);
    State<float> single(count);
    Reference wanted{state.weight, state.m, state.v};
    for (std::int64_t step = 1; step <= 10; ++step) {
      const auto gradient = random_vector<double>(count, 10 + static_cast<std::uint32_t>(step));
      state.step(Cpu(2), rule, gradient, scalars_of(step));
      single.step(Cpu(2), rule, converted<float>(gradient), scalars_of(step));
      wanted.step(rule, gradient, scalars_of(step));
    }
    CHECK(distance(state.weight, wanted.w) <= 1e-12);
    CHECK(distance(state.m, wanted.m) <= 1e-12);
    CHECK(distance(state.v, wanted.v) <= 1e-12);
    CHECK(distance(single.weight, wanted.w) <= 1e-6);
  }
}

TEST_CASE("adamw's first step moves every weight by lr, against the sign of its gradient",
          "[optim][adamw]") {
  State<double> state(5);
  const auto before = state.weight;
  state.step(Cpu(1), {}, {1e-3, -5.0, 2.0, -1e-2, 40.0}, {.lr = 0.01});
  const double signs[] = {1, -1, 1, -1, 1};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(before[i] - state.weight[i] == Approx(0.01 * signs[i]).epsilon(1e-4));
  }
}

TEST_CASE("adamw decays weights apart from the gradient", "[optim][adamw]") {
  State<float> state(100);
  const auto before = state.weight;
  state.step(Cpu(1), {}, std::vector<float>(100), {.lr = 0.5, .weight_decay = 0.1});
  for (std::size_t i = 0; i < 100; ++i) CHECK(state.weight[i] == Approx(0.95F * before[i]));
}

TEST_CASE("adamw is bit-identical for any number of threads", "[optim][adamw]") {
  State<float> one(40'001), two(40'001), three(40'001);
  for (std::int64_t step = 1; step <= 3; ++step) {
    const auto gradient = random_vector<float>(40'001, 10 + static_cast<std::uint32_t>(step));
    one.step(Cpu(1), {}, gradient, scalars_of(step));
    two.step(Cpu(2), {}, gradient, scalars_of(step));
    three.step(Cpu(3), {}, gradient, scalars_of(step));
  }
  CHECK(same_bits(two.weight, one.weight));
  CHECK(same_bits(three.weight, one.weight));
  CHECK(same_bits(three.m, one.m));
  CHECK(same_bits(three.v, one.v));
}

TEST_CASE("adamw survives tiny gradients and lets NaN through", "[optim][adamw]") {
  State<float> state(3);
  const auto before = state.weight;
  for (std::int64_t step = 1; step <= 20; ++step) {
    state.step(Cpu(1), {}, {1e-30F, 0.0F, std::numeric_limits<float>::quiet_NaN()},
               {.lr = 1e-3, .step = step});
  }
  CHECK(std::isfinite(state.weight[0]));
  CHECK(state.weight[1] == before[1]);
  CHECK(std::isnan(state.weight[2]));
}
