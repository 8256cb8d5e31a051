// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of tokenizer.json as Hugging Face tokenizers 0.x writes it, for the tokenizers whose
// tokens never merge. Reading is in text/load_tokenizer.hpp.
// https://github.com/huggingface/tokenizers

#include <string>
#include <utility>

#include <fount/io/json.hpp>

namespace fount {

/// A byte-pair model without merges: each symbol of the text is a token of its own.
/// @param vocabulary     object from token to id
/// @param pre_tokenizer  null, or the object that turns bytes into symbols
/// @param decoder        the object that turns tokens back into text
inline std::string unmerged_tokenizer_json(Json vocabulary, Json pre_tokenizer, Json decoder) {
  Json json = {{"version", "1.0"},
               {"truncation", nullptr},
               {"padding", nullptr},
               {"added_tokens", Json::array()},
               {"normalizer", nullptr}};
  json["pre_tokenizer"] = std::move(pre_tokenizer);
  json["post_processor"] = nullptr;
  json["decoder"] = std::move(decoder);
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false}};
  json["model"]["vocab"] = std::move(vocabulary);
  json["model"]["merges"] = Json::array();
  return dump_json(json) + "\n";
}

}  // namespace fount
