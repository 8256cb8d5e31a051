// SPDX-License-Identifier: Apache-2.0
#pragma once
// tiktoken's rank files: lines of `base64(bytes of the token) rank`, ascending. How text is cut and
// which special tokens there are stands outside the file, in the encodings below.
// https://github.com/openai/tiktoken (0.14); https://github.com/meta-llama/llama3 (tokenizer.py)

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/bpe_model.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

/// What belongs to a rank file but does not stand in it.
struct TiktokenEncoding {
  std::string name;
  std::string file;  // how the published file is called
  SplitRule split = SplitRule::gpt2;
  std::int32_t ranks = 0;  // how many the file must have; 0: any number
  std::vector<SpecialToken> special;
};

/// The encodings whose files are published.
inline std::vector<TiktokenEncoding> tiktoken_encodings() {
  std::vector<TiktokenEncoding> encodings = {
      {"gpt2", "r50k_base.tiktoken", SplitRule::gpt2, 50256, {{"<|endoftext|>", 50256}}},
      {"r50k_base", "r50k_base.tiktoken", SplitRule::gpt2, 50256, {{"<|endoftext|>", 50256}}},
      {"cl100k_base",
       "cl100k_base.tiktoken",
       SplitRule::cl100k,
       100256,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base",
       "o200k_base.tiktoken",
       SplitRule::o200k,
       199998,
       {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}};
  TiktokenEncoding llama{"llama3", "tokenizer.model", SplitRule::cl100k, 128000, {}};
  int reserved = 0;
  for (std::int32_t i = 0; i < 256; ++i) {
    const std::string name = i == 0   ? "begin_of_text"
                             : i == 1 ? "end_of_text"
                             : i == 6 ? "start_header_id"
                             : i == 7 ? "end_header_id"
                             : i == 9 ? "eot_id"
                                      : "reserved_special_token_" + std::to_string(reserved++);
    llama.special.push_back({"<|" + name + "|>", 128000 + i});
  }
  encodings.push_back(std::move(llama));
  return encodings;
}

/// The encoding of that name. @throws ConfigError naming those that there are
inline TiktokenEncoding tiktoken_encoding(std::string_view name) {
  std::string known;
  for (TiktokenEncoding& encoding : tiktoken_encodings()) {
    if (encoding.name == name) return std::move(encoding);
    known += (known.empty() ? "" : ", ") + encoding.name;
  }
  throw ConfigError("tokenizer: no encoding '" + std::string(name) + "'; use one of " + known);
}

namespace detail {

/// The bytes behind base64 (RFC 4648, with padding), or nothing if it is not exactly that.
inline std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr auto value_of = [] {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
    }
    return values;
  }();
  if (text.empty() || text.size() % 4 != 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  unsigned bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool padded = i + padding >= text.size();
    const int value = padded ? 0 : value_of[static_cast<unsigned char>(text[i])];
    if (value < 0) return {};
    bits = (bits << 6U | static_cast<unsigned>(value)) & 0xFFFFFFU;
    if (i % 4 != 3) continue;
    for (const unsigned shift : {16U, 8U, 0U}) {
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> shift & 0xFFU));
    }
  }
  for (std::size_t i = 0; i < padding; ++i) {
    if (bytes.back() != '\0') return {};  // bits that no byte has
    bytes.pop_back();
  }
  return bytes;
}

/// The token of one line. @param rank the rank that it must have
/// @return what is wrong with it, if `token` was not set
inline std::string read_rank_line(std::string_view line, std::size_t rank, std::string& token) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return "no space between token and rank";
  std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  if (!bytes) return "a token that is not base64";
  const std::string_view number = line.substr(space + 1);
  std::size_t found = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), found);
  if (error != std::errc{} || end != number.data() + number.size()) {
    return number.ends_with('\r') ? "a carriage return behind the rank"
                                  : "a rank that is not a number";
  }
  if (found != rank) return "rank " + std::to_string(found);
  token = std::move(*bytes);
  return {};
}

}  // namespace detail

/// The model of a rank file.
/// @param where names the file in messages
/// @throws FileError naming the line that is damaged, or if the file is not of this encoding
inline BpeModel read_tiktoken_model(std::string_view text, std::string_view where,
                                    const TiktokenEncoding& encoding) {
  BpeModel model;
  model.split = encoding.split;
  model.merge_by_id = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t rank = model.tokens.size();
    std::string token;
    const std::string wrong = detail::read_rank_line(text.substr(0, end), rank, token);
    if (!wrong.empty()) {
      throw FileError::content(where, "line " + std::to_string(rank + 1) + ": " + wrong,
                               "base64, a space and rank " + std::to_string(rank),
                               "fetch the file again");
    }
    model.tokens.push_back(std::move(token));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto expected = static_cast<std::size_t>(encoding.ranks);
  if (model.tokens.empty() || (expected != 0 && model.tokens.size() != expected)) {
    throw FileError::content(where, std::to_string(model.tokens.size()) + " ranks",
                             std::to_string(expected) + " for the encoding " + encoding.name,
                             "fetch the file again, or name its encoding");
  }
  for (const SpecialToken& token : encoding.special) {
    model.added.push_back({.content = token.content, .id = token.id});
  }
  return model;
}

}  // namespace fount
