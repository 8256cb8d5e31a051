// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops of a constant length that are written out where the compiler reads them.

#include <type_traits>
#include <utility>

namespace fount {

/// Calls body(index) for 0 .. Count - 1 with indices that are constants (std::integral_constant of
/// int). Elements of arrays that are indexed this way are single variables to the compiler from the start,
/// so that they can stay in registers; in a loop that a later pass unrolls that depends on what surrounds it.
template <int Count, class Body>
[[gnu::always_inline]] constexpr void unroll(Body&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

}  // namespace fount
