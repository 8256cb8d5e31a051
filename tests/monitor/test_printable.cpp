// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/printable.hpp>

#include <string>
#include <string_view>

#include "support/catch.hpp"

using fount::escape_html;
using fount::printable;

TEST_CASE("printable text keeps words, lines and tabs", "[monitor][printable]") {
  CHECK(printable("").empty());
  CHECK(printable("Grüße,\n\t世界 😀") == "Grüße,\n\t世界 😀");
  CHECK(printable("one\r\ntwo") == "one\ntwo");
}

TEST_CASE("printable text has no control characters", "[monitor][printable]") {
  CHECK(printable("\x1b[31mred\x07") == "\uFFFD[31mred\uFFFD");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\uFFFDb");
  CHECK(printable("lone\rreturn\r") == "lone\uFFFDreturn\uFFFD");
  CHECK(printable("\x7f") == "\uFFFD");
  CHECK(printable("\xC2\x9B" "2J") == "\uFFFD" "2J");  // a control sequence in one character
}

TEST_CASE("printable text is UTF-8 whatever the bytes were", "[monitor][printable]") {
  CHECK(printable("\xff") == "\uFFFD");
  CHECK(printable("end\xE4\xB8") == "end\uFFFD");
  CHECK(printable("\xED\xA0\x80").find("\xED") == std::string::npos);  // half of a pair
  CHECK(printable("\xC0\xAF").find('/') == std::string::npos);         // an overlong slash
}

TEST_CASE("escaped text cannot leave its place in a page", "[monitor][printable]") {
  CHECK(escape_html("<script>alert(\"a\" + 'b' && c)</script>") ==
        "&lt;script&gt;alert(&quot;a&quot; + &#39;b&#39; &amp;&amp; c)&lt;/script&gt;");
  CHECK(escape_html("\xff<") == "\uFFFD&lt;");
}
