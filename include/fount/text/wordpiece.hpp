// SPDX-License-Identifier: Apache-2.0
#pragma once
// BERT's tokenizer: each word is spelled with the longest pieces of the vocabulary that fit, from
// the left; pieces that continue a word begin with ##. Case, accents and white space are lost on
// the way, so text does not come back byte for byte. Its files are read in text/load_tokenizer.hpp.
// Wu et al. 2016, https://arxiv.org/abs/1609.08144; Devlin et al. 2018 (tokenization.py).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/added_tokens.hpp>
#include <fount/text/bert_text.hpp>
#include <fount/text/token_table.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/text/wordpiece_json.hpp>
#include <fount/text/wordpiece_model.hpp>

namespace fount {

class WordPieceTokenizer final : public Tokenizer {
 public:
  /// @throws Error if a token is empty or stands twice, or the unknown token is none of them;
  ///         ConfigError if this program was built without utf8proc
  explicit WordPieceTokenizer(WordPieceModel model)
      : model_(std::move(model)), whole_(model_.tokens), continuing_(without_prefix(model_)) {
    UnicodeTable::get();  // refuse now, not in the middle of a text
    check_tokens();
    for (const AddedToken& token : model_.special) every_.add(token);
  }

  std::string_view kind() const override { return "wordpiece"; }
  std::int32_t vocab_size() const override {
    return static_cast<std::int32_t>(model_.tokens.size());
  }
  /// As the file spells it, with ## where it continues a word.
  std::string_view token(std::int32_t id) const override {
    check_id(id);
    return model_.tokens[static_cast<std::size_t>(id)];
  }
  /// The token without ##, or behind a space if it begins a word that is not the first.
  std::string piece(std::int32_t id, bool first) const override {
    const std::string_view name = token(id);
    std::string text;
    if (!first && name.starts_with(model_.prefix)) {
      text = name.substr(model_.prefix.size());
    } else {
      text = (first ? "" : " ") + std::string(name);
    }
    return model_.cleanup ? without_spaces(std::move(text)) : text;
  }
  std::vector<SpecialToken> special_tokens() const override {
    std::vector<SpecialToken> tokens;
    for (const AddedToken& token : model_.special) tokens.push_back({token.content, token.id});
    std::ranges::sort(tokens, {}, &SpecialToken::id);
    return tokens;
  }
  /// [SEP], if it is a special token.
  std::optional<std::int32_t> end_of_text() const override { return find("[SEP]"); }
  /// What stands for words that cannot be spelled; how often it occurs says how well a vocabulary
  /// fits a text.
  std::optional<std::int32_t> unknown_token() const override { return unknown_id_; }

  using Tokenizer::encode;
  /// Never adds [CLS] or [SEP]. @throws Error naming the byte where the text is not UTF-8
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    BertWords words(model_.text);
    words.for_each(text, [&](std::string_view word) { encode_word(word, ids); });
  }
  void encode(std::string_view text, const AllowedSpecial& allowed,
              std::vector<std::int32_t>& ids) const override {
    with_finder(allowed, [&](const AddedTokenFinder& finder) {
      finder.visit(
          text, [&](std::string_view part) { encode(part, ids); },
          [&](std::int32_t id) { ids.push_back(id); });
    });
  }
  using Tokenizer::next_cut;
  /// Before a space or line end.
  std::size_t next_cut(std::string_view text, std::size_t at,
                       const AllowedSpecial& allowed) const override {
    std::size_t cut = text.size();
    with_finder(allowed, [&](const AddedTokenFinder& finder) {
      cut = std::min(text.find_first_of(" \n", at), text.size());
      while (cut < text.size() && finder.crosses(text, cut)) {
        cut = std::min(text.find_first_of(" \n", cut + 1), text.size());
      }
    });
    return cut;
  }
  std::string to_json() const override { return wordpiece_tokenizer_json(model_); }

  const WordPieceModel& model() const { return model_; }

 protected:
  void add_rules(Hash64& hash) const override {
    hash.add(model_.unknown).add(model_.prefix);
    hash.add(static_cast<std::uint64_t>(model_.max_word_characters));
    hash.add(static_cast<std::uint64_t>(model_.text.clean_text));
    hash.add(static_cast<std::uint64_t>(model_.text.handle_chinese_chars));
    hash.add(static_cast<std::uint64_t>(model_.text.strips_accents()));
    hash.add(static_cast<std::uint64_t>(model_.text.lowercase));
  }

 private:
  static std::vector<std::string> without_prefix(const WordPieceModel& model) {
    std::vector<std::string> pieces(model.tokens.size());
    for (std::size_t id = 0; id < pieces.size(); ++id) {
      const std::string& token = model.tokens[id];
      if (token.starts_with(model.prefix)) pieces[id] = token.substr(model.prefix.size());
    }
    return pieces;
  }
  void check_tokens() {
    for (std::size_t id = 0; id < model_.tokens.size(); ++id) {
      const std::string& token = model_.tokens[id];
      if (!token.empty() && whole_.find(token) == static_cast<std::int32_t>(id)) continue;
      throw Error("wordpiece: the token of id " + std::to_string(id) +
                  (token.empty() ? " is empty" : ", '" + token + "', stands twice") +
                  "; each must be a different text");
    }
    unknown_id_ = whole_.find(model_.unknown);
    if (unknown_id_ == no_token) {
      throw Error("wordpiece: the vocabulary lacks '" + model_.unknown +
                  "', which stands for words that cannot be spelled; add it");
    }
    for (const AddedToken& token : model_.special) {
      if (!token.content.empty() && whole_.find(token.content) == token.id) continue;
      throw Error("wordpiece: the special token '" + token.content + "' with id " +
                  std::to_string(token.id) + " is not in the vocabulary; add it there");
    }
  }
  std::optional<std::int32_t> find(std::string_view special) const {
    const auto at = std::ranges::find(model_.special, special, &AddedToken::content);
    return at == model_.special.end() ? std::nullopt : std::optional(at->id);
  }
  std::string end_of_text_config() const override {
    std::string lines;
    for (const char* role : {"unk", "sep", "pad", "cls", "mask"}) {
      std::string name = "[" + std::string(role) + "]";
      for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      if (find(name)) lines += "  \"" + std::string(role) + "_token\": \"" + name + "\",\n";
    }
    return lines;
  }

  template <class Use>
  void with_finder(const AllowedSpecial& allowed, Use&& use) const {
    if (allowed.is_all()) return use(every_);
    AddedTokenFinder finder;
    for (const std::string& name : allowed.names()) {
      const std::int32_t id = find_special(name);
      const auto at = std::ranges::find(model_.special, id, &AddedToken::id);
      finder.add(*at);
    }
    use(finder);
  }

  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
    if (has_too_many_characters(word)) return ids.push_back(unknown_id_);
    const std::size_t before = ids.size();
    for (std::size_t at = 0; at < word.size();) {
      const TokenTable& table = at == 0 ? whole_ : continuing_;
      std::string_view piece = word.substr(at, table.longest());
      std::int32_t id = table.find(piece);
      while (id == no_token && piece.size() > 1) {
        const bool inside = begins_no_character(piece.back());
        piece.remove_suffix(1);
        if (!inside) id = table.find(piece);  // a token ends where a character does
      }
      if (id == no_token) {  // not even one character: the whole word is unknown
        ids.resize(before);
        return ids.push_back(unknown_id_);
      }
      ids.push_back(id);
      at += piece.size();
    }
  }
  bool has_too_many_characters(std::string_view word) const {
    const auto limit = static_cast<std::size_t>(model_.max_word_characters);
    if (word.size() <= limit) return false;
    const auto inside = std::ranges::count_if(word, begins_no_character);
    return word.size() - static_cast<std::size_t>(inside) > limit;
  }
  static bool begins_no_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

  /// Hugging Face's cleaning of one piece, in its order.
  static std::string without_spaces(std::string text) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> changes = {{
        {" .", "."},
        {" ?", "?"},
        {" !", "!"},
        {" ,", ","},
        {" ' ", "'"},
        {" n't", "n't"},
        {" 'm", "'m"},
        {" do not", " don't"},
        {" 's", "'s"},
        {" 've", "'ve"},
        {" 're", "'re"},
    }};
    if (text.find(' ') == std::string::npos) return text;
    for (const auto& [from, to] : changes) {
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    }
    return text;
  }

  WordPieceModel model_;
  TokenTable whole_;       // as spelled: what a word may begin with
  TokenTable continuing_;  // those with a prefix, without it
  std::int32_t unknown_id_ = no_token;
  AddedTokenFinder every_;
};

}  // namespace fount
