// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text as BERT sees it: cleaned, in lower case and without accents where that is asked for, cut
// into words and single punctuation marks. What happens to the words is in text/wordpiece.hpp.
// Devlin et al. 2018 (tokenization.py); in detail as Hugging Face's BertNormalizer and
// BertPreTokenizer, but with the classes of the current Unicode, not of version 8: they differ for
// marks, punctuation and format characters added since 2015, which no published vocabulary has.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fount/core/error.hpp>
#include <fount/text/unicode.hpp>
#include <fount/text/utf8.hpp>

namespace fount {

/// What is done to the text; the names are those of tokenizer.json.
struct BertTextOptions {
  bool clean_text = true;            // drop control characters, U+0000 and U+FFFD
  bool handle_chinese_chars = true;  // each ideograph is a word
  std::optional<bool> strip_accents =
      std::nullopt;  // decompose and drop the marks; not said: where lowercase
  bool lowercase = true;

  bool strips_accents() const { return strip_accents.value_or(lowercase); }
  friend bool operator==(const BertTextOptions&, const BertTextOptions&) = default;
};

/// The ideographs that BERT isolates: not Hangul, Hiragana or Katakana. The blocks are those of
/// Hugging Face, which begins extension E at 2B920; Google's program begins it at 2B820.
constexpr bool is_chinese_character(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/// Splits text into BERT's words. One object serves many texts, of one thread at a time.
class BertWords {
 public:
  /// @throws ConfigError if this program was built without utf8proc
  explicit BertWords(const BertTextOptions& options)
      : options_(options), table_(&UnicodeTable::get()) {}

  /// Calls emit(word) for each word, in UTF-8; the view is valid until emit returns.
  /// @throws Error naming the byte where the text is not UTF-8
  template <class Emit>
  void for_each(std::string_view text, Emit&& emit) {
    word_.clear();
    run_.clear();
    for (std::size_t at = 0; at < text.size();) {
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte < 0x80) {
        ++at;
        if (options_.clean_text && drops(byte)) continue;
        if (!run_.empty()) end_run(emit);
        add_ascii(byte, emit);
        continue;
      }
      const CodePoint code = decode_utf8(text, at);
      if (code.length == 0) {
        throw Error("wordpiece tokenizer: the text is not UTF-8 at byte " + std::to_string(at) +
                    "; convert it to UTF-8");
      }
      at += static_cast<std::size_t>(code.length);
      add_beyond_ascii(code.value, emit);
    }
    if (!run_.empty()) end_run(emit);
    end_word(emit);
  }

 private:
  /// Control characters other than tab and line ends; unassigned code points are none.
  bool drops(char32_t code) const {
    if (code == '\t' || code == '\n' || code == '\r') return false;
    const UnicodeSet set = (*table_)[code];
    return code == 0 || code == 0xFFFD ||
           (contains(set, Unicode::control) && !contains(set, Unicode::unassigned));
  }

  template <class Emit>
  void end_word(Emit& emit) {
    if (!word_.empty()) emit(std::string_view(word_));
    word_.clear();
  }
  template <class Emit>
  void add_ascii(unsigned char byte, Emit& emit) {
    switch (ascii_classes[byte]) {
      case AsciiClass::upper:
        word_ += static_cast<char>(options_.lowercase ? byte + 32 : byte);
        break;
      case AsciiClass::other: word_ += static_cast<char>(byte); break;
      case AsciiClass::space: end_word(emit); break;
      case AsciiClass::punctuation:
        end_word(emit);
        word_ += static_cast<char>(byte);
        end_word(emit);
        break;
    }
  }
  template <class Emit>
  void add_beyond_ascii(char32_t code, Emit& emit) {
    if (options_.clean_text && drops(code)) return;
    const bool alone = options_.handle_chinese_chars && is_chinese_character(code);
    if (alone) {
      end_run(emit);
      end_word(emit);
    }
    run_ += code;
    if (alone) {
      end_run(emit);
      end_word(emit);
    }
  }
  /// The code points beyond ASCII since the last that is not: marks may change places among them.
  template <class Emit>
  void end_run(Emit& emit) {
    const bool strip = options_.strips_accents();
    if (strip) run_ = canonical_decomposition(run_);
    for (const char32_t code : run_) {
      if (strip && contains((*table_)[code], Unicode::nonspacing_mark)) continue;
      lower_.clear();
      if (options_.lowercase) {
        append_lower(lower_, code);
      } else {
        lower_ = code;
      }
      for (const char32_t c : lower_) add(c, emit);
    }
    run_.clear();
  }
  template <class Emit>
  void add(char32_t code, Emit& emit) {
    if (code < 0x80) return add_ascii(static_cast<unsigned char>(code), emit);
    const UnicodeSet set = (*table_)[code];
    if (contains(set, Unicode::white_space)) return end_word(emit);
    const bool alone = contains(set, Unicode::punctuation);
    if (alone) end_word(emit);
    append_utf8(word_, code);
    if (alone) end_word(emit);
  }

  enum class AsciiClass : std::uint8_t { other, upper, space, punctuation };
  /// Every visible character that is no letter or digit counts as punctuation: $ + < = > ^ ` | ~
  /// too.
  static constexpr std::array<AsciiClass, 128> ascii_classes = [] {
    std::array<AsciiClass, 128> classes{};
    for (std::size_t c = 0; c < 128; ++c) {
      const bool upper = c >= 'A' && c <= 'Z';
      const bool plain = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      const bool visible = c > 32 && c < 127;
      const bool space = c == 32 || (c >= 9 && c <= 13);
      classes[c] = upper               ? AsciiClass::upper
                   : space             ? AsciiClass::space
                   : plain || !visible ? AsciiClass::other
                                       : AsciiClass::punctuation;
    }
    return classes;
  }();

  BertTextOptions options_;
  const UnicodeTable* table_;
  std::string word_;
  std::u32string run_;
  std::u32string lower_;
};

}  // namespace fount
