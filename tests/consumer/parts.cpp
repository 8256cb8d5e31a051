// SPDX-License-Identifier: Apache-2.0
// Uses parts of the library without a trainer: a configuration, an arena, threads.

#include <cstdio>

#include <fount/backend/cpu.hpp>
#include <fount/config/precision.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/units.hpp>
#include <fount/version.hpp>

#include "my_model.hpp"

static_assert(FOUNT_HAS_ZLIB == EXPECTED_ZLIB && FOUNT_HAS_ZSTD == EXPECTED_ZSTD,
              "the package does not hand on the libraries that it found");
static_assert(my_model.head_dim() == 16);
static_assert(fount::bf16_mixed.bytes_per_parameter() == 18);

int main() {
  const fount::Cpu cpu(fount::available_threads());
  fount::Planner plan;
  plan.take<float>(1'000);
  const fount::Arena arena(plan.bytes(), "numbers");
  fount::Committer committer(arena.data(), arena.size());
  float* const numbers = committer.take<float>(1'000);
  cpu.parallel(1'000, [&](std::int64_t i, int) { numbers[i] = static_cast<float>(i); });
  double sum = 0;
  for (int i = 0; i < 1'000; ++i) sum += static_cast<double>(numbers[i]);
  std::printf("fount %s: %d threads, %s, sum %.0f\n", fount::version, cpu.threads(),
              fount::format_bytes(arena.size()).c_str(), sum);
  return sum == 499'500 ? 0 : 1;
}
