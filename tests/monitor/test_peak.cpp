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

TEST_CASE("every storage type has a peak, and no type has none", "[monitor][peak]") {
  const Cpu backend(1);
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    INFO(name_of(dtype));
    const double peak = measure_peak_flops(backend, dtype);
    CHECK(peak > 1e7);
    CHECK(peak < 1e13);
  }
  CHECK_THROWS_AS(measure_peak_flops(backend, DType::none), ConfigError);
}
