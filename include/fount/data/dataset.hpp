// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the shards of a data set: a folder that `fount prepare` wrote, a folder of llm.c or of
// nanoGPT, a pattern, or one file. Reading tokens is in data/shards.hpp, serving them in
// data/loader.hpp.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/shards.hpp>
#include <fount/io/byte_stream.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/json.hpp>

namespace fount {

enum class Split { train, validation };

/// As it stands in file names.
constexpr std::string_view name_of(Split split) { return split == Split::train ? "train" : "val"; }

struct DatasetShard {
  std::string file;  // plain name, in the folder of metadata.json
  Split split = Split::train;
  std::int64_t tokens = 0;
  Bytes bytes = 0;
  std::uint64_t hash = 0;  // of its tokens as the file has them; 0: not known
};

struct DatasetSource {
  std::string name;
  Bytes bytes = 0;
};

/// The content of metadata.json.
struct DatasetMetadata {
  static constexpr std::string_view file_name = "metadata.json";

  std::string tokenizer;  // kind: "char", "byte"
  std::int32_t vocab_size = 0;
  std::uint64_t tokenizer_hash = 0;
  std::uint64_t dataset_hash = 0;  // of the texts and of how they were cut
  std::vector<DatasetShard> shards;
  std::vector<DatasetSource> sources;

  std::int64_t tokens(Split split) const {
    std::int64_t sum = 0;
    for (const DatasetShard& shard : shards) sum += shard.split == split ? shard.tokens : 0;
    return sum;
  }
};

inline std::string to_json(const DatasetMetadata& data, std::string_view fount_version) {
  Json json = {{"format", "fount-tokens"},
               {"format_version", 1},
               {"fount_version", fount_version},
               {"tokenizer", data.tokenizer},
               {"vocab_size", data.vocab_size},
               {"tokenizer_hash", to_hex(data.tokenizer_hash)},
               {"dataset_hash", to_hex(data.dataset_hash)},
               {"train_tokens", data.tokens(Split::train)},
               {"validation_tokens", data.tokens(Split::validation)}};
  json["shards"] = Json::array();
  for (const DatasetShard& shard : data.shards) {
    json["shards"].push_back(Json{{"file", shard.file},
                                  {"split", name_of(shard.split)},
                                  {"tokens", shard.tokens},
                                  {"bytes", shard.bytes},
                                  {"hash", to_hex(shard.hash)}});
  }
  json["sources"] = Json::array();
  for (const DatasetSource& source : data.sources) {
    json["sources"].push_back(Json{{"name", source.name}, {"bytes", source.bytes}});
  }
  return dump_json(json) + "\n";
}

namespace detail {

inline std::uint64_t hash_member(const Json& json, std::string_view name, std::string_view where) {
  const std::string text = json_string(json, name, where);
  if (const auto hash = from_hex(text)) return *hash;
  throw FileError::content(where, "\"" + std::string(name) + "\": \"" + text.substr(0, 40) + "\"",
                           "16 hexadecimal digits");
}

/// Refuses a shard that is not the one its data set lists: a copy that was cut short, or a mixture
/// of two preparations.
inline void check_listed_shard(const std::filesystem::path& path, const DatasetShard& listed,
                               const DatasetMetadata& metadata) {
  const std::string_view fix = "prepare the data again with --overwrite";
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) {
    throw FileError::content(path.string(), "no such file", "the shard that metadata.json lists",
                             fix);
  }
  if (static_cast<Bytes>(size) != listed.bytes) {
    throw FileError::content(path.string(), std::to_string(size) + " bytes",
                             std::to_string(listed.bytes) + " as metadata.json lists", fix);
  }
  const TokenShard shard(path);
  if (shard.origin().dataset_hash != metadata.dataset_hash || shard.count() != listed.tokens) {
    throw FileError::content(
        path.string(), "tokens of data set " + to_hex(shard.origin().dataset_hash),
        "those of " + to_hex(metadata.dataset_hash) + ", as metadata.json says", fix);
  }
}

/// Whether a name like fineweb_val_000000.bin, TinyStories_train.bin or train.bin belongs to a
/// split: the last of its words, separated by '_', that names one decides.
inline bool belongs_to(std::string_view name, Split split) {
  if (!name.ends_with(".bin")) return false;
  name.remove_suffix(4);
  for (;;) {
    const auto at = name.rfind('_');
    const std::string_view word = at == std::string_view::npos ? name : name.substr(at + 1);
    if (word == "train") return split == Split::train;
    if (word == "val" || word == "validation") return split == Split::validation;
    if (at == std::string_view::npos) return false;
    name = name.substr(0, at);
  }
}

}  // namespace detail

/// Reads the metadata.json of a prepared folder. @throws FileError if it is missing or damaged.
inline DatasetMetadata read_metadata(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / DatasetMetadata::file_name;
  const std::string where = path.string();
  const Json json = parse_json(read_file(path, MiB(64)), where);
  if (const auto format = json_string(json, "format", where); format != "fount-tokens") {
    throw FileError::content(where, "format \"" + format.substr(0, 40) + "\"", "\"fount-tokens\"");
  }
  json_integer(json, "format_version", where, 1, 1);
  DatasetMetadata data;
  data.tokenizer = json_string(json, "tokenizer", where);
  data.vocab_size =
      static_cast<std::int32_t>(json_integer(json, "vocab_size", where, 1, max_shard_tokens));
  data.tokenizer_hash = detail::hash_member(json, "tokenizer_hash", where);
  data.dataset_hash = detail::hash_member(json, "dataset_hash", where);
  for (const Json& entry : json_member(json, "shards", where)) {
    const std::string file = json_string(entry, "file", where);
    const std::string split = json_string(entry, "split", where);
    if (!is_plain_name(file) || (split != "train" && split != "val")) {
      throw FileError::content(
          where,
          "the shard \"" + file.substr(0, 80) + "\" of split \"" + split.substr(0, 40) + "\"",
          "plain file names of train or val");
    }
    data.shards.push_back({file, split == "train" ? Split::train : Split::validation,
                           json_integer(entry, "tokens", where, 0, max_shard_tokens),
                           json_integer(entry, "bytes", where),
                           entry.contains("hash") ? detail::hash_member(entry, "hash", where) : 0});
  }
  for (const Json& entry : json_member(json, "sources", where)) {
    data.sources.push_back(
        {json_string(entry, "name", where), json_integer(entry, "bytes", where)});
  }
  return data;
}

/// What metadata.json remembers of the tokens of a shard: of the bytes behind its header. Reads
/// them in pieces: a mapped file would count as memory that is used.
inline std::uint64_t hash_of_tokens(const std::filesystem::path& shard) {
  FileStream stream(shard);
  stream.skip(ShardHeader::bytes);
  Hash64 hash;
  std::vector<char> buffer(std::size_t{1} << 18U);
  while (const std::size_t size = stream.read(buffer.data(), buffer.size())) {
    hash.add(std::string_view(buffer.data(), size));
  }
  return hash.value();
}

/// Reads all tokens of a prepared folder, and compares them with what metadata.json remembers.
/// @return how many shards are as they were written; those without a remembered hash do not count
/// @throws FileError naming the first shard whose tokens are not those that were written
inline std::int64_t verify_shards(const std::filesystem::path& folder) {
  std::int64_t verified = 0;
  for (const DatasetShard& shard : read_metadata(folder).shards) {
    if (shard.hash == 0) continue;
    const std::filesystem::path path = folder / shard.file;
    const std::uint64_t found = hash_of_tokens(path);
    if (found != shard.hash) {
      throw FileError::content(path.string(), "tokens with the hash " + to_hex(found),
                               to_hex(shard.hash) + " as metadata.json lists",
                               "the file changed after it was written: copy it again, or prepare "
                               "the data again with --overwrite");
    }
    ++verified;
  }
  return verified;
}

/// Whether `folder` holds data that `fount prepare` wrote.
inline bool is_prepared(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / DatasetMetadata::file_name, ignored);
}

/// The shards of one split, in the order that numbers them.
///
/// `data` is a folder with metadata.json; a folder of .bin files whose names hold the word train or
/// val (fineweb_train_000001.bin, val.bin); one file; or a pattern such as data/*_train_*.bin. For
/// the last two the split is not looked at.
/// @throws FileError if there is no such shard, or if a listed one is missing or another
inline std::vector<std::filesystem::path> find_shards(const std::filesystem::path& data,
                                                      Split split) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(data, ignored)) return expand_pattern(data);
  std::vector<std::filesystem::path> paths;
  if (is_prepared(data)) {
    const DatasetMetadata metadata = read_metadata(data);
    for (const DatasetShard& shard : metadata.shards) {
      if (shard.split != split) continue;
      paths.push_back(data / shard.file);
      detail::check_listed_shard(paths.back(), shard, metadata);
    }
  } else {
    for (const std::string& name : list_files(data, "*.bin")) {
      if (detail::belongs_to(name, split)) paths.push_back(data / name);
    }
  }
  if (paths.empty()) {
    const std::string word(name_of(split));
    throw FileError::content(data.string(), "no shards of the split '" + word + "'",
                             "metadata.json of `fount prepare`, or files like tokens_" + word +
                                 "_000000.bin or " + word + ".bin",
                             "check the folder, prepare the data, or name a tokenizer that reads "
                             "text while training");
  }
  return paths;
}

}  // namespace fount
