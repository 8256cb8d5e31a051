// SPDX-License-Identifier: Apache-2.0
// expect: computes in fp32 and fp64
#include <fount/app/model_entry.hpp>

auto entry = fount::compute_entry<fount::presets::quickstart, fount::bf16_mixed>();
