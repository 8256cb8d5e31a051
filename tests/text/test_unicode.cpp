// SPDX-License-Identifier: Apache-2.0
#include <fount/text/unicode.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::u32string lower(std::u32string_view text) {
  std::u32string result;
  for (const char32_t code : text) append_lower(result, code);
  return result;
}

}  // namespace

TEST_CASE("code points have the classes of Unicode", "[text][unicode]") {
  if (!unicode_here()) return;
  for (const char32_t code : {U'a', U'Z', U'\u00E9', U'\u00AA', U'\u4E2D', U'\u01C5', U'\u02B0'}) {
    CAPTURE(static_cast<unsigned>(code));
    CHECK(is_letter(code));
    CHECK_FALSE(is_number(code));
  }
  for (const char32_t code : {U'0', U'\u00B2', U'\u0663', U'\u2167', U'\U0001D7CE'}) {
    CHECK(is_number(code));
    CHECK_FALSE(is_letter(code));
  }
  CHECK(is_mark(0x301));
  CHECK(is_nonspacing_mark(0x301));
  CHECK(is_mark(0x903));  // a spacing mark
  CHECK_FALSE(is_nonspacing_mark(0x903));
  for (const char32_t code : {U'!', U'_', U'\u3002', U'\u00AB'}) CHECK(is_punctuation(code));
  for (const char32_t code : {U'$', U'+', U'^', U'`', U'|', U'~'})
    CHECK_FALSE(is_punctuation(code));
  for (const char32_t code :
       {char32_t{0}, U'\n', char32_t{0x7F}, U'\u00AD', U'\u200B', U'\uFEFF', char32_t{0xE000},
        char32_t{0xD800}, char32_t{0x378}, max_code_point}) {
    CAPTURE(static_cast<unsigned>(code));
    CHECK(is_control(code));
  }
  CHECK(unicode_set(max_code_point + 1) == 0);
  CHECK(unicode_set(0xFFFFFFFF) == 0);
}

TEST_CASE("letters are upper, lower or neither", "[text][unicode]") {
  if (!unicode_here()) return;
  const auto check = [](char32_t code, Unicode kind) {
    const UnicodeSet set = unicode_set(code);
    CAPTURE(static_cast<unsigned>(code));
    CHECK(contains(set, Unicode::letter));
    for (const Unicode each :
         {Unicode::upper_letter, Unicode::lower_letter, Unicode::other_letter}) {
      CHECK(contains(set, each) == (each == kind));
    }
  };
  check(U'A', Unicode::upper_letter);
  check(U'\u01C5', Unicode::upper_letter);  // title case
  check(U'a', Unicode::lower_letter);
  check(U'\u017F', Unicode::lower_letter);
  check(U'\u02B0', Unicode::other_letter);  // a modifier
  check(U'\u4E2D', Unicode::other_letter);
}

TEST_CASE("white space is Unicode's, not another standard's", "[text][unicode]") {
  int count = 0;
  for (char32_t code = 0; code <= max_code_point; ++code) count += is_white_space(code);
  CHECK(count == 25);
  for (const int code : {0x09, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028, 0x3000}) {
    CHECK(is_white_space(static_cast<char32_t>(code)));
  }
  for (const int code : {0x08, 0x0E, 0x1C, 0x180E, 0x200B, 0xFEFF}) {
    CHECK_FALSE(is_white_space(static_cast<char32_t>(code)));
  }
  if (!unicode_here()) return;
  for (char32_t code = 0; code <= max_code_point; ++code) {
    const bool in_table = contains(unicode_set(code), Unicode::white_space);
    if (in_table != is_white_space(code)) FAIL_CHECK("differs at " << static_cast<unsigned>(code));
  }
}

TEST_CASE("lower case is full and without context", "[text][unicode]") {
  if (!unicode_here()) return;
  CHECK(lower(U"AbC[@ \u00C9\u0416") == U"abc[@ \u00E9\u0436");
  CHECK(lower(U"\u0130") == U"i\u0307");
  CHECK(lower(U"\u039F\u03A3") == U"\u03BF\u03C3");  // no final sigma
  CHECK(lower(U"\u01C5\u1E9E\u2126") == U"\u01C6\u00DF\u03C9");
  CHECK(lower(std::u32string{0xFFFFFFFF}) == std::u32string{0xFFFFFFFF});
}

TEST_CASE("canonical decomposition takes characters apart and orders accents", "[text][unicode]") {
  if (!unicode_here()) return;
  CHECK(canonical_decomposition(U"").empty());
  CHECK(canonical_decomposition(U"a") == U"a");
  CHECK(canonical_decomposition(U"\u00E9") == U"e\u0301");
  CHECK(canonical_decomposition(U"\u1E69x") == U"s\u0323\u0307x");
  CHECK(canonical_decomposition(U"s\u0307\u0323") == U"s\u0323\u0307");
  CHECK(canonical_decomposition(U"\u1E0B\u0323") == U"d\u0323\u0307");
  CHECK(canonical_decomposition(U"\u0307\u0323") == U"\u0323\u0307");
  CHECK(canonical_decomposition(U"\uD55C") == U"\u1112\u1161\u11AB");  // Hangul, by rule
  CHECK(canonical_decomposition(U"\u212B\u2126") == U"A\u030A\u03A9");
  CHECK(canonical_decomposition(U"\uFB01\u00B2") == U"\uFB01\u00B2");  // compatibility forms stay
  CHECK(canonical_decomposition(std::u32string{0xFFFFFFFF}) == std::u32string{0xFFFFFFFF});
  const std::u32string once = canonical_decomposition(U"\u1FA7\u0F73\u0344");
  CHECK(canonical_decomposition(once) == once);
}

TEST_CASE("without utf8proc questions about Unicode are refused", "[text][unicode]") {
  if (has_unicode()) {
    CHECK_FALSE(unicode_version().empty());
    return;
  }
  CHECK(mentions(message_of<ConfigError>([] { is_letter(U'a'); }), "utf8proc", "install"));
  CHECK_THROWS_AS(canonical_decomposition(U"a"), ConfigError);
  CHECK_THROWS_AS(unicode_version(), ConfigError);
}
