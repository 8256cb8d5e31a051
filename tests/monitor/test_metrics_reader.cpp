// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/metrics_reader.hpp>

#include <cmath>
#include <cstdint>
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

StepRecord record_of(std::int64_t step, double loss) {
  return {.step = step, .tokens = 64 * step, .loss = loss, .lr = 1.0 / 3.0, .grad_norm = 1e-310,
          .tokens_per_second = infinity, .step_ms = 0.1, .memory_bytes = std::int64_t{1} << 40};
}

/// The message of the FileError that reading `content` gives; empty if it gives none.
std::string complaint_about(const std::string& content) {
  const TemporaryFolder folder;
  try {
    read_metrics(folder.file("metrics.jsonl", content));
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("metrics read back as they were written", "[monitor][metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsWriter writer(path, false);
  writer.write(ValidationRecord{0, 4.25});
  writer.write(record_of(1, 0.1 + 0.2));
  writer.write(record_of(2, not_a_number));
  writer.write(record_of(3, 0.5));
  writer.write(ValidationRecord{3, not_a_number});
  writer.write(ValidationRecord{4, 3.5});
  writer.write(ValidationRecord{5, 3.75});

  const History history = read_metrics(path);
  REQUIRE(history.steps.size() == 3);
  const StepRecord expected = record_of(1, 0.1 + 0.2);
  const StepRecord& found = history.steps[0];
  CHECK(found.step == 1);
  CHECK(found.tokens == expected.tokens);
  CHECK(found.loss == expected.loss);
  CHECK(found.lr == expected.lr);
  CHECK(found.grad_norm == expected.grad_norm);
  CHECK(found.tokens_per_second == infinity);
  CHECK(found.step_ms == expected.step_ms);
  CHECK(found.memory_bytes == expected.memory_bytes);
  CHECK(std::isnan(history.steps[1].loss));
  CHECK(history.steps[1].loss_mean == expected.loss);
  CHECK(history.steps[2].loss_mean == Approx(0.4));
  REQUIRE(history.validations.size() == 4);
  CHECK(history.validations[0].best);
  CHECK(std::isnan(history.validations[1].val_loss));
  CHECK_FALSE(history.validations[1].best);
  CHECK(history.validations[2].best);
  CHECK_FALSE(history.validations[3].best);
}

TEST_CASE("metrics of an empty or missing file", "[monitor][metrics]") {
  const TemporaryFolder folder;
  CHECK(read_metrics(folder.file("empty.jsonl", "")).steps.empty());
  CHECK(read_metrics(folder.file("blank.jsonl", "\n\n")).steps.empty());
  CHECK_THROWS_AS(read_metrics(folder / "missing.jsonl"), FileError);
  CHECK(truncate_after(folder / "missing.jsonl", 5) == 0);
  CHECK(folder.count() == 2);
}

TEST_CASE("a torn last line of metrics is passed over", "[monitor][metrics]") {
  const TemporaryFolder folder;
  const std::string whole = "{\"step\":1,\"val_loss\":2}\n";
  for (const std::string tail : {"{", "{\"step\":2,\"val_lo", "{\"step\":2,\"val_loss\":1"}) {
    CHECK(read_metrics(folder.file("m.jsonl", whole + tail)).validations.size() == 1);
  }
  const std::string zeros(512, '\0');
  CHECK(read_metrics(folder.file("m.jsonl", whole + zeros)).validations.size() == 1);
  // A last line that only lacks its end is whole.
  CHECK(read_metrics(folder.file("m.jsonl", whole + "{\"step\":2,\"val_loss\":1}"))
            .validations.size() == 2);
}

TEST_CASE("damaged metrics are an error that names file and line", "[monitor][metrics]") {
  const std::string whole = "{\"step\":1,\"val_loss\":2}\n";
  for (const std::string line : {"{\"step\":2,\"val_lo\n", "hello\n", "[1,2]\n", "3\n",
                                 "{\"val_loss\":2}\n", "{\"step\":\"2\",\"val_loss\":2}\n",
                                 "{\"step\":2,\"val_loss\":\"big\"}\n",
                                 "{\"step\":2,\"val_loss\":null}\n",
                                 "{\"step\":2,\"loss\":[]}\n"}) {
    const std::string message = complaint_about(whole + line + whole);
    INFO(line << message);
    CHECK(contains(message, "metrics.jsonl:2'"));
    CHECK(contains(complaint_about(line), "metrics.jsonl:1'"));
  }
}

TEST_CASE("metrics with other keys, lines and line ends are read", "[monitor][metrics]") {
  const TemporaryFolder folder;
  const History history = read_metrics(folder.file(
      "m.jsonl",
      "{\"step\":1,\"event\":{\"name\":\"resumed\"}}\r\n{\"step\":1,\"loss\":2,\"mfu\":[1]}\r\n"));
  REQUIRE(history.steps.size() == 1);
  CHECK(history.steps[0].loss == 2);
  CHECK(std::isnan(history.steps[0].lr));
  CHECK(history.steps[0].memory_bytes == 0);
}

TEST_CASE("a resumed run finds no lines of later steps", "[monitor][metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsWriter(path, false).flush();
  {
    MetricsWriter writer(path, false);
    for (std::int64_t step = 1; step <= 12; ++step) {
      writer.write(record_of(step, 2.0));
      if (step % 5 == 0) writer.write(ValidationRecord{step, 1.0});
    }
  }
  const std::string before = content_of(path);
  folder.file("metrics.jsonl", before + "{\"step\":13,\"lo");
  CHECK(truncate_after(path, 20) == 0);
  CHECK(content_of(path) == before);  // only the torn line went
  CHECK(truncate_after(path, 10) == 2);
  CHECK(content_of(path) == before.substr(0, before.find("{\"step\":11")));
  MetricsWriter(path, true).write(record_of(11, 1.5));
  const History history = read_metrics(path);
  REQUIRE(history.steps.size() == 11);
  for (std::size_t i = 0; i < 11; ++i) {
    CHECK(history.steps[i].step == static_cast<std::int64_t>(i) + 1);
  }
  CHECK(history.validations.size() == 2);
  CHECK(truncate_after(path, -1) == 13);
  CHECK(content_of(path).empty());
  CHECK(folder.count() == 1);
}
