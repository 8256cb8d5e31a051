// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads WordPiece models: the tokenizer.json of Hugging Face tokenizers, and BERT's vocab.txt with
// one token a line. What could not be reproduced exactly is refused by name.
// https://github.com/huggingface/tokenizers; https://github.com/google-research/bert

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/json.hpp>
#include <fount/text/utf8.hpp>
#include <fount/text/wordpiece_json.hpp>
#include <fount/text/wordpiece_model.hpp>

namespace fount {

namespace detail {

[[noreturn]] inline void refuse_wordpiece(std::string_view where, const std::string& found) {
  throw FileError::content(where, found, "a WordPiece tokenizer as BERT has it",
                           "others are not supported by this version");
}

/// The member of that name, or null.
inline Json optional_member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto at = json.find(name);
  return at == json.end() ? Json(nullptr) : *at;
}
inline bool bool_member(const Json& json, const char* name, bool missing, std::string_view where) {
  const Json value = optional_member(json, name);
  if (value.is_null()) return missing;
  if (value.is_boolean()) return value.get<bool>();
  throw FileError::content(where, "\"" + std::string(name) + "\" of type " + value.type_name(),
                           "true or false");
}
inline std::optional<bool> maybe_bool_member(const Json& json, const char* name,
                                             std::string_view where) {
  if (optional_member(json, name).is_null()) return std::nullopt;
  return bool_member(json, name, false, where);
}
/// The "type" of a part of the file; "null" if there is none.
inline std::string type_of_part(const Json& json, const char* part, std::string_view where) {
  const Json value = optional_member(json, part);
  return value.is_null() ? "null" : json_string(value, "type", where);
}

inline BertTextOptions read_bert_text(const Json& json, std::string_view where) {
  const std::string type = type_of_part(json, "normalizer", where);
  if (type == "null") {
    return {.clean_text = false,
            .handle_chinese_chars = false,
            .strip_accents = false,
            .lowercase = false};
  }
  if (type != "BertNormalizer") refuse_wordpiece(where, "a normalizer of type " + type);
  const Json& normalizer = json_member(json, "normalizer", where);
  return {.clean_text = bool_member(normalizer, "clean_text", true, where),
          .handle_chinese_chars = bool_member(normalizer, "handle_chinese_chars", true, where),
          .strip_accents = maybe_bool_member(normalizer, "strip_accents", where),
          .lowercase = bool_member(normalizer, "lowercase", true, where)};
}

/// The tokens in the order of their ids. @throws FileError unless ids are 0 .. n-1, each once.
inline std::vector<std::string> read_wordpiece_vocabulary(const Json& vocabulary,
                                                          std::string_view where) {
  if (!vocabulary.is_object() || vocabulary.empty()) refuse_wordpiece(where, "no vocabulary");
  std::vector<std::string> tokens(vocabulary.size());
  for (const auto& [name, id] : vocabulary.items()) {
    if (name.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size() ||
        !tokens[id.get<std::size_t>()].empty()) {
      throw FileError::content(
          where, "the token \"" + name.substr(0, 60) + "\" with id " + id.dump().substr(0, 40),
          "each of the ids 0 to " + std::to_string(tokens.size() - 1) + " once, with a name");
    }
    tokens[id.get<std::size_t>()] = name;
  }
  return tokens;
}

inline std::vector<AddedToken> read_wordpiece_specials(const Json& json, std::string_view where) {
  std::vector<AddedToken> specials;
  const Json added = optional_member(json, "added_tokens");
  if (added.is_null()) return specials;
  if (!added.is_array()) refuse_wordpiece(where, "\"added_tokens\" that are no list");
  for (const Json& entry : added) {
    AddedToken token{.content = json_string(entry, "content", where),
                     .id = static_cast<std::int32_t>(
                         json_integer(entry, "id", where, 0, std::int64_t{1} << 30))};
    const std::string name = "the added token \"" + token.content.substr(0, 60) + "\"";
    if (!bool_member(entry, "special", false, where)) {
      refuse_wordpiece(where, name + ", which is not special");
    }
    for (const char* property : {"single_word", "lstrip", "rstrip", "normalized"}) {
      if (bool_member(entry, property, false, where)) {
        refuse_wordpiece(where, name + " with \"" + property + "\"");
      }
    }
    specials.push_back(std::move(token));
  }
  return specials;
}

/// Equal values, whatever the order of the members of objects.
inline bool same_json(const Json& a, const Json& b) {
  if (a.type() != b.type() || a.size() != b.size() || !a.is_structured()) return a == b;
  if (a.is_array()) return std::ranges::equal(a, b, same_json);
  return std::ranges::all_of(a.items(), [&](const auto& member) {
    const auto other = b.find(member.key());
    return other != b.end() && same_json(member.value(), *other);
  });
}

/// encode() adds no tokens, but a file that is written again must not lose what adds them.
inline void check_wordpiece_post_processor(const Json& json, const WordPieceModel& model,
                                           std::string_view where) {
  const std::string type = type_of_part(json, "post_processor", where);
  if (type == "null") return;
  const auto cls = find_special_id(model, "[CLS]");
  const auto sep = find_special_id(model, "[SEP]");
  if (cls && sep) {
    const Json& found = json_member(json, "post_processor", where);
    const Json classic = {{"type", "BertProcessing"},
                          {"sep", Json::array({"[SEP]", *sep})},
                          {"cls", Json::array({"[CLS]", *cls})}};
    if (same_json(found, bert_template(*cls, *sep)) || same_json(found, classic)) {
      return;
    }
  }
  refuse_wordpiece(where, "a post-processor of type " + type + " that does not make [CLS] A [SEP]");
}

/// The specials among the tokens, for files that do not name them.
inline std::vector<AddedToken> bert_specials_among(const std::vector<std::string>& tokens) {
  std::vector<AddedToken> specials;
  for (const std::string& name : bert_special_names()) {
    const auto at = std::ranges::find(tokens, name);
    if (at == tokens.end()) continue;
    specials.push_back({.content = name, .id = static_cast<std::int32_t>(at - tokens.begin())});
  }
  std::ranges::sort(specials, {}, &AddedToken::id);
  return specials;
}

}  // namespace detail

/// Whether a tokenizer.json says that it is for read_wordpiece_model().
inline bool is_wordpiece_json(const Json& json) {
  return detail::optional_member(detail::optional_member(json, "model"), "type") == "WordPiece";
}

/// The model of a tokenizer.json.
/// @throws FileError if it is damaged, or says what this library cannot reproduce
inline WordPieceModel read_wordpiece_model(const Json& json, std::string_view where) {
  const Json& model = json_member(json, "model", where);
  WordPieceModel result;
  result.tokens = detail::read_wordpiece_vocabulary(json_member(model, "vocab", where), where);
  result.unknown = json_string(model, "unk_token", where);
  result.prefix = json_string(model, "continuing_subword_prefix", where);
  if (result.prefix.empty()) detail::refuse_wordpiece(where, "no \"continuing_subword_prefix\"");
  result.max_word_characters = json_integer(model, "max_input_chars_per_word", where, 1, 10000);
  result.text = detail::read_bert_text(json, where);
  if (const auto type = detail::type_of_part(json, "pre_tokenizer", where);
      type != "BertPreTokenizer") {
    detail::refuse_wordpiece(where, "a pre-tokenizer of type " + type);
  }
  const std::string decoder = detail::type_of_part(json, "decoder", where);
  if (decoder != "null" && decoder != "WordPiece") {
    detail::refuse_wordpiece(where, "a decoder of type " + decoder);
  }
  if (decoder == "WordPiece") {
    const Json& found = json_member(json, "decoder", where);
    result.cleanup = detail::bool_member(found, "cleanup", true, where);
    if (const auto prefix = json_string(found, "prefix", where); prefix != result.prefix) {
      detail::refuse_wordpiece(where, "a decoder for the prefix \"" + prefix +
                                          "\" and a model with " + "\"" + result.prefix + "\"");
    }
  }
  result.special = detail::read_wordpiece_specials(json, where);
  detail::check_wordpiece_post_processor(json, result, where);
  return result;
}

/// What a BertTokenizer's tokenizer_config.json says about text; BERT's uncased models where it is
/// silent.
inline BertTextOptions read_bert_text_options(const Json& json, std::string_view where) {
  return {.clean_text = true,
          .handle_chinese_chars = detail::bool_member(json, "tokenize_chinese_chars", true, where),
          .strip_accents = detail::maybe_bool_member(json, "strip_accents", where),
          .lowercase = detail::bool_member(json, "do_lower_case", true, where)};
}

/// The model of a vocab.txt: one token a line, ids from 0.
/// @param text_options what the file does not say; BERT's uncased models are the default
/// @throws FileError naming a line that is empty or there twice
inline WordPieceModel read_wordpiece_vocabulary_text(std::string_view text, std::string_view where,
                                                     const BertTextOptions& text_options) {
  WordPieceModel model;
  model.text = text_options;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string name = "line " + std::to_string(model.tokens.size() + 1);
    if (line.empty()) throw FileError::content(where, name + " empty", "a token on every line");
    for (std::size_t i = 0; i < line.size();) {
      const int length = decode_utf8(line, i).length;
      if (length == 0) throw FileError::content(where, name + " not in UTF-8", "text in UTF-8");
      i += static_cast<std::size_t>(length);
    }
    model.tokens.emplace_back(line);
    at = end + 1;
  }
  if (model.tokens.empty()) throw FileError::content(where, "no token", "one on every line");
  model.special = detail::bert_specials_among(model.tokens);
  return model;
}

}  // namespace fount
