// SPDX-License-Identifier: Apache-2.0
// A step of training allocates nothing; so neither does what is shown and written of it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <fount/monitor/console.hpp>
#include <fount/monitor/machine.hpp>
#include <fount/monitor/metrics.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace {

std::int64_t allocations = 0;

void* count_and_allocate(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* count_and_allocate_or_throw(std::size_t size) {
  void* memory = count_and_allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return count_and_allocate_or_throw(size); }
void* operator new[](std::size_t size) { return count_and_allocate_or_throw(size); }
// These too: what they allocate ends in the operator delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return count_and_allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return count_and_allocate(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace fount;

TEST_CASE("writing and showing a step allocates nothing", "[monitor][allocation]") {
  const test::TemporaryFolder folder;
  std::FILE* out = std::tmpfile();
  REQUIRE(out != nullptr);
  MetricsWriter writer(folder / "metrics.jsonl", false);
  Console console(out, nullptr, true);
  console.begin(0, 1'000'000);
  RunningMean mean;
  const auto one_step = [&](std::int64_t step) {
    StepRecord record = {.step = step, .tokens = step * 1'000'000'007, .loss = 2.0 / 3.0,
                         .lr = 1.0 / 7.0, .grad_norm = 1e300, .tokens_per_second = 1.0 / 3.0,
                         .step_ms = 123456.789, .memory_bytes = resident_bytes(), .skipped = 1};
    mean.add(record.loss);
    record.loss_mean = mean.mean();
    writer.write(record);
    writer.write(ValidationRecord{step, 1.0 / 3.0, true});
    console.progress(step * 1000, 1e5);
    console.step(record, {1e5, 0.5});
    console.validation({step, 1.0 / 3.0, true});
  };
  one_step(1);
  const std::int64_t before = allocations;
  for (std::int64_t step = 2; step < 300; ++step) one_step(step);
  CHECK(peak_resident_bytes() > 0);
  const std::int64_t after = allocations;
  CHECK(after == before);
  std::fclose(out);
}
