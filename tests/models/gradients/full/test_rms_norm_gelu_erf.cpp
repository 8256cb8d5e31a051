// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#if FOUNT_FULL_PROOF
TEST_CASE("every gradient of every rms_norm and gelu_erf variant matches central differences",
          "[models][gradients][full]") {
  fount::test::prove_product<1, 1>();
}
#endif
