// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes and counts as people write them: 80GiB, 500k, 12.4M; and the way back to text.
// Parsing takes the whole string or fails; it never depends on the locale.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace fount {

using Bytes = std::int64_t;

constexpr Bytes KiB(std::int64_t n) { return n << 10; }
constexpr Bytes MiB(std::int64_t n) { return n << 20; }
constexpr Bytes GiB(std::int64_t n) { return n << 30; }

namespace detail {

struct NumberAndSuffix {
  double number = 0;
  std::string_view suffix;
};

inline std::optional<NumberAndSuffix> split_number(std::string_view text) {
  NumberAndSuffix result;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, result.number);
  if (error != std::errc{} || !std::isfinite(result.number)) return std::nullopt;
  result.suffix = std::string_view(rest, static_cast<std::size_t>(end - rest));
  while (!result.suffix.empty() && result.suffix.front() == ' ') result.suffix.remove_prefix(1);
  return result;
}

inline std::optional<std::int64_t> to_integer(double value) {
  if (value < -9.2e18 || value > 9.2e18 || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace detail

/// "500k" -> 500000, "5M", "2.5B", "1_000", "300"; powers of ten. Nothing on anything else.
inline std::optional<std::int64_t> parse_count(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
  }
  std::int64_t whole = 0;  // plain integers stay exact beyond 2^53
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (error == std::errc{} && rest == digits.data() + digits.size()) return whole;
  const auto parts = detail::split_number(digits);
  if (!parts) return std::nullopt;
  double scale = 1;
  if (parts->suffix.size() > 1) return std::nullopt;
  if (!parts->suffix.empty()) {
    switch (parts->suffix.front()) {
      case 'k': case 'K': scale = 1e3; break;
      case 'm': case 'M': scale = 1e6; break;
      case 'g': case 'G': case 'b': case 'B': scale = 1e9; break;
      case 't': case 'T': scale = 1e12; break;
      default: return std::nullopt;
    }
  }
  return detail::to_integer(std::round(parts->number * scale * 1e3) / 1e3);
}

/// "80GiB", "80GB" (powers of ten), "512M", "1024" -> bytes. A bare K, M, G, T is a power of 1024.
inline std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto parts = detail::split_number(text);
  if (!parts || parts->number < 0) return std::nullopt;
  std::string_view suffix = parts->suffix;
  double unit = 1;
  if (!suffix.empty() && suffix != "B") {
    const std::string_view letters = "KMGT";
    const char letter = suffix.front() == 'k' ? 'K' : suffix.front();
    const auto power = letters.find(letter);
    suffix.remove_prefix(1);
    if (power == std::string_view::npos) return std::nullopt;
    if (!suffix.empty() && suffix != "iB" && suffix != "B" && suffix != "i") return std::nullopt;
    unit = std::pow(suffix == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  return detail::to_integer(std::floor(parts->number * unit));
}

/// 1315758080 -> "1,315,758,080".
inline std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

/// Bytes with a binary unit and two digits after the point: "1.50 GiB".
inline std::string format_bytes(Bytes bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (std::fabs(value) >= 1024.0 && unit < 4) {
    value /= 1024.0;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return text;
}

/// Seconds as "48s", "3m 05s" or "2h 07m".
inline std::string format_duration(double seconds) {
  const auto total = static_cast<long long>(std::isfinite(seconds) && seconds > 0 ? seconds + 0.5 : 0);
  char text[48];
  if (total < 60) {
    std::snprintf(text, sizeof text, "%llds", total);
  } else if (total < 3600) {
    std::snprintf(text, sizeof text, "%lldm %02llds", total / 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%lldh %02lldm", total / 3600, total / 60 % 60);
  }
  return text;
}

}  // namespace fount
