// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/bpe.hpp>
#include <fount/text/bpe_trainer.hpp>
#include <fount/text/load_tokenizer.hpp>
#include <fount/text/word_counter.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Words = std::vector<std::pair<std::string, std::int64_t>>;

WordCounter counted(const Words& words) {
  WordCounter counter;
  for (const auto& [word, count] : words) counter.add(word, count);
  return counter;
}

BpeTrainerOptions options(std::int64_t vocab_size, std::int64_t min_frequency = 0) {
  BpeTrainerOptions result;
  result.vocab_size = vocab_size;
  result.min_frequency = min_frequency;
  result.special_tokens.clear();
  return result;
}

std::string bytes(const BpeModel& model, std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  return model.tokens[at].empty() ? "?" : model.tokens[at];
}
/// The merges as "a b" strings.
std::vector<std::string> merges(const BpeModel& model) {
  std::vector<std::string> lines;
  for (const BpeMerge& merge : model.merges) {
    lines.push_back(bytes(model, merge.left) + " " + bytes(model, merge.right));
    CHECK(bytes(model, merge.result) == bytes(model, merge.left) + bytes(model, merge.right));
  }
  return lines;
}
std::vector<std::string> merges(const Words& words, const BpeTrainerOptions& how) {
  return merges(train_bpe(counted(words), how));
}

using Lines = std::vector<std::string>;

/// The definition: count all pairs of all words anew for each merge.
Lines reference_merges(const Words& words, std::int64_t merges_wanted, std::int64_t min_count,
                       std::int64_t max_length) {
  std::map<std::string, int> ids;  // letters in order, then merged tokens
  std::vector<std::vector<std::string>> rows;
  for (char c = 'a'; c <= 'z'; ++c) ids.emplace(std::string(1, c), c);
  for (const auto& [word, count] : words) {
    rows.emplace_back();
    for (const char c : word) rows.back().emplace_back(1, c);
  }
  Lines lines;
  while (static_cast<std::int64_t>(lines.size()) < merges_wanted) {
    std::map<std::pair<int, int>, std::pair<std::int64_t, std::pair<std::string, std::string>>>
        pairs;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t i = 0; i + 1 < rows[row].size(); ++i) {
        const std::string& left = rows[row][i];
        const std::string& right = rows[row][i + 1];
        const auto length = static_cast<std::int64_t>(left.size() + right.size());
        if (max_length > 0 && length > 2 && length >= max_length) continue;
        auto& entry = pairs[{ids[left], ids[right]}];
        entry.first += words[row].second;
        entry.second = {left, right};
      }
    }
    const auto* best = static_cast<const decltype(pairs)::mapped_type*>(nullptr);
    for (const auto& [key, entry] : pairs) {
      if (best == nullptr || entry.first > best->first) best = &entry;
    }
    if (best == nullptr || best->first < std::max<std::int64_t>(min_count, 1)) break;
    const auto [left, right] = best->second;
    lines.push_back(left + " " + right);
    ids.emplace(left + right, 1000 + static_cast<int>(lines.size()));
    for (auto& row : rows) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        if (row[i] != left || row[i + 1] != right) continue;
        row[i] += right;
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("bpe training merges the most frequent pair, of equals the smallest ids",
          "[text][training]") {
  const Words words = {{"hug", 10}, {"pug", 5}, {"pun", 12}, {"bun", 4}, {"hugs", 5}};
  // ug 20, un 16, h+ug 15, p+un 12; then p+ug and hug+s are equal with 5, and p is the older token.
  CHECK(merges(words, options(1000)) ==
        Lines{"u g", "u n", "h ug", "p un", "p ug", "hug s", "b un"});
  CHECK(merges(words, options(1000, 5)) == Lines{"u g", "u n", "h ug", "p un", "p ug", "hug s"});
  CHECK(merges(words, options(1000, 21)).empty());
  CHECK(merges(words, options(259)) == Lines{"u g", "u n", "h ug"});
  // cc and dd 6 times, aa and bb 4 times.
  const Words ties = {{"bbbaaaddddcccc", 1}, {"aaabbbccccdddd", 1}};
  CHECK(merges(ties, options(260)) == Lines{"c c", "d d", "a a", "b b"});
}

TEST_CASE("a pair that overlaps itself merges from the left", "[text][training]") {
  CHECK(merges({{"aaa", 3}}, options(300)) == Lines{"a a", "aa a"});
  CHECK(merges({{"aaaa", 1}}, options(300)) == Lines{"a a", "aa aa"});
  CHECK(merges({{"aaaaa", 1}}, options(300)) == Lines{"a a", "aa a", "aa aaa"});
  CHECK(merges({{"abab", 2}}, options(300)) == Lines{"a b", "ab ab"});
  CHECK(merges({{"abcbc", 3}, {"aabc", 1}}, options(300)) ==
        Lines{"b c", "a bc", "abc bc", "a abc"});
}

TEST_CASE("bpe training with nothing to merge gives the bytes", "[text][training]") {
  for (const Words& words : {Words{}, Words{{"", 9}}, Words{{"a", 9}, {"b", 1}}}) {
    const BpeModel model = train_bpe(counted(words), options(1000));
    CHECK(model.merges.empty());
    REQUIRE(model.tokens.size() == 256);
    CHECK(model.tokens[0] == "!");  // GPT-2's order
    CHECK(model.tokens[93] == "~");
    CHECK(model.tokens[94] == "\xA1");
    CHECK(model.tokens[188] == std::string(1, '\0'));
    CHECK(model.tokens[220] == " ");
    CHECK(model.tokens[255] == "\xAD");
  }
  // A vocabulary smaller than the alphabet has the whole alphabet all the same.
  CHECK(train_bpe(counted({{"abab", 9}}), options(1)).tokens.size() == 256);
  CHECK(merges({{"ab", 9}}, options(256)).empty());
  CHECK(merges({{"ab", 9}}, options(257)) == Lines{"a b"});
}

TEST_CASE("counts beyond 32 bits decide as they should", "[text][training]") {
  const std::int64_t billion = 1'000'000'000;
  // As 32-bit numbers 3e9 would be negative, and 5e9 less than 2e9.
  const Words words = {{"ab", 2 * billion}, {"cd", 3 * billion}, {"ef", 5 * billion}, {"xab", 1}};
  CHECK(merges(words, options(300)) == Lines{"e f", "c d", "a b", "x ab"});
  const std::int64_t large = std::int64_t{1} << 60;
  CHECK(merges({{"abc", large}, {"bc", 1}}, options(300)) == Lines{"b c", "a bc"});
}

TEST_CASE("special tokens come first, and are used where bytes spell them", "[text][training]") {
  auto how = options(300);
  how.special_tokens = {"<|endoftext|>", "ab", "<x>", "a", "<x>"};
  const BpeModel model = train_bpe(counted({{"abc", 3}}), how);
  CHECK(merges(model) == Lines{"a b", "ab c"});
  CHECK(model.merges[0] == BpeMerge{3, model.merges[0].right, 1});  // "a" is 3, "ab" is 1
  CHECK(model.tokens.size() == 4 + 255 + 1);  // four names, the bytes but "a", "abc"
  REQUIRE(model.added.size() == 4);
  CHECK(model.added[0].content == "<|endoftext|>");
  CHECK(model.added[2].id == 2);
  CHECK(model.tokens[0].empty());
  CHECK(model.tokens[1] == "ab");
}

TEST_CASE("max_token_length keeps merged pairs below it", "[text][training]") {
  const Words words = {{"abc", 5}, {"abcd", 4}};
  const auto up_to = [&](std::int64_t length) {
    auto how = options(300);
    how.max_token_length = length;
    return merges(words, how);
  };
  // Pairs of bytes always count; longer ones only if they have fewer than that many bytes.
  for (const int length : {1, 2, 3}) CHECK(up_to(length) == Lines{"a b", "c d"});
  CHECK(up_to(4) == Lines{"a b", "ab c"});
  CHECK(up_to(5) == Lines{"a b", "ab c", "abc d"});
  CHECK(up_to(0) == Lines{"a b", "ab c", "abc d"});
}

TEST_CASE("bpe training does what its definition says on random words", "[text][training]") {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 150; ++round) {
    std::map<std::string, std::int64_t> distinct;
    const std::uint64_t letters = 1 + below(4);
    for (std::uint64_t i = 0; i < 1 + below(12); ++i) {
      std::string word;
      for (std::uint64_t n = below(14); n > 0; --n) word += static_cast<char>('a' + below(letters));
      distinct[word] += static_cast<std::int64_t>(1 + below(5));
    }
    const Words words(distinct.begin(), distinct.end());
    const auto min_count = static_cast<std::int64_t>(below(4));
    const auto max_length = static_cast<std::int64_t>(below(3) == 0 ? 1 + below(7) : 0);
    const auto wanted = static_cast<std::int64_t>(below(40));
    auto how = options(256 + wanted, min_count);
    how.max_token_length = max_length;
    CHECK(merges(words, how) == reference_merges(words, wanted, min_count, max_length));
  }
}

TEST_CASE("one word of a million letters is merged without visiting it again", "[text][training]") {
  std::string word;
  std::mt19937_64 random(3);
  while (word.size() < 1'000'000) word += static_cast<char>('a' + random() % 26);
  // With a walk over the word for each of 2000 merges this would take minutes.
  CHECK(train_bpe(counted({{word, 1}}), options(2256, 2)).merges.size() == 2000);
}

TEST_CASE("bpe training tells how far it is", "[text][training]") {
  std::string word;
  std::mt19937_64 random(3);
  while (word.size() < 5000) word += static_cast<char>('a' + random() % 26);
  std::vector<double> parts;
  train_bpe(counted({{word, 2}}), options(756), [&](double part) { parts.push_back(part); });
  REQUIRE(parts.size() >= 5);
  CHECK(std::ranges::is_sorted(parts));
  CHECK(parts.front() > 0);
  CHECK(parts.back() <= 1);
}

TEST_CASE("options of bpe training that make no sense are refused", "[text][training]") {
  const WordCounter words = counted({{"ab", 1}});
  const auto refusal = [&](auto change) {
    BpeTrainerOptions how;
    change(how);
    return message_of<ConfigError>([&] { train_bpe(words, how); });
  };
  CHECK(mentions(refusal([](auto& o) { o.vocab_size = 0; }), "vocab_size is 0", "from 1"));
  CHECK(mentions(refusal([](auto& o) { o.vocab_size = std::int64_t{1} << 40; }), "vocab_size"));
  CHECK(mentions(refusal([](auto& o) { o.min_frequency = -1; }), "min_frequency"));
  CHECK(mentions(refusal([](auto& o) { o.max_token_length = -1; }), "max_token_length"));
  CHECK(mentions(refusal([](auto& o) { o.special_tokens = {""}; }), "empty"));
  CHECK(mentions(refusal([](auto& o) { o.special_tokens = {"\xFF"}; }), "UTF-8"));
  // How files spell " t" and the byte E9: a file could not tell them from those.
  CHECK(mentions(refusal([](auto& o) { o.special_tokens = {"\xC4\xA0t"}; }), "other bytes"));
  CHECK(mentions(refusal([](auto& o) { o.special_tokens = {"\xC3\xA9"}; }), "other bytes"));
  CHECK(refusal([](auto& o) {
          o.special_tokens = {
              "<d\xC3\xA9"
              "but>",
              "\xE2\x82\xAC"};
        }).empty());
}

TEST_CASE("a trained bpe tokenizer is saved and loaded as it is", "[text][training]") {
  if (!unicode_here()) return;
  BpeTrainerOptions how = options(300);
  how.special_tokens = {"<|endoftext|>", "ab"};
  const BpeTokenizer tokenizer(
      train_bpe(counted({{"abc", 3}, {" abab", 2}, {"\xFF\xFE", 2}, {"\n\n", 2}}), how));
  const TemporaryFolder folder;
  tokenizer.save(folder.path());
  const auto loaded = load_tokenizer(folder.path());
  CHECK(loaded->to_json() == tokenizer.to_json());
  const std::string text = "abc abab\n\n<|endoftext|> \xFF\xFE abcab";
  CHECK(loaded->encode(text) == tokenizer.encode(text));
  CHECK(loaded->decode(loaded->encode(text)) == text);
  CHECK(tokenizer.encode("abc").size() == 1);
  CHECK(tokenizer.end_of_text() == 0);
}
