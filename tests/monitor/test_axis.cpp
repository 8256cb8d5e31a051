// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/axis.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace fount;

namespace {

using Labels = std::vector<std::string>;

Labels labels_of(const Axis& axis) { return tick_labels(axis.ticks, axis.logarithmic); }

}  // namespace

TEST_CASE("value axes have round ticks around the data", "[monitor][chart]") {
  CHECK(labels_of(value_axis(1.62, 4.4, 6)) ==
        Labels{"1.5", "2", "2.5", "3", "3.5", "4", "4.5"});
  CHECK(labels_of(value_axis(0, 9.85e-4, 4)) ==
        Labels{"0", "2e-4", "4e-4", "6e-4", "8e-4", "1e-3"});
  CHECK(labels_of(value_axis(0, 17'300, 4)) == Labels{"0", "5k", "10k", "15k", "20k"});
  CHECK(labels_of(value_axis(-3, 3, 4)) == Labels{"\u22124", "\u22122", "0", "2", "4"});
  CHECK(labels_of(value_axis(0, 2.3e6, 4)) ==
        Labels{"0", "0.5M", "1M", "1.5M", "2M", "2.5M"});
}

TEST_CASE("value axes work for one value, and for extreme ones", "[monitor][chart]") {
  for (const double value : {0.0, 1.0, -2.5, 1e-300, 1e16, 1e299, -1e299}) {
    const Axis axis = value_axis(value, value, 5);
    INFO(value);
    CHECK(axis.low < axis.high);
    CHECK(axis.low <= value);
    CHECK(axis.high >= value);
    CHECK(axis.ticks.size() >= 2);
    CHECK(axis.ticks.size() < 20);
  }
  CHECK(value_axis(-1e299, 1e299, 5).ticks.size() < 20);
}

TEST_CASE("step axes keep to the steps and to whole numbers", "[monitor][chart]") {
  CHECK(labels_of(step_axis(0, 2000, 9)) == Labels{"0", "200", "400", "600", "800", "1000", "1200",
                                                   "1400", "1600", "1800", "2000"});
  CHECK(labels_of(step_axis(0, 3, 9)) == Labels{"0", "1", "2", "3"});
  CHECK(labels_of(step_axis(7, 7, 3)) == Labels{"7", "8"});
  CHECK(labels_of(step_axis(0, 600'000, 3)) == Labels{"0", "200k", "400k", "600k"});
  CHECK(step_axis(3, 1e18, 9).ticks.size() < 20);
}

TEST_CASE("logarithmic axes show decades and what lies between", "[monitor][chart]") {
  CHECK(labels_of(logarithmic_axis(0.43, 9)) == Labels{"0.2", "0.5", "1", "2", "5", "10"});
  CHECK(labels_of(logarithmic_axis(3e-9, 2e8)).size() <= 9);
  const Axis axis = logarithmic_axis(1e-250, 1e250);
  CHECK(axis.low <= 1e-250);
  CHECK(axis.high >= 1e250);
  CHECK(axis.position(1) > 0.3);
  CHECK(axis.position(1) < 0.7);
}
