// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes with round numbers: ranges, ticks at 1, 2 and 5 times powers of ten, and their labels.
// Linear for values and steps, logarithmic for what spans decades. Nothing is drawn here.
// Heckbert 1990, "Nice numbers for graph labels", Graphics Gems.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fount {

/// A round number digits * 10^exponent, kept apart so that its label is exact.
struct Tick {
  std::int64_t digits = 0;
  int exponent = 0;

  double value() const { return static_cast<double>(digits) * std::pow(10.0, exponent); }
  /// The power of ten of the first digit; very low for 0.
  int magnitude() const {
    if (digits == 0) return std::numeric_limits<int>::min();
    int power = exponent;
    for (std::int64_t rest = digits < 0 ? -digits : digits; rest >= 10; rest /= 10) ++power;
    return power;
  }
};

/// The range of one axis and its ticks.
struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks;

  /// 0 at the low end, 1 at the high end.
  double position(double value) const {
    if (logarithmic) {
      return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
    }
    return (value - low) / (high - low);
  }
};

/// The 1, 2 or 5 times a power of ten that is nearest to `value` > 0, as ratios go.
inline Tick round_to_tick(double value) {
  const int exponent = static_cast<int>(std::floor(std::log10(value)));
  const double factor = value / std::pow(10.0, exponent);
  if (factor < 1.4142) return {1, exponent};
  if (factor < 3.1623) return {2, exponent};
  if (factor < 7.0711) return {5, exponent};
  return {1, exponent + 1};
}

/// An axis with about `count` ticks over [low, high], which is widened to ticks.
inline Axis value_axis(double low, double high, int count) {
  const double size = std::max(std::fabs(low), std::fabs(high));
  if (high - low <= size * 1e-6) {  // one value, or as good as one
    const double margin = size > 0 ? size * 0.05 : 1.0;
    low -= margin;
    high += margin;
  }
  const Tick step = round_to_tick((high - low) / count);
  const double width = step.value();
  constexpr double slack = 1e-6;
  const auto first = static_cast<std::int64_t>(std::floor(low / width + slack));
  const auto last = static_cast<std::int64_t>(std::ceil(high / width - slack));
  Axis axis;
  axis.low = static_cast<double>(first) * width;
  axis.high = static_cast<double>(last) * width;
  for (std::int64_t i = first; i <= last; ++i) {
    axis.ticks.push_back({i * step.digits, step.exponent});
  }
  return axis;
}

/// An axis over exactly [low, high], whole numbers, with about `count` ticks inside.
inline Axis step_axis(double low, double high, int count) {
  Axis axis;
  axis.low = low;
  // One step at least; beyond 2^53 adding 1 changes nothing.
  axis.high = std::max(high, low + std::max(1.0, std::fabs(low) * 1e-6));
  Tick step = round_to_tick((axis.high - axis.low) / count);
  if (step.exponent < 0) step = {1, 0};
  const double width = step.value();
  for (auto i = static_cast<std::int64_t>(std::ceil(axis.low / width));
       static_cast<double>(i) * width <= axis.high; ++i) {
    axis.ticks.push_back({i * step.digits, step.exponent});
  }
  return axis;
}

/// A logarithmic axis over [low, high], 0 < low < high, with ticks at 1, 2 and 5 or powers of ten.
inline Axis logarithmic_axis(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const bool in_between = last - first <= 3;
  const int stride = std::max(1, (last - first + 5) / 6);
  Axis axis;
  axis.logarithmic = true;
  for (int power = first; power <= last; power += in_between ? 1 : stride) {
    for (const int digit : {1, 2, 5}) {
      if (digit == 1 || in_between) axis.ticks.push_back({digit, power});
    }
  }
  auto& ticks = axis.ticks;
  if (ticks.back().value() < high) ticks.push_back({1, ticks.back().exponent + stride});
  // Keep one tick below the data and one above.
  while (ticks.size() > 2 && ticks[1].value() <= low) ticks.erase(ticks.begin());
  while (ticks.size() > 2 && ticks[ticks.size() - 2].value() >= high) ticks.pop_back();
  axis.low = ticks.front().value();
  axis.high = ticks.back().value();
  return axis;
}

namespace detail {

/// digits * 10^exponent without an exponent: {25, -1} is "2.5", {3, 2} is "300".
inline std::string plain_decimal(std::int64_t digits, int exponent) {
  const bool negative = digits < 0;
  std::string text = std::to_string(negative ? -digits : digits);
  if (exponent >= 0) {
    text.append(static_cast<std::size_t>(exponent), '0');
  } else {
    const auto decimals = static_cast<std::size_t>(-exponent);
    if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
    text.insert(text.size() - decimals, 1, '.');
  }
  return negative ? "\xE2\x88\x92" + text : text;  // a minus sign
}

}  // namespace detail

/// Labels of an axis: plain, with k, M, G, T, or as 2e-4, whichever is shortest to read.
inline std::vector<std::string> tick_labels(const std::vector<Tick>& ticks, bool logarithmic) {
  int largest = std::numeric_limits<int>::min();
  for (const Tick& tick : ticks) largest = std::max(largest, tick.magnitude());
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) {
    std::int64_t digits = tick.digits;
    int exponent = tick.exponent;
    while (digits != 0 && digits % 10 == 0) {
      digits /= 10;
      ++exponent;
    }
    const int magnitude = logarithmic ? tick.magnitude() : largest;
    if (digits == 0) {
      labels.push_back("0");
    } else if (magnitude >= 15 || magnitude <= -3) {
      const int own = tick.magnitude();
      labels.push_back(detail::plain_decimal(digits, exponent - own) + "e" + std::to_string(own));
    } else if (magnitude >= 4) {
      const int group = magnitude / 3;
      labels.push_back(detail::plain_decimal(digits, exponent - 3 * group) +
                       std::string(1, " kMGT"[group]));
    } else {
      labels.push_back(detail::plain_decimal(digits, exponent));
    }
  }
  return labels;
}

}  // namespace fount
