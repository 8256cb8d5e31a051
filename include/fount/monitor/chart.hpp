// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line charts as inline SVG, their curves thinned to what a screen can show. Colours are the
// page's: curves carry classes only. Ranges and ticks are chosen in monitor/axis.hpp.
// W3C, Scalable Vector Graphics (SVG) 2.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fount/monitor/axis.hpp>
#include <fount/monitor/line.hpp>
#include <fount/monitor/printable.hpp>

namespace fount {

struct Point {
  double x = 0;
  double y = 0;
};

/// One curve. Points whose y is not finite leave a gap.
struct Curve {
  std::string name;       // in the legend
  std::string css_class;  // "c1", "c2", ...: a stroke, and a fill for markers, in the page's style
  std::vector<Point> points;
  bool markers = false;  // a dot with a tooltip on each point
};

struct Chart {
  std::string title;
  std::vector<Curve> curves = {};
  double width = 1000;  // of the view box: about the pixels it will have
  double height = 340;
  bool from_zero = false;  // the y axis includes 0
  double logarithmic_beyond = std::numeric_limits<double>::infinity();  // largest / smallest value
};

/// At most `limit` points that look the same: of each run of points the lowest and the highest, so
/// that spikes stay. A run without a finite value becomes one gap.
inline std::vector<Point> thinned(const std::vector<Point>& points, std::size_t limit = 1000) {
  if (points.size() <= limit || limit < 2) return points;
  const std::size_t runs = limit / 2;
  std::vector<Point> result;
  result.reserve(2 * runs);
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t begin = points.size() * run / runs;
    const std::size_t end = points.size() * (run + 1) / runs;
    std::size_t low = end;
    std::size_t high = end;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].y)) continue;
      if (low == end || points[i].y < points[low].y) low = i;
      if (high == end || points[i].y > points[high].y) high = i;
    }
    if (low == end) {
      result.push_back({points[begin].x, std::numeric_limits<double>::quiet_NaN()});
      continue;
    }
    result.push_back(points[std::min(low, high)]);
    if (low != high) result.push_back(points[std::max(low, high)]);
  }
  return result;
}

namespace detail {

inline void add_number(std::string& out, double value, int decimals = 1) {
  out += Line().fixed(value, decimals).view();
}

/// Draws one chart; the numbers are pixels of the view box.
class ChartDrawing {
 public:
  explicit ChartDrawing(const Chart& chart) : chart_(chart) { choose_axes(); }

  std::string svg() {
    out_ = "<svg viewBox=\"0 0 ";
    add_number(out_, chart_.width, 0);
    out_ += ' ';
    add_number(out_, chart_.height, 0);
    out_ += "\" role=\"img\" aria-label=\"" + escape_html(chart_.title) + "\">\n";
    if (is_empty_) {
      text(chart_.width / 2, chart_.height / 2, "middle", "no data yet");
    } else {
      draw_axes();
      for (const Curve& curve : chart_.curves) draw(curve);
    }
    return out_ + "</svg>\n";
  }

 private:
  static constexpr double left = 46;
  static constexpr double right = 14;
  static constexpr double top = 10;
  static constexpr double bottom = 24;

  void choose_axes() {
    double low_x = std::numeric_limits<double>::infinity();
    double low_y = low_x;
    double high_x = -low_x;
    double high_y = -low_x;
    for (Curve& curve : chart_.curves) {
      curve.points = thinned(curve.points);
      for (Point& point : curve.points) {
        // Beyond this, differences overflow; a run that got there has no shape left to show.
        if (!(std::fabs(point.y) < 1e300)) point.y = std::numeric_limits<double>::quiet_NaN();
        if (!std::isfinite(point.y) || !std::isfinite(point.x)) continue;
        is_empty_ = false;
        low_x = std::min(low_x, point.x);
        high_x = std::max(high_x, point.x);
        low_y = std::min(low_y, point.y);
        high_y = std::max(high_y, point.y);
      }
    }
    if (is_empty_) return;
    if (low_x > 0 && low_x < 0.2 * high_x) low_x = 0;
    x_ = step_axis(low_x, high_x, static_cast<int>(std::clamp(chart_.width / 110, 3.0, 9.0)));
    if (low_y > 1e-300 && high_y / low_y > chart_.logarithmic_beyond) {
      y_ = logarithmic_axis(low_y, high_y);
    } else {
      if (chart_.from_zero) low_y = std::min(low_y, 0.0);
      if (chart_.from_zero) high_y = std::max(high_y, 0.0);
      y_ = value_axis(low_y, high_y, static_cast<int>(std::clamp(chart_.height / 50, 3.0, 8.0)));
    }
  }

  double pixel_x(double x) const { return left + (chart_.width - left - right) * x_.position(x); }
  double pixel_y(double y) const {
    return chart_.height - bottom - (chart_.height - top - bottom) * y_.position(y);
  }

  void attribute(std::string_view name, double value) {
    out_.append(" ").append(name).append("=\"");
    add_number(out_, value);
    out_ += '"';
  }
  void text(double x, double y, std::string_view anchor, std::string_view content) {
    out_ += "<text";
    attribute("x", x);
    attribute("y", y);
    out_.append(" text-anchor=\"").append(anchor).append("\">").append(escape_html(content));
    out_ += "</text>\n";
  }
  void line(std::string_view css_class, Point from, Point to) {
    out_.append("<line class=\"").append(css_class).append("\"");
    attribute("x1", from.x);
    attribute("y1", from.y);
    attribute("x2", to.x);
    attribute("y2", to.y);
    out_ += "/>\n";
  }

  void draw_axes() {
    const double end = chart_.width - right;
    const double ground = chart_.height - bottom;
    const auto y_labels = tick_labels(y_.ticks, y_.logarithmic);
    for (std::size_t i = 0; i < y_labels.size(); ++i) {
      const double y = pixel_y(y_.ticks[i].value());
      line(i == 0 ? "axis" : "grid", {left, y}, {end, y});
      text(left - 8, y + 4, "end", y_labels[i]);
    }
    auto x_labels = tick_labels(x_.ticks, false);
    const bool has_room = chart_.width > 500;
    if (has_room && !x_labels.empty()) x_labels.back() += " steps";
    for (std::size_t i = 0; i < x_labels.size(); ++i) {
      const double x = pixel_x(x_.ticks[i].value());
      line("axis", {x, ground}, {x, ground + 4});
      // The last label would stick out where it stands at the very end.
      const bool at_end = i + 1 == x_labels.size() && x > end - (has_room ? 36 : 12);
      text(at_end ? end + right - 2 : x, ground + 18, at_end ? "end" : "middle", x_labels[i]);
    }
  }

  void draw(const Curve& curve) {
    std::string path;
    bool pen_is_down = false;
    for (const Point& point : curve.points) {
      if (!std::isfinite(point.y) || !std::isfinite(point.x)) {
        pen_is_down = false;
        continue;
      }
      path += pen_is_down ? 'L' : 'M';
      add_number(path, pixel_x(point.x));
      path += ' ';
      add_number(path, pixel_y(point.y));
      // With round ends a line of no length is a dot, so that a lone point is seen.
      if (!pen_is_down) path += "h0";
      pen_is_down = true;
    }
    out_ += "<path class=\"" + curve.css_class + "\" d=\"" + path + "\"/>\n";
    if (curve.markers) draw_markers(curve);
  }
  void draw_markers(const Curve& curve) {
    const double radius = curve.points.size() > 100 ? 1.5 : 3.0;
    for (const Point& point : curve.points) {
      if (!std::isfinite(point.y) || !std::isfinite(point.x)) continue;
      out_ += "<circle class=\"" + curve.css_class + "\"";
      attribute("cx", pixel_x(point.x));
      attribute("cy", pixel_y(point.y));
      attribute("r", radius);
      out_ += "><title>step ";
      add_number(out_, point.x, 0);
      out_ += ": ";
      add_number(out_, point.y, 4);
      out_ += "</title></circle>\n";
    }
  }

  Chart chart_;
  bool is_empty_ = true;
  Axis x_;
  Axis y_;
  std::string out_;
};

}  // namespace detail

/// The chart as one <svg> element; its title and legend are left to the page.
inline std::string svg_of(const Chart& chart) { return detail::ChartDrawing(chart).svg(); }

}  // namespace fount
