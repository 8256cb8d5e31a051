// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the byte-level byte-pair encoding of a tokenizer.json. What would change ids in a way that
// this library does not reproduce is refused by name. Tokens that a post-processor adds are not ids
// of the text: encoding never adds them, the file keeps them.
// https://github.com/huggingface/tokenizers

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/json.hpp>
#include <fount/text/bpe_json.hpp>
#include <fount/text/bpe_model.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/utf8.hpp>

namespace fount {

namespace detail {

[[noreturn]] inline void refuse_bpe(std::string_view where, const std::string& found,
                                    std::string_view expected =
                                        "byte-level BPE as GPT-2, GPT-4, "
                                        "Llama 3 or SmolLM have it") {
  throw FileError::content(where, found, expected, "nothing similar is used in its place");
}

/// The bytes behind a printable name; nothing if it has a character outside the alphabet.
inline std::optional<std::string> bytes_of_name(std::string_view name) {
  static constexpr auto byte_of = [] {
    std::array<std::int16_t, 512> bytes{};
    bytes.fill(-1);
    const auto alphabet = byte_alphabet();
    for (std::size_t byte = 0; byte < 256; ++byte) {
      bytes[alphabet[byte]] = static_cast<std::int16_t>(byte);
    }
    return bytes;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint code = decode_utf8(name, at);
    if (code.length == 0 || code.value >= byte_of.size() || byte_of[code.value] < 0) return {};
    bytes += static_cast<char>(static_cast<unsigned char>(byte_of[code.value]));
    at += static_cast<std::size_t>(code.length);
  }
  return bytes;
}

/// A member that must be absent, null or equal to `harmless`.
inline void expect_harmless(const Json& object, const char* name, const Json& harmless,
                            std::string_view where) {
  const auto at = object.find(name);
  if (at == object.end() || at->is_null() || *at == harmless) return;
  refuse_bpe(where, "\"" + std::string(name) + "\": " +
                        at->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 80));
}

inline bool json_flag(const Json& object, const char* name, bool otherwise,
                      std::string_view where) {
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) return otherwise;
  if (at->is_boolean()) return at->get<bool>();
  throw FileError::content(where, "\"" + std::string(name) + "\" of type " + at->type_name(),
                           "true or false");
}

inline std::vector<AddedToken> read_added_tokens(const Json& json, std::string_view where) {
  std::vector<AddedToken> added;
  const auto list = json.find("added_tokens");
  if (list == json.end() || list->is_null()) return added;
  if (!list->is_array()) refuse_bpe(where, "\"added_tokens\" that is no list", "a list");
  for (const Json& entry : *list) {
    AddedToken token;
    token.content = json_string(entry, "content", where);
    token.id = static_cast<std::int32_t>(json_integer(entry, "id", where, 0, 0x7FFFFFFE));
    for (const char* name : {"single_word", "lstrip", "rstrip"}) {
      if (json_flag(entry, name, false, where)) {
        refuse_bpe(where, "the added token \"" + token.content + "\" with \"" + name + "\"",
                   "added tokens that are found wherever they stand, and take nothing with them");
      }
    }
    token.special = json_flag(entry, "special", false, where);
    token.normalized = json_flag(entry, "normalized", !token.special, where);
    added.push_back(std::move(token));
  }
  return added;
}

/// The rule behind the pre-tokenizer.
inline SplitRule read_split_rule(const Json& json, std::string_view where) {
  const Json& before = json_member(json, "pre_tokenizer", where);
  std::vector<const Json*> parts;
  if (before.is_object() && json_string(before, "type", where) == "Sequence") {
    for (const Json& part : json_member(before, "pretokenizers", where)) parts.push_back(&part);
  } else if (before.is_object()) {
    parts.push_back(&before);
  }
  std::string names;
  for (const Json* part : parts) {
    names += (names.empty() ? "" : " + ") + json_string(*part, "type", where);
  }
  const bool bytes_last = names == "ByteLevel" || names.ends_with(" + ByteLevel");
  if (bytes_last && json_flag(*parts.back(), "add_prefix_space", true, where)) {
    refuse_bpe(where, "a ByteLevel pre-tokenizer that adds a space before the text",
               "one with \"add_prefix_space\": false, so that decoding gives the text back");
  }
  const bool regex = bytes_last && json_flag(*parts.back(), "use_regex", true, where);
  if (names == "ByteLevel" && regex) return SplitRule::gpt2;
  if (names == "Digits + ByteLevel" && regex &&
      json_flag(*parts[0], "individual_digits", false, where)) {
    return SplitRule::gpt2_digits;
  }
  if (names != "Split + ByteLevel") {
    refuse_bpe(where, "the pre-tokenizer " + (names.empty() ? "null" : names));
  }
  const Json& split = *parts[0];
  const Json& pattern = json_member(split, "pattern", where);
  const std::string text = json_string(pattern, "Regex", where);
  const std::string behavior = json_string(split, "behavior", where);
  const bool invert = json_flag(split, "invert", false, where);
  const std::optional<SplitRule> rule = split_rule_of_pattern(text);
  // Pieces are what matches, or what does not match the rest: the same, as all text matches.
  const bool pieces = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert);
  if (rule && pieces && (!regex || *rule == SplitRule::gpt2)) return *rule;
  if (rule && !regex) {
    refuse_bpe(where,
               "a Split with \"behavior\": \"" + behavior +
                   "\", \"invert\": " + (invert ? "true" : "false"),
               "\"Isolated\" and false, or \"Removed\" and true");
  }
  refuse_bpe(where,
             "the unknown split pattern " + Json(text).dump().substr(0, 300) +
                 (regex ? " followed by GPT-2's" : ""),
             "one that means a known rule: " + split_rule_names());
}

/// Post-processors only add tokens around a text or move offsets; encoding does neither.
inline std::string read_post_processor(const Json& json, std::string_view where) {
  const auto at = json.find("post_processor");
  if (at == json.end()) return "null";
  std::vector<const Json*> parts;
  if (at->is_object() && json_string(*at, "type", where) == "Sequence") {
    for (const Json& part : json_member(*at, "processors", where)) parts.push_back(&part);
  } else if (!at->is_null()) {
    parts.push_back(&*at);
  }
  for (const Json* part : parts) {
    const std::string type = json_string(*part, "type", where);
    constexpr std::array<std::string_view, 4> known = {"ByteLevel", "TemplateProcessing",
                                                       "BertProcessing", "RobertaProcessing"};
    if (std::ranges::find(known, type) == known.end()) {
      refuse_bpe(where, "a post-processor of type " + type);
    }
  }
  return dump_json(*at, -1);
}

/// Names and ids of a vocabulary, and how to say which is wrong.
class NamedVocabulary {
 public:
  NamedVocabulary(const Json& vocabulary, std::string_view where) : where_(where) {
    if (!vocabulary.is_object() || vocabulary.empty()) {
      refuse_bpe(where, "no vocabulary", "an object of tokens and their ids");
    }
    // Gaps are few in all published vocabularies; an id far outside would only cost memory.
    const std::uint64_t limit = 4 * std::uint64_t{vocabulary.size()} + 1024;
    for (const auto& [name, id] : vocabulary.items()) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= limit) {
        throw FileError::content(
            where, "the token " + quoted(name) + " with id " + id.dump(-1, ' ', true).substr(0, 40),
            "an integer from 0 to " + std::to_string(limit - 1));
      }
      if (name.empty()) {
        throw FileError::content(where, "a token without bytes, of id " + id.dump(),
                                 "tokens of at least one byte");
      }
      const auto index = id.get<std::size_t>();
      if (names_.size() <= index) names_.resize(index + 1);
      if (!names_[index].empty()) {
        throw FileError::content(where,
                                 "the id " + std::to_string(index) + " of both " +
                                     quoted(names_[index]) + " and " + quoted(name),
                                 "each id once");
      }
      names_[index] = name;
      ids_.emplace(name, static_cast<std::int32_t>(index));
    }
  }

  /// The id of a name, or no_token.
  std::int32_t find(const std::string& name) const {
    const auto at = ids_.find(name);
    return at == ids_.end() ? no_token : at->second;
  }
  BpeMerge merge(const std::string& left, const std::string& right, std::size_t number) const {
    const BpeMerge merge{find(left), find(right), find(left + right)};
    for (const auto& [id, name] : {std::pair(merge.left, left), std::pair(merge.right, right),
                                   std::pair(merge.result, left + right)}) {
      if (id != no_token) continue;
      throw FileError::content(where_,
                               "merge " + std::to_string(number) + " of " + quoted(left) + " and " +
                                   quoted(right) + ", but no token " + quoted(name),
                               "merges of tokens in the vocabulary to such");
    }
    return merge;
  }

  /// The bytes of each id. Names of added tokens are no bytes of text unless a merge makes them.
  std::vector<std::string> tokens(const std::vector<AddedToken>& added,
                                  const std::vector<BpeMerge>& merges) const {
    std::vector<bool> merged(names_.size());
    for (const BpeMerge& merge : merges) merged[static_cast<std::size_t>(merge.result)] = true;
    std::unordered_map<std::string_view, std::int32_t> apart;
    for (const AddedToken& token : added) apart.emplace(token.content, token.id);
    std::vector<std::string> tokens(names_.size());
    for (std::size_t id = 0; id < names_.size(); ++id) {
      const auto at = apart.find(names_[id]);
      if (at != apart.end() && at->second != static_cast<std::int32_t>(id)) {
        throw FileError::content(where_,
                                 "the token " + quoted(names_[id]) + " with id " +
                                     std::to_string(id) + " and, as an added token, with id " +
                                     std::to_string(at->second),
                                 "one id");
      }
      std::optional<std::string> bytes = bytes_of_name(names_[id]);
      if (at != apart.end() && !(bytes && (merged[id] || bytes->size() == 1))) continue;
      if (!bytes) {
        refuse_bpe(where_, "the token " + quoted(names_[id]),
                   "characters of GPT-2's alphabet of bytes only");
      }
      tokens[id] = std::move(*bytes);
    }
    return tokens;
  }

 private:
  static std::string quoted(const std::string& name) {
    return Json(name.substr(0, 100)).dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  std::string_view where_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

/// Merges as pairs, or as "left right" in older files.
inline std::vector<BpeMerge> read_merges(const Json& list, const NamedVocabulary& vocabulary,
                                         std::string_view where) {
  std::vector<BpeMerge> merges;
  if (!list.is_array()) refuse_bpe(where, "\"merges\" that is no list", "a list");
  merges.reserve(list.size());
  for (const Json& entry : list) {
    const std::size_t number = merges.size();
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      merges.push_back(
          vocabulary.merge(entry[0].get<std::string>(), entry[1].get<std::string>(), number));
      continue;
    }
    const std::string text = entry.is_string() ? entry.get<std::string>() : std::string();
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      throw FileError::content(
          where, "merge " + std::to_string(number) + ": " + entry.dump(-1, ' ', true).substr(0, 80),
          "[\"left\", \"right\"] or \"left right\"");
    }
    merges.push_back(vocabulary.merge(text.substr(0, space), text.substr(space + 1), number));
  }
  return merges;
}

}  // namespace detail

/// The model of a tokenizer.json whose parts are those of byte-level BPE.
/// @throws FileError naming what is damaged or cannot be reproduced
inline BpeModel read_bpe_model(const Json& json, std::string_view where) {
  const Json& part = json_member(json, "model", where);
  if (part.contains("type") && json_string(part, "type", where) != "BPE") {
    detail::refuse_bpe(where, "a model of type " + json_string(part, "type", where));
  }
  for (const char* name : {"truncation", "padding", "normalizer"}) {
    detail::expect_harmless(json, name, nullptr, where);
  }
  // "unk_token" does not matter: every byte has a token.
  detail::expect_harmless(part, "dropout", 0.0, where);
  detail::expect_harmless(part, "continuing_subword_prefix", "", where);
  detail::expect_harmless(part, "end_of_word_suffix", "", where);
  detail::expect_harmless(part, "byte_fallback", false, where);

  BpeModel model;
  model.split = detail::read_split_rule(json, where);
  model.ignore_merges = detail::json_flag(part, "ignore_merges", false, where);
  model.post_processor = detail::read_post_processor(json, where);
  model.added = detail::read_added_tokens(json, where);
  const detail::NamedVocabulary vocabulary(json_member(part, "vocab", where), where);
  model.merges = detail::read_merges(json_member(part, "merges", where), vocabulary, where);
  model.tokens = vocabulary.tokens(model.added, model.merges);
  return model;
}

}  // namespace fount
