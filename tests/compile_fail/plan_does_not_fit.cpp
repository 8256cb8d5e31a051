// SPDX-License-Identifier: Apache-2.0
// A run that does not fit is a compile error: a plan is a constant.
// expect: eight billion parameters do not fit

#include <fount/config/presets.hpp>
#include <fount/train/plan.hpp>

static_assert(fount::train_plan<fount::presets::gpt_8b, fount::fp32>({.batch_size = 2}).total() <
                  fount::GiB(16),
              "eight billion parameters do not fit");
