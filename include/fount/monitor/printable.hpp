// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text that a model made, fit to be shown: valid UTF-8 and no control characters, so that it can
// neither steer a terminal nor break a page. HTML's own characters are escaped here too.
// The Unicode Standard, section 3.9 (U+FFFD substitution); HTML Living Standard, section 13.1.

#include <cstddef>
#include <string>
#include <string_view>

#include <fount/text/utf8.hpp>

namespace fount {

/// Invalid bytes and control characters other than newline and tab become U+FFFD; "\r\n" is a
/// newline.
inline std::string printable(std::string_view text) {
  Utf8Stream stream;
  std::string valid = stream.push(text);
  valid += stream.finish();
  std::string result;
  result.reserve(valid.size());
  for (std::size_t at = 0; at < valid.size();) {
    const CodePoint code = decode_utf8(valid, at);
    const auto length = static_cast<std::size_t>(code.length);
    const bool keep = code.value == '\n' || code.value == '\t';
    const bool control = code.value < 0x20 || (code.value >= 0x7F && code.value < 0xA0);
    const bool line_end = code.value == '\r' && at + 1 < valid.size() && valid[at + 1] == '\n';
    if (keep || !control) {
      result.append(valid, at, length);
    } else if (!line_end) {
      append_utf8(result, 0xFFFD);
    }
    at += length;
  }
  return result;
}

/// printable() with HTML's special characters escaped, for element content and quoted attributes.
inline std::string escape_html(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace fount
