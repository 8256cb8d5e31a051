// SPDX-License-Identifier: Apache-2.0
// A trainer in a precision that this version can only plan is refused, with what it can compute in.
// expect: this version computes in fp32 and fp64

#include <fount/app/model_entry.hpp>

fount::ModelEntry entry() {
  return fount::model_entry<fount::presets::quickstart, fount::bf16_mixed>("quickstart");
}
