// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a run: one HTML file that needs nothing else, with charts, samples, configuration
// and machine. No scripts; light or dark as the reader's system is. The charts themselves are in
// monitor/chart.hpp. HTML Living Standard.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/monitor/chart.hpp>
#include <fount/monitor/line.hpp>
#include <fount/monitor/metrics.hpp>
#include <fount/monitor/printable.hpp>
#include <fount/version.hpp>

namespace fount {

struct ReportInput {
  std::string title;
  History history;
  std::vector<SampleRecord> samples;
  std::vector<KeyValue> config;
  std::vector<KeyValue> machine;
  std::vector<KeyValue> summary;  // the figures at the top; empty: summarise(history)
};

/// The lowest finite validation loss, or null.
inline const ValidationRecord* best_validation(const History& history) {
  const ValidationRecord* best = nullptr;
  for (const ValidationRecord& record : history.validations) {
    if (std::isfinite(record.val_loss) && (best == nullptr || record.val_loss < best->val_loss)) {
      best = &record;
    }
  }
  return best;
}

/// The figures that a reader wants first.
inline std::vector<KeyValue> summarise(const History& history) {
  const auto four = [](double value) { return std::string(Line().fixed(value, 4).view()); };
  std::vector<KeyValue> figures;
  RunningMean loss;
  std::vector<double> rates;
  Bytes memory = 0;
  for (const StepRecord& record : history.steps) {
    loss.add(record.loss);
    if (std::isfinite(record.tokens_per_second)) rates.push_back(record.tokens_per_second);
    memory = std::max(memory, record.memory_bytes);
  }
  const ValidationRecord* best = best_validation(history);
  if (best != nullptr) {
    figures.emplace_back("best validation loss", four(best->val_loss));
  }
  if (loss.count() > 0) figures.emplace_back("training loss, last 100", four(loss.mean()));
  if (!history.steps.empty()) {
    figures.emplace_back("steps", with_commas(history.steps.back().step));
    figures.emplace_back("tokens", with_commas(history.steps.back().tokens));
  }
  if (!rates.empty()) {
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    const double rate = std::clamp(*middle, 0.0, 1e18);
    figures.emplace_back("tokens per second", with_commas(static_cast<std::int64_t>(rate + 0.5)));
  }
  if (memory > 0) figures.emplace_back("memory", format_bytes(memory));
  return figures;
}

namespace detail {

inline constexpr std::string_view report_style = R"css(
:root { color-scheme: light dark;
  --paper: #faf9f6; --card: #ffffff; --ink: #22252a; --soft: #697079; --rule: #e4e1da;
  --c1: #2563b8; --c1-soft: #a9c3e8; --c2: #d1521f; --c3: #7a4fb5; --c4: #1f8268; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14161a; --card: #1c1f24; --ink: #e5e4e0; --soft: #979da6; --rule: #30343b;
  --c1: #75aaf5; --c1-soft: #35507a; --c2: #f28d5b; --c3: #b795ee; --c4: #55c5a3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 36px 24px 24px; }
h1 { font: 600 30px/1.2 Georgia, "Times New Roman", serif; margin: 0 0 20px;
  overflow-wrap: anywhere; }
h2 { font: 600 20px/1.3 Georgia, "Times New Roman", serif; margin: 36px 0 12px; }
figure, .card { margin: 0; background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; padding: 14px 16px 10px; min-width: 0; }
figcaption { display: flex; flex-wrap: wrap; gap: 2px 18px; align-items: baseline;
  margin-bottom: 8px; font-size: 13px; color: var(--soft); }
figcaption b { color: var(--ink); font-size: 15px; font-weight: 600; margin-right: auto; }
.key { display: inline-block; width: 16px; height: 3px; border-radius: 2px; margin-right: 6px;
  vertical-align: middle; }
.key.c1 { background: var(--c1); } .key.c1-soft { background: var(--c1-soft); }
.key.c2 { background: var(--c2); } .key.c3 { background: var(--c3); }
.key.c4 { background: var(--c4); }
.scroll { overflow-x: auto; }
svg { display: block; width: 100%; height: auto; }
.wide svg { min-width: 720px; }
svg text { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
svg path { fill: none; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
svg circle { stroke: var(--card); stroke-width: 1; }
.grid { stroke: var(--rule); } .axis { stroke: var(--soft); stroke-opacity: .6; }
path.c1 { stroke: var(--c1); stroke-width: 2; } path.c1-soft { stroke: var(--c1-soft); }
path.c2 { stroke: var(--c2); } circle.c2 { fill: var(--c2); }
path.c3 { stroke: var(--c3); } path.c4 { stroke: var(--c4); }
.three path { stroke-width: 1.4; }
.figures { display: flex; flex-wrap: wrap; gap: 1px;
  background: var(--rule); border: 1px solid var(--rule); border-radius: 8px; overflow: hidden;
  margin: 0 0 16px; }
.figures div { flex: 1 1 140px; background: var(--card); padding: 10px 14px; }
.figures dt { color: var(--soft); font-size: 12.5px; }
.figures dd { margin: 0; font-size: 19px; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 16px;
  margin-top: 16px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr));
  gap: 16px; align-items: start; }
.card h3 { margin: 0 0 8px; font-size: 13px; font-weight: 600; color: var(--soft); }
.two + details { margin-top: 14px; } details .card { margin-top: 12px; }
summary { cursor: pointer; color: var(--soft); }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 26em; overflow-y: auto;
  font: 13px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
td { padding: 4px 0; border-top: 1px solid var(--rule); vertical-align: top;
  overflow-wrap: anywhere; }
tr:first-child td { border-top: 0; }
td:first-child { color: var(--soft); padding-right: 18px; width: 42%; }
.notice { margin: 8px 0 2px; font-size: 13px; color: var(--c2); }
footer { margin: 32px 0 8px; color: var(--soft); font-size: 12.5px; }
@media print { figure, .card, .figures { break-inside: avoid; } pre { max-height: none; } }
)css";

/// A chart with its title and legend; `notice` stands below it unless it is empty.
inline std::string figure(const Chart& chart, std::string_view css_class = {},
                          std::string_view notice = {}) {
  std::string html = "<figure class=\"" + std::string(css_class) + "\"><figcaption><b>" +
                     escape_html(chart.title) + "</b>";
  if (chart.curves.size() > 1) {
    for (const Curve& curve : chart.curves) {
      if (curve.points.empty()) continue;
      html += "<span><i class=\"key " + curve.css_class + "\"></i>" + escape_html(curve.name) +
              "</span>";
    }
  }
  html += "</figcaption><div class=\"scroll\">\n" + svg_of(chart) + "</div>";
  if (!notice.empty()) html += "<p class=\"notice\">" + escape_html(notice) + "</p>";
  return html + "</figure>\n";
}

inline std::string loss_figure(const History& history) {
  Curve train{"training", "c1-soft", {}, false};
  Curve mean{"running mean", "c1", {}, false};
  Curve validation{"validation", "c2", {}, true};
  RunningMean running(history.steps.size() / 20);  // a long window would trail behind a short run
  std::int64_t not_finite = 0;
  for (const StepRecord& record : history.steps) {
    running.add(record.loss);
    if (!std::isfinite(record.loss)) ++not_finite;
    const auto step = static_cast<double>(record.step);
    train.points.push_back({step, record.loss});
    mean.points.push_back({step, running.mean()});
  }
  for (const ValidationRecord& record : history.validations) {
    if (!std::isfinite(record.val_loss)) ++not_finite;
    validation.points.push_back({static_cast<double>(record.step), record.val_loss});
  }
  if (const auto* best = best_validation(history)) {
    validation.name += ", best at step " + with_commas(best->step);
  }
  std::string notice;
  if (not_finite > 0) notice = with_commas(not_finite) + " losses that are not finite leave gaps.";
  return figure({.title = "Loss", .curves = {train, mean, validation},
                 .logarithmic_beyond = 30}, "wide", notice);
}

/// A small chart of one value of the step records.
template <class Value>
std::string step_figure(const History& history, Chart chart, std::string css_class, Value&& value) {
  Curve curve{chart.title, std::move(css_class), {}, false};
  for (const StepRecord& record : history.steps) {
    curve.points.push_back({static_cast<double>(record.step), value(record)});
  }
  chart.curves = {std::move(curve)};
  chart.width = 330;
  chart.height = 200;
  return figure(chart);
}

inline std::string charts(const History& history) {
  std::string html = loss_figure(history) + "<div class=\"three\">\n";
  html += step_figure(history, {.title = "Learning rate", .from_zero = true}, "c4",
                      [](const StepRecord& record) { return record.lr; });
  html += step_figure(history,
                      {.title = "Gradient norm", .from_zero = true, .logarithmic_beyond = 10}, "c3",
                      [](const StepRecord& record) { return record.grad_norm; });
  html += step_figure(history, {.title = "Tokens per second", .from_zero = true}, "c1",
                      [](const StepRecord& record) { return record.tokens_per_second; });
  return html + "</div>\n";
}

inline std::string sample_card(const SampleRecord& sample) {
  const std::string when = sample.step == 0 ? "Before training"
                                            : "After step " + with_commas(sample.step);
  return "<div class=\"card\"><h3>" + when + "</h3><pre>\n" + escape_html(sample.text) +
         "</pre></div>\n";
}

/// The first and the last side by side, those between folded away.
inline std::string sample_section(const std::vector<SampleRecord>& samples) {
  if (samples.empty()) return {};
  std::string html = "<h2>Samples</h2>\n<div class=\"two\">\n" + sample_card(samples.front());
  if (samples.size() > 1) html += sample_card(samples.back());
  html += "</div>\n";
  if (samples.size() > 2) {
    html += "<details><summary>" + with_commas(static_cast<std::int64_t>(samples.size()) - 2) +
            " more in between</summary>\n";
    for (std::size_t i = 1; i + 1 < samples.size(); ++i) html += sample_card(samples[i]);
    html += "</details>\n";
  }
  return html;
}

inline std::string table_section(std::string_view title, const std::vector<KeyValue>& rows) {
  if (rows.empty()) return {};
  std::string html = "<section><h2>" + std::string(title) + "</h2>\n<div class=\"card\"><table>\n";
  for (const auto& [name, value] : rows) {
    html += "<tr><td>" + escape_html(name) + "</td><td>" + escape_html(value) + "</td></tr>\n";
  }
  return html + "</table></div></section>\n";
}

}  // namespace detail

/// The report as HTML. Every text of the input is escaped; bytes that are not UTF-8 and control
/// characters show as U+FFFD. Curves have at most 1000 points.
inline std::string report_html(const ReportInput& input) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>" + escape_html(input.title) + "</title>\n<style>";
  html += detail::report_style;
  html += "</style>\n</head>\n<body>\n<main>\n<h1>" + escape_html(input.title) + "</h1>\n";
  const auto figures = input.summary.empty() ? summarise(input.history) : input.summary;
  if (!figures.empty()) {
    html += "<dl class=\"figures\">\n";
    for (const auto& [name, value] : figures) {
      html += "<div><dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd></div>\n";
    }
    html += "</dl>\n";
  }
  html += detail::charts(input.history);
  html += detail::sample_section(input.samples);
  html += "<div class=\"two\">\n" + detail::table_section("Configuration", input.config) +
          detail::table_section("Machine", input.machine) + "</div>\n";
  html += "<footer>Written by Fount " + std::string(version) +
          ".</footer>\n</main>\n</body>\n</html>\n";
  return html;
}

/// Writes the report; the file appears whole or not at all. @throws FileError
inline void write_report(const std::filesystem::path& path, const ReportInput& input) {
  write_file_atomically(path, report_html(input));
}

}  // namespace fount
