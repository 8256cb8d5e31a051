// SPDX-License-Identifier: Apache-2.0
#include <fount/text/wordpiece_trainer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/load_tokenizer.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Tokens = std::vector<std::string>;

WordCounter counted(const std::vector<std::pair<std::string, std::int64_t>>& words) {
  WordCounter counter;
  for (const auto& [word, count] : words) counter.add(word, count);
  return counter;
}
WordPieceTrainerOptions options(std::int64_t vocab_size) {
  WordPieceTrainerOptions result;
  result.vocab_size = vocab_size;
  result.min_frequency = 0;
  result.special_tokens = {"[UNK]"};
  return result;
}

}  // namespace

TEST_CASE("a WordPiece vocabulary has specials, characters, ##characters, then merges",
          "[text][training]") {
  // a+##b 5 times, ##b+##b twice; "b" begins a word once and continues others.
  const WordCounter words = counted({{"ab", 3}, {"abb", 2}, {"b", 1}});
  CHECK(train_wordpiece(words, options(100)).tokens ==
        Tokens{"[UNK]", "a", "b", "##b", "ab", "abb"});
  auto often = options(100);
  often.min_frequency = 3;
  CHECK(train_wordpiece(words, often).tokens == Tokens{"[UNK]", "a", "b", "##b", "ab"});
  // Smaller than what must be there: no merges.
  CHECK(train_wordpiece(words, options(1)).tokens == Tokens{"[UNK]", "a", "b", "##b"});
  CHECK(train_wordpiece(counted({}), options(100)).tokens == Tokens{"[UNK]"});
  CHECK(train_wordpiece(counted({{"x", 1}}), options(100)).tokens == Tokens{"[UNK]", "x"});
}

TEST_CASE("pieces that continue words are numbered in the order of their characters",
          "[text][training]") {
  // ##z is met first, and both pairs occur once: the smaller id goes first.
  CHECK(train_wordpiece(counted({{"xzy", 1}, {"xyz", 1}}), options(8)).tokens ==
        Tokens{"[UNK]", "x", "y", "z", "##y", "##z", "xy", "xz"});
}

TEST_CASE("rare characters are left out where the alphabet is limited", "[text][training]") {
  auto how = options(100);
  how.limit_alphabet = 1;
  // b occurs 8 times, a 5 times: "ab" is ##b alone, "abb" is ##b ##b.
  CHECK(train_wordpiece(counted({{"ab", 3}, {"abb", 2}, {"b", 1}}), how).tokens ==
        Tokens{"[UNK]", "b", "##b", "##bb"});
  how.limit_alphabet = 2;  // x and y are equal: the smaller character stays
  CHECK(train_wordpiece(counted({{"y", 1}, {"x", 1}, {"\u4E2D", 2}}), how).tokens ==
        Tokens{"[UNK]", "x", "\u4E2D"});
}

TEST_CASE("names that come about twice keep one id", "[text][training]") {
  // "#" and "##" + "#" make "##"; with another "###" that is the name of the continuing "#".
  const WordPieceModel model =
      train_wordpiece(counted({{"###", 5}, {"####", 3}, {"#########", 1}}), options(100));
  Tokens sorted = model.tokens;
  std::ranges::sort(sorted);
  CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
}

TEST_CASE("a trained WordPiece tokenizer spells the words it learned from", "[text][training]") {
  if (!unicode_here()) return;
  const std::string text =
      "The un\u00E9qual words, the words and the unequal wards: \u4E2D\u56FD \u4E2D.";
  const std::string_view texts[] = {text};
  const WordCounter words = count_words(
      texts,
      [](std::string_view part, const auto& emit) {
        BertWords(BertTextOptions()).for_each(part, emit);
      },
      2);
  auto how = options(60);
  how.special_tokens = bert_special_names();
  const WordPieceTokenizer tokenizer(train_wordpiece(words, how));
  const TemporaryFolder folder;
  tokenizer.save(folder.path());
  folder.file("vocab.txt", wordpiece_vocabulary_text(tokenizer.model()));
  const auto ids = tokenizer.encode(text);
  CHECK(std::ranges::count(ids, *tokenizer.unknown_token()) == 0);
  CHECK(tokenizer.decode(ids) ==
        "the unequal words, the words and the unequal wards : \u4E2D \u56FD \u4E2D.");
  CHECK(load_tokenizer(folder.path())->encode(text) == ids);
  CHECK(load_tokenizer(folder / "vocab.txt")->encode(text) == ids);
  CHECK(load_tokenizer(folder / "vocab.txt")->to_json() == tokenizer.to_json());
}

TEST_CASE("options of WordPiece training that make no sense are refused", "[text][training]") {
  const WordCounter words = counted({{"ab", 1}});
  const auto refusal = [&](auto change) {
    WordPieceTrainerOptions how;
    change(how);
    return message_of<ConfigError>([&] { train_wordpiece(words, how); });
  };
  CHECK(mentions(refusal([](auto& o) { o.vocab_size = -5; }), "vocab_size is -5"));
  CHECK(mentions(refusal([](auto& o) { o.min_frequency = -1; }), "min_frequency"));
  CHECK(mentions(refusal([](auto& o) { o.limit_alphabet = -1; }), "limit_alphabet"));
  CHECK(mentions(refusal([](auto& o) { o.special_tokens = {""}; }), "empty"));
  CHECK(mentions(message_of<Error>([] { train_wordpiece(counted({{"a\xFF", 1}}), {}); }), "UTF-8"));
}
