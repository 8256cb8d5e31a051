// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokens of a document: what stands before and behind its text, and how a long one is cut.
// Preparations and streams use it, so that both give the same tokens.
// A token between documents as in llm.c (dev/data/fineweb.py): each document begins with it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/data/documents.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

class DocumentEncoder {
 public:
  /// @param tokenizer outlives this
  DocumentEncoder(const Tokenizer& tokenizer, DocumentOptions options)
      : tokenizer_(&tokenizer),
        end_of_text_(tokenizer.end_of_text()),
        options_(std::move(options)) {}

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const DocumentOptions& options() const { return options_; }

  /// The token that a document begins with, if the vocabulary has one.
  void begin(std::vector<std::int32_t>& ids) const {
    if (end_of_text_) ids.push_back(*end_of_text_);
  }

  /// The first bytes of a record's text that are encoded together: all of it, unless it is long.
  std::string_view first_piece(std::string_view text) const {
    const std::size_t limit = options_.records.piece_bytes;
    return text.substr(0, text.size() >= limit + 8 ? piece_end(text, limit) : text.size());
  }

  /// Appends the tokens of a decoded record. What cannot be encoded makes it broken, and then it
  /// has none. May be called from several threads at once.
  void encode(TextRecord& record, std::vector<std::int32_t>& ids) const {
    if (!record.used()) return;
    const std::size_t before = ids.size();
    try {
      if (record.begins) begin(ids);
      for (std::string_view rest = record.text; !rest.empty();) {
        const std::string_view piece = first_piece(rest);
        tokenizer_->encode(piece, ids);
        rest.remove_prefix(piece.size());
      }
      // Vocabularies without a token for it show the end of a document by an empty line.
      if (record.ends && !end_of_text_) tokenizer_->encode("\n\n", ids);
    } catch (const Error& e) {
      ids.resize(before);
      record.broken = e.what();
    }
  }

 private:
  const Tokenizer* tokenizer_;
  std::optional<std::int32_t> end_of_text_;
  DocumentOptions options_;
};

}  // namespace fount
