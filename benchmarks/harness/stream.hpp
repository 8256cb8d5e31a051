// SPDX-License-Identifier: Apache-2.0
#pragma once
// What moving the data of an op costs without computing anything: a plain loop that reads and
// writes the same arrays, in the same pieces, on the same threads. It is the bound of ops whose
// arithmetic hides behind memory (McCalpin 1995, the STREAM benchmark).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fount/backend/cpu.hpp>
#include <fount/backend/vectors.hpp>
#include <fount/core/units.hpp>

namespace bench {

/// Some memory that an op goes through once, from its start to its end.
struct StreamArray {
  std::byte* data = nullptr;
  fount::Bytes bytes = 0;
  bool read = false;
  bool written = false;
};

template <class T>
StreamArray reads(const T* data, std::int64_t count) {
  // The loop does not write to it: see StreamArray::written.
  auto* const bytes = reinterpret_cast<std::byte*>(const_cast<T*>(data));
  return {bytes, count * static_cast<fount::Bytes>(sizeof(T)), true, false};
}
template <class T>
StreamArray writes(T* data, std::int64_t count) {
  return {reinterpret_cast<std::byte*>(data), count * static_cast<fount::Bytes>(sizeof(T)), false,
          true};
}
template <class T>
StreamArray updates(T* data, std::int64_t count) {
  return {reinterpret_cast<std::byte*>(data), count * static_cast<fount::Bytes>(sizeof(T)), true,
          true};
}

/// Bytes read and bytes written, each counted once.
inline fount::Bytes bytes_moved(std::span<const StreamArray> arrays) {
  fount::Bytes bytes = 0;
  for (const StreamArray& array : arrays) {
    bytes += array.bytes * (static_cast<int>(array.read) + static_cast<int>(array.written));
  }
  return bytes;
}

namespace detail {

/// A register's worth of memory. (Wider vectors go through the stack with g++ 12: on AVX2 the loop
/// had half of its speed.)
using Part = fount::Vectors<std::uint64_t>::Memory;
constexpr std::ptrdiff_t line_bytes = 64;  // of the caches
constexpr auto parts_of_line = line_bytes / static_cast<std::ptrdiff_t>(sizeof(Part));

/// Where the loop is in an array, and how many lines it takes there at a step.
struct Position {
  Part* at = nullptr;
  std::ptrdiff_t lines = 0;
};

/// The arrays of one kind, at step `first`.
struct Positions {
  Position position[4];
  int count = 0;

  void add(const StreamArray& array, fount::Bytes longest, std::int64_t first) {
    const auto lines = static_cast<std::ptrdiff_t>(2 * array.bytes / longest);
    Part* const at = reinterpret_cast<Part*>(array.data) + first * lines * parts_of_line;
    position[count++] = {at, lines};
  }

  template <class Body>
  [[gnu::always_inline]] void step(Body&& body) {
    for (int i = 0; i < count; ++i) {
      auto& [at, lines] = position[i];
      for (std::ptrdiff_t line = 0; line < lines; ++line) {
        for (std::ptrdiff_t part = 0; part < parts_of_line; ++part) body(*at++);
      }
    }
  }
};

}  // namespace detail

/// Goes once through all arrays side by side, two lines of the longest at a time: the fastest of
/// several such loops here. What is updated keeps its value, what is only written receives the
/// exclusive or of what is only read. Each array is as long as the longest or half as long, and at
/// most four are read only, written only or updated.
inline void stream(const fount::Cpu& cpu, std::span<const StreamArray> arrays) {
  using detail::Part;
  constexpr fount::Bytes chunk = 65536;  // of the longest: what a thread takes at a time, as ops do
  fount::Bytes longest = 0;
  for (const StreamArray& array : arrays) longest = std::max(longest, array.bytes);
  const std::int64_t steps = longest / (2 * detail::line_bytes);
  const std::int64_t chunks = (longest + chunk - 1) / chunk;
  cpu.parallel(chunks, [&](std::int64_t index, int thread) {
    volatile std::uint64_t zero_source = 0;  // read at run time, or updates would be left out
    const Part zero = Part{} + zero_source;
    const std::int64_t first = steps * index / chunks;
    detail::Positions read, updated, written;
    for (const StreamArray& array : arrays) {
      auto& kind = !array.written ? read : array.read ? updated : written;
      kind.add(array, longest, first);
    }
    Part sum = zero;
    for (std::int64_t step = first; step < steps * (index + 1) / chunks; ++step) {
      read.step([&](const Part& part) { sum ^= part; });
      updated.step([&](Part& part) { part ^= zero; });
      written.step([&](Part& part) { part = sum; });
    }
    *reinterpret_cast<Part*>(cpu.workspace(thread)) = sum;  // or nothing would be read
  });
}

}  // namespace bench
