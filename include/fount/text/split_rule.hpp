// SPDX-License-Identifier: Apache-2.0
#pragma once
// The known ways to cut text into the pieces inside which byte pairs merge, by name and by the
// regular expression that means them in files. The cutting itself is in text/split.hpp.
// Radford et al. 2019 (encoder.py); the patterns of cl100k_base and o200k_base in openai/tiktoken.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fount {

/// How text is cut; spelled as on the command line.
enum class SplitRule {
  gpt2,         // GPT-2, r50k_base
  gpt2_digits,  // the same between digits, each of which is a piece: SmolLM
  cl100k,       // GPT-4, Llama 3: numbers in threes
  nanochat,     // cl100k with numbers in twos
  qwen2,        // cl100k with numbers in single digits
  o200k         // GPT-4o: capitals begin a piece, contractions stay with their word
};

/// A rule by name, and the expression by which a tokenizer.json asks for it.
struct KnownSplit {
  SplitRule rule;
  std::string_view name;
  std::string_view pattern;  // what we write; gpt2's two are written without
};

namespace detail {

inline constexpr std::string_view gpt2_pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

}  // namespace detail

/// Every rule, in the order of the enumerators.
inline constexpr std::array<KnownSplit, 6> known_splits = {{
    {SplitRule::gpt2, "gpt2", detail::gpt2_pattern},
    {SplitRule::gpt2_digits, "gpt2_digits", {}},
    {SplitRule::cl100k, "cl100k",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {SplitRule::nanochat, "nanochat",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,2}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {SplitRule::qwen2, "qwen2",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {SplitRule::o200k, "o200k",
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
     "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
}};

constexpr const KnownSplit& known_split(SplitRule rule) {
  return known_splits[static_cast<std::size_t>(rule)];
}
static_assert(
    [] {
      for (std::size_t i = 0; i < known_splits.size(); ++i) {
        if (known_splits[i].rule != static_cast<SplitRule>(i)) return false;
      }
      return true;
    }(),
    "known_splits: its order must be that of SplitRule, because known_split() counts on it");
constexpr std::string_view name_of(SplitRule rule) { return known_split(rule).name; }

/// The rule of that name, or nothing.
constexpr std::optional<SplitRule> split_rule(std::string_view name) {
  for (const KnownSplit& known : known_splits) {
    if (known.name == name) return known.rule;
  }
  return std::nullopt;
}

/// "gpt2, gpt2_digits, ...", for messages.
inline std::string split_rule_names() {
  std::string names;
  for (const KnownSplit& known : known_splits) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

/// The rule that an expression means, or nothing if it is not known exactly. Beside the classic
/// texts, other spellings of the same language are known. Not among them: expressions with
/// `\s++$`, which cut white space at the end of a text in another way.
constexpr std::optional<SplitRule> split_rule_of_pattern(std::string_view pattern) {
  for (const KnownSplit& known : known_splits) {
    if (!pattern.empty() && known.pattern == pattern) return known.rule;
  }
  if (pattern ==
      "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+") {
    return SplitRule::gpt2;
  }
  // nanochat's own text; possessive quantifiers change nothing where no shorter match is left.
  if (pattern ==
      "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,2}| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+") {
    return SplitRule::nanochat;
  }
  if (pattern ==
      "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+") {
    return SplitRule::cl100k;
  }
  return std::nullopt;
}

}  // namespace fount
