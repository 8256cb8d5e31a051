// SPDX-License-Identifier: Apache-2.0
#pragma once
// Learns a byte-level BPE vocabulary from the counts of words: which byte pairs become tokens, in
// which order. The same words give the same vocabulary as Hugging Face tokenizers' BpeTrainer with
// the byte-level alphabet, but counts have 64 bits there and here never overflow.
// Sennrich, Haddow and Birch 2016, https://arxiv.org/abs/1508.07909; bytes: Radford et al. 2019.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/added_tokens.hpp>
#include <fount/text/bpe_model.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/pair_merger.hpp>
#include <fount/text/utf8.hpp>
#include <fount/text/word_counter.hpp>

namespace fount {

struct BpeTrainerOptions {
  std::int64_t vocab_size = 32000;    // never fewer than the special tokens and the 256 bytes
  std::int64_t min_frequency = 2;     // pairs that occur less often are not merged
  std::int64_t max_token_length = 0;  // tokens of more than two bytes are shorter; 0: no limit
  std::vector<std::string> special_tokens = {"<|endoftext|>"};  // get the ids 0, 1, ...
};

namespace detail {

/// Tokens as they are spelled in tokenizer files, and their ids.
class TokenNames {
 public:
  /// The id of a name; a new one if it has none.
  std::uint32_t add(const std::string& name) {
    const auto [at, is_new] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  bool has(const std::string& name) const { return ids_.contains(name); }
  std::size_t size() const { return names_.size(); }
  const std::string& operator[](std::uint32_t id) const { return names_[id]; }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::string> names_;
};

/// @throws ConfigError if `value` is outside [low, 2^30]
inline void check_trainer_number(std::string_view name, std::int64_t value, std::int64_t low) {
  constexpr std::int64_t high = std::int64_t{1} << 30;
  if (value >= low && value <= high) return;
  throw ConfigError(std::string(name) + " is " + std::to_string(value) +
                    "; it must be an integer from " + std::to_string(low) + " to " +
                    std::to_string(high));
}

inline void check_special_name(const std::string& name) {
  std::size_t at = 0;
  while (at < name.size()) {
    const CodePoint code = decode_utf8(name, at);
    if (code.length == 0) break;
    at += static_cast<std::size_t>(code.length);
  }
  if (!name.empty() && at == name.size()) return;
  throw ConfigError("a special token must be text in UTF-8 and not empty; found \"" +
                    name.substr(0, 60) + "\"");
}

/// Merges pairs until there are `vocab_size` names or no pair is left.
/// @param prefix of symbols that continue a word: dropped where a pair becomes one name
/// @return the merges in order
inline std::vector<BpeMerge> learn_merges(PairMerger& merger, TokenNames& names,
                                          std::int64_t vocab_size, std::string_view prefix,
                                          const std::function<void(double)>& progress) {
  constexpr std::size_t merges_between_reports = 64;
  const auto target = static_cast<std::size_t>(vocab_size);
  const std::size_t start = names.size();
  std::vector<BpeMerge> merges;
  std::unordered_set<std::uint64_t> known;
  while (names.size() < target) {
    const auto pair = merger.best();
    if (!pair) break;
    std::string name = names[pair->left];
    const std::string_view right = names[pair->right];
    name += right.substr(!prefix.empty() && right.starts_with(prefix) ? prefix.size() : 0);
    const std::uint32_t merged = names.add(name);
    merger.merge(*pair, merged);
    // A pair comes twice only if a name was made in two ways, which spelled-out prefixes allow.
    if (known.insert(std::uint64_t{pair->left} << 32U | pair->right).second) {
      merges.push_back({static_cast<std::int32_t>(pair->left),
                        static_cast<std::int32_t>(pair->right), static_cast<std::int32_t>(merged)});
    }
    if (progress && merges.size() % merges_between_reports == 0) {
      progress(static_cast<double>(names.size() - start) / static_cast<double>(target - start));
    }
  }
  return merges;
}

/// A special token that a tokenizer file could not tell from bytes, because it is spelled as they
/// are: one character that stands for a byte other than its own, or several with one of those.
inline void check_special_is_no_bytes(const std::string& name) {
  std::size_t characters = 0;
  bool stands_for_bytes = true;
  bool beyond_latin = false;
  for (std::size_t at = 0; at < name.size(); ++characters) {
    const CodePoint code = decode_utf8(name, at);
    constexpr auto alphabet = byte_alphabet();
    stands_for_bytes =
        stands_for_bytes && std::ranges::find(alphabet, code.value) != alphabet.end();
    beyond_latin = beyond_latin || code.value >= 0x100;
    at += static_cast<std::size_t>(code.length);
  }
  if (stands_for_bytes && (beyond_latin || (characters == 1 && name.size() > 1))) {
    throw ConfigError("the special token \"" + name + "\" is how tokenizer files spell other " +
                      "bytes; choose another name");
  }
}

/// The bytes that a name made of byte names stands for.
inline std::string bytes_spelled(std::string_view name) {
  std::string bytes;
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint code = decode_utf8(name, at);
    constexpr auto alphabet = byte_alphabet();
    const auto byte = std::ranges::find(alphabet, code.value) - alphabet.begin();
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
    at += static_cast<std::size_t>(code.length);
  }
  return bytes;
}

}  // namespace detail

/// Learns merges from counted words. The words are those of a splitter; their bytes may be any.
/// @param progress hears now and then which part of the vocabulary is there: 0 to 1
/// @return a model with GPT-2's split rule: set the rule that the words were cut by
/// @throws ConfigError naming an option that makes no sense
inline BpeModel train_bpe(const WordCounter& words, const BpeTrainerOptions& options,
                          const std::function<void(double)>& progress = {}) {
  detail::check_trainer_number("vocab_size", options.vocab_size, 1);
  detail::check_trainer_number("min_frequency", options.min_frequency, 0);
  detail::check_trainer_number("max_token_length", options.max_token_length, 0);

  detail::TokenNames names;
  for (const std::string& special : options.special_tokens) {
    detail::check_special_name(special);
    detail::check_special_is_no_bytes(special);
    names.add(special);
  }
  const auto num_special = static_cast<std::int32_t>(names.size());
  // In the order of the code points that stand for the bytes: GPT-2's ids.
  constexpr auto alphabet = byte_alphabet();
  std::array<std::size_t, 256> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t byte) { return alphabet[byte]; });
  std::array<std::uint32_t, 256> id_of_byte{};
  for (const std::size_t byte : order) {
    std::string name;
    append_utf8(name, alphabet[byte]);
    id_of_byte[byte] = names.add(name);
  }

  PairMerger merger(options.min_frequency, options.max_token_length);
  std::vector<std::uint32_t> symbols;
  words.for_each([&](std::string_view word, std::int64_t count) {
    symbols.clear();
    for (const char c : word) symbols.push_back(id_of_byte[static_cast<unsigned char>(c)]);
    merger.add(symbols, count);
  });
  merger.count_pairs();

  BpeModel model;
  model.merges = detail::learn_merges(merger, names, options.vocab_size, {}, progress);
  model.tokens = names.take();
  for (std::int32_t id = 0; id < num_special; ++id) {
    model.added.push_back({.content = model.tokens[static_cast<std::size_t>(id)], .id = id});
  }
  // A special token is an ordinary one, too, only if bytes merge to it or it is one of them.
  std::vector<bool> ordinary(model.tokens.size());
  std::fill(ordinary.begin() + num_special, ordinary.end(), true);
  for (const std::uint32_t id : id_of_byte) ordinary[id] = true;
  for (const BpeMerge& merge : model.merges)
    ordinary[static_cast<std::size_t>(merge.result)] = true;
  for (std::size_t id = 0; id < model.tokens.size(); ++id) {
    model.tokens[id] = ordinary[id] ? detail::bytes_spelled(model.tokens[id]) : std::string();
  }
  return model;
}

}  // namespace fount
