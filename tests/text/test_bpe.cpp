// SPDX-License-Identifier: Apache-2.0
#include <fount/text/bpe.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fount/text/parallel_encoding.hpp>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Ids = std::vector<std::int32_t>;

/// Small, with special tokens and a word that is always found.
BpeModel model_with_added() {
  BpeModel model = small_bpe({{"a", "b"}, {"ab", "c"}, {" ", "a"}});  // 256, 257, 258
  model.added = {{.content = "<|end|>", .id = 300},
                 {.content = "<|end|>!", .id = 301},
                 {.content = "<|x y|>", .id = 302},
                 {.content = "b c", .id = 303, .special = false, .normalized = true},
                 {.content = "<|endoftext|>", .id = 304}};
  return model;
}
std::string refusal(const BpeModel& model) {
  return message_of<Error>([&] { BpeTokenizer tokenizer(model); });
}

}  // namespace

TEST_CASE("the lowest rank merges first, the leftmost of equal ones", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(small_bpe({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "a"}}));
  CHECK(tokenizer.encode("abc") == Ids{'a', 256});
  CHECK(tokenizer.encode("abab") == Ids{257, 257});
  CHECK(tokenizer.encode("aaa") == Ids{259});
  CHECK(tokenizer.encode("aaaa") == Ids{258, 258});  // both pairs before "aa" + "a"
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.encode("a b") == Ids{'a', ' ', 'b'});  // never across pieces
  CHECK(tokenizer.vocab_size() == 260);
  CHECK(tokenizer.kind() == "bpe");
  CHECK(tokenizer.token(259) == "aaa");
}

TEST_CASE("hashes tell rules apart, too", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeModel model = small_bpe({{"a", "b"}, {"b", "c"}, {"ab", "c"}});
  BpeModel swapped = model;  // "abc" becomes a + bc
  std::swap(swapped.merges[0], swapped.merges[1]);
  BpeModel split = model;
  split.split = SplitRule::cl100k;
  const std::uint64_t hash = BpeTokenizer(model).hash();
  CHECK(BpeTokenizer(model).hash() == hash);
  CHECK(BpeTokenizer(swapped).hash() != hash);
  CHECK(BpeTokenizer(split).hash() != hash);
}

TEST_CASE("short and long pieces merge as the plain rule says", "[text][bpe]") {
  if (!unicode_here()) return;
  SmallRandom random(3);
  for (int trial = 0; trial < 60; ++trial) {
    // Merges in an order that no training would give: later ones may come before their parts.
    std::vector<std::pair<std::string, std::string>> merges;
    std::vector<std::string> tokens = {"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      const auto size = static_cast<std::uint32_t>(tokens.size());
      const std::string left = tokens[random.below(size)];
      const std::string right = tokens[random.below(size)];
      if (std::ranges::count(tokens, left + right) > 0) continue;
      merges.emplace_back(left, right);
      tokens.push_back(left + right);
    }
    BpeModel model = small_bpe(merges);
    std::reverse(model.merges.begin() + static_cast<std::ptrdiff_t>(random.below(6)),
                 model.merges.end());
    const BpeTokenizer tokenizer(model);
    for (const std::uint32_t size : {1U, 2U, 15U, 16U, 39U, 40U, 41U, 97U, 200U}) {
      const std::string piece = random.text({"a", "b", "c"}, size);
      if (tokenizer.encode(piece) != merge_plainly(model, piece)) FAIL_CHECK(piece);
    }
  }
}

TEST_CASE("merging by id takes any two neighbours that are a token", "[text][bpe]") {
  if (!unicode_here()) return;
  BpeModel model = small_bpe({{"a", "b"}, {"c", "d"}, {"ab", "cd"}});
  model.tokens.push_back("xyz");  // no two tokens make it
  model.merges.clear();
  model.merge_by_id = true;
  const BpeTokenizer tokenizer(model);
  CHECK(tokenizer.encode("abcd") == Ids{258});
  CHECK(tokenizer.encode("abcda") == Ids{258, 'a'});
  CHECK(tokenizer.encode("xyz") == Ids{259});  // a whole piece
  CHECK(tokenizer.encode("xyza") == Ids{'x', 'y', 'z', 'a'});
  CHECK(merges_by_id(TokenTable(model.tokens)).size() == 3);
}

TEST_CASE("whether a whole piece that is a token skips the merges is told", "[text][bpe]") {
  if (!unicode_here()) return;
  BpeModel model = small_bpe({{"b", "c"}, {"a", "b"}, {"ab", "c"}});
  CHECK(BpeTokenizer(model).encode("abc") == Ids{'a', 256});
  model.ignore_merges = true;
  CHECK(BpeTokenizer(model).encode("abc") == Ids{258});
}

TEST_CASE("special tokens are text unless they are allowed", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(model_with_added());
  const std::string text = "ab<|end|>ab";
  CHECK(tokenizer.encode(text) == Ids{256, '<', '|', 'e', 'n', 'd', '|', '>', 256});
  CHECK(tokenizer.encode(text, AllowedSpecial::none()) == tokenizer.encode(text));
  CHECK(tokenizer.encode(text, AllowedSpecial::all()) == Ids{256, 300, 256});
  CHECK(tokenizer.encode("<|end|>!", AllowedSpecial::all()) == Ids{301});  // the longest
  CHECK(tokenizer.encode("<|end|>!", AllowedSpecial::names({"<|end|>"})) == Ids{300, '!'});
  CHECK(tokenizer.encode("<|x y|><|end|>", AllowedSpecial::names({"<|x y|>"})).front() == 302);
  CHECK(tokenizer.encode("<|<|end|>", AllowedSpecial::all()) == Ids{'<', '|', 300});
  CHECK(mentions(message_of<Error>([&] { tokenizer.encode("", AllowedSpecial::names({"<e>"})); }),
                 "'<e>'", "<|end|>"));
  CHECK(tokenizer.special_tokens().size() == 4);
  CHECK(tokenizer.find_special("<|x y|>") == 302);
  CHECK(tokenizer.end_of_text() == 304);
  CHECK(BpeTokenizer(small_bpe()).end_of_text() == std::nullopt);
  for (const auto& allowed : {AllowedSpecial::none(), AllowedSpecial::all()}) {
    CHECK(tokenizer.decode(tokenizer.encode(text, allowed)) == text);
  }
}

TEST_CASE("added words are always found, and are one place to cut", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(model_with_added());
  CHECK(tokenizer.encode("ab cab") == Ids{'a', 303, 256});
  CHECK(tokenizer.encode("b") == Ids{'b'});
  // The cut at the space would go through the word.
  CHECK(tokenizer.next_cut("ab cab ab", 0) == 6);
  CHECK(tokenizer.next_cut("a <|x y|> b", 0, AllowedSpecial::all()) == 1);
  CHECK(tokenizer.next_cut("a <|x y|> b", 2, AllowedSpecial::all()) == 9);
  CHECK(tokenizer.next_cut("a <|x y|> b", 2, AllowedSpecial::none()) == 5);
}

TEST_CASE("ids that a vocabulary leaves out stand for nothing", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(model_with_added());
  CHECK(tokenizer.vocab_size() == 305);
  CHECK(tokenizer.token(258) == " a");
  CHECK(tokenizer.token(270).empty());
  CHECK(tokenizer.token(304) == "<|endoftext|>");
  CHECK_THROWS_AS(tokenizer.token(305), Error);
  CHECK_THROWS_AS(tokenizer.decode(Ids{-1}), Error);
}

TEST_CASE("every string of bytes comes back", "[text][bpe]") {
  if (!unicode_here()) return;
  SmallRandom random(11);
  for (const KnownSplit& known : known_splits) {
    BpeModel model = small_bpe({{"a", "b"}, {"\xC3", "\xA9"}, {" ", "a"}, {"\xFF", "\x80"}});
    model.split = known.rule;
    model.added = {{.content = "<|x y|>", .id = 300}};
    const BpeTokenizer tokenizer(model);
    for (int i = 0; i < 400; ++i) {
      std::string bytes(random.below(60), '\0');
      for (char& c : bytes) c = static_cast<char>(static_cast<unsigned char>(random.below(256)));
      const std::string text = random.text(awkward_parts(), random.below(30));
      for (const std::string& each : {bytes, text}) {
        if (tokenizer.decode(tokenizer.encode(each)) != each ||
            tokenizer.decode(tokenizer.encode(each, AllowedSpecial::all())) != each) {
          FAIL_CHECK(known.name << ": " << each);
        }
      }
    }
  }
}

TEST_CASE("what was encoded before does not change ids", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeModel model = small_bpe({{"a", "b"}, {"b", "c"}, {"ab", "c"}, {" ", "a"}});
  const BpeTokenizer warm(model);
  SmallRandom random(5);
  for (int i = 0; i < 60'000; ++i) {  // more words than the cache has places
    warm.encode(random.text({"a", "b", "c", "d", "e"}, 1 + random.below(15)));
  }
  for (int i = 0; i < 300; ++i) {
    const std::string word = random.text({"a", "b", "c", "d", "e"}, 1 + random.below(17));
    if (warm.encode(word) != merge_plainly(model, word)) FAIL_CHECK(word);
  }
  // Zeros at the end of a piece are bytes like others.
  const std::string zeros("!\0\0", 3);
  CHECK(warm.encode("!") == Ids{'!'});
  CHECK(warm.encode(zeros) == Ids{'!', 0, 0});
  CHECK(warm.encode(zeros.substr(0, 2)) == Ids{'!', 0});
}

TEST_CASE("threads change nothing", "[text][bpe]") {
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(model_with_added());
  SmallRandom random(17);
  std::vector<std::string> parts = awkward_parts();
  for (const char* more : {" ab", " abc", "b c", "<|end|>", "<|endoftext|>", "\nword"}) {
    parts.push_back(more);
  }
  const std::string text = random.text(parts, 20'011);
  const std::vector<std::string_view> texts = {"", "ab", text, "<|end|>", "\xFF"};
  for (const auto& allowed :
       {AllowedSpecial::none(), AllowedSpecial::all(), AllowedSpecial::names({"<|x y|>"})}) {
    const Ids expected = tokenizer.encode(text, allowed);
    for (const int threads : {1, 2, 3, 8}) {
      ThreadPool pool(threads);
      for (const std::size_t part : {std::size_t{1}, std::size_t{97}, std::size_t{1} << 18U}) {
        CHECK(encode_parallel(tokenizer, text, allowed, pool, part) == expected);
      }
      const auto all = encode_all(tokenizer, texts, allowed, pool);
      REQUIRE(all.size() == texts.size());
      for (std::size_t i = 0; i < texts.size(); ++i) {
        CHECK(all[i] == tokenizer.encode(texts[i], allowed));
      }
    }
  }
  ThreadPool pool(2);
  CHECK_THROWS_AS(encode_parallel(tokenizer, text, AllowedSpecial::names({"no"}), pool), Error);
  CHECK(encode_parallel(tokenizer, "", AllowedSpecial::none(), pool).empty());
}

TEST_CASE("work on one long piece grows as its length", "[text][bpe]") {
  std::vector<std::pair<std::string, std::string>> merges;
  for (std::size_t size = 1; size <= 64; size *= 2) {
    merges.emplace_back(std::string(size, 'a'), std::string(size, 'a'));
  }
  merges.emplace_back("ab", "ab");
  merges.emplace(merges.begin(), "a", "b");
  const BpeModel model = small_bpe(merges);
  PairTable pairs(model.merges.size());
  for (std::size_t rank = 0; rank < model.merges.size(); ++rank) {
    const BpeMerge& merge = model.merges[rank];
    pairs.insert(merge.left, merge.right, {static_cast<std::uint32_t>(rank), merge.result});
  }
  std::array<std::int32_t, 256> bytes{};
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte] = static_cast<std::int32_t>(byte);
  for (const std::string unit : {"a", "ab", "aab", "^", " ", "\n", "\xE4\xB8\xAD"}) {
    for (const std::size_t size : {std::size_t{1} << 16U, std::size_t{1} << 20U}) {
      std::string piece;
      while (piece.size() < size) piece += unit;
      PieceMerger merger;
      Ids ids;
      merger.merge(piece, bytes, PairRanks{pairs}, ids);
      INFO(unit << " " << size << ": " << merger.steps() << " steps");
      // A pair for each neighbour, and at most two new ones for each merge.
      CHECK(merger.steps() <= static_cast<std::int64_t>(3 * piece.size()));
      CHECK((ids.size() == piece.size() || unit[0] == 'a'));
    }
  }
}

TEST_CASE("vocabularies that contradict themselves are refused", "[text][bpe]") {
  if (!unicode_here()) return;
  const auto changed = [](auto change) {
    BpeModel model = model_with_added();
    change(model);
    return refusal(model);
  };
  CHECK(changed([](BpeModel&) {}).empty());
  CHECK(mentions(changed([](BpeModel& m) { m.tokens[65] = "AB"; }), "the byte 65"));
  CHECK(mentions(changed([](BpeModel& m) { m.tokens.clear(); }), "the byte 0"));
  CHECK(mentions(changed([](BpeModel& m) { m.tokens.push_back("ab"); }), "256 and 259"));
  CHECK(mentions(changed([](BpeModel& m) { m.merges[1].result = 258; }), "merge 1", "258"));
  CHECK(mentions(changed([](BpeModel& m) { m.merges[1].left = -5; }), "merge 1", "-5"));
  CHECK(mentions(changed([](BpeModel& m) { m.merges[1].right = 1 << 30; }), "merge 1"));
  CHECK(mentions(changed([](BpeModel& m) { m.merges.push_back(m.merges[0]); }), "merge 3", "once"));
  CHECK(mentions(changed([](BpeModel& m) { m.added[1].id = 300; }), "<|end|>!", "another token"));
  CHECK(mentions(changed([](BpeModel& m) { m.added[1].id = 97; }), "another token"));
  CHECK(mentions(changed([](BpeModel& m) { m.added[1].content = "<|end|>"; }), "twice"));
  CHECK(mentions(changed([](BpeModel& m) { m.added[1].content = ""; }), "name"));
  CHECK(mentions(changed([](BpeModel& m) { m.added[1].id = -1; }), "-1"));
}
