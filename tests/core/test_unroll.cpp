// SPDX-License-Identifier: Apache-2.0
#include <fount/core/unroll.hpp>

#include <array>

#include "support/catch.hpp"

TEST_CASE("unroll: every index once, in order, as a constant") {
  constexpr auto indices = [] {
    std::array<int, 5> seen{};
    int calls = 0;
    fount::unroll<5>([&](auto index) {
      std::get<static_cast<std::size_t>(int{index})>(seen) = 10 * calls + index;
      ++calls;
    });
    return seen;
  }();
  STATIC_REQUIRE(indices == std::array{0, 11, 22, 33, 44});

  int calls = 0;
  fount::unroll<0>([&](auto) { ++calls; });
  REQUIRE(calls == 0);
  fount::unroll<1>([&](auto index) { calls += 1 + decltype(index)::value; });
  REQUIRE(calls == 1);
}
