// SPDX-License-Identifier: Apache-2.0
// Updates of weights that are stored in 16 bits: with master weights, and without, rounded
// stochastically.

#include <fount/optim/adamw.hpp>
#include <fount/optim/clip.hpp>
#include <fount/optim/sgd.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;
using optim::Segment;

namespace {

/// Weights and what an update reads and writes besides, in any storage.
template <class W, class G, class M>
struct State {
  std::vector<W> weight;
  std::vector<float> master;
  std::vector<G> gradient;
  std::vector<M> m, v;
  bool stochastic = false;

  State(std::int64_t count, float value)
      : weight(static_cast<std::size_t>(count), W(value)),
        gradient(weight.size()),
        m(weight.size()),
        v(weight.size()) {}

  template <class Rule>
  void step(int threads, const Rule& rule, std::int64_t number, double lr) {
    const Cpu cpu(threads);
    rule.apply(cpu,
               Segment<W, G, M>{.weight = weight.data(),
                                .gradient = gradient.data(),
                                .moments = {m.data(), v.data()},
                                .count = static_cast<std::int64_t>(weight.size()),
                                .master = master.empty() ? nullptr : master.data(),
                                .stochastic = stochastic,
                                .rounding = {7, static_cast<std::uint32_t>(number), 3,
                                             RandomPurpose::rounding}},
               {.lr = lr, .weight_decay = 0.1, .step = number});
  }
};

double average(const std::vector<bf16>& values) {
  double sum = 0;
  for (const bf16 value : values) sum += static_cast<double>(value_of(value));
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEMPLATE_TEST_CASE("master weights follow the float update, weights are their rounded copy",
                   "[optim][16bit]", optim::AdamW, optim::Sgd) {
  constexpr std::int64_t count = 20'011;
  State<float, float, float> plain(count, 0);
  State<bf16, float, float> mixed(count, 0);
  plain.weight = random_vector<float>(count, 1);
  mixed.master = plain.weight;
  for (std::int64_t step = 1; step <= 4; ++step) {
    plain.gradient = random_vector<float>(count, 10 + static_cast<std::uint32_t>(step));
    mixed.gradient = plain.gradient;
    plain.step(1, TestType{}, step, 1e-3);
    mixed.step(2, TestType{}, step, 1e-3);
  }
  // The compiler may fuse other multiplications and additions where it rounds at the end.
  CHECK(distance(mixed.master, plain.weight) < 1e-7);
  CHECK(same_bits(mixed.weight, converted<bf16>(mixed.master)));
}

TEMPLATE_TEST_CASE("without master weights steps below the spacing of bfloat16 add up on average",
                   "[optim][16bit]", optim::AdamW, optim::Sgd) {
  constexpr std::int64_t count = 40'000;
  constexpr double lr = 2e-4;  // weights near 1 are 2^-7 = 0.0078 apart
  State<bf16, bf16, bf16> lean(count, 1), nearest(count, 1);
  State<float, float, float> exact(count, 1);
  lean.stochastic = true;
  for (auto* gradient : {&lean.gradient, &nearest.gradient}) gradient->assign(count, bf16(0.5F));
  exact.gradient.assign(count, 0.5F);
  for (std::int64_t step = 1; step <= 20; ++step) {
    lean.step(2, TestType{}, step, lr);
    nearest.step(2, TestType{}, step, lr);
    exact.step(2, TestType{}, step, lr);
  }
  const double moved = 1 - static_cast<double>(exact.weight[0]);
  CHECK(moved > 1e-3);
  CHECK(average(nearest.weight) == 1);  // rounded to nearest, nothing ever moves
  // Twenty roundings of spacing 2^-8 below 1: a deviation of at most 2^-9 sqrt(20 / 40000) each.
  CHECK(std::fabs(1 - average(lean.weight) - moved) < 5 * 0x1p-9 * std::sqrt(20.0 / count) + 2e-5);
}

TEST_CASE("moments in bfloat16 are rounded stochastically beside master weights, too", "[optim][16bit]") {
  constexpr std::int64_t count = 20'000;
  constexpr optim::AdamW rule{.beta2 = 0.999};
  State<bf16, bf16, bf16> lean(count, 1);
  State<float, float, float> exact(1, 1);
  lean.stochastic = true;
  lean.master.assign(count, 1.0F);
  lean.gradient.assign(count, bf16(0.3F));
  exact.gradient.assign(1, value_of(bf16(0.3F)));
  for (std::int64_t step = 1; step <= 60; ++step) {
    lean.step(2, rule, step, 1e-3);
    exact.step(1, rule, step, 1e-3);
  }
  // Sixty roundings of spacing 2^-8 or less, relative to v: deviations of 2^-9 sqrt(60 / 20000).
  CHECK(std::fabs(average(lean.v) / static_cast<double>(exact.v[0]) - 1) <
        5 * 0x1p-9 * std::sqrt(60.0 / count) + 1e-3);
  CHECK(std::count(lean.v.begin(), lean.v.end(), lean.v[0]) < count);
  CHECK(same_bits(lean.weight, converted<bf16>(lean.master)));
}

TEST_CASE("weight and moments of AdamW are each rounded right on average, and hardly together",
          "[optim][16bit]") {
  constexpr std::int64_t count = 200'003;
  State<bf16, bf16, bf16> lean(count, 1);
  State<float, float, float> exact(1, 1);
  lean.stochastic = true;
  lean.gradient.assign(count, bf16(0.3F));
  exact.gradient.assign(1, value_of(bf16(0.3F)));
  lean.step(2, optim::AdamW{}, 1, 2e-3);
  exact.step(1, optim::AdamW{}, 1, 2e-3);
  // Rounded away from zero or towards it, and the share of either that is right on average.
  struct Rounding {
    const std::vector<bf16>& stored;
    float exact;
    double away_expected() const {
      const auto towards = std::bit_cast<std::uint32_t>(exact) & 0xffff0000U;
      const auto below = static_cast<double>(std::bit_cast<float>(towards));
      const auto above = static_cast<double>(std::bit_cast<float>(towards + 0x10000U));
      return (static_cast<double>(exact) - below) / (above - below);
    }
    bool away(std::size_t i) const { return std::fabs(value_of(stored[i])) > std::fabs(exact); }
  };
  const Rounding all[] = {
      {lean.weight, exact.weight[0]}, {lean.m, exact.m[0]}, {lean.v, exact.v[0]}};
  constexpr double deviation = 0.5 / 447;  // of a share, at most: 1 / (2 sqrt(count))
  // Of an element and of one `distance` further on: with 1 they share a word, if the first is even; with
  // 16384 the words of the other have keys of their own.
  const auto share = [&](const Rounding& a, const Rounding& b, std::size_t distance) {
    std::int64_t both = 0;
    for (std::size_t i = 0; i + distance < lean.weight.size(); ++i) {
      both += a.away(i) && b.away(i + distance) ? 1 : 0;
    }
    return static_cast<double>(both) / static_cast<double>(lean.weight.size() - distance);
  };
  for (const Rounding& a : all) {
    CAPTURE(&a - all, a.away_expected());
    REQUIRE(a.away_expected() > 0.05);
    REQUIRE(a.away_expected() < 0.95);
    CHECK(std::fabs(share(a, a, 0) - a.away_expected()) < 5 * deviation);
    for (const std::size_t distance : {1U, 2U, 16U, 64U, 16384U}) {
      CAPTURE(distance);
      const double alone = a.away_expected() * a.away_expected();
      CHECK(std::fabs(share(a, a, distance) - alone) < 5 * deviation + 1.0 / 256);
    }
    for (const Rounding& b : all) {
      if (&a == &b) continue;
      const double alone = a.away_expected() * b.away_expected();
      CHECK(std::fabs(share(a, b, 0) - alone) < 5 * deviation + 1.0 / 256);
    }
  }
}

TEST_CASE("stochastic rounding gives the same bits for any number of threads, other bits each step",
          "[optim][16bit]") {
  constexpr std::int64_t count = 40'001;
  const auto run = [&](int threads, std::int64_t step) {
    State<bf16, bf16, bf16> state(count, 1);
    state.stochastic = true;
    state.gradient = converted<bf16>(random_vector<float>(count, 5));
    state.step(threads, optim::AdamW{}, step, 1e-3);
    return state;
  };
  const auto one = run(1, 1), three = run(3, 1), later = run(1, 2);
  CHECK(same_bits(one.weight, three.weight));
  CHECK(same_bits(one.m, three.m));
  CHECK(same_bits(one.v, three.v));
  CHECK_FALSE(same_bits(one.weight, later.weight));
}

TEST_CASE("numbers that bfloat16 holds are not moved, nor are those that are none",
          "[optim][16bit]") {
  for (const std::uint32_t random : {0U, 1U, 0x8000U, 0xffffU, 0xffffffffU}) {
    for (const float value : {0.0F, -0.0F, 1.0F, -3.5F, 0x1p-130F}) {
      CHECK(round_stochastically(value, random) == bf16(value));
    }
    CHECK(std::isnan(value_of(round_stochastically(std::nanf(""), random))));
    CHECK(value_of(round_stochastically(std::numeric_limits<float>::infinity(), random)) ==
          std::numeric_limits<float>::infinity());
  }
  // A quarter of the way up: a quarter of the words round up.
  const float quarter = 1.0F + 0x1p-9F;
  CHECK(value_of(round_stochastically(quarter, 0xbfffU)) == 1.0F);
  CHECK(value_of(round_stochastically(quarter, 0xc000U)) == 1.0F + 0x1p-7F);
}

TEMPLATE_TEST_CASE("the norm of 16-bit gradients is summed in double", "[optim][clip][16bit]", bf16,
                   fp16) {
  const std::vector<TestType> x(70'000, TestType(300.0F));
  std::vector<double> partials(static_cast<std::size_t>(optim::norm_partials(70'000)));
  CHECK(optim::squared_norm(Cpu(2), x.data(), 70'000, partials.data()) == 70'000.0 * 300 * 300);
}
