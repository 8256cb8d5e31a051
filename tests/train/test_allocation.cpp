// SPDX-License-Identifier: Apache-2.0
// A training step allocates nothing. Every call of malloc and its relatives is counted, not only
// operator new: the functions below stand in front of the C library's.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/tiny_run.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOUNT_TEST_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FOUNT_TEST_COUNTS_MALLOC 0
#endif
#endif
#if !defined(FOUNT_TEST_COUNTS_MALLOC)
#if defined(__GLIBC__)
#define FOUNT_TEST_COUNTS_MALLOC 1
#else
#define FOUNT_TEST_COUNTS_MALLOC 0
#endif
#endif

#if FOUNT_TEST_COUNTS_MALLOC

namespace {
std::atomic<long> allocations{0};
}

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}

using namespace fount;
using namespace fount::test;

TEST_CASE("the counter counts", "[train][allocation]") {
  const long before = allocations;
  void* volatile first = std::malloc(10);  // volatile: a pair that nobody sees may be left out
  std::free(first);
  void* volatile second = ::operator new(3);
  ::operator delete(second);
  CHECK(allocations - before >= 2);
}

namespace {

/// Notes the number of allocations whenever the trainer begins a step.
class WatchedModel : public TrainingModel<tiny_model, fp32> {
 public:
  using TrainingModel::TrainingModel;
  void zero_gradients() override {
    if (steps < counts.size()) counts[steps++] = allocations;
    TrainingModel::zero_gradients();
  }
  std::array<long, 64> counts{};
  std::size_t steps = 0;
};

}  // namespace

TEST_CASE("no step after the second allocates, metrics and log lines included",
          "[train][allocation]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.overwrite = true;
  options.eval_interval = 0;
  options.log_interval = 1;
  options.accumulate = 2;
  for (const int threads : {1, 2}) {
    for (const Recompute recompute : {Recompute::none, Recompute::block}) {
      INFO(threads << " threads, recompute " << name_of(recompute));
      WatchedModel model({.batch_size = 2, .recompute = recompute, .dropout = true}, threads);
      run_trainer(model, options);
      REQUIRE(model.steps == 30);
      CHECK(model.counts[29] - model.counts[2] == 0);
    }
  }
}

#else

TEST_CASE("allocations are counted in builds without sanitizers", "[train][allocation]") {
  WARN("sanitizers and C libraries other than glibc bring their own malloc: nothing is counted");
}

#endif
