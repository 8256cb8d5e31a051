// SPDX-License-Identifier: Apache-2.0
#pragma once
// One token per character (Unicode code point) of the training text, ids in the order of the code
// points, as nanoGPT's shakespeare_char has it. Characters that the text lacks cannot be encoded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/json.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/text/tokenizer_json.hpp>

namespace fount {

/// Collects the distinct characters of texts, and counts characters.
class CharacterSet {
 public:
  /// @param where names the text in messages, @param begin says at which byte of it `text` begins.
  /// @return the number of characters in `text`.
  /// @throws Error with the byte offset where the text is not UTF-8.
  std::int64_t add(std::string_view text, std::string_view where, std::int64_t begin = 0) {
    std::int64_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count) {
      const CodePoint code = decode_utf8(text, at);
      if (code.length == 0) {
        throw FileError::content(
            where,
            "bytes that are not UTF-8 at offset " +
                std::to_string(begin + static_cast<std::int64_t>(at)),
            "text in UTF-8",
            "convert it (iconv), or use the byte tokenizer, which takes any bytes");
      }
      seen_[code.value] = true;
      at += static_cast<std::size_t>(code.length);
    }
    return count;
  }
  /// The characters so far, in the order of the code points.
  std::vector<char32_t> sorted() const {
    std::vector<char32_t> codes;
    for (std::size_t code = 0; code < seen_.size(); ++code) {
      if (seen_[code]) codes.push_back(static_cast<char32_t>(code));
    }
    return codes;
  }

 private:
  std::vector<bool> seen_ = std::vector<bool>(0x110000);
};

class CharacterTokenizer final : public Tokenizer {
 public:
  /// @param characters the code point of each id. @throws Error if one occurs twice.
  explicit CharacterTokenizer(const std::vector<char32_t>& characters) {
    const char32_t last =
        characters.empty() ? 0 : *std::max_element(characters.begin(), characters.end());
    id_of_.assign(static_cast<std::size_t>(last) + 1, -1);
    for (const char32_t code : characters) {
      if (std::exchange(id_of_[code], static_cast<std::int32_t>(tokens_.size())) != -1) {
        throw Error("character tokenizer: " + describe_code_point(code) + " stands twice in the " +
                    "vocabulary");
      }
      tokens_.emplace_back();
      append_utf8(tokens_.back(), code);
    }
  }
  /// The vocabulary of one text. @throws FileError if it is not UTF-8.
  static CharacterTokenizer of_text(std::string_view text) {
    CharacterSet characters;
    characters.add(text, "text");
    return CharacterTokenizer(characters.sorted());
  }

  std::string_view kind() const override { return "char"; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(tokens_.size()); }
  std::string_view token(std::int32_t id) const override {
    check_id(id);
    return tokens_[static_cast<std::size_t>(id)];
  }
  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint code = decode_utf8(text, at);
      if (code.length == 0) {
        throw Error("character tokenizer: the text is not UTF-8 at byte " + std::to_string(at) +
                    "; convert it to UTF-8");
      }
      const std::int32_t id = code.value < id_of_.size() ? id_of_[code.value] : -1;
      if (id < 0) {
        throw Error("character tokenizer: " + describe_code_point(code.value) + " at byte " +
                    std::to_string(at) + " is not among the " + std::to_string(tokens_.size()) +
                    " characters of the training text; leave it out, or prepare the data with a " +
                    "text that has it or with the byte tokenizer");
      }
      ids.push_back(id);
      at += static_cast<std::size_t>(code.length);
    }
  }
  using Tokenizer::next_cut;
  std::size_t next_cut(std::string_view text, std::size_t at,
                       const AllowedSpecial&) const override {
    return next_code_point(text, std::min(at, text.size()));
  }
  std::string to_json() const override {
    Json vocabulary = Json::object();
    Json::object_t::Container& members = vocabulary.get_ref<Json::object_t&>();
    for (std::size_t id = 0; id < tokens_.size(); ++id) members.emplace_back(tokens_[id], id);
    return unmerged_tokenizer_json(std::move(vocabulary), nullptr, {{"type", "Fuse"}});
  }

 private:
  std::vector<std::string> tokens_;  // UTF-8 of each id
  std::vector<std::int32_t> id_of_;  // by code point; -1: not in the vocabulary
};

}  // namespace fount
