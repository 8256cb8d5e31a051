// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run measures, and metrics.jsonl: one JSON object a line, each written as soon as it is
// known. Reading it back is in monitor/metrics_reader.hpp. JSON has no NaN: non-finite values are
// the strings "NaN", "Infinity" and "-Infinity". RFC 8259; https://jsonlines.org.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/io/file_writer.hpp>
#include <fount/monitor/line.hpp>

namespace fount {

struct StepRecord {
  std::int64_t step = 0;
  std::int64_t tokens = 0;   // seen since the run began
  double loss = 0;           // mean over the valid tokens of the step
  double loss_mean = 0;      // of the last steps; not in the file
  double lr = 0;
  double grad_norm = 0;      // before clipping
  double tokens_per_second = 0;
  double step_ms = 0;
  std::int64_t memory_bytes = 0;  // resident
  std::int64_t skipped = 0;       // non-finite steps so far; not in the file
};

struct ValidationRecord {
  std::int64_t step = 0;
  double val_loss = 0;
  bool best = false;  // lower than all before; not in the file
};

/// Text that the model wrote after `step` steps.
struct SampleRecord {
  std::int64_t step = 0;
  std::string text;
};

/// All that metrics.jsonl knows of a run, in the order of the file.
struct History {
  std::vector<StepRecord> steps;
  std::vector<ValidationRecord> validations;
};

/// A line of a header or a table: name and value.
using KeyValue = std::pair<std::string, std::string>;

/// Mean of the last 100 (or fewer) finite values. Others never enter: one NaN would stay for good.
class RunningMean {
 public:
  static constexpr std::size_t longest_window = 100;

  explicit RunningMean(std::size_t window = longest_window)
      : window_(std::clamp<std::size_t>(window, 1, longest_window)) {}

  void add(double value) {
    if (!std::isfinite(value)) return;
    values_[next_] = value;
    next_ = (next_ + 1) % window_;
    if (count_ < window_) ++count_;
  }
  std::size_t count() const { return count_; }
  /// NaN while nothing has been added.
  double mean() const {
    // Summed anew each time: a running sum would keep the rounding errors of all values ever seen.
    double mean = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < count_; ++i) {
      mean = i == 0 ? values_[0] : mean + (values_[i] - mean) / static_cast<double>(i + 1);
    }
    return mean;
  }

 private:
  std::array<double, longest_window> values_{};
  std::size_t window_;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

/// Appends records to metrics.jsonl; every line is with the operating system when write returns.
/// A writer that was not opened writes nothing. Allocates when opened, never for a line.
class MetricsWriter {
 public:
  MetricsWriter() = default;
  MetricsWriter(const std::filesystem::path& path, bool append) { open(path, append); }

  /// To append after a crash, call truncate_after first: it removes a torn last line.
  /// @throws FileError if the file cannot be opened
  void open(const std::filesystem::path& path, bool append) {
    file_.emplace(path, append ? WriteMode::append : WriteMode::replace);
  }
  bool is_open() const { return file_.has_value(); }

  /// @throws FileError if the disk is full or gone
  void write(const StepRecord& record) {
    begin("step", record.step);
    integer("tokens", record.tokens);
    number("loss", record.loss);
    number("lr", record.lr);
    number("grad_norm", record.grad_norm);
    number("tokens_per_second", record.tokens_per_second);
    number("step_ms", record.step_ms);
    integer("memory_bytes", record.memory_bytes);
    end();
  }
  void write(const ValidationRecord& record) {
    begin("step", record.step);
    number("val_loss", record.val_loss);
    end();
  }

  /// Waits until all lines are on the device. @throws FileError
  void flush() {
    if (file_) file_->sync();
  }

 private:
  void begin(std::string_view name, std::int64_t value) {
    line_.clear();
    line_.text("{\"").text(name).text("\":").integer(value);
  }
  Line& key(std::string_view name) { return line_.text(",\"").text(name).text("\":"); }
  void integer(std::string_view name, std::int64_t value) { key(name).integer(value); }
  void number(std::string_view name, double value) {
    key(name);
    if (std::isnan(value)) {
      line_.text("\"NaN\"");
    } else if (std::isinf(value)) {
      line_.text(value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    } else {
      line_.shortest(value);
    }
  }
  void end() {
    line_.text("}\n");
    if (!file_) return;
    file_->write(line_.view());
    file_->flush();
  }

  std::optional<FileWriter> file_;
  Line line_;
};

}  // namespace fount
