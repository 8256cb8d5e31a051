// SPDX-License-Identifier: Apache-2.0
#include <fount/optim/schedule.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"

using fount::Schedule;
using fount::optim::LearningRate;
using fount::optim::parse_schedule;

namespace {

constexpr Schedule schedules[] = {Schedule::constant, Schedule::linear, Schedule::cosine,
                                  Schedule::warmup_stable_decay};

LearningRate rate_of(Schedule kind, std::int64_t warmup, std::int64_t total) {
  return {.kind = kind, .peak = 1.0, .floor = 0.1, .warmup_steps = warmup, .total_steps = total};
}

}  // namespace

TEST_CASE("the learning rate is finite and in range at every step, for any lengths",
          "[optim][schedule]") {
  const std::int64_t N = 10;
  for (const Schedule kind : schedules) {
    for (const std::int64_t total : {std::int64_t{0}, std::int64_t{1}, N}) {
      for (const std::int64_t warmup : {std::int64_t{0}, std::int64_t{1}, N, N + 1}) {
        for (const double fraction : {0.0, 0.2, 1.0}) {
          LearningRate rate = rate_of(kind, warmup, total);
          rate.decay_fraction = fraction;
          for (std::int64_t step = 0; step <= N + 5; ++step) {
            CAPTURE(name_of(kind), total, warmup, fraction, step);
            const double lr = rate.at(step);
            CHECK((std::isfinite(lr) && lr > 0 && lr <= 1));
            if (step >= warmup) CHECK(lr >= 0.1);
            if (kind != Schedule::constant && step >= total && step >= warmup) CHECK(lr == 0.1);
          }
          CHECK(std::isfinite(rate.at(std::numeric_limits<std::int64_t>::max())));
        }
      }
    }
  }
}

TEST_CASE("warm-up is linear from peak / (N + 1) and reaches the peak after N steps",
          "[optim][schedule]") {
  for (const Schedule kind : schedules) {
    const LearningRate rate = rate_of(kind, 4, 100);
    for (std::int64_t step = 0; step <= 4; ++step) {
      CHECK(rate.at(step) == Approx(static_cast<double>(step + 1) / 5));
    }
  }
  CHECK(rate_of(Schedule::cosine, 0, 100).at(0) == 1.0);
}

TEST_CASE("each schedule has its shape after the warm-up", "[optim][schedule]") {
  CHECK(rate_of(Schedule::constant, 10, 110).at(5000) == 1.0);
  CHECK(rate_of(Schedule::linear, 10, 110).at(60) == Approx(0.55));
  CHECK(rate_of(Schedule::linear, 10, 110).at(109) == Approx(0.109));
  CHECK(rate_of(Schedule::cosine, 10, 110).at(60) == Approx(0.55));
  CHECK(rate_of(Schedule::cosine, 10, 110).at(35) == Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))));
  const LearningRate wsd = rate_of(Schedule::warmup_stable_decay, 10, 100);
  CHECK(wsd.at(10) == 1.0);
  CHECK(wsd.at(80) == 1.0);
  CHECK(wsd.at(90) == Approx(0.55));
  CHECK(wsd.at(100) == 0.1);
}

TEST_CASE("the learning rate never rises after the warm-up", "[optim][schedule]") {
  for (const Schedule kind : schedules) {
    const LearningRate rate = rate_of(kind, 7, 53);
    for (std::int64_t step = 7; step < 60; ++step) CHECK(rate.at(step + 1) <= rate.at(step));
  }
}

TEST_CASE("schedules have names that can be read back", "[optim][schedule]") {
  for (const Schedule kind : schedules) CHECK(parse_schedule(name_of(kind)) == kind);
  CHECK_FALSE(parse_schedule("cosin").has_value());
}
