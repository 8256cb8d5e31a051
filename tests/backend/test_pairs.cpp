// SPDX-License-Identifier: Apache-2.0
// Rows two registers at a time: every element once, wherever a row ends, and rounded to the bits
// that rounding alone gives.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include <fount/backend/pairs.hpp>
#include <fount/backend/vectors.hpp>
#include <fount/core/random.hpp>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;

namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 1031};
using limits = std::numeric_limits<float>;
const float specials[] = {1.0F,
                          -0.0F,
                          limits::denorm_min(),
                          limits::min() / 3,
                          limits::max(),
                          -limits::max(),
                          limits::infinity(),
                          -limits::infinity(),
                          limits::quiet_NaN(),
                          std::bit_cast<float>(0x7f800001U),   // NaN of low bits only
                          std::bit_cast<float>(0xffffffffU)};  // NaN of all bits

/// Any bits but those of NaN and infinity.
std::vector<float> any_numbers(std::int64_t count) {
  const RandomStream stream{.seed = 11, .purpose = RandomPurpose::sampling};
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = stream.bits(static_cast<std::uint64_t>(i));
    values.push_back(
        std::bit_cast<float>((bits & 0x7f800000U) == 0x7f800000U ? bits ^ 0x40000000U : bits));
  }
  return values;
}

template <Element S>
bool same(S a, S b) {
  return std::bit_cast<std::array<std::byte, sizeof(S)>>(a) ==
         std::bit_cast<std::array<std::byte, sizeof(S)>>(b);
}

/// Doubles a row of S in place and adds a row of numbers, then compares element by element.
template <Order O, Element S>
void check_row(std::int64_t count) {
  using T = compute_t<S>;
  CAPTURE(count, sizeof(S), O == Order::alternating);
  std::vector<S> row = test::converted<S>(test::random_vector<float>(count, 3));
  std::vector<T> plus = test::converted<T>(test::random_vector<float>(count, 4));
  row.push_back(S(77.0F));
  const std::vector<S> before = row;
  std::int64_t visited = 0;
  RowSum<T> sum;
  for_each_pair<O, T>(0, count, [&](auto at) {
    auto x = at.load(row.data());
    on_each([](auto& x, const auto& y, auto& sum) { x = x + x + y, sum += y; }, x,
            at.load(plus.data()), at.of(sum));
    at.store(row.data(), x);
    visited += static_cast<std::int64_t>(sizeof x / sizeof(T));
  });
  CHECK(visited == count);
  std::int64_t wrong = 0;
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const T x = value_of(before[at]);
    wrong += same(row[at], static_cast<S>(x + x + plus[at])) ? 0 : 1;
    total += static_cast<double>(plus[at]);
  }
  CHECK(wrong == 0);
  CHECK(same(row.back(), S(77.0F)));  // nothing beyond the end
  CHECK(std::fabs(static_cast<double>(sum.total()) - total) <= 1e-6 * static_cast<double>(count));
}

}  // namespace

TEMPLATE_TEST_CASE("every element of a row is visited once, in either order", "[backend][pairs]",
                   float, double, bf16, fp16) {
  for (const std::int64_t count : sizes) {
    check_row<Order::consecutive, TestType>(count);
    check_row<Order::alternating, TestType>(count);
  }
}

TEMPLATE_TEST_CASE("rows of different types meet element by element", "[backend][pairs]", float,
                   bf16, fp16) {
  const auto check = []<Order O>(std::integral_constant<Order, O>, std::int64_t count) {
    const auto halves = test::converted<bf16>(test::random_vector<float>(count, 5));
    const auto others = test::converted<TestType>(test::random_vector<float>(count, 6));
    std::vector<TestType> out(others.size());
    for_each_pair<O, float>(0, count, [&](auto at) {
      auto x = at.load(halves.data());
      on_each([](auto& x, const auto& y) { x = x - y; }, x, at.load(others.data()));
      at.store(out.data(), x);
    });
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      wrong += same(out[i], TestType(value_of(halves[i]) - value_of(others[i]))) ? 0 : 1;
    }
    CAPTURE(count, O == Order::alternating);
    CHECK(wrong == 0);
  };
  for (const std::int64_t count : sizes) {
    check(std::integral_constant<Order, Order::consecutive>{}, count);
    check(std::integral_constant<Order, Order::alternating>{}, count);
  }
}

TEMPLATE_TEST_CASE("registers multiply and add as numbers do", "[backend][vectors]", float,
                   double) {
  constexpr int width = vector_width<TestType>;
  const auto numbers = test::random_vector<TestType>(3 * width, 7);
  const auto a = load(numbers.data());
  const auto b = load(numbers.data() + width);
  const auto c = load(numbers.data() + 2 * width);
  const TestType alone = TestType(1) / 3;
  const auto all = multiply_add(a, b, c);
  const auto first = multiply_add(alone, b, c);
  const auto second = multiply_add(a, alone, c);
  const auto third = multiply_add(a, b, alone);
  for (int i = 0; i < width; ++i) {
    CHECK(all[i] == multiply_add(a[i], b[i], c[i]));
    CHECK(first[i] == multiply_add(alone, b[i], c[i]));
    CHECK(second[i] == multiply_add(a[i], alone, c[i]));
    CHECK(third[i] == multiply_add(a[i], b[i], alone));
    CHECK(
        static_cast<double>(all[i]) ==
        Approx(static_cast<double>(a[i]) * static_cast<double>(b[i]) + static_cast<double>(c[i])));
  }
}

TEST_CASE("dealt numbers come back to their columns", "[backend][pairs]") {
  for (const std::int64_t count : sizes) {
    CAPTURE(count);
    std::vector<bf16> columns;
    for (std::int64_t i = 0; i < count; ++i) columns.push_back(bf16(static_cast<float>(i % 251)));
    std::vector<float> dealt(columns.size()), back(columns.size());
    for_each_pair<Order::alternating, float>(
        0, count, [&](auto at) { at.store_dealt(dealt.data(), at.load(columns.data())); });
    for_each_pair<Order::alternating, float>(
        0, count, [&](auto at) { at.store(back.data(), at.load_dealt(dealt.data())); });
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      wrong += back[static_cast<std::size_t>(i)] == static_cast<float>(i % 251) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("pairs are rounded to nearest as numbers alone, special ones at any place",
          "[backend][pairs][rounding]") {
  const auto check = []<Order O>(std::integral_constant<Order, O>, const std::vector<float>& from) {
    const auto count = static_cast<std::int64_t>(from.size());
    std::vector<bf16> rounded(from.size(), bf16(77.0F));
    for (std::int64_t i = 0; i < count; i += pair_size<float>) {
      store_pair<O>(rounded.data() + i, load_pair<O>(from.data() + i));
    }
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < from.size(); ++i) wrong += same(rounded[i], bf16(from[i])) ? 0 : 1;
    return wrong;
  };
  std::vector<float> numbers = any_numbers(pair_size<float> * 512);
  for (std::size_t i = 0; i < numbers.size(); i += 3) {  // ties
    numbers[i] =
        std::bit_cast<float>((std::bit_cast<std::uint32_t>(numbers[i]) & 0xffff0000U) | 0x8000U);
  }
  CHECK(check(std::integral_constant<Order, Order::consecutive>{}, numbers) == 0);
  CHECK(check(std::integral_constant<Order, Order::alternating>{}, numbers) == 0);
  for (const float special : specials) {
    for (std::size_t place = 0; place < pair_size<float>; ++place) {
      CAPTURE(special, place);
      std::vector<float> values(pair_size<float>, 1.00390625F);  // halfway between two bf16
      values[place] = special;
      CHECK(check(std::integral_constant<Order, Order::consecutive>{}, values) == 0);
      CHECK(check(std::integral_constant<Order, Order::alternating>{}, values) == 0);
    }
  }
}

namespace {

/// How many numbers are not rounded by the bits of their words from bit `rotation` on.
template <unsigned rotation>
std::int64_t wrongly_rounded(const std::vector<float>& from) {
  const auto count = static_cast<std::int64_t>(from.size());
  const RoundingWords words({.seed = 3, .purpose = RandomPurpose::rounding}, 5);
  std::vector<bf16> rounded(from.size() + 1, bf16(77.0F));
  for_each_pair<Order::alternating, float>(0, count, [&](auto at) {
    at.template store_stochastically<rotation>(rounded.data(), at.load(from.data()),
                                               at.words(words));
  });
  std::int64_t wrong = same(rounded.back(), bf16(77.0F)) ? 0 : 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint64_t word = words.at(static_cast<std::uint32_t>(i / 2));
    const auto bits = static_cast<std::uint32_t>((word << 32U | word) >> (rotation + 16 * (i % 2)));
    wrong += same(rounded[i], round_stochastically(from[i], bits)) ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE("pairs are rounded stochastically as numbers alone, special ones at any place",
          "[backend][pairs][rounding]") {
  for (const std::int64_t count : sizes) {
    CAPTURE(count);
    std::vector<float> numbers = any_numbers(count);
    CHECK(wrongly_rounded<0>(numbers) == 0);
    CHECK(wrongly_rounded<8>(numbers) == 0);
    CHECK(wrongly_rounded<16>(numbers) == 0);
    for (const float special : specials) {
      for (std::size_t place = 0; place < numbers.size(); place += 5) numbers[place] = special;
      CAPTURE(special);
      CHECK(wrongly_rounded<0>(numbers) == 0);
      CHECK(wrongly_rounded<8>(numbers) == 0);
      CHECK(wrongly_rounded<16>(numbers) == 0);
    }
  }
}

TEST_CASE("words for rounding: each bit set half the time, in all words, stretches and steps",
          "[backend][random]") {
  constexpr std::uint32_t count = 1U << 14U;
  const RandomStream stream{.seed = 1, .step = 9, .purpose = RandomPurpose::rounding};
  const RandomStream later{.seed = 1, .step = 10, .purpose = RandomPurpose::rounding};
  const RoundingWords words(stream, 0), next_stretch(stream, 1), next_step(later, 0);
  std::vector<int> set(32), as_neighbour(32), as_next_stretch(32), as_next_step(32);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::size_t bit = 0; bit < 32; ++bit) {
      const auto of = [&](std::uint32_t word) { return static_cast<int>(word >> bit & 1U); };
      const int own = of(words.at(i));
      set[bit] += own;
      as_neighbour[bit] += own ^ of(words.at(i + 1));
      as_next_stretch[bit] += own ^ of(next_stretch.at(i));
      as_next_step[bit] += own ^ of(next_step.at(i));
    }
  }
  // Half of them, give or take five deviations of sqrt(count) / 2.
  for (const auto& counts : {set, as_neighbour, as_next_stretch, as_next_step}) {
    for (const int bits : counts) CHECK(std::abs(bits - static_cast<int>(count / 2)) < 5 * 64);
  }
}

TEST_CASE("roots of registers are those of numbers", "[backend][vectors]") {
  const auto check = []<class T>(T) {
    T values[vector_width<T>];
    for (int i = 0; i < vector_width<T>; ++i) values[i] = static_cast<T>(i) * T(1.7) - T(0.5);
    const Vector<T> roots = square_root(load<T>(values));
    for (int i = 0; i < vector_width<T>; ++i) {
      CHECK((roots[i] == std::sqrt(values[i]) || (values[i] < 0 && std::isnan(roots[i]))));
    }
  };
  check(1.0F);
  check(1.0);
}
