// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a person reads while a model trains: a header, one aligned line per interval, validation
// results, notices, samples, and a progress bar where a terminal can redraw it. Formatting only:
// streams are given, clocks and the environment are the caller's.

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/monitor/line.hpp>
#include <fount/monitor/metrics.hpp>
#include <fount/monitor/printable.hpp>

namespace fount {

/// Whether lines written to `stream` can be redrawn. @param term the value of TERM, "" if unset
inline bool is_interactive(std::FILE* stream, std::string_view term) {
  return stream != nullptr && !term.empty() && term != "dumb" && ::isatty(::fileno(stream)) == 1;
}

/// Columns of the terminal behind `stream`; 80 where it does not say.
inline int terminal_columns(std::FILE* stream) {
  struct winsize size {};
  const bool known = stream != nullptr && ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 0 ? size.ws_col : 80;
}

namespace detail {

/// Five significant digits in six columns: "2.4421", "10.823", "4096.0", " 1e+06", "   nan".
inline void put_loss(Line& line, double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99999.5) {
    line.scientific(value, 0, 6);
    return;
  }
  int decimals = 4;  // one less for each further digit before the point
  for (double limit = 9.99995; decimals > 0 && magnitude >= limit; limit *= 10) --decimals;
  line.fixed(value, decimals, 6);
}

/// Three significant digits in `width` columns: "0.84", "16.2", "812".
inline void put_three_digits(Line& line, double value, std::int64_t width) {
  const double magnitude = std::fabs(value);
  line.fixed(value, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0, width);
}

/// A rate in five columns: "  812", "16.2k", "1.62M".
inline void put_rate(Line& line, double value) {
  const char* const units[] = {"k", "M", "G", "T"};
  if (!(std::fabs(value) >= 999.5)) {
    put_three_digits(line, value, 5);
    return;
  }
  int unit = 0;
  value /= 1e3;
  while (std::fabs(value) >= 999.5 && unit < 3) {
    value /= 1e3;
    ++unit;
  }
  put_three_digits(line, value, 4);
  line.text(units[unit]);
}

/// Bytes in eight columns: "61.2 MiB".
inline void put_memory(Line& line, Bytes bytes) {
  const char* const units[] = {"B  ", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (std::fabs(value) >= 999.5 && unit < 4) {
    value /= 1024.0;
    ++unit;
  }
  put_three_digits(line, value, 4);
  line.text(" ").text(units[unit]);
}

/// Time to go: "1m 23s", "2h 07m", "3d 04h"; "-" if unknown.
inline void put_eta(Line& line, double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) {
    line.text("-");
  } else if (seconds < 359999) {
    line.text(format_duration(seconds));  // at most 7 characters: no allocation
  } else {
    const double days = std::floor(seconds / 86400);
    const double hours = std::floor((seconds - days * 86400) / 3600);
    line.fixed(days, 0).text(hours < 10 ? "d 0" : "d ").fixed(hours, 0).text("h");
  }
}

inline std::int64_t decimal_digits(std::int64_t value) {
  std::int64_t digits = 1;
  for (; value >= 10; value /= 10) ++digits;
  return digits;
}

}  // namespace detail

/// What stands at the head of a run.
struct RunHeader {
  std::string model;
  std::int64_t parameters = 0;
  std::string precision;
  int threads = 1;
  std::int64_t tokens_per_step = 0;
  std::int64_t steps = 0;
  std::int64_t windows_per_epoch = 0;  // sequences of the training data in one epoch; 0: not shown
  Bytes planned_bytes = 0;             // 0: not shown
};

/// The head of a run as lines for Console::header or a report.
inline std::vector<KeyValue> describe(const RunHeader& run) {
  std::vector<KeyValue> lines = {{"model", run.model},
                                 {"parameters", with_commas(run.parameters)},
                                 {"precision", run.precision},
                                 {"threads", std::to_string(run.threads)},
                                 {"tokens per step", with_commas(run.tokens_per_step)},
                                 {"steps", with_commas(run.steps)}};
  if (run.windows_per_epoch > 0) {
    lines.emplace_back("windows per epoch", with_commas(run.windows_per_epoch));
  }
  if (run.planned_bytes > 0) lines.emplace_back("planned memory", format_bytes(run.planned_bytes));
  return lines;
}

/// What a step line shows and the record of the step does not hold; NaN where unknown.
struct StepProgress {
  double elapsed_seconds = std::numeric_limits<double>::quiet_NaN();  // of this process's training
  double share_of_peak = std::numeric_limits<double>::quiet_NaN();    // 0 .. 1
};

class Console {
 public:
  /// @param out what the person sees; null for silence. Failures to write there are ignored, so
  ///        that a run survives the terminal it was started from.
  /// @param log the log file of the run folder, or null: the same lines without the bar
  /// @param interactive whether `out` can be redrawn; see is_interactive
  Console(std::FILE* out, std::FILE* log, bool interactive)
      : out_(out), log_(log), interactive_(interactive && out != nullptr) {}

  /// Widths and times to go follow from here.
  /// @param first_step the step that the run resumes after, or 0
  void begin(std::int64_t first_step, std::int64_t total_steps) {
    first_step_ = first_step;
    total_steps_ = total_steps;
    step_width_ = detail::decimal_digits(std::max<std::int64_t>(total_steps, 1));
    if (interactive_) columns_ = terminal_columns(out_);
  }

  /// Names and values in two columns.
  void header(std::span<const KeyValue> lines) {
    std::size_t width = 0;
    for (const auto& [name, value] : lines) width = std::max(width, name.size());
    for (const auto& [name, value] : lines) {
      std::string line = name;  // of any length: paths are long
      line.resize(width + 2, ' ');
      emit(line += value);
    }
  }

  /// One line of constant width for one interval. Does not allocate.
  void step(const StepRecord& record, const StepProgress& progress = {}) {
    line_.clear();
    step_ms_.add(record.step_ms);
    line_.text("step ").integer(record.step, step_width_).text("/").integer(total_steps_);
    line_.fixed(100.0 * fraction(record.step), 1, 7).text("%  loss ");
    detail::put_loss(line_, record.loss);
    line_.text(" (avg ");
    detail::put_loss(line_, record.loss_mean);
    line_.text(")  norm ");
    put_norm(record.grad_norm);
    line_.text("  lr ").scientific(record.lr, 2, 8).text("  ");
    detail::put_rate(line_, record.tokens_per_second);
    line_.text(" tok/s  ").fixed(record.step_ms, record.step_ms < 99999.95 ? 1 : 0, 7).text(" ms");
    if (std::isfinite(progress.share_of_peak)) {
      line_.text("  ").fixed(100.0 * progress.share_of_peak, 0, 3).text("% of peak");
    }
    line_.text("  mem ");
    detail::put_memory(line_, record.memory_bytes);
    if (record.skipped > 0) line_.text("  skipped ").integer(record.skipped);
    line_.text("  eta ");  // last, since its width varies
    detail::put_eta(line_, seconds_to_go(record.step, progress.elapsed_seconds));
    emit(line_.view());
  }

  void validation(const ValidationRecord& record) {
    line_.clear();
    line_.text("step ").integer(record.step, step_width_).text(" validation loss ");
    if (std::fabs(record.val_loss) < 1e5) {
      line_.fixed(record.val_loss, 4);
    } else {
      line_.scientific(record.val_loss, 4);
    }
    if (record.best) line_.text(" (best)");
    emit(line_.view());
  }

  /// The model's text, harmless to a terminal.
  void sample(const SampleRecord& record) {
    line_.clear();
    line_.text("--- sample after step ").integer(record.step).text(" ---");
    emit(line_.view());
    emit(printable(record.text));
    emit("---");
  }

  void note(std::string_view text) { notice("note: ", text); }
  void warning(std::string_view text) { notice("warning: ", text); }
  void print(std::string_view text) { emit(text); }

  /// Redraws the bar, if there is one and it would look different. Cheap enough for every step;
  /// does not allocate.
  void progress(std::int64_t step, double elapsed_seconds = 0) {
    if (!interactive_) return;
    const auto permille = static_cast<int>(1000.0 * fraction(step));
    if (bar_is_drawn_ && permille == bar_permille_) return;
    bar_permille_ = permille;
    draw_bar(step, elapsed_seconds);
  }

  /// Takes the bar away; call it when training ends, however it ends.
  void erase_bar() {
    if (!bar_is_drawn_) return;
    bar_is_drawn_ = false;
    put(out_, "\r\x1b[K");
    std::fflush(out_);
  }

 private:
  double fraction(std::int64_t step) const {
    if (total_steps_ <= 0) return 1.0;
    return std::clamp(static_cast<double>(step) / static_cast<double>(total_steps_), 0.0, 1.0);
  }
  /// From the whole time so far, which counts evaluation and checkpoints too, where it is known.
  double seconds_to_go(std::int64_t step, double elapsed_seconds) const {
    const auto to_go = static_cast<double>(std::max<std::int64_t>(total_steps_ - step, 0));
    const auto done = static_cast<double>(step - first_step_);
    if (elapsed_seconds > 0 && done > 0) return elapsed_seconds / done * to_go;
    return step_ms_.mean() * 1e-3 * to_go;
  }
  void put_norm(double norm) {
    if (norm >= 99999.5 && std::isfinite(norm)) {
      line_.scientific(norm, 0, 5);
    } else {
      detail::put_three_digits(line_, norm, 5);
    }
  }

  void draw_bar(std::int64_t step, double elapsed_seconds) {
    Line line;
    line.text("\r[");
    // Beside the bar stand its frame, percent, step and time to go; a full line would wrap.
    const std::int64_t beside = 30 + 2 * step_width_;
    const std::int64_t cells = std::clamp<std::int64_t>(columns_ - beside, 4, 40);
    const auto full = static_cast<std::int64_t>(static_cast<double>(cells) * fraction(step));
    line.repeat('#', full).repeat('.', cells - full).text("]");
    line.fixed(100.0 * fraction(step), 1, 6).text("%  ").integer(step, step_width_);
    line.text("/").integer(total_steps_).text("  eta ");
    detail::put_eta(line, seconds_to_go(step, elapsed_seconds));
    line.text("\x1b[K");
    put(out_, line.view());
    std::fflush(out_);
    bar_is_drawn_ = true;
  }

  void notice(std::string_view kind, std::string_view text) {
    std::string line(kind);
    line += text;
    emit(line);
  }

  /// A whole line to both streams; the bar makes way.
  void emit(std::string_view text) {
    if (out_ != nullptr) {
      erase_bar();
      put(out_, text);
      put(out_, "\n");
      std::fflush(out_);
    }
    if (log_ != nullptr) {
      errno = 0;
      const bool written = put(log_, text) && put(log_, "\n") && std::fflush(log_) == 0;
      if (!written) {
        throw FileError::system("cannot write the log of the run", "log", errno,
                                "free some space in the run folder");
      }
    }
  }
  static bool put(std::FILE* stream, std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  }

  std::FILE* out_;
  std::FILE* log_;
  bool interactive_;
  int columns_ = 80;
  std::int64_t first_step_ = 0;
  std::int64_t total_steps_ = 0;
  std::int64_t step_width_ = 1;
  RunningMean step_ms_;
  bool bar_is_drawn_ = false;
  int bar_permille_ = 0;
  Line line_;
};

}  // namespace fount
