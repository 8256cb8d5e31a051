// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/metrics.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using fount::test::content_of;
using fount::test::TemporaryFolder;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("metrics lines hold exactly the promised keys", "[monitor][metrics]") {
  const TemporaryFolder folder;
  MetricsWriter writer(folder / "metrics.jsonl", false);
  writer.write(StepRecord{.step = 10, .tokens = 7680, .loss = 2.5, .loss_mean = 3, .lr = 1e-3,
                          .grad_norm = 0.75, .tokens_per_second = 16200, .step_ms = 47.5,
                          .memory_bytes = 61'000'000, .skipped = 2});
  writer.write(ValidationRecord{10, 2.25, true});
  CHECK(content_of(folder / "metrics.jsonl") ==
        R"({"step":10,"tokens":7680,"loss":2.5,"lr":0.001,"grad_norm":0.75,)"
        R"("tokens_per_second":16200,"step_ms":47.5,"memory_bytes":61000000})" "\n"
        R"({"step":10,"val_loss":2.25})" "\n");
}

TEST_CASE("each metrics line is in the file when write returns", "[monitor][metrics]") {
  const TemporaryFolder folder;
  MetricsWriter writer;
  CHECK_FALSE(writer.is_open());
  writer.write(ValidationRecord{1, 1.0});  // nowhere
  writer.flush();
  writer.open(folder / "metrics.jsonl", false);
  CHECK(writer.is_open());
  for (std::int64_t step = 1; step <= 3; ++step) {
    writer.write(ValidationRecord{step, 1.0});
    CHECK(content_of(folder / "metrics.jsonl").size() ==
          static_cast<std::size_t>(step) * std::string("{\"step\":1,\"val_loss\":1}\n").size());
  }
  writer.flush();
}

TEST_CASE("metrics write non-finite values as strings", "[monitor][metrics]") {
  const TemporaryFolder folder;
  MetricsWriter writer(folder / "metrics.jsonl", false);
  writer.write(ValidationRecord{1, not_a_number});
  writer.write(ValidationRecord{2, infinity});
  writer.write(ValidationRecord{3, -infinity});
  CHECK(content_of(folder / "metrics.jsonl") ==
        "{\"step\":1,\"val_loss\":\"NaN\"}\n{\"step\":2,\"val_loss\":\"Infinity\"}\n"
        "{\"step\":3,\"val_loss\":\"-Infinity\"}\n");
}

TEST_CASE("metrics replace a file or go on in it", "[monitor][metrics]") {
  const TemporaryFolder folder;
  const auto path = folder.file("metrics.jsonl", "old\n");
  MetricsWriter(path, true).write(ValidationRecord{1, 1.0});
  CHECK(content_of(path) == "old\n{\"step\":1,\"val_loss\":1}\n");
  MetricsWriter(path, false).write(ValidationRecord{2, 1.0});
  CHECK(content_of(path) == "{\"step\":2,\"val_loss\":1}\n");
}

TEST_CASE("metrics say where they cannot be written", "[monitor][metrics]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(MetricsWriter(folder / "missing" / "metrics.jsonl", false), FileError);
  if (!std::filesystem::exists("/dev/full")) return;
  MetricsWriter writer("/dev/full", false);
  std::string message;
  try {
    writer.write(ValidationRecord{1, 1.0});
  } catch (const FileError& error) {
    message = error.what();
  }
  CHECK(message.find("/dev/full") != std::string::npos);
  CHECK(message.find("free some space") != std::string::npos);
}

TEST_CASE("the running mean is that of the last hundred finite values", "[monitor][metrics]") {
  RunningMean mean;
  CHECK(std::isnan(mean.mean()));
  mean.add(not_a_number);
  mean.add(infinity);
  mean.add(-infinity);
  CHECK(mean.count() == 0);
  CHECK(std::isnan(mean.mean()));
  mean.add(3);
  CHECK(mean.mean() == 3);
  mean.add(not_a_number);
  mean.add(5);
  CHECK(mean.mean() == Approx(4));
  for (int i = 1; i <= 1000; ++i) mean.add(i);
  CHECK(mean.count() == 100);
  CHECK(mean.mean() == Approx(950.5));
}

TEST_CASE("the running mean takes a shorter window", "[monitor][metrics]") {
  RunningMean mean(3);
  for (int i = 1; i <= 10; ++i) mean.add(i);
  CHECK(mean.count() == 3);
  CHECK(mean.mean() == Approx(9));
  RunningMean shortest(0);
  for (int i = 1; i <= 10; ++i) shortest.add(i);
  CHECK(shortest.mean() == 10);
}

TEST_CASE("the running mean of huge values does not overflow", "[monitor][metrics]") {
  RunningMean mean;
  for (int i = 0; i < 150; ++i) mean.add(1.5e308);
  CHECK(mean.mean() == 1.5e308);
}
