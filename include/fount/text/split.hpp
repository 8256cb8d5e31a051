// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts text into the pieces inside which byte pairs merge. Published tokenizers define the cuts by
// a regular expression; each known one is written out here as a function that walks from left to
// right, without a regex engine, without recursion, and linear in the text. An unknown expression
// is refused, never replaced by a similar one. Bytes that are not UTF-8 count as symbols of one
// byte each (like '!'), so every text has pieces.
// Radford et al. 2019 (encoder.py); the patterns of cl100k_base and o200k_base in openai/tiktoken.

#include <cstddef>
#include <string_view>

#include <fount/text/split_rule.hpp>
#include <fount/text/unicode.hpp>
#include <fount/text/utf8.hpp>

namespace fount {

/// Walks over a text and finds where each piece ends.
class Splitter {
 public:
  /// @throws ConfigError if this program was built without utf8proc
  explicit Splitter(std::string_view text)
      : text_(text.data()),
        size_(text.size()),
        table_(UnicodeTable::get()),
        ascii_(table_.first_block()) {}

  /// The end of the piece that begins at byte `at`, which must be inside the text and the end of
  /// the piece before (or 0).
  template <SplitRule rule>
  std::size_t piece_end(std::size_t at) const {
    if constexpr (rule == SplitRule::gpt2 || rule == SplitRule::gpt2_digits) {
      return gpt2_end<rule == SplitRule::gpt2_digits>(at);
    } else if constexpr (rule == SplitRule::o200k) {
      return o200k_end(at);
    } else {
      constexpr int max_digits = rule == SplitRule::cl100k     ? 3
                                 : rule == SplitRule::nanochat ? 2
                                                               : 1;
      return cl100k_end<max_digits>(at);
    }
  }

 private:
  struct Character {
    UnicodeSet set;
    std::size_t length;
  };
  static constexpr UnicodeSet no_symbol = Unicode::letter | Unicode::number | Unicode::white_space;
  static constexpr UnicodeSet letter_or_number = Unicode::letter | Unicode::number;
  static constexpr UnicodeSet upper_part =  // what o200k lets a word begin with
      Unicode::upper_letter | Unicode::other_letter | Unicode::mark;
  static constexpr UnicodeSet lower_part =
      Unicode::lower_letter | Unicode::other_letter | Unicode::mark;

  unsigned char byte(std::size_t at) const { return static_cast<unsigned char>(text_[at]); }
  static bool is_line_end(char c) { return c == '\r' || c == '\n'; }

  Character character(std::size_t at) const {
    if (byte(at) < 0x80) return {ascii_[byte(at)], 1};
    return long_character(at);
  }
  /// Strict UTF-8; anything else is a symbol of one byte.
  Character long_character(std::size_t at) const {
    const CodePoint code = decode_utf8({text_, size_}, at);
    if (code.length == 0) return {0, 1};
    return {table_[code.value], static_cast<std::size_t>(code.length)};
  }

  /// The end of the run of characters in `wanted`, from `at`.
  std::size_t run(std::size_t at, UnicodeSet wanted) const {
    while (at < size_) {
      const Character c = character(at);
      if (!intersects(c.set, wanted)) break;
      at += c.length;
    }
    return at;
  }
  std::size_t run(std::size_t at, Unicode wanted) const { return run(at, UnicodeSet{} | wanted); }
  /// The end of the run of symbols: neither letter nor number nor white space.
  std::size_t symbols(std::size_t at) const {
    while (at < size_) {
      const Character c = character(at);
      if (intersects(c.set, no_symbol)) break;
      at += c.length;
    }
    return at;
  }
  /// The end of at most `limit` numbers.
  std::size_t numbers(std::size_t at, int limit) const {
    for (int i = 0; i < limit && at < size_; ++i) {
      const Character c = character(at);
      if (!contains(c.set, Unicode::number)) break;
      at += c.length;
    }
    return at;
  }

  /// Length of 's 't 'm 'd 'll 've 're at `at`, where an apostrophe stands; 0 if it is none of
  /// them.
  template <bool any_case>
  std::size_t contraction(std::size_t at) const {
    const auto letter = [&](std::size_t i) {
      if (i >= size_) return '\0';
      const char c = text_[i];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    switch (letter(at + 1)) {
      case 's':
      case 't':
      case 'm':
      case 'd': return 2;
      case 'l': return letter(at + 2) == 'l' ? 3 : 0;
      case 'v':
      case 'r': return letter(at + 2) == 'e' ? 3 : 0;
      case '\xC5':  // U+017F, the long s, is an s when case does not matter
        return any_case && at + 2 < size_ && text_[at + 2] == '\xBF' ? 3 : 0;
      default: return 0;
    }
  }

  /// White space that begins at `at`: all but its last character, which may belong to what follows;
  /// the whole run at the end of the text, or if it is one character.
  /// @param lines   a run that holds line ends is a piece up to the last of them
  /// @param digits  a number after the run ends the text, so to say
  template <bool lines, bool digits>
  std::size_t white_space_end(std::size_t at) const {
    std::size_t end = at;
    std::size_t last = at;      // where the last character of the run begins
    std::size_t line_end = at;  // behind the last line end
    while (end < size_) {
      const Character c = character(end);
      if (!contains(c.set, Unicode::white_space)) {
        if (digits && contains(c.set, Unicode::number)) last = at;
        break;
      }
      last = end;
      end += c.length;
      if (lines && is_line_end(text_[last])) line_end = end;
    }
    if (line_end > at) return line_end;
    return end == size_ || last == at ? end : last;
  }

  template <bool digits>
  std::size_t gpt2_end(std::size_t at) const {
    const std::size_t start = at;
    if (text_[at] == '\'') {
      if (const std::size_t length = contraction<false>(at)) return at + length;
    } else if (text_[at] == ' ' && at + 1 < size_) {
      ++at;
    }
    const Character c = character(at);
    if (contains(c.set, Unicode::letter)) return run(at + c.length, Unicode::letter);
    if (!intersects(c.set, no_symbol)) return symbols(at + c.length);
    if (contains(c.set, Unicode::number)) {
      if (!digits) return run(at + c.length, Unicode::number);
      return at == start ? at + c.length : at;  // a space before a digit stands alone
    }
    return white_space_end<false, digits>(start);
  }

  template <int max_digits>
  std::size_t cl100k_end(std::size_t at) const {
    if (text_[at] == '\'') {
      if (const std::size_t length = contraction<true>(at)) return at + length;
    }
    const Character c = character(at);
    if (contains(c.set, Unicode::letter)) return run(at + c.length, Unicode::letter);
    if (contains(c.set, Unicode::number)) return numbers(at + c.length, max_digits - 1);
    const std::size_t next = at + c.length;
    const Character d =
        next < size_ ? character(next) : Character{UnicodeSet{} | Unicode::white_space, 0};
    if (contains(d.set, Unicode::letter) && !is_line_end(text_[at])) {
      return run(next + d.length, Unicode::letter);
    }
    return symbols_or_space_end<false>(at, c, next, d);
  }

  /// " ?" symbols and the line ends behind them, or white space: what cl100k and o200k end with.
  template <bool slashes>
  std::size_t symbols_or_space_end(std::size_t at, Character c, std::size_t next,
                                   Character d) const {
    std::size_t end = at;
    if (!intersects(c.set, no_symbol)) {
      end = symbols(next);
    } else if (text_[at] == ' ' && !intersects(d.set, no_symbol)) {
      end = symbols(next + d.length);
    } else {
      return white_space_end<true, false>(at);
    }
    while (end < size_ && (is_line_end(text_[end]) || (slashes && text_[end] == '/'))) ++end;
    return end;
  }

  /// A word of o200k from `at`: capitals, then small letters; 0 if there is none. Letters that are
  /// neither, and marks, can be part of both. `whole` says whether it must have a small part.
  std::size_t word_end(std::size_t at, bool whole) const {
    std::size_t end = at;
    std::size_t lower_end = 0;  // behind the last character of the capitals that may be a small one
    while (end < size_) {
      const Character c = character(end);
      if (!intersects(c.set, upper_part)) break;
      end += c.length;
      if (intersects(c.set, lower_part)) lower_end = end;
    }
    const std::size_t after = run(end, lower_part);
    if (after > end) return after;
    if (whole) return lower_end;
    return end > at ? end : 0;
  }

  std::size_t o200k_end(std::size_t at) const {
    const Character c = character(at);
    if (contains(c.set, Unicode::number)) return numbers(at + c.length, 2);
    const std::size_t next = at + c.length;
    const bool prefix =
        !intersects(c.set, letter_or_number) && !is_line_end(text_[at]) && next < size_;
    for (const bool whole : {true, false}) {
      std::size_t end = prefix ? word_end(next, whole) : 0;
      if (end == 0) end = word_end(at, whole);
      if (end == 0) continue;
      return end < size_ && text_[end] == '\'' ? end + contraction<true>(end) : end;
    }
    const Character d =
        next < size_ ? character(next) : Character{UnicodeSet{} | Unicode::white_space, 0};
    return symbols_or_space_end<true>(at, c, next, d);
  }

  const char* text_;
  std::size_t size_;
  const UnicodeTable& table_;
  const UnicodeSet* ascii_;
};

namespace detail {

template <SplitRule rule, class Visit>
void visit_pieces(std::string_view text, Visit&& visit) {
  const Splitter splitter(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = splitter.piece_end<rule>(at);
    visit(at, end);
    at = end;
  }
}

}  // namespace detail

/// Calls visit(begin, end) for each piece, from left to right; the pieces cover the text.
/// @throws ConfigError if this program was built without utf8proc
template <class Visit>
void for_each_piece(SplitRule rule, std::string_view text, Visit&& visit) {
  switch (rule) {
    case SplitRule::gpt2: return detail::visit_pieces<SplitRule::gpt2>(text, visit);
    case SplitRule::gpt2_digits: return detail::visit_pieces<SplitRule::gpt2_digits>(text, visit);
    case SplitRule::cl100k: return detail::visit_pieces<SplitRule::cl100k>(text, visit);
    case SplitRule::nanochat: return detail::visit_pieces<SplitRule::nanochat>(text, visit);
    case SplitRule::qwen2: return detail::visit_pieces<SplitRule::qwen2>(text, visit);
    case SplitRule::o200k: return detail::visit_pieces<SplitRule::o200k>(text, visit);
  }
}

/// The first place at or after `at` where a piece ends whatever stands around it, so that the parts
/// before and after have the pieces of the whole; the size of the text if there is none. By any
/// rule that is so before a space behind a visible ASCII character, and behind a single line end
/// between a character that is no white space and a letter.
/// @throws ConfigError if this program was built without utf8proc
inline std::size_t next_certain_cut(std::string_view text, std::size_t at) {
  const auto ends_visible = [&](std::size_t end) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 &&
           (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) {
      --begin;
    }
    const CodePoint code = decode_utf8(text, begin);
    return static_cast<std::size_t>(code.length) == end - begin && !is_white_space(code.value);
  };
  const auto begins_letter = [&](std::size_t begin) {
    const CodePoint code = decode_utf8(text, begin);
    return code.length > 0 && is_letter(code.value);
  };
  for (at = at == 0 ? 1 : at; at < text.size(); ++at) {
    const char before = text[at - 1];
    if (text[at] == ' ' && before > ' ' && before < '\x7F') return at;
    if (before == '\n' && at >= 2 && ends_visible(at - 1) && begins_letter(at)) return at;
  }
  return text.size();
}

}  // namespace fount
