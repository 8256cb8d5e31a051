// SPDX-License-Identifier: Apache-2.0
#include <fount/data/ordered_pipeline.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// Numbers 0 to count-1, doubled by `workers` threads of uneven speed.
std::vector<int> doubled(int workers, int count) {
  std::vector<int> results;
  int next = 0;
  run_ordered(
      workers,
      [&]() -> std::optional<int> {
        if (next == count) return std::nullopt;
        return next++;
      },
      [](int number) {
        std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 200));
        return 2 * number;
      },
      [&](int result) { results.push_back(result); });
  return results;
}

}  // namespace

TEST_CASE("results come in the order of their items, for any number of workers",
          "[data][pipeline]") {
  for (const int count : {0, 1, 2, 7, 200}) {
    std::vector<int> expected;
    for (int i = 0; i < count; ++i) expected.push_back(2 * i);
    for (const int workers : {-1, 1, 2, 5, 16}) CHECK(doubled(workers, count) == expected);
  }
}

TEST_CASE("a pipeline holds few items, however slow a step is", "[data][pipeline]") {
  std::atomic<int> produced = 0;
  int consumed = 0;
  int most = 0;
  run_ordered(
      3,
      [&]() -> std::optional<std::unique_ptr<int>> {  // items may be movable only
        if (produced == 100) return std::nullopt;
        return std::make_unique<int>(produced++);
      },
      [](std::unique_ptr<int> item) { return item; },
      [&](std::unique_ptr<int>) {
        most = std::max(most, produced - consumed);
        ++consumed;
      });
  CHECK(consumed == 100);
  CHECK(most <= 7);
}

TEST_CASE("the first error in order ends a pipeline, after all before it", "[data][pipeline]") {
  for (const int workers : {1, 2, 5}) {
    std::vector<int> seen;
    int next = 0;
    const auto run = [&](int bad_item, int bad_work, int bad_result) {
      seen.clear();
      next = 0;
      return message_of<std::runtime_error>([&] {
        run_ordered(
            workers,
            [&]() -> std::optional<int> {
              if (next == bad_item) throw std::runtime_error("item");
              if (next == 50) return std::nullopt;
              return next++;
            },
            [&](int number) {
              if (number >= bad_work) throw std::runtime_error("work " + std::to_string(number));
              return number;
            },
            [&](int number) {
              if (number == bad_result) throw std::runtime_error("result");
              seen.push_back(number);
            });
      });
    };
    CHECK(run(20, 100, 100) == "item");
    CHECK(seen.size() == 20);
    CHECK(run(0, 100, 100) == "item");
    CHECK(seen.empty());
    CHECK(run(20, 13, 100) == "work 13");
    CHECK(seen.size() == 13);
    CHECK(run(100, 100, 7) == "result");
    CHECK(seen.size() == 7);
    CHECK(run(100, 100, 100).empty());
    CHECK(seen.size() == 50);
  }
}
