// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work sharing between threads, and how many threads this process may use. What a loop computes
// never depends on the number of threads: callers split work into fixed chunks, threads only decide
// who runs which. Not OpenMP: its loops end when every thread of the team has come by, so a thread
// that another program keeps off its processor stops the rest; here the others take its chunks.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fount {

/// Threads that wait for loops. One caller at a time; nothing is allocated after construction.
class ThreadPool {
 public:
  /// @param threads in all, the caller's included; below 1 counts as 1
  explicit ThreadPool(int threads) {
    workers_.reserve(static_cast<std::size_t>(std::max(threads, 1) - 1));
    for (int thread = 1; thread < threads; ++thread) {
      workers_.emplace_back([this, thread] { work(thread); });
    }
  }
  ~ThreadPool() {
    stopping_ = true;
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs body(index, thread) for every index in [0, count); chunks go to whoever is free. `thread`
  /// is in [0, threads()). `body` must not throw, and must not start another loop on this pool.
  template <class Body>
  void run(std::int64_t count, Body& body) {
    if (workers_.empty() || count < 2) {
      for (std::int64_t index = 0; index < count; ++index) body(index, 0);
      return;
    }
    call_ = [](void* context, std::int64_t index, int thread) {
      (*static_cast<Body*>(context))(index, thread);
    };
    context_ = const_cast<void*>(static_cast<const void*>(&body));
    count_ = count;
    next_ = 0;
    open_ = true;
    generation_.fetch_add(1);
    if (sleepers_ > 0) generation_.notify_all();
    take_chunks(0);
    // Whoever has not come by now finds the loop closed; wait only for those inside.
    open_ = false;
    for (int spin = 0; inside_ > 0; ++spin) {
      if (spin < spins_before_sleep) {
        pause();
      } else {
        std::this_thread::yield();  // somebody inside lost its processor: give it ours
      }
    }
  }

 private:
  static constexpr int spins_before_sleep = 4000;  // tens of microseconds: longer than most serial parts of a step

  static void pause() {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
  }

  void take_chunks(int thread) {
    for (std::int64_t index = next_++; index < count_; index = next_++) {
      call_(context_, index, thread);
    }
  }

  void work(int thread) {
    std::uint64_t seen = 0;
    while (!stopping_) {
      // Enter first, then look: either the caller sees us inside, or we see the loop closed.
      ++inside_;
      if (open_) take_chunks(thread);
      --inside_;
      for (int spin = 0; spin < spins_before_sleep && generation_ == seen; ++spin) pause();
      if (generation_ == seen) {
        ++sleepers_;
        generation_.wait(seen);
        --sleepers_;
      }
      seen = generation_;
    }
  }

  std::vector<std::thread> workers_;
  void (*call_)(void*, std::int64_t, int) = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  // What all threads write stands on lines of its own.
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint64_t> generation_{0};
  alignas(64) std::atomic<int> inside_{0};
  alignas(64) std::atomic<bool> open_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int> sleepers_{0};
};

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
