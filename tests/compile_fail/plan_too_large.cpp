// SPDX-License-Identifier: Apache-2.0
// A run that does not fit is a compile error.
// expect: static assertion failed|static_assert failed|static assertion failed due to
#include <fount/config/presets.hpp>
#include <fount/train/plan.hpp>

static_assert(fount::train_plan<fount::presets::gpt_8b, fount::bf16_mixed>({.batch_size = 2})
                  .total() < fount::GiB(80));
