// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a tokenizer.json and gives the tokenizer that it describes. What this library cannot
// reproduce exactly is refused by name; nothing is approximated.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/character.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

namespace detail {

[[noreturn]] inline void refuse_tokenizer(std::string_view where, const std::string& found) {
  throw FileError::content(where, found,
                           "a tokenizer of kind char or byte, as `fount prepare` writes it",
                           "other tokenizers are not supported by this version");
}

/// "null", or the "type" of a part of the file.
inline std::string part_type(const Json& json, std::string_view part, std::string_view where) {
  const auto at = json.find(std::string(part));
  if (at == json.end() || at->is_null()) return "null";
  return json_string(*at, "type", where);
}

/// Parts that would change text or ids in ways that the two tokenizers do not know.
inline void check_tokenizer_parts(const Json& json, std::string_view where) {
  const Json& model = json_member(json, "model", where);
  const std::string type = json_string(model, "type", where);
  if (type != "BPE") refuse_tokenizer(where, "a model of type " + type);
  if (const Json& merges = json_member(model, "merges", where); !merges.empty()) {
    refuse_tokenizer(where, "byte-pair encoding with " + std::to_string(merges.size()) + " merges");
  }
  for (const char* name : {"dropout", "unk_token"}) {
    if (const auto at = model.find(name); at != model.end() && !at->is_null()) {
      refuse_tokenizer(where, "a model with \"" + std::string(name) + "\"");
    }
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto at = model.find(name); at != model.end() && !at->is_null() && *at != "") {
      refuse_tokenizer(where, "a model with \"" + std::string(name) + "\"");
    }
  }
  if (model.value("byte_fallback", Json(false)) != false) {
    refuse_tokenizer(where, "a model with \"byte_fallback\"");
  }
  if (const auto added = json.find("added_tokens"); added != json.end() && !added->empty()) {
    refuse_tokenizer(where, std::to_string(added->size()) + " added tokens");
  }
  if (const auto type_name = part_type(json, "normalizer", where); type_name != "null") {
    refuse_tokenizer(where, "a normalizer of type " + type_name);
  }
  // ByteLevel as a post-processor only moves offsets; others add tokens.
  const auto after = part_type(json, "post_processor", where);
  if (after != "null" && after != "ByteLevel") {
    refuse_tokenizer(where, "a post-processor of type " + after);
  }
}

/// The one code point of each id. @throws FileError unless ids are 0 .. n-1, each once.
inline std::vector<char32_t> vocabulary_code_points(const Json& vocabulary,
                                                    std::string_view where) {
  if (!vocabulary.is_object() || vocabulary.empty()) refuse_tokenizer(where, "no vocabulary");
  constexpr char32_t none = 0xFFFFFFFF;
  std::vector<char32_t> codes(vocabulary.size(), none);
  for (const auto& [name, id] : vocabulary.items()) {
    const CodePoint code = name.empty() ? CodePoint{} : decode_utf8(name, 0);
    if (static_cast<std::size_t>(code.length) != name.size() || code.length == 0) {
      refuse_tokenizer(where,
                       "the token \"" + name.substr(0, 40) + "\" of more than one character");
    }
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= codes.size() ||
        codes[id.get<std::size_t>()] != none) {
      throw FileError::content(
          where, "the token \"" + name + "\" with id " + id.dump().substr(0, 40),
          "each of the ids 0 to " + std::to_string(codes.size() - 1) + " once");
    }
    codes[id.get<std::size_t>()] = code.value;
  }
  return codes;
}

inline std::unique_ptr<Tokenizer> make_byte_tokenizer(const Json& json, std::string_view where,
                                                      const std::vector<char32_t>& codes) {
  const auto prefix = json["pre_tokenizer"].find("add_prefix_space");
  if (prefix != json["pre_tokenizer"].end() && *prefix != false) {
    refuse_tokenizer(where, "a ByteLevel pre-tokenizer that adds a space");
  }
  constexpr auto alphabet = byte_alphabet();
  if (codes.size() != 256) {
    refuse_tokenizer(where, "a byte vocabulary of " + std::to_string(codes.size()) + " tokens");
  }
  std::array<char, 256> byte_of{};
  for (std::size_t id = 0; id < 256; ++id) {
    const auto at = std::find(alphabet.begin(), alphabet.end(), codes[id]);
    if (at == alphabet.end()) {
      refuse_tokenizer(where, "a byte vocabulary with " + describe_code_point(codes[id]));
    }
    byte_of[id] = static_cast<char>(static_cast<unsigned char>(at - alphabet.begin()));
  }
  return std::make_unique<ByteTokenizer>(byte_of);
}

}  // namespace detail

/// The tokenizer described by the text of a tokenizer.json.
/// @param where names the text in messages
/// @throws FileError if it is damaged, or describes a tokenizer that is not supported
inline std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view text, std::string_view where) {
  const Json json = parse_json(text, where);
  detail::check_tokenizer_parts(json, where);
  const auto codes = detail::vocabulary_code_points(
      json_member(json_member(json, "model", where), "vocab", where), where);
  const std::string before = detail::part_type(json, "pre_tokenizer", where);
  const std::string after = detail::part_type(json, "decoder", where);
  if (before == "ByteLevel" && after == "ByteLevel") {
    return detail::make_byte_tokenizer(json, where, codes);
  }
  if (before == "null" && after == "Fuse") return std::make_unique<CharacterTokenizer>(codes);
  detail::refuse_tokenizer(
      where, "a pre-tokenizer of type " + before + " with a decoder of type " + after);
}

/// Reads the tokenizer of a folder (its tokenizer.json), or the file itself.
/// @throws FileError if there is none, or as parse_tokenizer()
inline std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  return parse_tokenizer(read_file(file, MiB(256)), file.string());
}

}  // namespace fount
