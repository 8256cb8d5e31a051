// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops in fixed chunks and sums in fixed lanes: what makes a result independent of the number of
// threads, and lets a float sum vectorise without -ffast-math. No op is here, only their loops.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <fount/backend/cpu.hpp>
#include <fount/backend/rounding.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Elements that a thread takes at a time where every element is on its own.
inline constexpr std::int64_t elementwise_chunk = 16384;

constexpr std::int64_t num_chunks(std::int64_t count, std::int64_t chunk) {
  return (count + chunk - 1) / chunk;
}

/// Rows of `row_size` elements that make about one elementwise chunk.
constexpr std::int64_t rows_per_chunk(std::int64_t row_size) {
  return std::max<std::int64_t>(1, elementwise_chunk / std::max<std::int64_t>(1, row_size));
}

/// body(begin, end) for consecutive pieces of [0, count), each `chunk` long but the last.
template <class Body>
void parallel_chunks(const Cpu& cpu, std::int64_t count, std::int64_t chunk, Body&& body) {
  cpu.parallel(num_chunks(count, chunk), [&](std::int64_t index, int) {
    const std::int64_t begin = index * chunk;
    body(begin, std::min(begin + chunk, count));
  });
}

/// body(i, size) for consecutive blocks of [begin, end). `size` is the constant Size in all but the
/// last: short loops of constant length become straight code. (An int: of a long, nvcc's front end
/// makes `signed long((64))`, which is no argument of a template.)
template <int Size, class Body>
[[gnu::always_inline]] inline void for_each_block(std::int64_t begin, std::int64_t end, Body body) {
  std::int64_t i = begin;
  for (; end - i >= Size; i += Size) body(i, std::integral_constant<int, Size>{});
  if (i < end) body(i, end - i);
}

/// Running sums kept side by side: four AVX2 registers, two of AVX-512.
template <Real T>
inline constexpr int num_lanes = 128 / static_cast<int>(sizeof(T));

/// Sum of term(i) over i in [0, count): lane i mod num_lanes takes it, then lanes are added in
/// pairs. `term` is inlined; keep it to a few operations, or the compiler gives up on vectors.
template <Real T, class Term>
[[gnu::always_inline]] inline T lane_sum(std::int64_t count, Term term) {
  constexpr int lanes = num_lanes<T>;
  T sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) sums[lane] += term(i + lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) sums[lane] += term(i);
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return sums[0];
}

/// out[i] = value(i) for i in [begin, end), through a block on the stack: `value` may read what it
/// is about to overwrite, and the loop vectorises all the same.
template <Element T, class Value>
[[gnu::always_inline]] inline void store_each(T* out, std::int64_t begin, std::int64_t end,
                                              Value value) {
  constexpr int size = 64;
  for_each_block<size>(begin, end, [&](std::int64_t i, auto count) {
    compute_t<T> block[size];
    if constexpr (std::is_same_v<decltype(count), std::int64_t>) {
      // The last block: g++ 12 takes what round_each reads of it for more than the loop fills.
      std::fill_n(block, size, compute_t<T>(0));
    }
    for (std::int64_t j = 0; j < count; ++j) block[j] = value(i + j);
    round_each(out + i, block, count);
  });
}

/// Largest of x[0..count), or `start` if none is larger; NaN never is.
template <Real T>
[[gnu::always_inline]] inline T lane_max(const T* x, std::int64_t count, T start) {
  constexpr int lanes = num_lanes<T>;
  T largest[lanes];
  for (T& value : largest) value = start;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      largest[lane] = x[i + lane] > largest[lane] ? x[i + lane] : largest[lane];
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) {
    largest[lane] = x[i] > largest[lane] ? x[i] : largest[lane];
  }
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      largest[lane] = std::max(largest[lane], largest[lane + width]);
    }
  }
  return largest[0];
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
