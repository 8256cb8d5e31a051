// SPDX-License-Identifier: Apache-2.0
#include <fount/text/split.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Pieces = std::vector<std::string>;

Pieces split(SplitRule rule, const std::string& text) {
  Pieces pieces;
  std::size_t expected = 0;
  for_each_piece(rule, text, [&](std::size_t begin, std::size_t end) {
    if (begin != expected || end <= begin) FAIL_CHECK("pieces do not follow each other");
    expected = end;
    pieces.push_back(text.substr(begin, end - begin));
  });
  if (expected != text.size()) FAIL_CHECK("pieces do not cover the text");
  return pieces;
}

}  // namespace

TEST_CASE("GPT-2 splits words, numbers, symbols and white space", "[text][split]") {
  if (!unicode_here()) return;
  const auto gpt2 = [](const std::string& text) { return split(SplitRule::gpt2, text); };
  CHECK(gpt2("").empty());
  CHECK(gpt2("Hello world") == Pieces{"Hello", " world"});
  CHECK(gpt2("I'm he'll you're they've I'd it's don't") == Pieces{"I", "'m", " he", "'ll", " you",
                                                                  "'re", " they", "'ve", " I", "'d",
                                                                  " it", "'s", " don", "'t"});
  CHECK(gpt2("I'M 'x '") == Pieces{"I", "'", "M", " '", "x", " '"});
  CHECK(gpt2("a   b") == Pieces{"a", "  ", " b"});
  CHECK(gpt2("a   ") == Pieces{"a", "   "});
  CHECK(gpt2("   a") == Pieces{"  ", " a"});
  CHECK(gpt2(" ") == Pieces{" "});
  CHECK(gpt2("a\n\nb\r\n") == Pieces{"a", "\n", "\n", "b", "\r\n"});
  CHECK(gpt2("1234567 x2") == Pieces{"1234567", " x", "2"});
  CHECK(gpt2("a!?\xC2\xA0"
             "b") == Pieces{"a", "!?", "\xC2\xA0", "b"});
  CHECK(gpt2("cafe\xCC\x81!") == Pieces{"cafe", "\xCC\x81!"});  // a mark is no letter
  CHECK(gpt2("\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82") ==
        Pieces{"\xE4\xBD\xA0\xE5\xA5\xBD", "\xE3\x80\x82"});
}

TEST_CASE("digits can be pieces of their own", "[text][split]") {
  if (!unicode_here()) return;
  const auto digits = [](const std::string& text) { return split(SplitRule::gpt2_digits, text); };
  CHECK(digits("a12 3") == Pieces{"a", "1", "2", " ", "3"});
  CHECK(digits("x  4  y") == Pieces{"x", "  ", "4", " ", " y"});
  CHECK(digits("\xD9\xA1\xD9\xA2") == Pieces{"\xD9\xA1", "\xD9\xA2"});
}

TEST_CASE("cl100k and its kin cut numbers short and keep line ends together", "[text][split]") {
  if (!unicode_here()) return;
  const auto cl100k = [](const std::string& text) { return split(SplitRule::cl100k, text); };
  CHECK(cl100k("Hello world") == Pieces{"Hello", " world"});
  CHECK(cl100k("I'M he'Ll it'\xC5\xBF x'y") ==
        Pieces{"I", "'M", " he", "'Ll", " it", "'\xC5\xBF", " x", "'y"});
  CHECK(cl100k("12345678") == Pieces{"123", "456", "78"});
  CHECK(cl100k("(word) \tword") == Pieces{"(word", ")", " ", "\tword"});
  CHECK(cl100k("a!\n\n  b") == Pieces{"a", "!\n\n", " ", " b"});
  CHECK(cl100k("a  \n \n  b") == Pieces{"a", "  \n \n", " ", " b"});
  CHECK(cl100k("a\n  ") == Pieces{"a", "\n", "  "});
  CHECK(cl100k(" !? 1") == Pieces{" !?", " ", "1"});
  CHECK(cl100k("\r\nx") == Pieces{"\r\n", "x"});
  CHECK(split(SplitRule::nanochat, "12345") == Pieces{"12", "34", "5"});
  CHECK(split(SplitRule::qwen2, "12 3") == Pieces{"1", "2", " ", "3"});
}

TEST_CASE("o200k cuts before capitals and keeps contractions with their word", "[text][split]") {
  if (!unicode_here()) return;
  const auto o200k = [](const std::string& text) { return split(SplitRule::o200k, text); };
  CHECK(o200k("Hello world") == Pieces{"Hello", " world"});
  CHECK(o200k("CamelCase HTMLPage") == Pieces{"Camel", "Case", " HTMLPage"});
  CHECK(o200k("don't I'LL x'y") == Pieces{"don't", " I'LL", " x", "'y"});
  CHECK(o200k("ABC abC") == Pieces{"ABC", " ab", "C"});
  CHECK(o200k("http://x\n//\n/") == Pieces{"http", "://", "x", "\n", "//\n/"});
  CHECK(o200k("\xE4\xB8\xAD"
              "A") == Pieces{"\xE4\xB8\xAD", "A"});  // back to what may be small
  CHECK(o200k("A\xE4\xB8\xAD"
              "B") == Pieces{"A\xE4\xB8\xAD", "B"});
  CHECK(o200k("e\xCC\x81t\xCC\x81") == Pieces{"e\xCC\x81t\xCC\x81"});  // marks belong to words
  CHECK(o200k("1234!!") == Pieces{"123", "4", "!!"});
  CHECK(o200k("a \n b") == Pieces{"a", " \n", " b"});
}

TEST_CASE("bytes that are not UTF-8 are symbols", "[text][split]") {
  if (!unicode_here()) return;
  CHECK(split(SplitRule::gpt2, "a\x80\xFF!b") == Pieces{"a", "\x80\xFF!", "b"});
  CHECK(split(SplitRule::gpt2, "a\xE4\xB8") == Pieces{"a", "\xE4\xB8"});
  CHECK(split(SplitRule::cl100k, "\xFFword") == Pieces{"\xFFword"});
  CHECK(split(SplitRule::o200k, " \xC3 ") == Pieces{" \xC3", " "});
}

TEST_CASE("a certain cut changes no piece by any rule", "[text][split]") {
  if (!unicode_here()) return;
  SmallRandom random(7);
  std::size_t cuts = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random.text(awkward_parts(), random.below(24));
    for (std::size_t cut = next_certain_cut(text, 0); cut < text.size();
         cut = next_certain_cut(text, cut + 1)) {
      ++cuts;
      for (const KnownSplit& known : known_splits) {
        Pieces parts = split(known.rule, text.substr(0, cut));
        for (std::string& piece : split(known.rule, text.substr(cut))) parts.push_back(piece);
        if (parts != split(known.rule, text))
          FAIL_CHECK(known.name << " at " << cut << ": " << text);
      }
    }
  }
  CHECK(cuts > 1000);
  CHECK(next_certain_cut("ab cd", 0) == 2);
  CHECK(next_certain_cut("ab\ncd", 0) == 3);
  CHECK(next_certain_cut("ab cd", 3) == 5);
  CHECK(next_certain_cut("", 0) == 0);
  CHECK(next_certain_cut("a  b", 0) == 1);
  CHECK(next_certain_cut("\n\nb", 0) == 3);
}

TEST_CASE("patterns are known exactly or not at all", "[text][split]") {
  for (const KnownSplit& known : known_splits) {
    CHECK(split_rule(known.name) == known.rule);
    CHECK(name_of(known.rule) == known.name);
    if (!known.pattern.empty()) CHECK(split_rule_of_pattern(known.pattern) == known.rule);
  }
  CHECK(split_rule("gpt3") == std::nullopt);
  const std::string cl100k(known_split(SplitRule::cl100k).pattern);
  CHECK(split_rule_of_pattern(cl100k + " ") == std::nullopt);
  CHECK(split_rule_of_pattern(cl100k.substr(1)) == std::nullopt);
  CHECK(split_rule_of_pattern("") == std::nullopt);
  CHECK(split_rule_of_pattern("'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
                              "\\s+(?!\\S)|\\s+") == SplitRule::gpt2);
}
