// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/split.hpp>
#include <fount/text/word_counter.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Counts = std::map<std::string, std::int64_t>;

Counts counts_of(const WordCounter& counter) {
  Counts counts;
  counter.for_each(
      [&](std::string_view word, std::int64_t count) { counts[std::string(word)] += count; });
  return counts;
}

/// Lines of words of many lengths, with blank lines and runs of spaces between them.
std::string some_text(std::size_t size) {
  std::string text;
  std::mt19937_64 random(5);
  while (text.size() < size) {
    const std::uint64_t number = random();
    text += std::to_string(number >> (number % 64));
    text += number % 7 == 0 ? "\n\n" : number % 5 == 0 ? "\n" : number % 3 == 0 ? "  " : " x";
  }
  return text;
}

void split_gpt2(std::string_view text, const std::function<void(std::string_view)>& emit) {
  for_each_piece(SplitRule::gpt2, text, [&](std::size_t begin, std::size_t end) {
    emit(text.substr(begin, end - begin));
  });
}

}  // namespace

TEST_CASE("a word counter counts words of any bytes", "[text][training]") {
  WordCounter counter;
  CHECK(counter.distinct() == 0);
  CHECK(counts_of(counter).empty());
  const std::string zero("a\0b", 3);
  counter.add("a");
  counter.add(zero, 3);
  counter.add("a", 4);
  counter.add("\xFF");
  counter.add("");
  counter.add("b", 0);
  counter.add("b", -1);
  CHECK(counts_of(counter) == Counts{{"a", 5}, {zero, 3}, {"\xFF", 1}});
  CHECK(counter.distinct() == 3);
  CHECK(counter.total_bytes() == 5 + 9 + 1);
  CHECK(counter.distinct_bytes() == 5);
}

TEST_CASE("word counters merge, through many growths", "[text][training]") {
  WordCounter even;
  WordCounter all;
  Counts expected;
  for (int i = 0; i < 5003; ++i) {
    const std::string word =
        std::to_string(i % 2503) + std::string(static_cast<std::size_t>(i % 19), 'x');
    (i % 2 == 0 ? even : all).add(word, i + 1);
    expected[word] += i + 1;
  }
  all.merge(even);
  CHECK(counts_of(all) == expected);
}

TEST_CASE("counts have 64 bits, and more is refused", "[text][training]") {
  WordCounter counter;
  counter.add("ab", std::int64_t{1} << 61);
  CHECK(counts_of(counter)["ab"] == std::int64_t{1} << 61);
  CHECK(mentions(message_of<Error>([&] { counter.add("ab", std::int64_t{1} << 61); }), "2^63"));
  WordCounter other;
  CHECK_THROWS_AS(other.add("abc", std::numeric_limits<std::int64_t>::max()), Error);
}

TEST_CASE("words are the same however many threads count", "[text][training]") {
  if (!unicode_here()) return;
  const std::string text = some_text(1'500'000);
  const std::string_view texts[] = {text, "one more", "", std::string_view(text).substr(0, 1003)};
  Counts expected;
  for (const std::string_view one : texts) {
    split_gpt2(one, [&](std::string_view word) { ++expected[std::string(word)]; });
  }
  for (const int threads : {1, 2, 3, 8}) {
    double last = 0;
    const WordCounter counter = count_words(
        texts, [](std::string_view part, const auto& emit) { split_gpt2(part, emit); }, threads,
        [&](double part) { last = part; });
    CHECK(counts_of(counter) == expected);
    CHECK(last > 0);
    CHECK(last <= 1);
  }
  CHECK(count_words(
            {}, [](std::string_view, const auto&) {}, 2)
            .distinct() == 0);
}

TEST_CASE("what a splitter throws arrives at the caller", "[text][training]") {
  if (!unicode_here()) return;
  const std::string text = some_text(600'000);
  const std::string_view texts[] = {text, "bad"};
  const auto split = [](std::string_view part, const auto&) {
    if (part == "bad") throw std::domain_error("no");
  };
  CHECK_THROWS_AS(count_words(texts, split, 3), std::domain_error);
}
