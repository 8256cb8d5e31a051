// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/chart.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace fount;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string svg_of_values(const std::vector<double>& values) {
  Chart chart{.title = "t"};
  chart.curves = {{"c", "c1", {}, true}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    chart.curves[0].points.push_back({static_cast<double>(i), values[i]});
  }
  return svg_of(chart);
}

}  // namespace

TEST_CASE("thinning keeps spikes and the ends of the axis", "[monitor][chart]") {
  std::vector<Point> points;
  for (int i = 0; i < 123'457; ++i) points.push_back({static_cast<double>(i), std::sin(i * 1e-3)});
  points[50'001].y = 100;
  points[50'777].y = -100;
  const auto thin = thinned(points);
  CHECK(thin.size() <= 1000);
  CHECK(thin.size() > 900);
  double low = 0;
  double high = 0;
  double last = -1;
  for (const Point& point : thin) {
    low = std::min(low, point.y);
    high = std::max(high, point.y);
    CHECK(point.x > last);
    last = point.x;
  }
  CHECK(low == -100);
  CHECK(high == 100);
  CHECK(thin.front().x < 500);
  CHECK(thin.back().x > 123'000);
  points.resize(1000);
  CHECK(thinned(points).size() == 1000);
}

TEST_CASE("thinning keeps gaps that are wide enough to see", "[monitor][chart]") {
  std::vector<Point> points(10'000);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = {static_cast<double>(i), i > 4000 && i < 5000 ? not_a_number : 1.0};
  }
  std::size_t gaps = 0;
  for (const Point& point : thinned(points)) gaps += std::isfinite(point.y) ? 0 : 1;
  CHECK(gaps > 40);
  CHECK(gaps < 60);
}

TEST_CASE("a chart draws what it is given and nothing else", "[monitor][chart]") {
  const std::string svg = svg_of_values({3, 2, 1});
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "<path ") == 1);
  CHECK(count_of(svg, "<circle ") == 3);
  CHECK(svg.find("<title>step 2: 1.0000</title>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("a chart without finite values says so", "[monitor][chart]") {
  for (const auto& values : std::vector<std::vector<double>>{
           {}, {not_a_number}, {infinity, -infinity, not_a_number}, {1e305}}) {
    const std::string svg = svg_of_values(values);
    CHECK(svg.find("no data yet") != std::string::npos);
    CHECK(count_of(svg, "<path ") == 0);
  }
}

TEST_CASE("a chart leaves gaps and shows lone points", "[monitor][chart]") {
  const std::string svg = svg_of_values({1, not_a_number, 2, 3, infinity, 4});
  const auto begin = svg.find(" d=\"");
  const std::string path = svg.substr(begin + 4, svg.find('"', begin + 4) - begin - 4);
  CHECK(count_of(path, "M") == 3);
  CHECK(count_of(path, "L") == 1);
  CHECK(count_of(path, "h0") == 3);
  CHECK(count_of(svg_of_values({5}), "<circle ") == 1);
}

TEST_CASE("coordinates of a chart stay inside it", "[monitor][chart]") {
  for (const auto& values : std::vector<std::vector<double>>{
           {1e299, -1e299, 0}, {1e-300, 2e-300}, {4, 4, 4}, {10.9, 2.4, 0.01}, {0, 1e-12}}) {
    Chart chart{.title = "t", .logarithmic_beyond = 30};
    chart.curves = {{"c", "c1", {}, true}};
    for (const double value : values) {
      chart.curves[0].points.push_back(
          {static_cast<double>(chart.curves[0].points.size()), value});
    }
    const std::string svg = svg_of(chart);
    for (auto at = svg.find("cy=\""); at != std::string::npos; at = svg.find("cy=\"", at + 1)) {
      const double y = std::stod(svg.substr(at + 4));
      CHECK(y >= 0);
      CHECK(y <= chart.height);
    }
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(svg.find("nan") == std::string::npos);
  }
}
