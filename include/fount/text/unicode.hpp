// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only door to utf8proc: what Unicode says about a code point (letters, numbers, marks, white
// space, ...), lower case, and canonical decomposition. The version of Unicode is utf8proc's.
// Without that library (FOUNT_HAS_UTF8PROC is then 0) the header compiles and every
// function here throws: a tokenizer that guessed classes would give other ids than it should.
// The Unicode Standard, sections 3.13, 4.5; PropList.txt; https://github.com/JuliaStrings/utf8proc

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>

#if FOUNT_HAS_UTF8PROC
#include <utf8proc.h>
#endif

namespace fount {

/// What a code point is; one bit each, several may be set. The letters in the comments are
/// Unicode's general categories.
enum class Unicode : std::uint16_t {
  letter = 1U << 0U,           // L*
  number = 1U << 1U,           // N*
  mark = 1U << 2U,             // M*
  nonspacing_mark = 1U << 3U,  // Mn: the accents that BERT strips
  punctuation = 1U << 4U,      // P*
  control = 1U << 5U,          // Cc Cf Cn Co Cs: not a character of a text
  white_space = 1U << 6U,      // the property White_Space
  upper_letter = 1U << 7U,     // Lu Lt
  lower_letter = 1U << 8U,     // Ll
  other_letter = 1U << 9U,     // Lm Lo: neither upper nor lower
  unassigned = 1U << 10U,      // Cn: may become anything in a later version
};

/// A set of them.
using UnicodeSet = std::uint16_t;

constexpr UnicodeSet operator|(Unicode a, Unicode b) {
  return static_cast<UnicodeSet>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr UnicodeSet operator|(UnicodeSet a, Unicode b) {
  return static_cast<UnicodeSet>(a | static_cast<unsigned>(b));
}
constexpr bool contains(UnicodeSet set, Unicode one) {
  return (set & static_cast<unsigned>(one)) != 0;
}
constexpr bool intersects(UnicodeSet a, UnicodeSet b) { return (a & b) != 0; }

/// The largest code point.
inline constexpr char32_t max_code_point = 0x10FFFF;

/// The property White_Space: PropList.txt, unchanged since Unicode 6.3. Written out because no
/// category says it, and because JavaScript's and C's ideas of white space differ from it.
constexpr bool is_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

/// Whether this program can answer questions about Unicode.
constexpr bool has_unicode() {
#if FOUNT_HAS_UTF8PROC
  return true;
#else
  return false;
#endif
}

namespace detail {

[[noreturn]] inline void refuse_unicode() {
  throw ConfigError(
      "unicode: this program was built without utf8proc, which knows letters, numbers and marks; "
      "install it (on Debian and Ubuntu: apt-get install libutf8proc-dev), then configure and "
      "build again");
}

#if FOUNT_HAS_UTF8PROC
constexpr UnicodeSet unicode_set_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return Unicode::letter | Unicode::upper_letter;
    case UTF8PROC_CATEGORY_LL: return Unicode::letter | Unicode::lower_letter;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return Unicode::letter | Unicode::other_letter;
    case UTF8PROC_CATEGORY_MN: return Unicode::mark | Unicode::nonspacing_mark;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return UnicodeSet{} | Unicode::mark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return UnicodeSet{} | Unicode::number;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return UnicodeSet{} | Unicode::punctuation;
    case UTF8PROC_CATEGORY_CN: return Unicode::control | Unicode::unassigned;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS: return UnicodeSet{} | Unicode::control;
    default: return 0;  // symbols and separators
  }
}
#endif

}  // namespace detail

/// The sets of all code points, looked up in two steps of a table: utf8proc's own search is too
/// slow to ask for every character of a text. Built once, in some milliseconds; about 100 KB.
class UnicodeTable {
 public:
  /// The table of this process. Keep the reference where many characters are looked up.
  /// @throws ConfigError if this program was built without utf8proc
  static const UnicodeTable& get() {
    static const UnicodeTable table;
    return table;
  }

  /// @param code at most max_code_point
  UnicodeSet operator[](char32_t code) const {
    return sets_[std::size_t{blocks_[code >> 8U]} << 8U | (code & 0xFFU)];
  }
  /// The sets of U+0000 to U+00FF, for loops over text that is mostly ASCII.
  const UnicodeSet* first_block() const { return sets_.data(); }

  UnicodeTable(const UnicodeTable&) = delete;
  UnicodeTable& operator=(const UnicodeTable&) = delete;

 private:
#if FOUNT_HAS_UTF8PROC
  UnicodeTable() {
    std::map<std::array<UnicodeSet, 256>, std::uint16_t> known;  // most blocks are like others
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      std::array<UnicodeSet, 256> sets{};
      for (std::size_t i = 0; i < sets.size(); ++i) {
        const auto code = static_cast<char32_t>(block << 8U | i);
        sets[i] =
            detail::unicode_set_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
        if (is_white_space(code)) sets[i] = sets[i] | Unicode::white_space;
      }
      const auto [at, inserted] = known.emplace(sets, static_cast<std::uint16_t>(known.size()));
      if (inserted) sets_.insert(sets_.end(), sets.begin(), sets.end());
      blocks_[block] = at->second;
    }
  }
#else
  UnicodeTable() { detail::refuse_unicode(); }
#endif

  std::array<std::uint16_t, (max_code_point >> 8U) + 1> blocks_{};  // which 256 sets
  std::vector<UnicodeSet> sets_;
};

/// The set of one code point. @throws ConfigError if this program was built without utf8proc
inline UnicodeSet unicode_set(char32_t code) {
  return code > max_code_point ? UnicodeSet{} : UnicodeTable::get()[code];
}
inline bool is_letter(char32_t code) { return contains(unicode_set(code), Unicode::letter); }
inline bool is_number(char32_t code) { return contains(unicode_set(code), Unicode::number); }
inline bool is_mark(char32_t code) { return contains(unicode_set(code), Unicode::mark); }
inline bool is_nonspacing_mark(char32_t code) {
  return contains(unicode_set(code), Unicode::nonspacing_mark);
}
inline bool is_punctuation(char32_t code) {
  return contains(unicode_set(code), Unicode::punctuation);
}
/// Categories Cc, Cf, Cn, Co and Cs; tab and line ends are among them.
inline bool is_control(char32_t code) { return contains(unicode_set(code), Unicode::control); }

/// The version of Unicode behind the answers, such as "15.0.0".
/// @throws ConfigError if this program was built without utf8proc
inline std::string_view unicode_version() {
#if FOUNT_HAS_UTF8PROC
  return utf8proc_unicode_version();
#else
  detail::refuse_unicode();
#endif
}

/// Appends the full lower case of a code point: the unconditional mappings of SpecialCasing.txt, of
/// which U+0130 is the only one that grows. A sigma at the end of a word becomes U+03C3 like any
/// other, as in Hugging Face's normalizers.
/// @throws ConfigError if this program was built without utf8proc
inline void append_lower(std::u32string& text, char32_t code) {
  if (code < 0x80) {
    text += code >= U'A' && code <= U'Z' ? code + 32U : code;
    return;
  }
#if FOUNT_HAS_UTF8PROC
  if (code == 0x130) {
    text += {U'i', char32_t{0x307}};
    return;
  }
  text += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
#else
  detail::refuse_unicode();
#endif
}

/// The canonical decomposition (NFD) of a text: accents apart from their letters, and several
/// accents on one letter in canonical order. What no code point can be stays as it is.
/// @throws ConfigError if this program was built without utf8proc
inline std::u32string canonical_decomposition(std::u32string_view text) {
#if FOUNT_HAS_UTF8PROC
  const auto combining_class = [](char32_t code) {
    return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
  };
  std::u32string result;
  result.reserve(text.size());
  std::size_t run = 0;  // where the code points that may change places begin
  std::vector<std::pair<std::uint64_t, char32_t>> keyed;
  const auto order = [&] {
    if (result.size() < run + 2) return;
    keyed.clear();  // the class, and by the place what has the same one
    for (std::size_t at = run; at < result.size(); ++at) {
      keyed.emplace_back(static_cast<std::uint64_t>(combining_class(result[at])) << 48U | at,
                         result[at]);
    }
    std::sort(keyed.begin(), keyed.end());
    for (const auto& [key, code] : keyed) result[run++] = code;
  };
  for (const char32_t code : text) {
    std::array<utf8proc_int32_t, 32> parts{};  // Unicode 15 needs 4
    utf8proc_ssize_t count =
        code < 0x80 ? 0
                    : utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                              static_cast<utf8proc_ssize_t>(parts.size()),
                                              UTF8PROC_DECOMPOSE, nullptr);
    if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
      parts[0] = static_cast<utf8proc_int32_t>(code);
      count = 1;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto part = static_cast<char32_t>(parts[i]);
      if (part < 0x80 || combining_class(part) == 0) {
        order();
        run = result.size() + 1;
      }
      result += part;
    }
  }
  order();
  return result;
#else
  static_cast<void>(text);
  detail::refuse_unicode();
#endif
}

}  // namespace fount
