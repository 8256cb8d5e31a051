// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the tokenizer.json of a byte-level byte-pair encoding, such that Hugging Face tokenizers
// loads it and gives the same ids. Reading is in text/bpe_json_reader.hpp.
// https://github.com/huggingface/tokenizers (0.x), transformers' convert_slow_tokenizer.py

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/io/json.hpp>
#include <fount/text/bpe_model.hpp>
#include <fount/text/byte.hpp>

namespace fount {

namespace detail {

/// The printable name that files give to a token: each byte as a character of the alphabet.
inline std::string byte_level_name(std::string_view bytes) {
  constexpr auto alphabet = byte_alphabet();
  std::string name;
  for (const char c : bytes) append_utf8(name, alphabet[static_cast<unsigned char>(c)]);
  return name;
}

inline Json byte_level_json(bool add_prefix_space, bool trim_offsets, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", use_regex}};
}

inline Json pre_tokenizer_json(SplitRule rule) {
  if (rule == SplitRule::gpt2) return byte_level_json(false, true, true);
  Json parts = Json::array();
  if (rule == SplitRule::gpt2_digits) {
    parts.push_back({{"type", "Digits"}, {"individual_digits", true}});
    parts.push_back(byte_level_json(false, true, true));
  } else {
    parts.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", known_split(rule).pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
    parts.push_back(byte_level_json(false, true, false));
  }
  return {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
}

inline Json added_tokens_json(const std::vector<AddedToken>& added) {
  Json list = Json::array();
  for (const AddedToken& token : added) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  }
  return list;
}

/// Readers number added tokens that the vocabulary lacks from its size on. Where that would give
/// other ids, the added tokens must stand in the vocabulary too.
inline bool added_tokens_follow(const std::vector<AddedToken>& added, std::size_t size,
                                const TokenTable& tokens) {
  for (const AddedToken& token : added) {
    if (tokens.find(token.content) == token.id) continue;
    if (static_cast<std::size_t>(token.id) != size++) return false;
  }
  return true;
}

inline Json vocabulary_json(const TokenTable& tokens, const std::vector<AddedToken>& added) {
  std::vector<std::pair<std::int32_t, std::string>> names;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) {
      names.emplace_back(static_cast<std::int32_t>(id), byte_level_name(tokens[id]));
    }
  }
  if (!added_tokens_follow(added, names.size(), tokens)) {
    for (const AddedToken& token : added) {
      if (tokens.find(token.content) != token.id) names.emplace_back(token.id, token.content);
    }
    std::sort(names.begin(), names.end());
  }
  Json vocabulary = Json::object();
  Json::object_t::Container& members = vocabulary.get_ref<Json::object_t&>();
  for (auto& [id, name] : names) members.emplace_back(std::move(name), id);
  return vocabulary;
}

}  // namespace detail

/// The content of tokenizer.json.
inline std::string bpe_tokenizer_json(const BpeModel& model) {
  const TokenTable tokens(model.tokens);
  std::vector<AddedToken> added = model.added;
  std::ranges::sort(added, {}, &AddedToken::id);
  Json json = {{"version", "1.0"},
               {"truncation", nullptr},
               {"padding", nullptr},
               {"added_tokens", detail::added_tokens_json(added)},
               {"normalizer", nullptr}};
  json["pre_tokenizer"] = detail::pre_tokenizer_json(model.split);
  json["post_processor"] = model.post_processor.empty()
                               ? detail::byte_level_json(true, false, true)
                               : parse_json(model.post_processor, "post_processor");
  json["decoder"] = detail::byte_level_json(true, true, true);
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", ""},
                   {"end_of_word_suffix", ""},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", model.ignore_merges || model.merge_by_id}};
  json["model"]["vocab"] = detail::vocabulary_json(tokens, added);
  Json merges = Json::array();
  const auto name = [&](std::int32_t id) {
    return detail::byte_level_name(tokens[static_cast<std::size_t>(id)]);
  };
  for (const BpeMerge& merge : model.merge_by_id ? merges_by_id(tokens) : model.merges) {
    merges.push_back({name(merge.left), name(merge.right)});
  }
  json["model"]["merges"] = std::move(merges);
  return dump_json(json) + "\n";
}

}  // namespace fount
