// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory asked for before it is read: for loops over more arrays, or shorter rows, than the
// processor's own prefetching follows.

#include <cstddef>
#include <cstdint>

#include <fount/core/macros.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Asks for the lines of `size` bytes from `address` on. A number, because it may lie beyond the
/// array that is read: asking ahead never faults.
template <std::size_t size>
[[gnu::always_inline]] inline void prefetch(std::uintptr_t address) {
  constexpr std::uintptr_t line = 64;
#pragma GCC unroll 8
  for (std::uintptr_t at = 0; at < size; at += line) {
    __builtin_prefetch(reinterpret_cast<const void*>(address + at));
  }
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
