// SPDX-License-Identifier: Apache-2.0
#pragma once
// Learns a WordPiece vocabulary from the counts of words, as Hugging Face tokenizers'
// WordPieceTrainer does: byte-pair merges of characters, where those that continue a word begin
// with
// ##. There the pieces ##x get their ids in the order of a hash, so that pairs of equal count merge
// differently from run to run; here in the order of the characters, so that the vocabulary is the
// same each time. Google's own trainer was never published.
// https://github.com/huggingface/tokenizers

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/bpe_trainer.hpp>
#include <fount/text/pair_merger.hpp>
#include <fount/text/utf8.hpp>
#include <fount/text/word_counter.hpp>
#include <fount/text/wordpiece_model.hpp>

namespace fount {

struct WordPieceTrainerOptions {
  std::int64_t vocab_size = 30000;     // never fewer than special tokens and characters
  std::int64_t min_frequency = 2;      // pairs that occur less often are not merged
  std::int64_t limit_alphabet = 1000;  // so many characters, the most frequent; 0: all
  std::vector<std::string> special_tokens = bert_special_names();  // get the ids 0, 1, ...
};

namespace detail {

/// Calls visit(code) for each character. @throws Error if the word is not UTF-8
template <class Visit>
void for_each_character(std::string_view word, Visit&& visit) {
  for (std::size_t at = 0; at < word.size();) {
    const CodePoint code = decode_utf8(word, at);
    if (code.length == 0) {
      throw Error("wordpiece training: a word that is not UTF-8; convert the text to UTF-8");
    }
    visit(code.value);
    at += static_cast<std::size_t>(code.length);
  }
}

/// The characters of the words, ascending: the `limit` most frequent (0: all), of equally frequent
/// ones the smaller.
inline std::vector<char32_t> frequent_characters(const WordCounter& words, std::int64_t limit) {
  std::map<char32_t, std::int64_t> counts;
  words.for_each([&](std::string_view word, std::int64_t count) {
    for_each_character(word, [&](char32_t code) { counts[code] += count; });
  });
  std::vector<std::pair<std::int64_t, char32_t>> ranked;  // by falling count, then rising code
  for (const auto& [code, count] : counts) ranked.emplace_back(-count, code);
  std::ranges::sort(ranked);
  if (limit > 0 && ranked.size() > static_cast<std::size_t>(limit)) {
    ranked.resize(static_cast<std::size_t>(limit));
  }
  std::vector<char32_t> characters;
  for (const auto& [count, code] : ranked) characters.push_back(code);
  std::ranges::sort(characters);
  return characters;
}

}  // namespace detail

/// Learns a vocabulary from the words of BertWords, counted.
/// @param progress hears now and then which part of the vocabulary is there: 0 to 1
/// @return a model with the options of uncased BERT: set those that the words were made by. Its
///         special tokens are the given ones; [UNK] must be among them for a tokenizer
/// @throws ConfigError naming an option that makes no sense; Error if a word is not UTF-8
inline WordPieceModel train_wordpiece(const WordCounter& words,
                                      const WordPieceTrainerOptions& options,
                                      const std::function<void(double)>& progress = {}) {
  detail::check_trainer_number("vocab_size", options.vocab_size, 1);
  detail::check_trainer_number("min_frequency", options.min_frequency, 0);
  detail::check_trainer_number("limit_alphabet", options.limit_alphabet, 0);
  WordPieceModel model;
  detail::TokenNames names;
  for (const std::string& special : options.special_tokens) {
    detail::check_special_name(special);
    if (names.has(special)) continue;
    model.special.push_back(
        {.content = special, .id = static_cast<std::int32_t>(names.add(special))});
  }

  struct Ids {
    std::uint32_t beginning = 0;
    std::uint32_t continuing = 0;
    bool continues = false;  // stands behind the first character of some word
  };
  std::map<char32_t, Ids> ids;
  const auto name_of = [](char32_t code) {
    std::string name;
    append_utf8(name, code);
    return name;
  };
  for (const char32_t code : detail::frequent_characters(words, options.limit_alphabet)) {
    ids[code].beginning = names.add(name_of(code));
  }
  words.for_each([&](std::string_view word, std::int64_t) {
    bool first = true;
    detail::for_each_character(word, [&](char32_t code) {
      const auto at = ids.find(code);
      if (!first && at != ids.end()) at->second.continues = true;
      first = false;
    });
  });
  for (auto& [code, both] : ids) {
    if (both.continues) both.continuing = names.add(model.prefix + name_of(code));
  }

  PairMerger merger(options.min_frequency);
  std::vector<std::uint32_t> symbols;
  words.for_each([&](std::string_view word, std::int64_t count) {
    symbols.clear();
    bool first = true;
    detail::for_each_character(word, [&](char32_t code) {
      // Characters beyond the limit are left out, as if their neighbours stood side by side.
      const auto at = ids.find(code);
      if (at != ids.end()) symbols.push_back(first ? at->second.beginning : at->second.continuing);
      first = false;
    });
    merger.add(symbols, count);
  });
  merger.count_pairs();
  detail::learn_merges(merger, names, options.vocab_size, model.prefix, progress);
  model.tokens = names.take();
  return model;
}

}  // namespace fount
