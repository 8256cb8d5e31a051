// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in text of the quick start: endless short stories, and a recogniser of their sentences.
// A story depends on its seed and its number alone, on every compiler and every platform.
// The words, sentences and plots are in story_grammar.hpp; nothing about English is decided here.

#include <fount/data/story_grammar.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fount::data {
namespace detail {

/// Whether every bracket that opens in an alternative closes in it, and none closes unopened.
consteval bool brackets_match(std::span<const StoryRow> rows) {
  for (const StoryRow& row : rows) {
    int open = 0;
    for (const char c : row.text) {
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (open < 0 || (c == '|' && open != 0)) return false;
    }
    if (open != 0) return false;
  }
  return true;
}
static_assert(brackets_match(story_phrases) && brackets_match(story_sentences) &&
                  brackets_match(story_plot_sentences),
              "story_grammar: brackets must match within each alternative, because every pair of "
              "them is one production of the recogniser");

/// The story tables, read once into numbers. Words and marks are `tokens`; table rows are `rows`
/// and say what to generate; categories own the `productions` and say what to recognise.
class StoryGrammar {
 public:
  struct Symbol {
    bool is_row;
    int id;    // of a row or of a token
    int slot;  // -1: none
  };
  using Alternative = std::vector<Symbol>;
  struct Row {
    bool is_sentence = false;
    bool is_plot = false;
    std::vector<Alternative> alternatives;
  };
  struct Part {
    bool is_category;
    int id;  // of a category or of a token
    bool operator==(const Part&) const = default;
  };
  using Production = std::vector<Part>;
  static constexpr int max_categories = 64;  // a token's categories are the bits of one integer

  StoryGrammar() {
    for (const StoryRow& row : story_word_classes) add_words(row);
    for (const StoryRow& row : story_word_lists) add_words(row);
    const auto tables = {
        std::span<const StoryRow>(story_word_lists), std::span<const StoryRow>(story_phrases),
        std::span<const StoryRow>(story_sentences), std::span<const StoryRow>(story_plot_sentences),
        std::span<const StoryRow>(story_plots)};
    for (const auto table : tables) texts_.insert(texts_.end(), table.begin(), table.end());
    for (const StoryRow& text : texts_) rows_.push_back(read_row(text));
    for (std::size_t t = 0; t < tokens_.size(); ++t) sorted_tokens_.push_back(static_cast<int>(t));
    std::sort(sorted_tokens_.begin(), sorted_tokens_.end(),
              [this](int a, int b) { return token(a) < token(b); });
  }

  std::string_view token(int id) const { return tokens_[static_cast<std::size_t>(id)]; }
  const Row& row(int id) const { return rows_[static_cast<std::size_t>(id)]; }
  std::uint64_t categories_of(int token) const {
    return categories_of_[static_cast<std::size_t>(token)];
  }
  std::span<const Production> productions(int category) const {
    return productions_[static_cast<std::size_t>(category)];
  }
  int num_categories() const { return static_cast<int>(categories_.size()); }
  std::string_view category_name(int c) const { return categories_[static_cast<std::size_t>(c)]; }
  int sentence_category() const { return find(categories_, std::string_view("Sentence")); }
  int story_row() const { return row_id("Story"); }
  int name_row() const { return row_id("Name"); }

  /// The token spelled so, or -1.
  int find_token(std::string_view text) const {
    const auto at = std::lower_bound(sorted_tokens_.begin(), sorted_tokens_.end(), text,
                                     [this](int id, std::string_view t) { return token(id) < t; });
    return at != sorted_tokens_.end() && token(*at) == text ? *at : -1;
  }
  std::span<const int> sorted_tokens() const { return sorted_tokens_; }

  static std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(separator, begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return parts;
  }

 private:
  template <typename T>
  static int find(const std::vector<T>& items, const T& item) {
    const auto at = std::find(items.begin(), items.end(), item);
    return at == items.end() ? -1 : static_cast<int>(at - items.begin());
  }
  template <typename T>
  static int intern(std::vector<T>& items, const T& item) {
    const int at = find(items, item);
    if (at >= 0) return at;
    items.push_back(item);
    return static_cast<int>(items.size()) - 1;
  }
  int row_id(std::string_view name) const {
    const auto at = std::find_if(texts_.begin(), texts_.end(),
                                 [name](const StoryRow& row) { return row.name == name; });
    return at == texts_.end() ? -1 : static_cast<int>(at - texts_.begin());
  }
  int category(std::string_view name) {
    const int id = intern(categories_, name);
    productions_.resize(categories_.size());
    return id;
  }
  int add_token(std::string_view text) {
    const int id = intern(tokens_, text);
    categories_of_.resize(tokens_.size());
    parts_of_speech_.resize(tokens_.size(), -1);
    return id;
  }
  /// The first category that a word is listed under is its part of speech when written out.
  void add_words(const StoryRow& row) {
    const int id = category(row.category);
    for (const std::string_view word : split(row.text, ' ')) {
      const auto token = static_cast<std::size_t>(add_token(word));
      categories_of_[token] |= std::uint64_t{1} << id;
      if (parts_of_speech_[token] < 0) parts_of_speech_[token] = id;
    }
  }
  void add_production(int category, const Production& production) {
    auto& known = productions_[static_cast<std::size_t>(category)];
    const bool circular = production.size() == 1 && production[0] == Part{true, category};
    if (!circular && find(known, production) < 0) known.push_back(production);
  }

  Row read_row(const StoryRow& text) {
    Row row{.is_sentence = text.category == "Sentence",
            .is_plot = text.category == "Story",
            .alternatives = {}};
    const bool is_word_list = &text - texts_.data() < std::ssize(story_word_lists);
    for (const std::string_view alternative : split(text.text, is_word_list ? ' ' : '|')) {
      row.alternatives.push_back(is_word_list
                                     ? Alternative{{false, find(tokens_, alternative), -1}}
                                     : read_alternative(category(text.category), alternative));
    }
    return row;
  }

  /// Reads one template: symbols in order for the generator, one production for each bracket.
  Alternative read_alternative(int top_category, std::string_view text) {
    Alternative alternative;
    std::vector<std::pair<int, Production>> open = {{top_category, {}}};
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == ' ') {
        ++at;
      } else if (text[at] == ')') {
        const auto [closed, production] = open.back();
        open.pop_back();
        add_production(closed, production);
        open.back().second.push_back({true, closed});
        ++at;
      } else {
        const bool opens = text[at] == '(';
        if (opens) ++at;
        const std::size_t end = std::min(text.find_first_of(" ()", at), text.size());
        const std::string_view symbol = text.substr(at, end - at);
        at = end;
        if (opens) {
          open.push_back({category(symbol), {}});
        } else {
          read_symbol(symbol, alternative, open.back().second);
        }
      }
    }
    add_production(top_category, open.back().second);
    return alternative;
  }

  void read_symbol(std::string_view symbol, Alternative& alternative, Production& production) {
    const std::size_t dot = symbol.size() > 1 ? symbol.find('.') : std::string_view::npos;
    const int row = row_id(symbol.substr(0, dot));
    if (row >= 0) {
      const int slot = dot == std::string_view::npos ? -1 : intern(slots_, symbol.substr(dot + 1));
      alternative.push_back({true, row, slot});
      production.push_back({true, category(texts_[static_cast<std::size_t>(row)].category)});
      return;
    }
    const int token = add_token(symbol);
    alternative.push_back({false, token, -1});
    const int part_of_speech = parts_of_speech_[static_cast<std::size_t>(token)];
    const bool has_one = part_of_speech >= 0;
    production.push_back({has_one, has_one ? part_of_speech : token});
  }

  std::vector<StoryRow> texts_;
  std::vector<Row> rows_;
  std::vector<std::string_view> tokens_;
  std::vector<std::uint64_t> categories_of_;  // by token
  std::vector<int> parts_of_speech_;          // by token; -1: none
  std::vector<int> sorted_tokens_;
  std::vector<std::string_view> slots_;
  std::vector<std::string_view> categories_;
  std::vector<std::vector<Production>> productions_;
};

inline const StoryGrammar& story_grammar() {
  static const StoryGrammar grammar;
  return grammar;
}

/// One sentence as text: a space between words and none before a mark, a capital at the start and
/// after an opening quote.
inline std::string write_story_sentence(std::span<const int> tokens) {
  std::string text;
  bool space = false;
  bool capital = true;
  for (const int id : tokens) {
    const std::string_view token = story_grammar().token(id);
    if (space && std::string_view(">,.!?").find(token) == std::string_view::npos) text += ' ';
    const std::size_t first = text.size();
    text += token == "<" || token == ">" ? "\"" : token;
    if (capital && text[first] >= 'a' && text[first] <= 'z') {
      text[first] = static_cast<char>(text[first] - 'a' + 'A');
    }
    space = token != "<";
    capital = token == "<";
  }
  return text;
}

/// Integers that depend on (seed, index) and on how many were drawn before, and on nothing else.
/// @see Steele, Lea & Flood 2014, SplitMix — https://doi.org/10.1145/2714064.2660195
class StoryRandom {
 public:
  StoryRandom(std::uint64_t seed, std::uint64_t index) : key_(mix(mix(seed) + index)) {}

  /// A number in [0, bound), bound < 2^32.
  std::uint64_t below(std::uint64_t bound) {
    key_ += 0x9e3779b97f4a7c15U;
    return ((mix(key_) >> 32U) * bound) >> 32U;
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
  std::uint64_t key_;
};

/// Tells one story: walks the rows from the top, remembers what each slot was bound to.
class StoryTeller {
 public:
  StoryTeller(std::uint64_t seed, std::uint64_t index) : random_(seed, index) {}

  std::string tell() {
    tell_row(grammar_.story_row(), -1);
    return std::move(text_);
  }

 private:
  struct Binding {
    int row;
    int slot;
    std::size_t index;
  };

  void tell_row(int row_id, int slot) {
    const StoryGrammar::Row& row = grammar_.row(row_id);
    const std::size_t choice = slot < 0 ? draw(row) : bound(row_id, slot);
    for (const StoryGrammar::Symbol& symbol : row.alternatives[choice]) {
      if (symbol.is_row) {
        tell_row(symbol.id, symbol.slot);
      } else if (grammar_.token(symbol.id) == "/") {
        text_ += '\n';
      } else {
        sentence_.push_back(symbol.id);
      }
    }
    if (!row.is_sentence) return;
    if (!text_.empty() && text_.back() != '\n') text_ += ' ';
    text_ += write_story_sentence(sentence_);
    sentence_.clear();
  }

  /// Words and sentences are Zipf distributed: the k-th of a row is drawn 1/(k + 2) as often, so
  /// that a model meets most words often and a few seldom, as in any text. Plots are drawn evenly.
  std::size_t draw(const StoryGrammar::Row& row) {
    constexpr std::uint64_t scale = 1'000'000;
    const auto weight = [&](std::size_t k) { return row.is_plot ? scale : scale / (k + 2); };
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < row.alternatives.size(); ++k) total += weight(k);
    std::uint64_t left = random_.below(total);
    std::size_t choice = 0;
    while (left >= weight(choice)) left -= weight(choice++);
    return choice;
  }

  /// The word a slot holds: drawn when first asked for, and never one that another slot holds
  /// already.
  std::size_t bound(int row_id, int slot) {
    const StoryGrammar::Row& row = grammar_.row(row_id);
    if (row.alternatives.size() == 2) return bound(grammar_.name_row(), slot) % 2;
    for (const Binding& b : bindings_) {
      if (b.row == row_id && b.slot == slot) return b.index;
    }
    std::size_t index = draw(row);
    while (std::any_of(bindings_.begin(), bindings_.end(),
                       [&](const Binding& b) { return b.row == row_id && b.index == index; })) {
      index = (index + 1) % row.alternatives.size();
    }
    bindings_.push_back({row_id, slot, index});
    return index;
  }

  const StoryGrammar& grammar_ = story_grammar();
  StoryRandom random_;
  std::vector<Binding> bindings_;
  std::vector<int> sentence_;
  std::string text_;
};

/// Which stretches of one sentence form which category: a recursive transition network with a
/// memory, so each (category, position) is worked out once and the time is bounded by the
/// sentence's length.
class StoryParser {
 public:
  static constexpr std::size_t max_tokens = 63;  // positions are the bits of one integer

  explicit StoryParser(std::span<const int> tokens)
      : tokens_(tokens),
        memory_(static_cast<std::size_t>(grammar_.num_categories()) * (tokens.size() + 1)) {}

  bool is_sentence() { return (ends(grammar_.sentence_category(), 0) >> tokens_.size() & 1U) != 0; }

 private:
  /// Bit p is set if the category can span the tokens from `begin` up to, not including, p.
  std::uint64_t ends(int category, std::size_t begin) {
    const std::size_t cell = static_cast<std::size_t>(category) * (tokens_.size() + 1) + begin;
    if (memory_[cell].has_value()) return *memory_[cell];
    memory_[cell] = 0;  // a category that begins with itself finds nothing new
    std::uint64_t result = 0;
    if (begin < tokens_.size() && (grammar_.categories_of(tokens_[begin]) >> category & 1U) != 0) {
      result |= std::uint64_t{2} << begin;
    }
    for (const StoryGrammar::Production& production : grammar_.productions(category)) {
      std::uint64_t reached = std::uint64_t{1} << begin;
      for (const StoryGrammar::Part& part : production) reached = advance(part, reached);
      result |= reached;
    }
    memory_[cell] = result;
    return result;
  }

  std::uint64_t advance(const StoryGrammar::Part& part, std::uint64_t from) {
    std::uint64_t to = 0;
    for (std::size_t p = 0; p <= tokens_.size(); ++p) {
      if ((from >> p & 1U) == 0) continue;
      if (part.is_category) {
        to |= ends(part.id, p);
      } else if (p < tokens_.size() && tokens_[p] == part.id) {
        to |= std::uint64_t{2} << p;
      }
    }
    return to;
  }

  const StoryGrammar& grammar_ = story_grammar();
  std::span<const int> tokens_;
  std::vector<std::optional<std::uint64_t>> memory_;
};

inline bool is_story_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '\'';
}

/// The word's token, with or without a capital the sentence gave it, or -1.
inline int find_story_word(std::string_view word) {
  if (word.empty() || !std::all_of(word.begin(), word.end(), is_story_letter)) return -1;
  const int exact = story_grammar().find_token(word);
  if (exact >= 0 || word[0] < 'A' || word[0] > 'Z') return exact;
  std::string lower(word);
  lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  return story_grammar().find_token(lower);
}

}  // namespace detail

/// Story number `index` of the endless collection `seed`, without a newline at its end.
inline std::string story(std::uint64_t seed, std::uint64_t index) {
  return detail::StoryTeller(seed, index).tell();
}

/// Stories one after the other, a blank line between them, until at least `bytes` bytes were given.
class StoryStream {
 public:
  StoryStream(std::uint64_t seed, std::int64_t bytes) : seed_(seed), bytes_(bytes) {}

  /// The next piece of text: a story with its newline, and before it the blank line; nothing at the
  /// end.
  std::optional<std::string> next() {
    if (written_ >= bytes_) return std::nullopt;
    std::string piece = (index_ == 0 ? "" : "\n") + story(seed_, index_) + "\n";
    ++index_;
    written_ += static_cast<std::int64_t>(piece.size());
    return piece;
  }

 private:
  std::uint64_t seed_;
  std::int64_t bytes_;
  std::int64_t written_ = 0;
  std::uint64_t index_ = 0;
};

/// Writes whole stories, at least `bytes` bytes in all; no bytes if `bytes` is not positive.
inline void write_stories(std::ostream& out, std::int64_t bytes, std::uint64_t seed) {
  StoryStream stream(seed, bytes);
  while (const auto piece = stream.next()) out << *piece;
}

/// Every word a story can hold, sorted, names with their capital.
inline std::vector<std::string_view> story_words() {
  const detail::StoryGrammar& grammar = detail::story_grammar();
  std::vector<std::string_view> words;
  for (const int id : grammar.sorted_tokens()) {
    if (detail::is_story_letter(grammar.token(id)[0])) words.push_back(grammar.token(id));
  }
  return words;
}

/// Whether a story can hold this word, as spelled in the middle or at the start of a sentence.
inline bool is_story_word(std::string_view word) { return detail::find_story_word(word) >= 0; }

/// Whether this is one whole sentence of the story grammar: words, marks, quotes, spaces and
/// capitals.
inline bool parses_as_story_sentence(std::string_view sentence) {
  std::vector<int> tokens;
  bool in_quotes = false;
  for (std::size_t at = 0; at < sentence.size();) {
    if (sentence[at] == ' ') {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    int token = -1;
    if (detail::is_story_letter(sentence[at])) {
      while (end < sentence.size() && detail::is_story_letter(sentence[end])) ++end;
      token = detail::find_story_word(sentence.substr(at, end - at));
    } else if (sentence[at] == '"') {
      token = detail::story_grammar().find_token(in_quotes ? ">" : "<");
      in_quotes = !in_quotes;
    } else {
      token = detail::story_grammar().find_token(sentence.substr(at, 1));
    }
    if (token < 0 || tokens.size() == detail::StoryParser::max_tokens) return false;
    tokens.push_back(token);
    at = end;
  }
  return detail::write_story_sentence(tokens) == sentence &&
         detail::StoryParser(tokens).is_sentence();
}

/// The sentences of a text, without the space between them: each ends with `.`, `!` or `?`, a
/// closing quote included, before a space that no small letter follows, or at the end of its line.
inline std::vector<std::string_view> split_story_sentences(std::string_view text) {
  std::vector<std::string_view> sentences;
  const auto add = [&](std::size_t begin, std::size_t end) {
    while (begin < end && text[begin] == ' ') ++begin;
    while (end > begin && text[end - 1] == ' ') --end;
    if (begin < end) sentences.push_back(text.substr(begin, end - begin));
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      add(begin, at);
      begin = at + 1;
      continue;
    }
    if (c != '.' && c != '!' && c != '?') continue;
    std::size_t end = at + 1;
    if (end < text.size() && text[end] == '"') ++end;
    if (end >= text.size() || text[end] != ' ') continue;
    const std::size_t next = text.find_first_not_of(' ', end);
    if (next != std::string_view::npos && text[next] >= 'a' && text[next] <= 'z') continue;
    add(begin, end);
    begin = end;
  }
  add(begin, text.size());
  return sentences;
}

}  // namespace fount::data
