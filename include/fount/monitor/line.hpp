// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of text in a buffer of fixed size: numbers in the C locale whatever the program has set,
// nothing from the heap. Lines that are too long are cut. Where they go is the caller's business.
// Shortest round-trip digits: Adams 2018, "Ryu: fast float-to-string conversion" (std::to_chars).

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fount {

class Line {
 public:
  std::string_view view() const { return {text_, size_}; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  Line& text(std::string_view value) {
    const std::size_t count = std::min(value.size(), capacity - size_);
    std::memcpy(text_ + size_, value.data(), count);
    size_ += count;
    return *this;
  }
  Line& repeat(char c, std::int64_t count) {
    for (; count > 0 && size_ < capacity; --count) text_[size_++] = c;
    return *this;
  }
  /// Right-aligned in `width` columns.
  Line& right(std::string_view value, std::int64_t width) {
    return repeat(' ', width - static_cast<std::int64_t>(value.size())).text(value);
  }
  Line& left(std::string_view value, std::int64_t width) {
    return text(value).repeat(' ', width - static_cast<std::int64_t>(value.size()));
  }
  Line& integer(std::int64_t value, std::int64_t width = 0) {
    char digits[24];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    return right(to_view(digits, result.ptr), width);
  }
  /// The shortest digits that read back as the same double; "nan", "inf", "-inf" otherwise.
  Line& shortest(double value) {
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    return text(to_view(digits, result.ptr));
  }
  /// As printf's %.*f, but in scientific form where that would be longer than 25 digits.
  Line& fixed(double value, int decimals, std::int64_t width = 0) {
    if (!std::isfinite(value)) return right(name_of_special(value), width);
    char digits[64];
    if (std::fabs(value) >= 1e25) return scientific(value, 2, width);
    const auto result = std::to_chars(digits, digits + sizeof digits, value,
                                      std::chars_format::fixed, decimals);
    return right(to_view(digits, result.ptr), width);
  }
  /// As printf's %.*e.
  Line& scientific(double value, int decimals, std::int64_t width = 0) {
    if (!std::isfinite(value)) return right(name_of_special(value), width);
    char digits[48];
    const auto result = std::to_chars(digits, digits + sizeof digits, value,
                                      std::chars_format::scientific, decimals);
    return right(to_view(digits, result.ptr), width);
  }

 private:
  static constexpr std::size_t capacity = 1024;

  static std::string_view to_view(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
  }
  static std::string_view name_of_special(double value) {
    if (std::isnan(value)) return "nan";
    return value > 0 ? "inf" : "-inf";
  }

  char text_[capacity];
  std::size_t size_ = 0;
};

}  // namespace fount
