// SPDX-License-Identifier: Apache-2.0
#include <fount/train/loss_scale.hpp>

#include "support/catch.hpp"

using fount::LossScale;

TEST_CASE("the loss scale doubles after 2000 applied steps and starts counting anew",
          "[train][loss_scale]") {
  LossScale scale{.factor = LossScale::first};
  for (int step = 0; step < 1999; ++step) scale.applied();
  CHECK(scale.factor == LossScale::first);
  scale.applied();
  CHECK(scale.factor == 2 * LossScale::first);
  CHECK(scale.steps_at_scale == 0);
}

TEST_CASE("an overflow halves the loss scale and starts counting anew", "[train][loss_scale]") {
  LossScale scale{.factor = 8, .steps_at_scale = 1999};
  CHECK(scale.overflowed());
  CHECK(scale.factor == 4);
  CHECK(scale.steps_at_scale == 0);
  scale.applied();
  CHECK(scale.factor == 4);
}

TEST_CASE("the loss scale has a largest and a smallest value", "[train][loss_scale]") {
  LossScale scale{.factor = LossScale::largest, .steps_at_scale = 1999};
  scale.applied();
  CHECK(scale.factor == LossScale::largest);
  scale = {.factor = 2};
  CHECK(scale.overflowed());
  CHECK_FALSE(scale.overflowed());
  CHECK(scale.factor == 1);
}
