// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline of three steps: items are produced one after the other, worked on by several threads,
// and consumed in the order in which they were produced. Bounded: items wait for the slowest step.
// Loops over arrays are in backend/threads.hpp.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace fount {

/// Threads that turn items into results. At most two items a thread are on their way.
template <class Item, class Result, class Work>
class OrderedWorkers {
 public:
  /// @param work is called by several threads at once: Result work(Item)
  OrderedWorkers(int threads, Work work)
      : work_(std::move(work)), slots_(static_cast<std::size_t>(2 * std::max(threads, 1) + 1)) {
    for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { run(); });
  }
  OrderedWorkers(const OrderedWorkers&) = delete;
  OrderedWorkers& operator=(const OrderedWorkers&) = delete;
  ~OrderedWorkers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  bool has_room() const { return given_ - taken_ < slots_.size(); }
  bool empty() const { return given_ == taken_; }

  /// Only while has_room().
  void give(Item item) {
    {
      const std::lock_guard lock(mutex_);
      Slot& slot = slots_[given_ % slots_.size()];
      slot = {};
      slot.item = std::move(item);
      ++given_;
    }
    changed_.notify_all();
  }
  /// Waits for the result of the oldest item; only while not empty().
  /// @throws what work() threw for it
  Result take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.done; });
    ++taken_;
    if (slot.error) std::rethrow_exception(slot.error);
    return std::move(*slot.result);
  }

 private:
  struct Slot {
    std::optional<Item> item;
    std::optional<Result> result;
    std::exception_ptr error;
    bool done = false;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || begun_ < given_; });
      if (stopping_) return;
      Slot& slot = slots_[begun_++ % slots_.size()];
      Item item = std::move(*slot.item);
      lock.unlock();
      std::optional<Result> result;
      std::exception_ptr error;
      try {
        result.emplace(work_(std::move(item)));
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      slot.result = std::move(result);
      slot.error = error;
      slot.done = true;
      changed_.notify_all();
    }
  }

  Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::size_t given_ = 0;  // counts of items, in all; changed by the caller's thread only
  std::size_t taken_ = 0;
  std::size_t begun_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Runs a pipeline to its end. produce() and consume() run on this thread, work() on `threads`
/// others; the results reach consume() in the order of production, whatever their number.
/// @param produce  std::optional<Item> produce(); nothing ends the pipeline
/// @param work     Result work(Item), called by several threads at once
/// @param consume  void consume(Result)
/// @throws the first error in that order; what was produced before it has been consumed
template <class Produce, class Work, class Consume>
void run_ordered(int threads, Produce produce, Work work, Consume consume) {
  using Item = typename decltype(produce())::value_type;
  using Result = decltype(work(std::declval<Item>()));
  OrderedWorkers<Item, Result, Work> workers(threads, std::move(work));
  std::exception_ptr error;
  for (bool ended = false;;) {
    while (!ended && workers.has_room()) {
      try {
        std::optional<Item> item = produce();
        if (item) {
          workers.give(std::move(*item));
        } else {
          ended = true;
        }
      } catch (...) {
        error = std::current_exception();
        ended = true;
      }
    }
    if (workers.empty()) break;
    consume(workers.take());
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace fount
