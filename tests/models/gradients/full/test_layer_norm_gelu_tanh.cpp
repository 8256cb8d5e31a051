// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

TEST_CASE("every gradient of every layer_norm and gelu_tanh variant matches central differences",
          "[models][gradients][full]") {
  fount::test::prove_product<0, 0>();
}
