// SPDX-License-Identifier: Apache-2.0
#include <fount/data/masking.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fount/text/wordpiece.hpp>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int32_t mask_id = 4;
constexpr std::int32_t first_ordinary = 5;
constexpr std::int32_t vocab_size = 105;

/// Five special tokens, then words at even places and pieces that continue them at odd ones.
WordPieceTokenizer words() {
  WordPieceModel model;
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    model.special.push_back(
        {.content = name, .id = static_cast<std::int32_t>(model.tokens.size())});
    model.tokens.emplace_back(name);
  }
  for (int k = 0; k < 50; ++k) {
    const std::string text{static_cast<char>('a' + k / 26), static_cast<char>('a' + k % 26)};
    model.tokens.push_back(text);
    model.tokens.push_back("##" + text);
  }
  return WordPieceTokenizer(model);
}

/// [CLS], ordinary tokens in turn, [SEP], padding.
Ids row(std::size_t size) {
  Ids ids(size, 0);
  if (size == 0) return ids;
  ids[0] = 2;
  const std::size_t end = size - size / 10;
  for (std::size_t i = 1; i < end; ++i) {
    ids[i] = first_ordinary + static_cast<std::int32_t>(i * 7 % 100);
  }
  if (end > 1) ids[end - 1] = 3;
  return ids;
}

}  // namespace

TEST_CASE("masks hide 15 % of the tokens: 80 % masked, 10 % random, 10 % as they were",
          "[data][masking]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer = words();
  const TokenMasker masker(tokenizer, {});
  CHECK(masker.mask_id() == mask_id);
  double tokens = 0;
  double predicted = 0;
  double masked = 0;
  double same = 0;
  std::map<std::int32_t, double> random;
  for (std::int64_t sample = 0; sample < 400; ++sample) {
    const Ids before = row(512);
    Ids inputs = before;
    Ids labels(inputs.size());
    const std::int64_t count = masker.mask(sample, inputs, labels);
    CHECK(count == static_cast<std::int64_t>(
                       std::ranges::count_if(labels, [](std::int32_t id) { return id >= 0; })));
    predicted += static_cast<double>(count);
    bool right = true;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool special = before[i] < first_ordinary;
      tokens += special ? 0 : 1;
      if (labels[i] < 0) {
        right &= inputs[i] == before[i];
        continue;
      }
      right &= labels[i] == before[i] && !special;
      if (inputs[i] == mask_id) {
        ++masked;
      } else if (inputs[i] == before[i]) {
        ++same;
      } else {
        right &= inputs[i] >= first_ordinary && inputs[i] < vocab_size;
        ++random[inputs[i]];
      }
    }
    CHECK(right);
  }
  // Within five standard deviations of these shares.
  const auto near = [](double found, double of, double share) {
    return std::abs(found - of * share) < 5 * std::sqrt(of * share * (1 - share));
  };
  CHECK(near(predicted, tokens, 0.15));
  CHECK(near(masked, predicted, 0.8));
  // One random token in a hundred is the one that stood there.
  CHECK(near(same, predicted, 0.1 + 0.001));
  CHECK(random.size() == 100);
  double sum = 0;
  for (const auto& [id, count] : random) sum += count;
  for (const auto& [id, count] : random) CHECK(near(count, sum, 0.01));
}

TEST_CASE("masks depend on sample and seed alone, and differ between epochs", "[data][masking]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer = words();
  const auto masked = [&](std::uint64_t seed, std::int64_t sample) {
    MaskingOptions options;
    options.seed = seed;
    Ids inputs = row(300);
    Ids labels(inputs.size());
    TokenMasker(tokenizer, options).mask(sample, inputs, labels);
    return std::pair{inputs, labels};
  };
  CHECK(masked(1, 5) == masked(1, 5));
  std::set<std::pair<Ids, Ids>> all;
  for (const std::int64_t sample : {0L, 1L, 5L, 1L << 31, 1L << 32, (1L << 32) + 5}) {
    all.insert(masked(1, sample));
  }
  all.insert(masked(2, 0));
  all.insert(masked(1UL << 40, 0));
  CHECK(all.size() == 8);
}

TEST_CASE("whole words are hidden with all their pieces", "[data][masking]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer = words();
  MaskingOptions options;
  options.whole_words = true;
  const TokenMasker masker(tokenizer, options);
  // Words of one to four pieces: an even id begins a word, odd ones (from 6 on) continue it.
  Ids ids;
  std::vector<std::size_t> word_of;
  for (std::size_t word = 0; ids.size() < 400; ++word) {
    if (word % 29 == 3) {
      ids.push_back(3);  // [SEP] ends a word
      word_of.push_back(word);
      ++word;
    }
    for (std::size_t piece = 0; piece <= word % 4; ++piece) {
      ids.push_back(first_ordinary + static_cast<std::int32_t>(word % 49) * 2 + (piece > 0));
      word_of.push_back(word);
    }
  }
  std::size_t hidden = 0;
  for (std::int64_t sample = 0; sample < 100; ++sample) {
    Ids inputs = ids;
    Ids labels(ids.size());
    masker.mask(sample, inputs, labels);
    bool whole = true;
    for (std::size_t i = 1; i < ids.size(); ++i) {
      if (word_of[i] == word_of[i - 1]) whole &= (labels[i] < 0) == (labels[i - 1] < 0);
      hidden += labels[i] >= 0;
    }
    CHECK(whole);
  }
  const double share = static_cast<double>(hidden) / static_cast<double>(100 * ids.size());
  CHECK(share == Approx(0.15).margin(0.02));
}

TEST_CASE("words of a byte-level vocabulary begin with a space or a mark", "[data][masking]") {
  if (!unicode_here()) return;
  BpeModel model = small_bpe({{" ", "a"}, {"o", "n"}});
  AddedToken mask;
  mask.content = "<mask>";
  mask.id = 258;
  model.added.push_back(mask);
  const BpeTokenizer tokenizer(model);
  MaskingOptions options;
  options.whole_words = true;
  options.fraction = 0.5;
  options.mask_share = 1;
  options.random_share = 0;
  const TokenMasker masker(tokenizer, options, "<mask>");
  const Ids ids = tokenizer.encode(" about an onion.");
  bool both = false;
  for (std::int64_t sample = 0; sample < 50; ++sample) {
    Ids inputs = ids;
    Ids labels(ids.size());
    const std::int64_t count = masker.mask(sample, inputs, labels);
    both |= count > 0 && count < static_cast<std::int64_t>(ids.size());
    // " about" is hidden or not; so are " an", " onion" and ".".
    std::string seen;
    for (const std::int32_t id : inputs) seen += id == 258 ? "_" : std::string(tokenizer.token(id));
    std::size_t at = 0;
    for (const std::string word : {" about", " an", " onion", "."}) {
      const bool is_there = seen.compare(at, word.size(), word) == 0;
      if (is_there) {
        at += word.size();
      } else {
        const auto pieces = tokenizer.encode(word).size();
        CHECK(seen.substr(at, pieces) == std::string(pieces, '_'));
        at += pieces;
      }
    }
    CHECK(at == seen.size());
  }
  CHECK(both);
}

TEST_CASE("masks of awkward rows and options", "[data][masking]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer = words();
  const TokenMasker masker(tokenizer, {});
  Ids empty;
  CHECK(masker.mask(0, empty, empty) == 0);
  Ids outside = {-1, vocab_size, 2, 0};
  Ids labels(4);
  CHECK(masker.mask(0, outside, labels) == 0);
  CHECK(outside == Ids{-1, vocab_size, 2, 0});
  CHECK(labels == Ids{-1, -1, -1, -1});
  Ids short_labels(3);
  CHECK_THROWS_AS(masker.mask(0, outside, short_labels), ShapeError);
  const auto all = [&](double fraction) {
    MaskingOptions options;
    options.fraction = fraction;
    Ids inputs = {7, 8, 9};
    Ids targets(3);
    return TokenMasker(tokenizer, options).mask(0, inputs, targets);
  };
  CHECK(all(1.0) == 3);
  CHECK(all(0.0) == 0);
  MaskingOptions wrong;
  wrong.fraction = 1.5;
  CHECK_THROWS_AS(TokenMasker(tokenizer, wrong), ConfigError);
  wrong.fraction = 0.15;
  wrong.random_share = 0.3;
  CHECK_THROWS_AS(TokenMasker(tokenizer, wrong), ConfigError);
  CHECK(mentions(message_of<Error>([&] { TokenMasker(tokenizer, {}, "<mask>"); }), "<mask>",
                 "[MASK]"));
}
