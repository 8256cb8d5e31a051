// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/console.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace fount;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A stream whose content can be taken.
class Stream {
 public:
  Stream() : file_(std::tmpfile()) { REQUIRE(file_ != nullptr); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { std::fclose(file_); }
  std::FILE* get() const { return file_; }
  std::string content() const {
    std::fflush(file_);
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    return text;
  }

 private:
  std::FILE* file_;
};

const StepRecord example = {.step = 250, .tokens = 192'000, .loss = 2.44213, .loss_mean = 2.51034,
                            .lr = 9.85e-4, .grad_norm = 0.843, .tokens_per_second = 16'234,
                            .step_ms = 47.31, .memory_bytes = 64'172'851};

/// The line of one step, without its end.
std::string line_of(const StepRecord& record, const StepProgress& progress, std::int64_t total) {
  const Stream out;
  Console console(out.get(), nullptr, false);
  console.begin(0, total);
  console.step(record, progress);
  const std::string text = out.content();
  REQUIRE(text.ends_with('\n'));
  return text.substr(0, text.size() - 1);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a step line shows all that a person asks for", "[monitor][console]") {
  CHECK(line_of(example, {.elapsed_seconds = 11.83, .share_of_peak = 0.41}, 2000) ==
        "step  250/2000   12.5%  loss 2.4421 (avg 2.5103)  norm  0.84  lr 9.85e-04  16.2k tok/s"
        "     47.3 ms   41% of peak  mem 61.2 MiB  eta 1m 23s");
  // Without a measured peak the column is left out; without a clock the step time is used.
  CHECK(line_of(example, {}, 2000) ==
        "step  250/2000   12.5%  loss 2.4421 (avg 2.5103)  norm  0.84  lr 9.85e-04  16.2k tok/s"
        "     47.3 ms  mem 61.2 MiB  eta 1m 23s");
  StepRecord skipping = example;
  skipping.skipped = 3;
  CHECK(line_of(skipping, {}, 2000).find("  skipped 3  eta ") != std::string::npos);
}

TEST_CASE("step lines keep their columns", "[monitor][console]") {
  const auto eta_column = [](const StepRecord& record) {
    return line_of(record, {.share_of_peak = 0.5}, 1'000'000).find("eta");
  };
  const std::size_t column = eta_column(example);
  REQUIRE(column != std::string::npos);
  std::vector<StepRecord> records;
  for (const double value : {0.0, 0.00412, 9.99994, 9.99996, 10.82, 99.9996, 4096.0, 99999.0, 1e7,
                             3e38, not_a_number, infinity}) {
    records.push_back({.step = 1, .loss = value, .loss_mean = value, .lr = 1e-3, .grad_norm = value,
                       .tokens_per_second = 812, .step_ms = 3});
  }
  for (const double rate : {0.0, 0.5, 99.96, 999.4, 999.6, 9'996.0, 123'456.0, 999'600.0, 1.6e6,
                            4.2e11}) {
    StepRecord record = example;
    record.tokens_per_second = rate;
    record.step_ms = rate;
    record.memory_bytes = static_cast<std::int64_t>(rate * 1000);
    if (rate < 1e7) records.push_back(record);
    record.step_ms = 1;
    records.push_back(record);
  }
  for (const StepRecord& record : records) {
    INFO(line_of(record, {.share_of_peak = 0.5}, 1'000'000));
    CHECK(eta_column(record) == column);
  }
}

TEST_CASE("step lines survive any count", "[monitor][console]") {
  const auto most = std::numeric_limits<std::int64_t>::max();
  const StepRecord record = {.step = most, .tokens = most, .loss = -1e308, .loss_mean = 1e308,
                             .lr = 1e-320, .grad_norm = 1e308, .tokens_per_second = 1e308,
                             .step_ms = 1e308, .memory_bytes = most, .skipped = most};
  const std::string line = line_of(record, {1e300, 1e300}, most);
  CHECK(line.starts_with("step 9223372036854775807/9223372036854775807  100.0%"));
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line_of({}, {}, 0).find("100.0%") != std::string::npos);
  CHECK(line_of({.step = 7}, {}, 5).find("100.0%") != std::string::npos);
}

TEST_CASE("the time to go follows the clock from where the run resumed", "[monitor][console]") {
  const auto eta = [](double elapsed, std::int64_t first, std::int64_t step, std::int64_t total) {
    const Stream out;
    Console console(out.get(), nullptr, false);
    console.begin(first, total);
    console.step({.step = step, .step_ms = 1000}, {.elapsed_seconds = elapsed});
    const std::string text = out.content();
    return text.substr(text.find("eta ") + 4, text.size() - text.find("eta ") - 5);
  };
  CHECK(eta(100, 0, 50, 100) == "1m 40s");
  CHECK(eta(100, 40, 50, 100) == "8m 20s");  // ten steps in 100 s, fifty to go
  CHECK(eta(100, 0, 100, 100) == "0s");
  CHECK(eta(not_a_number, 0, 40, 100) == "1m 00s");
  CHECK(eta(3600, 0, 1, 101) == "4d 04h");
}

TEST_CASE("a validation line marks the best", "[monitor][console]") {
  const Stream out;
  Console console(out.get(), nullptr, false);
  console.begin(0, 2000);
  console.validation({250, 2.44404, true});
  console.validation({2000, 2.5, false});
  console.validation({2000, not_a_number, false});
  console.validation({2000, 1e22, false});
  CHECK(out.content() ==
        "step  250 validation loss 2.4440 (best)\nstep 2000 validation loss 2.5000\n"
        "step 2000 validation loss nan\nstep 2000 validation loss 1.0000e+22\n");
}

TEST_CASE("the header stands in two columns", "[monitor][console]") {
  const Stream out;
  Console console(out.get(), nullptr, false);
  console.header(describe(RunHeader{"shakespeare-char", 804'096, "fp32", 2, 768, 2000, 1'567'000,
                                    MiB(42)}));
  CHECK(out.content() ==
        "model              shakespeare-char\nparameters         804,096\n"
        "precision          fp32\nthreads            2\ntokens per step    768\n"
        "steps              2,000\nwindows per epoch  1,567,000\nplanned memory     42.00 MiB\n");
  console.header(std::vector<KeyValue>{{"path", std::string(5000, 'x')}});
  CHECK(out.content().find(std::string(5000, 'x')) != std::string::npos);
  console.header({});
}

TEST_CASE("notices and samples cannot steer the terminal", "[monitor][console]") {
  const Stream out;
  Console console(out.get(), nullptr, false);
  console.note("vocabulary of 65");
  console.warning("step 5 skipped");
  console.print("plain");
  console.sample({7, "\x1b[2Jhello\xff\nworld"});
  CHECK(out.content() ==
        "note: vocabulary of 65\nwarning: step 5 skipped\nplain\n"
        "--- sample after step 7 ---\n\uFFFD[2Jhello\uFFFD\nworld\n---\n");
}

TEST_CASE("the log has the same lines and never the bar", "[monitor][console]") {
  const Stream out;
  const Stream log;
  Console console(out.get(), log.get(), true);
  console.begin(0, 100);
  for (std::int64_t step = 1; step <= 50; ++step) {
    console.progress(step, 1.0);
    if (step % 25 == 0) console.validation({step, 1.0});
  }
  console.erase_bar();
  CHECK(log.content() == "step  25 validation loss 1.0000\nstep  50 validation loss 1.0000\n");
  const std::string seen = out.content();
  CHECK(count_of(seen, "\r[") == 50);
  // Before each line the bar is taken away.
  CHECK(count_of(seen, "\r\x1b[Kstep ") == 2);
  CHECK(seen.find(" 50.0%   50/100  eta ") != std::string::npos);
}

TEST_CASE("the bar is redrawn only when it looks different", "[monitor][console]") {
  const Stream out;
  Console console(out.get(), nullptr, true);
  console.begin(0, 1'000'000);
  for (std::int64_t step = 0; step < 10'000; ++step) console.progress(step);
  CHECK(count_of(out.content(), "\r[") == 10);
}

TEST_CASE("the bar fits in one line of the terminal", "[monitor][console]") {
  const Stream out;
  Console console(out.get(), nullptr, true);
  console.begin(0, 123'456'789);
  console.progress(100'000'000, 1e6);
  const std::string text = out.content();
  CHECK(text.size() - std::string("\r\x1b[K").size() < 80);
}

TEST_CASE("nothing but lines goes where nothing can be redrawn", "[monitor][console]") {
  const Stream out;
  Console console(out.get(), nullptr, false);
  console.begin(0, 10);
  for (std::int64_t step = 1; step <= 10; ++step) console.progress(step);
  console.erase_bar();
  CHECK(out.content().empty());
  CHECK_FALSE(is_interactive(out.get(), "xterm"));
  CHECK_FALSE(is_interactive(nullptr, "xterm"));
  CHECK(terminal_columns(out.get()) == 80);
  CHECK(terminal_columns(nullptr) == 80);
}

TEST_CASE("a console without streams is silent", "[monitor][console]") {
  Console console(nullptr, nullptr, true);
  console.begin(0, 10);
  console.step(example);
  console.progress(5);
  console.sample({1, "x"});
  console.erase_bar();
  SUCCEED();
}

TEST_CASE("a full disk stops the log, a lost terminal does not stop the run",
          "[monitor][console]") {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) return;
  Console to_log(nullptr, full, false);
  CHECK_THROWS_AS(to_log.print("line"), FileError);
  Console to_terminal(full, nullptr, false);
  CHECK_NOTHROW(to_terminal.print("line"));
  std::fclose(full);
}
