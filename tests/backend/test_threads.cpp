// SPDX-License-Identifier: Apache-2.0
#include <fount/backend/threads.hpp>

#include <atomic>
#include <memory>
#include <vector>

#include "support/catch.hpp"

using fount::ThreadPool;

TEST_CASE("a pool runs every index exactly once", "[core][threads]") {
  for (const int threads : {-1, 0, 1, 2, 3, 7}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == std::max(threads, 1));
    for (const int count : {0, 1, 2, 3, 64, 997}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      std::atomic<bool> bad_thread = false;
      auto body = [&](std::int64_t index, int thread) {
        ++runs[static_cast<std::size_t>(index)];
        if (thread < 0 || thread >= pool.threads()) bad_thread = true;
      };
      pool.run(count, body);
      for (const auto& run : runs) REQUIRE(run == 1);
      CHECK_FALSE(bad_thread);
    }
  }
}

TEST_CASE("a loop has ended for good when run returns", "[core][threads]") {
  ThreadPool pool(4);
  // Bodies that live on the stack of one round must not be called in the next.
  for (int round = 0; round < 20'000; ++round) {
    std::atomic<int> sum = 0;
    auto body = [&](std::int64_t index, int) { sum += static_cast<int>(index) + round; };
    pool.run(5, body);
    REQUIRE(sum == 10 + 5 * round);
  }
}

TEST_CASE("no two threads of a loop share a thread number", "[core][threads]") {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> users(4);
  std::atomic<bool> shared = false;
  auto body = [&](std::int64_t, int thread) {
    auto& user = users[static_cast<std::size_t>(thread)];
    if (++user != 1) shared = true;
    for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    --user;
  };
  for (int round = 0; round < 200; ++round) pool.run(64, body);
  CHECK_FALSE(shared);
}

TEST_CASE("this process may run at least one thread", "[core][threads]") {
  CHECK(fount::available_threads() >= 1);
}
