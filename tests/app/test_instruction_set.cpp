// SPDX-License-Identifier: Apache-2.0
// That a processor is refused cannot be shown on one that runs this test; that it is not, can.
#include <fount/app/instruction_set.hpp>

#include "support/catch.hpp"

TEST_CASE("the processor that runs the tests has what they are compiled for", "[app]") {
  CHECK(fount::missing_instruction_set() == nullptr);
  CHECK(fount::runs_on_this_processor("test"));
}
