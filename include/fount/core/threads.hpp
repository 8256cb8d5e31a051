// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work sharing between threads, and how many threads this process may use. The only file with
// OpenMP pragmas. What a loop computes never depends on the number of threads: callers split work
// into fixed chunks, threads only decide who runs which.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include <fount/core/macros.hpp>

#if FOUNT_HAS_OPENMP
#include <omp.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace fount {

/// Runs body(index, thread) for every index in [0, count) on `threads` threads; chunks go to
/// whoever is free. `thread` is in [0, threads). `body` must not throw.
template <class Body>
void parallel_for(int threads, std::int64_t count, Body&& body) {
#if FOUNT_HAS_OPENMP
  if (threads > 1 && count > 1) {
    // The team keeps one size from call to call: changing it would make the runtime allocate.
#pragma omp parallel num_threads(threads)
    {
      const int thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t index = 0; index < count; ++index) body(index, thread);
    }
    return;
  }
#endif
  (void)threads;
  for (std::int64_t index = 0; index < count; ++index) body(index, 0);
}

namespace detail {

/// Processors granted by the control group's quota, or 0 where there is none. Reads cgroup v2's
/// `cpu.max` ("quota period" in microseconds), then v1's pair of files.
inline int cgroup_processors() {
  const auto processors = [](double quota, double period) {
    return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period + 0.5)) : 0;
  };
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file) {
    std::string quota;
    double period = 0;
    if (file >> quota >> period && quota != "max" && !quota.empty() &&
        quota.find_first_not_of("0123456789") == std::string::npos && quota.size() < 18) {
      return processors(static_cast<double>(std::stoll(quota)), period);
    }
    return 0;
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (quota_file >> quota && period_file >> period) return processors(quota, period);
  return 0;
}

}  // namespace detail

/// How many threads this process may usefully run: the processors in its affinity mask, at most
/// the control group's quota, at least 1.
inline int available_threads() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
#endif
  const int quota = detail::cgroup_processors();
  if (quota > 0) count = std::min(count, quota);
  return std::max(count, 1);
}

}  // namespace fount
