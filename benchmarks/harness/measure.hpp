// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a table of benchmarks: an op, what bounds it, and how near it comes. Op and bound are
// timed in turn, because the clock of a processor and the memory that other programs leave free
// drift. "Time" is Google Benchmark's mean; rate, bound and fraction are made of medians. "CPU" means
// little: it is of one thread, its bounds included.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/arena.hpp>
#include <fount/core/dtype.hpp>
#include <fount/monitor/peak.hpp>

#include "program.hpp"
#include "stream.hpp"

namespace bench {

/// An op bounded by memory. There may be several copies of its arrays, used in turn so that none is
/// in a cache when its turn comes.
struct StreamWork {
  fount::Arena memory;                           // of all copies
  std::vector<std::vector<StreamArray>> copies;  // what the op moves, for each
  std::function<void(std::size_t)> op;           // works on the copy of this number
};

/// An op bounded by arithmetic.
struct ArithmeticWork {
  fount::Arena memory;
  double flops = 0;  // of one call
  fount::DType dtype = fount::DType::float32;
  std::function<void(std::int64_t)> op;  // told the number of the call
};

/// Memory that the system has handed out already: otherwise the first call would wait for its
/// pages.
inline fount::Arena touched_memory(fount::Bytes bytes) {
  fount::Arena memory(bytes, "the data of a benchmark");
  for (fount::Bytes at = 0; at < bytes; at += 4096) memory.data()[at] = std::byte{0};
  return memory;
}

/// Copies of `bytes` that are together several times larger than the caches.
inline std::size_t copies_beyond_caches(fount::Bytes bytes) {
  constexpr fount::Bytes beyond = fount::MiB(192);  // the third level has 32 MiB here
  return static_cast<std::size_t>(std::max<fount::Bytes>(1, (beyond + bytes - 1) / bytes));
}

/// Numbers between -scale and scale.
template <fount::Element T>
void fill(T* values, std::int64_t count, float scale) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const float unit = static_cast<float>(state >> 8U) * 0x1p-23F - 1.0F;
    values[i] = static_cast<T>(unit * scale);
  }
}

namespace detail {

template <class Body>
double seconds_of(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline void report(benchmark::State& state, const char* unit, double rate, double bound) {
  state.counters[unit] = rate * 1e-9;
  state.counters["bound"] = bound * 1e-9;
  state.counters["fraction"] = rate / bound;
}

}  // namespace detail

/// Registers a row that is bounded by a stream loop over the same arrays. @param make () ->
/// StreamWork
template <class Make>
void register_stream(const fount::Cpu& cpu, const std::string& name, Make make) {
  const auto body = [&cpu, name, make](benchmark::State& state) {
    StreamWork& work = current<StreamWork>(name, make);
    const std::size_t copies = work.copies.size();
    std::vector<double> op, bound;
    std::size_t turn = 0;
    for ([[maybe_unused]] auto iteration : state) {
      op.push_back(detail::seconds_of([&] { work.op(turn % copies); }));
      state.SetIterationTime(op.back());
      const auto& arrays = work.copies[(turn + copies / 2) % copies];
      bound.push_back(detail::seconds_of([&] { stream(cpu, arrays); }));
      ++turn;
    }
    const auto bytes = static_cast<double>(bytes_moved(work.copies.front()));
    detail::report(state, "GB/s", bytes / detail::median(op), bytes / detail::median(bound));
  };
  benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMillisecond);
}

/// Registers a row that is bounded by the peak rate of the processor for its dtype.
/// @param make () -> ArithmeticWork
template <class Make>
void register_arithmetic(const fount::Cpu& cpu, const std::string& name, Make make) {
  const auto body = [&cpu, name, make](benchmark::State& state) {
    ArithmeticWork& work = current<ArithmeticWork>(name, make);
    std::vector<double> op, peak;
    constexpr double stretch = 0.1;  // seconds of work between peaks, which take as long
    double since_peak = stretch;
    std::int64_t turn = 0;
    for ([[maybe_unused]] auto iteration : state) {
      if (since_peak >= stretch) {
        peak.push_back(fount::measure_peak_flops(cpu, work.dtype));
        since_peak = 0;
      }
      op.push_back(detail::seconds_of([&] { work.op(turn++); }));
      state.SetIterationTime(op.back());
      since_peak += op.back();
    }
    // A peak may meet another program, too: never take one alone.
    while (peak.size() < 3) peak.push_back(fount::measure_peak_flops(cpu, work.dtype));
    detail::report(state, "GFLOP/s", work.flops / detail::median(op), detail::median(peak));
  };
  benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMillisecond);
}

}  // namespace bench
