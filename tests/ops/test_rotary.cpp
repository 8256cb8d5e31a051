// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fount/core/random.hpp>
#include <fount/ops/rotary.hpp>

#include "support/catch.hpp"

namespace {

using fount::Cpu;
using fount::ops::RotaryShape;

template <class T>
std::vector<T> random_values(std::size_t count) {
  const fount::RandomStream stream{.seed = 3};
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(2 * stream.uniform(i) - 1);
  return values;
}

template <class T>
std::vector<T> table_of(int max_positions, int head_dim, float theta) {
  std::vector<T> table(
      static_cast<std::size_t>(fount::ops::rotary_table_size(max_positions, head_dim)));
  fount::ops::rotary_table<T>(table.data(), max_positions, head_dim, theta);
  return table;
}

template <class T>
void check_against_definition(const RotaryShape& s, float theta, double tolerance) {
  const Cpu cpu(2);
  const auto table = table_of<T>(s.max_positions, s.head_dim, theta);
  const auto x = random_values<T>(static_cast<std::size_t>(s.batch_size * s.seq_len) *
                                  static_cast<std::size_t>(s.stride));
  auto y = x;
  fount::ops::rotary_forward<T>(cpu, y.data(), table.data(), s);
  const int D = s.head_dim, half = D / 2;
  for (int token = 0; token < s.batch_size * s.seq_len; ++token) {
    for (std::int64_t c = 0; c < s.stride; ++c) {
      const auto at = static_cast<std::size_t>(token * s.stride + c);
      if (c >= s.num_heads * D) {
        CHECK(y[at] == x[at]);  // heads and columns that were not asked for
        continue;
      }
      const int i = static_cast<int>(c % D);
      const double angle = (s.position_offset + token % s.seq_len) *
                           std::pow(static_cast<double>(theta), -2.0 * (i % half) / D);
      const double own = static_cast<double>(x[at]);
      const double partner = i < half ? -static_cast<double>(x[at + static_cast<std::size_t>(half)])
                                      : static_cast<double>(x[at - static_cast<std::size_t>(half)]);
      CAPTURE(token, c);
      CHECK(static_cast<double>(y[at]) ==
            Approx(own * std::cos(angle) + partner * std::sin(angle)).margin(tolerance));
    }
  }
  fount::ops::rotary_backward<T>(cpu, y.data(), table.data(), s);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(static_cast<double>(y[i]) == Approx(static_cast<double>(x[i])).margin(tolerance));
  }
}

}  // namespace

TEST_CASE("rotary rotates pairs half a head apart by position times frequency",
          "[ops][rotary][cpu]") {
  for (const int head_dim : {2, 4, 6, 16, 34}) {
    for (const int seq_len : {1, 3, 17}) {
      CAPTURE(head_dim, seq_len);
      const RotaryShape shape{.batch_size = 2,
                              .seq_len = seq_len,
                              .num_heads = 3,
                              .head_dim = head_dim,
                              .stride = 5 * head_dim + 1,
                              .position_offset = 4,
                              .max_positions = 21};
      check_against_definition<float>(shape, 10000.0F, 5e-7);
      check_against_definition<double>(shape, 500000.0F, 1e-14);
    }
  }
}

TEST_CASE("rotary table keeps full precision at far positions", "[ops][rotary]") {
  const int positions = 100'001;
  const auto table = table_of<float>(positions, 2, 10000.0F);
  CHECK(table[200'000] == Approx(std::cos(100'000.0)).epsilon(1e-7));
  CHECK(table[200'001] == Approx(std::sin(100'000.0)).epsilon(1e-7));
}

TEST_CASE("rotary makes the product of query and key depend on their distance only",
          "[ops][rotary][cpu]") {
  const Cpu cpu(1);
  const int D = 8;
  const auto table = table_of<double>(50, D, 10000.0F);
  const auto q = random_values<double>(16);
  const auto product = [&](int query_position, int key_position) {
    auto x = q;
    RotaryShape shape{.batch_size = 1,
                      .seq_len = 1,
                      .num_heads = 1,
                      .head_dim = D,
                      .stride = D,
                      .position_offset = query_position,
                      .max_positions = 50};
    fount::ops::rotary_forward<double>(cpu, x.data(), table.data(), shape);
    shape.position_offset = key_position;
    fount::ops::rotary_forward<double>(cpu, x.data() + D, table.data(), shape);
    double sum = 0;
    for (std::size_t d = 0; d < D; ++d) sum += x[d] * x[D + d];
    return sum;
  };
  CHECK(product(7, 3) == Approx(product(49, 45)).epsilon(1e-12));
  CHECK(product(7, 3) != Approx(product(7, 4)).epsilon(1e-3));
}

TEST_CASE("rotary gives the same bits on one, two and three threads", "[ops][rotary][threads]") {
  const RotaryShape shape{.batch_size = 3,
                          .seq_len = 19,
                          .num_heads = 2,
                          .head_dim = 10,
                          .stride = 21,
                          .position_offset = 0,
                          .max_positions = 19};
  const auto table = table_of<float>(19, 10, 10000.0F);
  const auto x = random_values<float>(3 * 19 * 21);
  std::vector<float> expected;
  for (const int threads : {1, 2, 3}) {
    auto y = x;
    fount::ops::rotary_forward<float>(Cpu(threads), y.data(), table.data(), shape);
    if (threads == 1) expected = y;
    CHECK(y == expected);
  }
}

TEST_CASE("rotary leaves an empty batch alone", "[ops][rotary]") {
  const Cpu cpu(2);
  const float* no_table = nullptr;
  float* nothing = nullptr;
  CHECK_NOTHROW(fount::ops::rotary_forward<float>(cpu, nothing, no_table,
                                                  {.batch_size = 0,
                                                   .seq_len = 3,
                                                   .num_heads = 2,
                                                   .head_dim = 4,
                                                   .stride = 8,
                                                   .position_offset = 0,
                                                   .max_positions = 3}));
  CHECK_NOTHROW(fount::ops::rotary_forward<float>(cpu, nothing, no_table,
                                                  {.batch_size = 3,
                                                   .seq_len = 0,
                                                   .num_heads = 2,
                                                   .head_dim = 4,
                                                   .stride = 8,
                                                   .position_offset = 0,
                                                   .max_positions = 3}));
}

TEST_CASE("rotary refuses odd heads, short rows, and positions beyond its table", "[ops][rotary]") {
  const Cpu cpu(1);
  std::vector<float> x(64), table(64);
  const RotaryShape good{.batch_size = 1,
                         .seq_len = 2,
                         .num_heads = 2,
                         .head_dim = 4,
                         .stride = 8,
                         .position_offset = 1,
                         .max_positions = 3};
  CHECK_NOTHROW(fount::ops::rotary_forward<float>(cpu, x.data(), table.data(), good));
  const auto refused = [&](auto&& change) {
    RotaryShape shape = good;
    change(shape);
    CHECK_THROWS_AS(fount::ops::rotary_forward<float>(cpu, x.data(), table.data(), shape),
                    fount::ShapeError);
    CHECK_THROWS_AS(fount::ops::rotary_backward<float>(cpu, x.data(), table.data(), shape),
                    fount::ShapeError);
  };
  refused([](RotaryShape& s) { s.head_dim = 3; });
  refused([](RotaryShape& s) { s.stride = 7; });
  refused([](RotaryShape& s) { s.batch_size = -1; });
  refused([](RotaryShape& s) { s.seq_len = -1; });
  refused([](RotaryShape& s) { s.position_offset = -1; });
  refused([](RotaryShape& s) { s.position_offset = 2; });
  CHECK_THROWS_AS(fount::ops::rotary_table<float>(table.data(), 4, 5, 1e4F), fount::ShapeError);
  CHECK_THROWS_AS(fount::ops::rotary_table<float>(table.data(), -1, 4, 1e4F), fount::ShapeError);
  CHECK_THROWS_AS(fount::ops::rotary_table<float>(table.data(), 4, 4, 0.0F), fount::ConfigError);
}
