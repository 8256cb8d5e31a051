// SPDX-License-Identifier: Apache-2.0
#include <fount/text/utf8.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace fount;

TEST_CASE("every code point survives UTF-8, surrogates excepted", "[text][utf8]") {
  std::size_t wrong = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    std::string text;
    append_utf8(text, code);
    const CodePoint back = decode_utf8(text, 0);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const bool same = back.value == code && back.length == static_cast<int>(text.size());
    wrong += surrogate ? back.length != 0 : !same;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what is not UTF-8 is not decoded", "[text][utf8]") {
  for (const char* bytes :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\x80", "\xE0\x9F\xBF",
        "\xE2\x82", "\xE2(\xA1", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    CAPTURE(bytes);
    CHECK(decode_utf8(bytes, 0).length == 0);
  }
}

TEST_CASE("a stream hands out whole characters only, however the bytes arrive", "[text][utf8]") {
  const std::string text = "a\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80!";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    Utf8Stream stream;
    std::string joined;
    for (std::size_t at = 0; at < text.size(); at += step) {
      const std::string piece = stream.push(std::string_view(text).substr(at, step));
      for (std::size_t i = 0; i < piece.size();) {
        const CodePoint code = decode_utf8(piece, i);
        REQUIRE(code.length > 0);
        i += static_cast<std::size_t>(code.length);
      }
      joined += piece;
    }
    CHECK(joined + stream.finish() == text);
  }
}

TEST_CASE("a stream replaces what can never become a character", "[text][utf8]") {
  const std::string mark = "\xEF\xBF\xBD";
  Utf8Stream stream;
  CHECK(stream.push("\xE2") == "");
  CHECK(stream.push("x") == mark + "x");
  CHECK(stream.push("\xFF\x80") == mark + mark);
  CHECK(stream.push("\xF0\x9F") == "");
  CHECK(stream.finish() == mark);
  CHECK(stream.finish() == "");
  CHECK(stream.push("ok") == "ok");
}

TEST_CASE("a cut moves forward out of a character", "[text][utf8]") {
  const std::string text = "a\xF0\x9F\x98\x80z";
  CHECK(next_code_point(text, 0) == 0);
  CHECK(next_code_point(text, 1) == 1);
  for (const std::size_t at : {2U, 3U, 4U, 5U}) CHECK(next_code_point(text, at) == 5);
  CHECK(next_code_point(text, 6) == 6);
  CHECK(next_code_point(std::string(10, '\x80'), 2) == 5);  // not UTF-8: it gives up
}

TEST_CASE("characters are described for people", "[text][utf8]") {
  CHECK(describe_code_point('a') == "'a' (U+0061)");
  CHECK(describe_code_point(0xE9) == "'\xC3\xA9' (U+00E9)");
  CHECK(describe_code_point(10) == "U+000A");
  CHECK(describe_code_point(0x1F600) == "'\xF0\x9F\x98\x80' (U+1F600)");
}
