// SPDX-License-Identifier: Apache-2.0
#pragma once
// The factor that keeps small gradients inside 16 bits: halved when gradients overflow, doubled
// after many steps in which none did. Micikevicius et al. 2018, "Mixed precision training",
// https://arxiv.org/abs/1710.03740.

#include <algorithm>
#include <cstdint>

namespace fount {

struct LossScale {
  static constexpr double first = 65536;
  static constexpr double largest = 16777216;
  static constexpr std::int64_t steps_before_growth = 2000;

  double factor = 1;                // losses are multiplied by it before backward; at least 1
  std::int64_t steps_at_scale = 0;  // updates applied since it last changed

  /// Gradients were finite and have been applied.
  constexpr void applied() {
    if (++steps_at_scale < steps_before_growth) return;
    factor = std::min(2 * factor, largest);
    steps_at_scale = 0;
  }

  /// Gradients were not finite. @return false if there is nothing left to halve
  constexpr bool overflowed() {
    if (factor <= 1) return false;
    factor /= 2;
    steps_at_scale = 0;
    return true;
  }
};

}  // namespace fount
