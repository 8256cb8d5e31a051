// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/peak.hpp>

#include "support/catch.hpp"

using namespace fount;

TEST_CASE("the measured peak is that of the threads together", "[monitor][peak]") {
  // The machine may be busy and the build unoptimised: only what must hold anyway.
  const Cpu one(1);
  const double single = measure_peak_flops(one, DType::float32);
  CHECK(single > 1e7);
  CHECK(single < 1e13);
  CHECK(measure_peak_flops<double>(one) > 1e7);
  if (available_threads() < 2) return;
  const double both = measure_peak_flops<float>(Cpu(2));
  CHECK(both > 0.5 * single);
  CHECK(both < 8 * single);
}

TEST_CASE("the peak of a storage type is refused", "[monitor][peak]") {
  const Cpu backend(1);
  CHECK_THROWS_AS(measure_peak_flops(backend, DType::bfloat16), ConfigError);
  CHECK_THROWS_AS(measure_peak_flops(backend, DType::none), ConfigError);
}
