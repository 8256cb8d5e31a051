// SPDX-License-Identifier: Apache-2.0
// A trainer in a precision that nothing computes in is refused: double goes with double only.
// expect: this precision mixes double with something else

#include <fount/app/model_entry.hpp>

fount::ModelEntry entry() {
  constexpr fount::Precision mixed = {fount::DType::bfloat16, fount::DType::float64};
  return fount::model_entry<fount::presets::quickstart, mixed>("quickstart");
}
