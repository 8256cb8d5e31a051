// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using fount::test::content_of;
using fount::test::TemporaryFolder;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

History history_of(std::int64_t steps) {
  History history;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto x = static_cast<double>(step);
    history.steps.push_back({.step = step, .tokens = step * 768, .loss = 2 + 2 / x, .lr = 1e-3 / x,
                             .grad_norm = 1 / x, .tokens_per_second = 16'000, .step_ms = 47,
                             .memory_bytes = MiB(61)});
    if (step % 100 == 0) history.validations.push_back({step, 2.1 + 2 / x, false});
  }
  return history;
}

/// Elements that are opened and not closed, or closed and not opened; empty if all match.
std::string unbalanced(const std::string& html) {
  std::vector<std::string> open;
  for (auto at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const auto end = html.find('>', at);
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag.starts_with('!') || tag.starts_with("meta") || tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return tag;
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() ? "" : open.back();
}

void check_page(const std::string& html) {
  CHECK(html.starts_with("<!DOCTYPE html>"));
  CHECK(html.ends_with("</html>\n"));
  CHECK(unbalanced(html).empty());
  CHECK(count_of(html, "<svg ") == 4);
  CHECK_FALSE(contains(html, "<script"));
  CHECK_FALSE(contains(html, "http"));  // nothing from elsewhere
  CHECK_FALSE(contains(html, "nan "));
}

}  // namespace

TEST_CASE("a report shows charts, samples, configuration and machine", "[monitor][report]") {
  const TemporaryFolder folder;
  const auto path = folder / "report.html";
  write_report(path, {.title = "my run", .history = history_of(1000),
                      .samples = {{0, "xqzt"}, {500, "so so"}, {1000, "Once upon a time"}},
                      .config = {{"learning_rate", "0.001"}},
                      .machine = {{"processor", "a fast one"}}, .summary = {}});
  const std::string html = content_of(path);
  check_page(html);
  for (const char* part : {"<title>my run</title>", "Before training", "xqzt", "After step 1,000",
                           "Once upon a time", "1 more in between", "learning_rate", "a fast one",
                           "Learning rate", "Gradient norm", "Tokens per second", "768,000",
                           "best at step 1,000", "2.1020"}) {
    INFO(part);
    CHECK(contains(html, part));
  }
  CHECK(folder.count() == 1);
}

TEST_CASE("a report of nothing is still a page", "[monitor][report]") {
  const std::string html = report_html({});
  check_page(html);
  CHECK(count_of(html, "no data yet") == 4);
  CHECK_FALSE(contains(html, "Samples"));
  CHECK_FALSE(contains(html, "Configuration"));
}

TEST_CASE("a report of one step, and of none that is finite", "[monitor][report]") {
  check_page(report_html({.title = "one", .history = history_of(1), .samples = {}, .config = {},
                          .machine = {}, .summary = {}}));
  History history = history_of(3);
  for (StepRecord& record : history.steps) record.loss = record.grad_norm = not_a_number;
  history.validations = {{3, not_a_number, false}};
  const std::string html = report_html({.title = "nan", .history = history, .samples = {},
                                        .config = {}, .machine = {}, .summary = {}});
  check_page(html);
  CHECK(contains(html, "4 losses that are not finite"));
  CHECK_FALSE(contains(html, "best at step"));
  CHECK_FALSE(contains(html, "best validation loss"));
}

TEST_CASE("a report is of moderate size however long the run", "[monitor][report]") {
  const std::string html = report_html({.title = "long", .history = history_of(200'000),
                                        .samples = {}, .config = {}, .machine = {},
                                        .summary = {}});
  check_page(html);
  CHECK(html.size() < 400'000);
  // Lines and moves of each path.
  for (auto at = html.find(" d=\""); at != std::string::npos; at = html.find(" d=\"", at + 1)) {
    const std::string path = html.substr(at + 4, html.find('"', at + 4) - at - 4);
    CHECK(std::count_if(path.begin(), path.end(), [](char c) { return c == 'L' || c == 'M'; }) <=
          1000);
  }
}

TEST_CASE("a report takes huge counts", "[monitor][report]") {
  History history;
  const auto most = std::numeric_limits<std::int64_t>::max();
  history.steps.push_back({.step = most, .tokens = most, .loss = 1e308, .lr = 1e-308,
                           .grad_norm = 1e308, .tokens_per_second = 1e308, .step_ms = 0,
                           .memory_bytes = most});
  history.validations.push_back({most, 1e308, true});
  check_page(report_html({.title = "huge", .history = history, .samples = {}, .config = {},
                          .machine = {}, .summary = {}}));
}

TEST_CASE("no text of a run can leave its place in the report", "[monitor][report]") {
  const std::string nasty =
      "</pre></title></style><script>alert(\"x\")</script>'\n&amp;\xff\x1b\xC3";
  const std::string html = report_html({.title = nasty, .history = history_of(5),
                                        .samples = {{0, nasty}, {5, nasty}, {6, nasty}},
                                        .config = {{nasty, nasty}}, .machine = {{nasty, nasty}},
                                        .summary = {{nasty, nasty}}});
  check_page(html);
  CHECK(count_of(html, "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;\n&amp;amp;"
                       "\uFFFD\uFFFD\uFFFD") == 11);
  CHECK_FALSE(contains(html, "\xff"));
  CHECK_FALSE(contains(html, "\x1b"));
}

TEST_CASE("a report that cannot be written is an error, and leaves the old one",
          "[monitor][report]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(write_report(folder / "missing" / "report.html", {}), FileError);
  CHECK_THROWS_AS(write_report(folder.path(), {}), FileError);
}

TEST_CASE("the summary takes the best of the finite", "[monitor][report]") {
  CHECK(summarise({}).empty());
  History history = history_of(3);
  history.validations = {{1, not_a_number, false}, {2, 1.25, false}, {3, 1.5, false}};
  history.steps.back().tokens_per_second = not_a_number;
  const auto figures = summarise(history);
  REQUIRE(figures.size() == 6);
  CHECK(figures[0] == KeyValue{"best validation loss", "1.2500"});
  CHECK(figures[2] == KeyValue{"steps", "3"});
  CHECK(figures[4] == KeyValue{"tokens per second", "16,000"});
  CHECK(figures[5] == KeyValue{"memory", "61.00 MiB"});
}
