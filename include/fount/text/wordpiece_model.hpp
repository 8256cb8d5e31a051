// SPDX-License-Identifier: Apache-2.0
#pragma once
// What defines a WordPiece tokenizer, as files hold it and trainers make it. Encoding with it is in
// text/wordpiece.hpp. Devlin et al. 2018 (tokenization.py).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fount/text/added_tokens.hpp>
#include <fount/text/bert_text.hpp>

namespace fount {

/// All that defines a WordPieceTokenizer.
struct WordPieceModel {
  std::vector<std::string> tokens;         // of each id, as the file spells them
  std::string unknown = "[UNK]";           // stands for words that cannot be spelled
  std::string prefix = "##";               // of pieces that continue a word
  std::int64_t max_word_characters = 100;  // longer words are unknown
  BertTextOptions text;
  bool cleanup = true;              // decoding puts no space before punctuation
  std::vector<AddedToken> special;  // [CLS] and the like: recognised only where they are allowed
};

/// BERT's special tokens, in the order in which a new vocabulary gets them.
inline std::vector<std::string> bert_special_names() {
  return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
}

/// The id of a special token, if the model has it.
inline std::optional<std::int32_t> find_special_id(const WordPieceModel& model,
                                                   std::string_view name) {
  const auto at = std::ranges::find(model.special, name, &AddedToken::content);
  return at == model.special.end() ? std::nullopt : std::optional(at->id);
}

}  // namespace fount
