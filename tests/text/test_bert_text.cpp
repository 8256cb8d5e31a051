// SPDX-License-Identifier: Apache-2.0
#include <fount/text/bert_text.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text, const BertTextOptions& options = {}) {
  Words result;
  BertWords(options).for_each(text, [&](std::string_view word) { result.emplace_back(word); });
  return result;
}
constexpr BertTextOptions cased = {.lowercase = false};

}  // namespace

TEST_CASE("BERT's words are cut at white space and around punctuation", "[text][wordpiece]") {
  if (!unicode_here()) return;
  CHECK(words("").empty());
  CHECK(words(" \t\r\n").empty());
  CHECK(words("don't stop$+<=>^`|~") ==
        Words{"don", "'", "t", "stop", "$", "+", "<", "=", ">", "^", "`", "|", "~"});
  CHECK(words("a_b [CLS]") == Words{"a", "_", "b", "[", "cls", "]"});
  // An em dash, an ellipsis and corner brackets are punctuation, a currency sign is not.
  CHECK(words("a\u2014b\u2026c\u300Cd\u300De\u20A9f") == Words{"a", "\u2014", "b", "\u2026", "c",
                                                               "\u300C", "d", "\u300D",
                                                               "e\u20A9"
                                                               "f"});
  CHECK(words("x\u00B4y\u00A1z") == Words{"x\u00B4y", "\u00A1", "z"});
  // White space of Unicode; the next line character is dropped as a control character before.
  CHECK(words("a\u00A0b\u3000c\u2028d\u0085"
              "e") == Words{"a", "b", "c", "de"});
}

TEST_CASE("BERT's text is in lower case and without accents", "[text][wordpiece]") {
  if (!unicode_here()) return;
  CHECK(words("\u00C5\u00C4\u00D6 \u00E9") == Words{"aao", "e"});
  CHECK(words("a\u0300b e\u0323\u0301") == Words{"ab", "e"});
  CHECK(words("\u0130stanbul \u00DF \u1E9E") == Words{"istanbul", "\u00DF", "\u00DF"});
  // Every capital sigma becomes the same small one, at the end of a word, too.
  CHECK(words("\u03A3\u0391\u03A3") == Words{"\u03C3\u03B1\u03C3"});
  CHECK(words("\uD55C") == Words{"\u1112\u1161\u11AB"});  // Hangul in its letters
  CHECK(words("\u037E\u1FEF") == Words{";", "`"});        // punctuation once decomposed
  CHECK(words("\u00C9A", cased) == Words{"\u00C9A"});
  CHECK(words("\u00C9A", {.strip_accents = true, .lowercase = false}) == Words{"EA"});
  CHECK(words("\u00C9A\u0130", {.strip_accents = false}) == Words{"\u00E9ai\u0307"});
}

TEST_CASE("ideographs are words of their own", "[text][wordpiece]") {
  if (!unicode_here()) return;
  CHECK(words("\u4E2D\u56FD"
              "abc") == Words{"\u4E2D", "\u56FD", "abc"});
  CHECK(words("\U0002B820\U0002B920x") == Words{"\U0002B820", "\U0002B920", "x"});
  CHECK(words("\u3042\u30AB") == Words{"\u3042\u30AB"});  // kana are not
  CHECK(words("\u4E2D\u56FD", {.handle_chinese_chars = false}) == Words{"\u4E2D\u56FD"});
  CHECK(words("\u4E2D\u0301x") == Words{"\u4E2D", "x"});
}

TEST_CASE("control characters are dropped where text is cleaned", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const std::string zero("a\0b", 3);
  CHECK(words(zero) == Words{"ab"});
  CHECK(words("a\u00ADb\uFEFF\u200B"
              "c\uE000\uFFFD"
              "d\x7F") == Words{"abcd"});
  CHECK(words("a\x0B"
              "b\x1C"
              "c") == Words{"abc"});
  CHECK(words("\u0378x") == Words{"\u0378x"});  // not assigned: may be a letter one day
  CHECK(words("a\u00ADb", {.clean_text = false}) == Words{"a\u00ADb"});
  CHECK(words("a\x0B"
              "b",
              {.clean_text = false}) == Words{"a", "b"});
  // Marks on both sides of what is dropped belong together.
  CHECK(words("\u1D15E\u0301\u200D\u302E", {.strip_accents = true}) ==
        words("\u1D15E\u0301\u302E", {.strip_accents = true}));
}

TEST_CASE("text that is not UTF-8 is refused with the byte", "[text][wordpiece]") {
  if (!unicode_here()) return;
  CHECK(mentions(message_of<Error>([] { words("abc\xFF"); }), "UTF-8 at byte 3"));
  CHECK(mentions(message_of<Error>([] { words("\xE2\x82"); }), "byte 0"));
}
