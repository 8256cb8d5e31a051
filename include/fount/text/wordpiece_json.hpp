// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a WordPiece model as the tokenizer.json of Hugging Face tokenizers 0.x and as BERT's
// vocab.txt. Reading is in text/wordpiece_json_reader.hpp.
// https://github.com/huggingface/tokenizers; https://github.com/google-research/bert

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/json.hpp>
#include <fount/text/wordpiece_model.hpp>

namespace fount {

namespace detail {

/// "[CLS] $A [SEP]" and its pair, which is what the file gets where both tokens are special.
inline Json bert_template(std::int32_t cls, std::int32_t sep) {
  const auto special = [](const char* name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto entry = [](const char* name, std::int32_t id) {
    return Json{{"id", name}, {"ids", Json::array({id})}, {"tokens", Json::array({name})}};
  };
  Json json = {{"type", "TemplateProcessing"}};
  json["single"] = Json::array({special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)});
  json["pair"] = Json::array({special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0),
                              sequence("B", 1), special("[SEP]", 1)});
  json["special_tokens"] = {{"[CLS]", entry("[CLS]", cls)}, {"[SEP]", entry("[SEP]", sep)}};
  return json;
}

}  // namespace detail

/// The content of tokenizer.json, laid out as Hugging Face tokenizers writes it.
inline std::string wordpiece_tokenizer_json(const WordPieceModel& model) {
  Json json = {{"version", "1.0"},
               {"truncation", nullptr},
               {"padding", nullptr},
               {"added_tokens", Json::array()}};
  std::vector<AddedToken> specials = model.special;
  std::ranges::sort(specials, {}, &AddedToken::id);
  for (const AddedToken& token : specials) {
    json["added_tokens"].push_back({{"id", token.id},
                                    {"content", token.content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  const Json strip = model.text.strip_accents ? Json(*model.text.strip_accents) : Json(nullptr);
  json["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", model.text.clean_text},
                        {"handle_chinese_chars", model.text.handle_chinese_chars},
                        {"strip_accents", strip},
                        {"lowercase", model.text.lowercase}};
  json["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  const auto cls = find_special_id(model, "[CLS]");
  const auto sep = find_special_id(model, "[SEP]");
  json["post_processor"] = cls && sep ? detail::bert_template(*cls, *sep) : Json(nullptr);
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", model.prefix}, {"cleanup", model.cleanup}};
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", model.unknown},
                   {"continuing_subword_prefix", model.prefix},
                   {"max_input_chars_per_word", model.max_word_characters}};
  Json vocabulary = Json::object();
  Json::object_t::Container& members = vocabulary.get_ref<Json::object_t&>();
  for (std::size_t id = 0; id < model.tokens.size(); ++id)
    members.emplace_back(model.tokens[id], id);
  json["model"]["vocab"] = std::move(vocabulary);
  return dump_json(json) + "\n";
}

/// The content of vocab.txt. @throws Error if a token has a line end, which the file cannot hold
inline std::string wordpiece_vocabulary_text(const WordPieceModel& model) {
  std::string text;
  for (const std::string& token : model.tokens) {
    if (token.find('\n') != std::string::npos || token.ends_with('\r')) {
      throw Error(
          "wordpiece: a token with a line end cannot stand in vocab.txt; use tokenizer.json");
    }
    text += token + "\n";
  }
  return text;
}

}  // namespace fount
