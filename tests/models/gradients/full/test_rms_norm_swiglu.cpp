// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

TEST_CASE("every gradient of every rms_norm and swiglu variant matches central differences",
          "[models][gradients][full]") {
  fount::test::prove_product<1, 3>();
}
