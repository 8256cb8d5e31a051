// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results on their way to memory: many numbers rounded at once to what they are stored in.

#include <cstdint>
#include <type_traits>

#include <fount/backend/pairs.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// to[i] = from[i] for i in [0, count), to nearest even: the bits of static_cast.
template <Element S>
[[gnu::always_inline]] inline void round_each(S* to, const compute_t<S>* from, std::int64_t count) {
  constexpr std::int64_t pair = pair_size<compute_t<S>>;
  const std::int64_t in_pairs = std::is_same_v<S, bf16> ? count / pair * pair : 0;
  for (std::int64_t i = 0; i < in_pairs; i += pair) {
    store_pair<Order::consecutive>(to + i, load_pair<Order::consecutive>(from + i));
  }
  for (std::int64_t i = in_pairs; i < count; ++i) to[i] = static_cast<S>(from[i]);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
