// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#if FOUNT_FULL_PROOF
TEST_CASE("every gradient of every layer_norm and swiglu variant matches central differences",
          "[models][gradients][full]") {
  fount::test::prove_product<0, 3>();
}
#endif
