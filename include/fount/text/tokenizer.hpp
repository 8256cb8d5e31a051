// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every tokenizer offers. The tokenizers are in headers of their own; reading one from a file
// is in text/load_tokenizer.hpp. Files are those of Hugging Face tokenizers, so that the folder of
// a checkpoint loads elsewhere as it is.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/file_writer.hpp>
#include <fount/io/hash.hpp>
#include <fount/text/utf8.hpp>

namespace fount {

/// A token that steers a model (the end of a text, the turn of a speaker) and stands for no text.
struct SpecialToken {
  std::string content;  // how it is written
  std::int32_t id = 0;
};

/// Which special tokens are recognised in a text. Text from outside should be encoded with none():
/// then nobody can smuggle a control token in, and its spelling is text like any other.
class AllowedSpecial {
 public:
  static AllowedSpecial none() { return {}; }
  static AllowedSpecial all() {
    AllowedSpecial allowed;
    allowed.all_ = true;
    return allowed;
  }
  /// Those written like this; encoding refuses names that the tokenizer does not have.
  static AllowedSpecial names(std::vector<std::string> contents) {
    AllowedSpecial allowed;
    allowed.names_ = std::move(contents);
    return allowed;
  }

  bool is_all() const { return all_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  bool all_ = false;
  std::vector<std::string> names_;
};

/// Turns text into token ids 0 .. vocab_size()-1 and back. decode(encode(x)) == x, byte for byte,
/// for all kinds but wordpiece, whose vocabulary knows neither case nor white space.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The name on the command line: "char", "byte".
  virtual std::string_view kind() const = 0;
  virtual std::int32_t vocab_size() const = 0;
  /// The bytes that an id stands for. @throws Error if there is no such id.
  virtual std::string_view token(std::int32_t id) const = 0;
  /// What an id adds to a decoded text. @param first whether nothing stands before it
  virtual std::string piece(std::int32_t id, bool first) const {
    static_cast<void>(first);
    return std::string(token(id));
  }
  /// Appends the ids of `text`. @throws Error naming the byte offset of what cannot be encoded.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  /// The same, with special tokens recognised. @throws Error if one that is named does not exist.
  virtual void encode(std::string_view text, const AllowedSpecial& allowed,
                      std::vector<std::int32_t>& ids) const {
    for (const std::string& name : allowed.names()) find_special(name);
    encode(text, ids);
  }
  /// Smallest place at or after byte `at` where the text can be cut so that the ids of both parts
  /// are those of the whole; its size if no place is certain.
  virtual std::size_t next_cut(std::string_view text, std::size_t at,
                               const AllowedSpecial& allowed) const {
    static_cast<void>(at);
    static_cast<void>(allowed);
    return text.size();
  }
  std::size_t next_cut(std::string_view text, std::size_t at) const {
    return next_cut(text, at, AllowedSpecial::none());
  }
  /// In the order of their ids.
  virtual std::vector<SpecialToken> special_tokens() const { return {}; }
  /// The token that stands between documents; nothing for vocabularies that have none.
  virtual std::optional<std::int32_t> end_of_text() const { return std::nullopt; }
  /// The token of words that the vocabulary cannot spell; nothing for those that spell every text.
  virtual std::optional<std::int32_t> unknown_token() const { return std::nullopt; }
  /// The content of tokenizer.json.
  virtual std::string to_json() const = 0;

  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> ids;
    encode(text, ids);
    return ids;
  }
  std::vector<std::int32_t> encode(std::string_view text, const AllowedSpecial& allowed) const {
    std::vector<std::int32_t> ids;
    encode(text, allowed, ids);
    return ids;
  }
  /// The id of a special token. @throws Error naming those that there are.
  std::int32_t find_special(std::string_view content) const {
    const std::vector<SpecialToken> tokens = special_tokens();
    std::string known;
    for (const SpecialToken& token : tokens) {
      if (token.content == content) return token.id;
      if (known.size() < 400) known += (known.empty() ? "" : ", ") + token.content;
    }
    throw Error("tokenizer: no special token '" + std::string(content) + "'; " +
                (tokens.empty() ? "this tokenizer has none" : "it has " + known));
  }
  /// The pieces in a row; unfinished characters stay as they are.
  /// @throws Error if an id is outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const std::int32_t id : ids) text += piece(id, text.empty());
    return text;
  }

  /// Tells tokenizers apart: equal for equal kind, tokens and rules, however the file is laid out.
  std::uint64_t hash() const {
    Hash64 hash;
    hash.add(kind()).add(static_cast<std::uint64_t>(vocab_size()));
    for (std::int32_t id = 0; id < vocab_size(); ++id) {
      hash.add(static_cast<std::uint64_t>(token(id).size())).add(token(id));
    }
    add_rules(hash);
    return hash.value();
  }

  /// Writes tokenizer.json and tokenizer_config.json into an existing folder.
  /// @param model_max_length longest sequence of the model the tokenizer belongs to; 0: not said
  void save(const std::filesystem::path& folder, std::int64_t model_max_length = 0) const {
    write_file_atomically(folder / "tokenizer.json", to_json());
    std::string config = "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n";
    config += end_of_text_config();
    if (model_max_length > 0) {
      config += "  \"model_max_length\": " + std::to_string(model_max_length) + ",\n";
    }
    config += "  \"clean_up_tokenization_spaces\": false\n}\n";
    write_file_atomically(folder / "tokenizer_config.json", config);
  }

 protected:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = default;
  Tokenizer(Tokenizer&&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;
  Tokenizer& operator=(Tokenizer&&) = default;

  /// For hash(): what besides the tokens decides which ids a text gets.
  virtual void add_rules(Hash64&) const {}

  /// Lines of tokenizer_config.json for the token between documents and others with a role.
  virtual std::string end_of_text_config() const { return {}; }

  /// For token(): @throws Error if `id` is not in the vocabulary.
  void check_id(std::int32_t id) const {
    if (id >= 0 && id < vocab_size()) return;
    throw Error("tokenizer: token id " + std::to_string(id) + ", but the vocabulary has " +
                std::to_string(vocab_size()) +
                " tokens; the tokenizer does not belong to this model or data");
  }
};

/// Decodes ids one by one as they are generated; the text so far is always valid UTF-8.
class StreamingDecoder {
 public:
  explicit StreamingDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that this id completes; empty in the middle of a character.
  std::string push(std::int32_t id) {
    const std::string piece = tokenizer_->piece(id, first_);
    first_ = first_ && piece.empty();
    return stream_.push(piece);
  }
  /// U+FFFD if the last character never became whole.
  std::string finish() { return stream_.finish(); }

 private:
  const Tokenizer* tokenizer_;
  Utf8Stream stream_;
  bool first_ = true;
};

}  // namespace fount
