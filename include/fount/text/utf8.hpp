// SPDX-License-Identifier: Apache-2.0
#pragma once
// UTF-8: one code point at a time, in both directions, strictly, and a stream that never hands out
// half a character. Unicode's tables (letters, case, normal forms) are not here.
// RFC 3629; The Unicode Standard, table 3-7.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace fount {

/// One code point as decoded: `length` bytes, or 0 where the bytes are not UTF-8.
struct CodePoint {
  char32_t value = 0;
  int length = 0;
};

/// Bytes that a sequence with this first byte has; 0 if no sequence begins so.
constexpr int utf8_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // continuation bytes and overlong forms
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// Whether `second` may follow `lead`: shuts out overlong forms, surrogates, and beyond U+10FFFF.
constexpr bool utf8_second_fits(unsigned char lead, unsigned char second) {
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

/// How many bytes at the start of `text` are the beginning of a sequence; `complete` says whether
/// it is whole. 0 if not even the first byte can begin one.
constexpr int utf8_prefix(std::string_view text, bool& complete) {
  complete = false;
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  const int length = utf8_length(lead);
  if (length == 0) return 0;
  int have = 1;
  while (have < length && static_cast<std::size_t>(have) < text.size()) {
    const auto next = static_cast<unsigned char>(text[static_cast<std::size_t>(have)]);
    const bool fits = have == 1 ? utf8_second_fits(lead, next) : (next & 0xC0) == 0x80;
    if (!fits) return have;
    ++have;
  }
  complete = have == length;
  return have;
}

/// The code point at byte `at`, which must be inside `text`.
constexpr CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  bool complete = false;
  const int length = utf8_prefix(text.substr(at), complete);
  if (!complete) return {};
  char32_t value = lead & (0x7FU >> static_cast<unsigned>(length));
  for (int i = 1; i < length; ++i) {
    value =
        value << 6U | (static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)]) & 0x3FU);
  }
  return {value, length};
}

/// Appends the UTF-8 form of a code point up to U+10FFFF.
inline void append_utf8(std::string& text, char32_t code) {
  const auto add = [&](char32_t byte) {
    text += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0U | code >> 6U);
    add(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12U);
    add(0x80U | (code >> 6U & 0x3FU));
    add(0x80U | (code & 0x3FU));
  } else {
    add(0xF0U | code >> 18U);
    add(0x80U | (code >> 12U & 0x3FU));
    add(0x80U | (code >> 6U & 0x3FU));
    add(0x80U | (code & 0x3FU));
  }
}

/// A code point for a message: 'é' (U+00E9); control characters by number only.
inline std::string describe_code_point(char32_t code) {
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(code));
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return number;
  std::string text = "'";
  append_utf8(text, code);
  return text + "' (" + number + ")";
}

/// Moves a cut forward to the next byte that does not continue a character.
constexpr std::size_t next_code_point(std::string_view text, std::size_t at) {
  // A character has at most three continuation bytes: what goes on longer is not UTF-8 anyway.
  for (int i = 0; i < 3 && at < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) break;
    ++at;
  }
  return at;
}

/// Turns bytes that arrive in pieces into text that is valid UTF-8 at every moment: an unfinished
/// character is held back, what cannot be one becomes U+FFFD.
class Utf8Stream {
 public:
  /// The text that is complete after these bytes.
  std::string push(std::string_view bytes) {
    held_ += bytes;
    std::string text;
    std::size_t at = 0;
    while (at < held_.size()) {
      bool complete = false;
      const std::string_view rest = std::string_view(held_).substr(at);
      const int length = utf8_prefix(rest, complete);
      if (complete) {
        text += rest.substr(0, static_cast<std::size_t>(length));
      } else if (length > 0 && static_cast<std::size_t>(length) == rest.size()) {
        break;  // may become whole
      } else {
        text += replacement;
      }
      at += static_cast<std::size_t>(std::max(length, 1));
    }
    held_.erase(0, at);
    return text;
  }
  /// The end: what is still held can no longer become whole.
  std::string finish() {
    const bool cut = !held_.empty();
    held_.clear();
    return cut ? std::string(replacement) : std::string();
  }

 private:
  static constexpr std::string_view replacement = "\xEF\xBF\xBD";
  std::string held_;
};

}  // namespace fount
