// SPDX-License-Identifier: Apache-2.0
//
// The built-in stories: the same bytes everywhere, English by their own grammar, never twice.
// The recogniser is tested from both sides: it takes all that is generated and little that is not.
// Whether a small model learns the stories is tested with the quick start, not here.

#include "support/catch.hpp"

#include <fount/data/stories.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace fount::data;

std::string stories_text(std::int64_t bytes, std::uint64_t seed) {
  std::ostringstream out;
  write_stories(out, bytes, seed);
  return out.str();
}

const std::string& half_a_megabyte() {
  static const std::string text = stories_text(500'000, 1);
  return text;
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '\'';
    if (letter) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

std::vector<std::string> split_stories(const std::string& text) {
  std::vector<std::string> stories;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", begin), text.size());
    stories.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return stories;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The sentence's pieces between spaces, marks and quotes still on their words.
std::vector<std::string> spaced_pieces(std::string_view sentence) {
  std::vector<std::string> pieces;
  std::istringstream in{std::string(sentence)};
  for (std::string piece; in >> piece;) pieces.push_back(piece);
  return pieces;
}

/// The share of mutated sentences that the recogniser turns down; unchanged mutants do not count.
template <typename Mutate>
double rejected_share(Mutate mutate) {
  std::mt19937_64 random(7);
  std::size_t tried = 0;
  std::size_t rejected = 0;
  const auto sentences = split_story_sentences(half_a_megabyte());
  for (std::size_t i = 0; i < std::min<std::size_t>(sentences.size(), 5000); ++i) {
    const std::string mutant = mutate(std::string(sentences[i]), random);
    if (mutant == sentences[i]) continue;
    ++tried;
    rejected += parses_as_story_sentence(mutant) ? 0 : 1;
  }
  return static_cast<double>(rejected) / static_cast<double>(tried);
}

}  // namespace

TEST_CASE("stories are the same bytes on every platform", "[data][stories]") {
  const std::string text = stories_text(2000, 1);
  CHECK(fnv1a(text.substr(0, 1000)) == 0xcd6e73d9b9a7bf84U);
  CHECK(fnv1a(story(0xffffffffffffffffU, 0xffffffffffffffffU)) == 0xa0486766f25dff68U);
  CHECK(text == stories_text(2000, 1));
  CHECK(text != stories_text(2000, 2));
  CHECK(text.starts_with(story(1, 0) + "\n\n" + story(1, 1)));
}

TEST_CASE("the stories' text has whole stories and at least the bytes asked for",
          "[data][stories]") {
  CHECK(stories_text(0, 1).empty());
  CHECK(stories_text(-5, 1).empty());
  CHECK(stories_text(1, 1) == story(1, 0) + "\n");
  for (const std::int64_t bytes : {1, 2, 100, 997, 10'007}) {
    const std::string text = stories_text(bytes, 3);
    CHECK(static_cast<std::int64_t>(text.size()) >= bytes);
    CHECK(text.ends_with(".\n") + text.ends_with("!\n") + text.ends_with("\"\n") == 1);
    CHECK(text.find("\n\n\n") == std::string::npos);
    const auto stories = split_stories(text);
    const auto without_last = text.size() - stories.back().size();
    CHECK(static_cast<std::int64_t>(without_last) < bytes + 2);
  }
}

TEST_CASE("half a megabyte of stories uses at least 400 words and a small alphabet",
          "[data][stories]") {
  const std::string& text = half_a_megabyte();
  const auto words = split_words(text);
  std::set<std::string> distinct;
  for (std::string word : words) {
    REQUIRE(is_story_word(word));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    distinct.insert(word);
  }
  CHECK(distinct.size() >= 400);
  CHECK(distinct.size() <= 600);
  CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,!?\"'\n") ==
        std::string::npos);
}

TEST_CASE("story words are sorted, distinct, and told apart without their capital",
          "[data][stories]") {
  const auto words = story_words();
  CHECK(std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end());
  for (const std::string_view word : words) {
    CHECK(is_story_word(word));
    std::string changed(word);
    changed[0] = static_cast<char>(changed[0] ^ 0x20);
    const bool small = word[0] >= 'a' && word[0] <= 'z';
    CHECK(is_story_word(changed) == small);
    CHECK(std::binary_search(words.begin(), words.end(), changed) == false);
  }
  for (const char* word : {"", "xyzzy", "THE", "tHe", "the ", " the", "the.", "."}) {
    CHECK_FALSE(is_story_word(word));
  }
}

TEST_CASE("the story grammar has few enough categories for the bits of an integer",
          "[data][stories]") {
  CHECK(detail::story_grammar().num_categories() <= detail::StoryGrammar::max_categories);
}

TEST_CASE("every generated sentence parses", "[data][stories]") {
  std::size_t sentences = 0;
  for (std::uint64_t seed = 1; sentences < 20'000; ++seed) {
    const std::string text = stories_text(200'000, seed);
    for (const std::string_view sentence : split_story_sentences(text)) {
      INFO(sentence);
      REQUIRE(parses_as_story_sentence(sentence));
      ++sentences;
    }
  }
}

TEST_CASE("a story keeps its hero's gender and says a before consonants only", "[data][stories]") {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::string text = story(5, i);
    INFO(text);
    const auto words = split_words(text);
    const auto says = [&](const char* word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    const bool male = says("he") || says("He") || says("his") || says("him") || says("boy");
    const bool female = says("she") || says("She") || says("her") || says("girl");
    REQUIRE_FALSE((male && female));
    for (std::size_t w = 0; w + 1 < words.size(); ++w) {
      if (words[w] != "a" && words[w] != "A") continue;
      REQUIRE(std::string_view("aeiou").find(words[w + 1][0]) == std::string_view::npos);
    }
  }
}

TEST_CASE("no story is told twice", "[data][stories]") {
  std::set<std::string> told;
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (std::string& one : split_stories(stories_text(2'000'000, seed))) {
      told.insert(std::move(one));
      ++count;
    }
  }
  CHECK(count > 10'000);
  CHECK(told.size() == count);
}

TEST_CASE("a cut at nine tenths leaves no validation story in the training part",
          "[data][stories]") {
  const std::string& text = half_a_megabyte();
  const std::size_t cut = text.size() / 10 * 9;
  const auto training = split_stories(text.substr(0, cut));
  const std::set<std::string> known(training.begin(), training.end());
  for (const std::string& one : split_stories(text.substr(cut))) CHECK_FALSE(known.contains(one));
}

TEST_CASE("the recogniser wants marks, spaces and capitals as generated", "[data][stories]") {
  CHECK(parses_as_story_sentence("He looked under the bed."));
  CHECK(parses_as_story_sentence("\"Can you help me?\" asked Tom."));
  CHECK(parses_as_story_sentence("Tom was happy, and so was the fox."));
  for (const char* wrong : {"",
                            " ",
                            ".",
                            "\"",
                            "He",
                            "he looked under the bed.",
                            "He looked under the bed",
                            "He looked under the bed .",
                            "He looked  under the bed.",
                            "He looked under the Bed.",
                            " He looked under the bed.",
                            "He looked under the bed. ",
                            "He looked under the bed..",
                            "He looked under the bed?",
                            "He looked under bed the.",
                            "He looked, under the bed.",
                            "\"Can you help me?\" asked tom.",
                            "\"Can you help me?\" Asked Tom.",
                            "\"can you help me?\" asked Tom.",
                            "\"Can you help me?\" asked Tom",
                            "\"Can you help me?\"asked Tom.",
                            "\" Can you help me?\" asked Tom.",
                            "Can you help me?\" asked Tom.",
                            "He looked under the bed.\n",
                            "He looked\nunder the bed.",
                            "He looked under the bed. He looked under the bed.",
                            "He l\xc3\xb6oked under the bed.",
                            "He looked under the / bed.",
                            "< Can you help me ? > asked Tom ."}) {
    INFO(wrong);
    CHECK_FALSE(parses_as_story_sentence(wrong));
  }
  CHECK_FALSE(parses_as_story_sentence(std::string(100'000, 'a')));
  std::string endless = "He looked under the bed";
  for (int i = 0; i < 10'000; ++i) endless += " and under the bed";
  CHECK_FALSE(parses_as_story_sentence(endless + "."));
}

TEST_CASE("the recogniser turns down most sentences with one letter changed", "[data][stories]") {
  CHECK(rejected_share([](std::string sentence, std::mt19937_64& random) {
          std::size_t at = random() % sentence.size();
          while (sentence[at] < 'a' || sentence[at] > 'z') at = random() % sentence.size();
          sentence[at] = static_cast<char>('a' + random() % 26);
          return sentence;
        }) >= 0.95);
}

TEST_CASE("the recogniser turns down most sentences with their words out of order",
          "[data][stories]") {
  CHECK(rejected_share([](const std::string& sentence, std::mt19937_64& random) {
          auto words = split_words(sentence);
          for (std::size_t i = words.size(); i > 1; --i)
            std::swap(words[i - 1], words[random() % i]);
          words[0][0] = static_cast<char>(words[0][0] & ~0x20);
          return join(words) + ".";
        }) >= 0.95);
  CHECK(rejected_share([](const std::string& sentence, std::mt19937_64& random) {
          auto pieces = spaced_pieces(sentence);
          std::swap(pieces[random() % pieces.size()], pieces[random() % pieces.size()]);
          return join(pieces);
        }) >= 0.95);
  CHECK(rejected_share([](const std::string& sentence, std::mt19937_64& random) {
          auto pieces = spaced_pieces(sentence);
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(random() % pieces.size()));
          return join(pieces);
        }) >= 0.85);
}

TEST_CASE("text is split into its sentences", "[data][stories]") {
  using Sentences = std::vector<std::string_view>;
  CHECK(split_story_sentences("").empty());
  CHECK(split_story_sentences("\n \n").empty());
  CHECK(split_story_sentences("A cat. A dog!\n\nA pig") == Sentences{"A cat.", "A dog!", "A pig"});
  CHECK(split_story_sentences(
            "\"Who is it?\" he asked. \"Me,\" said Tom. Tom said, \"Me.\" He ran.") ==
        Sentences{"\"Who is it?\" he asked.", "\"Me,\" said Tom.", "Tom said, \"Me.\"", "He ran."});
  CHECK(split_story_sentences("...") == Sentences{"..."});
}
