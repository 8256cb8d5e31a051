// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the files of a tokenizer (tokenizer.json, tiktoken's ranks, GPT-2's pair) and gives the
// tokenizer that they describe. What this library cannot reproduce exactly is refused by name;
// nothing is approximated.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>
#include <fount/text/bpe.hpp>
#include <fount/text/bpe_json_reader.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/character.hpp>
#include <fount/text/gpt2_files.hpp>
#include <fount/text/tiktoken.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/text/wordpiece.hpp>
#include <fount/text/wordpiece_json_reader.hpp>
#include <fount/text/wordpiece_model.hpp>

namespace fount {

namespace detail {

[[noreturn]] inline void refuse_tokenizer(std::string_view where, const std::string& found) {
  throw FileError::content(where, found,
                           "a tokenizer of kind char or byte, as `fount prepare` writes it, "
                           "byte-level BPE, or WordPiece",
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

/// Whether the file is a byte-level BPE that merges, or has tokens beside the bytes; without either
/// it is a byte tokenizer. Files from before 2021 do not name the type of their model.
inline bool is_byte_level_bpe(const Json& json, std::string_view where) {
  const Json& model = json_member(json, "model", where);
  if (model.contains("type") && json_string(model, "type", where) != "BPE") return false;
  const auto filled = [](const Json& object, const char* name) {
    const auto at = object.find(name);
    return at != object.end() && !at->empty();
  };
  return part_type(json, "decoder", where) == "ByteLevel" &&
         (filled(model, "merges") || filled(json, "added_tokens"));
}

/// The tokenizer of a model; what is wrong with it is said with the name of the file.
inline std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeModel model, std::string_view where) {
  try {
    return std::make_unique<BpeTokenizer>(std::move(model));
  } catch (const ConfigError&) {
    throw;  // this program, not the file
  } catch (const Error& e) {
    throw FileError("'" + std::string(where) + "': " + e.what());
  }
}

inline std::unique_ptr<Tokenizer> make_wordpiece(WordPieceModel model, std::string_view where) {
  try {
    return std::make_unique<WordPieceTokenizer>(std::move(model));
  } catch (const ConfigError&) {
    throw;  // nothing is wrong with the file
  } catch (const Error& e) {
    throw FileError("'" + std::string(where) + "': " + e.what());
  }
}

/// A vocab.txt, and the options of a tokenizer_config.json beside it: those of uncased BERT if
/// there is none.
inline std::unique_ptr<Tokenizer> load_wordpiece_vocabulary(const std::filesystem::path& file) {
  BertTextOptions options;
  std::error_code ignored;
  const std::filesystem::path config = file.parent_path() / "tokenizer_config.json";
  if (std::filesystem::exists(config, ignored)) {
    const Json json = parse_json(read_file(config, MiB(16)), config.string());
    options = read_bert_text_options(json, config.string());
  }
  return make_wordpiece(
      read_wordpiece_vocabulary_text(read_file(file, MiB(256)), file.string(), options),
      file.string());
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

namespace detail {

/// GPT-2's two files, as OpenAI and as Hugging Face call them.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 2> gpt2_pairs = {
    {{"encoder.json", "vocab.bpe"}, {"vocab.json", "merges.txt"}}};

/// The file itself, or the one of a folder that says what the tokenizer is.
inline std::filesystem::path tokenizer_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  if (std::filesystem::exists(path / "tokenizer.json", ignored)) return path / "tokenizer.json";
  const std::vector<std::string> ranks = list_files(path, "*.tiktoken");
  if (ranks.size() == 1) return path / ranks.front();
  for (const auto& [vocabulary, merges] : gpt2_pairs) {
    if (std::filesystem::exists(path / merges, ignored)) return path / vocabulary;
  }
  if (std::filesystem::exists(path / "vocab.txt", ignored)) return path / "vocab.txt";
  if (ranks.empty()) return path / "tokenizer.json";  // the error names what is missing
  throw FileError::content(path.string(), std::to_string(ranks.size()) + " rank files",
                           "one tokenizer in the folder", "name the file");
}

/// The encoding of a rank file with a published name.
inline TiktokenEncoding encoding_of_file(const std::filesystem::path& file) {
  std::string known;
  for (TiktokenEncoding& encoding : tiktoken_encodings()) {
    if (encoding.file == file.filename()) return std::move(encoding);
    known += (known.empty() ? "" : ", ") + encoding.name;
  }
  throw FileError::content(file.string(), "a rank file of a name that says no encoding",
                           "r50k_base.tiktoken, cl100k_base.tiktoken or o200k_base.tiktoken",
                           "name the encoding: " + known);
}

}  // namespace detail

/// The tokenizer described by the text of a tokenizer.json.
/// @param where names the text in messages
/// @throws FileError if it is damaged, or describes a tokenizer that is not supported
inline std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view text, std::string_view where) {
  const Json json = parse_json(text, where);
  if (detail::is_byte_level_bpe(json, where)) {
    return detail::make_bpe_tokenizer(read_bpe_model(json, where), where);
  }
  if (is_wordpiece_json(json)) {
    return detail::make_wordpiece(read_wordpiece_model(json, where), where);
  }
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

/// Reads the tokenizer of a folder or file:
/// - tokenizer.json of Hugging Face: characters, bytes, byte-level BPE, or WordPiece;
/// - a .tiktoken file, or any file with `encoding`: ranks;
/// - vocab.bpe and encoder.json (or merges.txt and vocab.json), by either name: GPT-2's pair;
/// - vocab.txt: BERT's, one token a line.
/// A folder holds one of these; tokenizer.json goes before the others.
/// @param encoding  what a rank file is for (tiktoken_encodings()); empty: by the file's name
/// @throws FileError if there is none, or if it is damaged or not supported; ConfigError if the
///         encoding is not known
inline std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path,
                                                 std::string_view encoding = {}) {
  const std::filesystem::path file = detail::tokenizer_file(path);
  const std::string name = file.filename().string();
  if (!encoding.empty() || file.extension() == ".tiktoken") {
    const TiktokenEncoding known =
        encoding.empty() ? detail::encoding_of_file(file) : tiktoken_encoding(encoding);
    return detail::make_bpe_tokenizer(
        read_tiktoken_model(read_file(file, MiB(256)), file.string(), known), file.string());
  }
  for (const auto& [vocabulary, merges] : detail::gpt2_pairs) {
    if (name != vocabulary && name != merges) continue;
    const std::filesystem::path first = file.parent_path() / vocabulary;
    const std::filesystem::path second = file.parent_path() / merges;
    return detail::make_bpe_tokenizer(read_gpt2_model(read_file(first, MiB(256)), first.string(),
                                                      read_file(second, MiB(256)), second.string()),
                                      first.string());
  }
  if (name == "vocab.txt") return detail::load_wordpiece_vocabulary(file);
  return parse_tokenizer(read_file(file, MiB(256)), file.string());
}

}  // namespace fount
