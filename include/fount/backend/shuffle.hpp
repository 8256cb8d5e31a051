// SPDX-License-Identifier: Apache-2.0
#pragma once
// Picks lanes from two vector registers, as one instruction where the processor has one. A function
// of its own because nvcc's front end loses the parameter pack inside the compiler's builtin.

#include <fount/core/macros.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Lane i of `out` becomes lane Lane[i] of `a` followed by `b`; `out` is neither of them. By
/// reference: a vector wider than the processor's registers has no agreed way to be passed.
template <int... Lane, class Vector>
[[gnu::always_inline]] inline void shuffle(Vector& out, const Vector& a, const Vector& b) {
#if defined(__CUDACC__)
  constexpr int lanes = static_cast<int>(sizeof...(Lane));
  constexpr int from[] = {Lane...};
  for (int i = 0; i < lanes; ++i) out[i] = from[i] < lanes ? a[from[i]] : b[from[i] - lanes];
#else
  out = __builtin_shufflevector(a, b, Lane...);
#endif
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
