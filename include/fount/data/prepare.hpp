// SPDX-License-Identifier: Apache-2.0
#pragma once
// From text to a data set: builds the tokenizer, cuts the text in train and validation part, and
// writes shards, tokenizer and metadata so that a failed preparation leaves nothing half. The
// command line around it is in app/. The cut follows nanoGPT's data/shakespeare_char/prepare.py.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/shards.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/character.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/version.hpp>

namespace fount {

struct PrepareOptions {
  std::filesystem::path input;     // a text file, a folder of .txt files, or "-": standard input
  std::string tokenizer = "char";  // "char" or "byte"
  std::filesystem::path output;
  double val_fraction = 0.1;  // the last part of the text becomes validation data
  std::int64_t shard_tokens = 100'000'000;
  bool split_at_documents = false;  // move the cut to the next blank line
  bool overwrite = false;
};

/// Hears, now and then, which part of the work is done: 0 to 1.
using Progress = std::function<void(double)>;

namespace detail {

/// The tokenizer of the texts and the number of its tokens in each.
struct TextSurvey {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::int64_t> tokens;  // of each source
};

inline TextSurvey survey(const TextSources& texts, const std::string& kind) {
  TextSurvey result;
  if (kind == "byte") {
    for (const auto& source : texts.all()) {
      result.tokens.push_back(static_cast<std::int64_t>(source.text.size()));
    }
    result.tokenizer = std::make_unique<ByteTokenizer>();
  } else {
    CharacterSet characters;
    for (const auto& source : texts.all()) {
      result.tokens.push_back(characters.add(source.text, source.name));
    }
    result.tokenizer = std::make_unique<CharacterTokenizer>(characters.sorted());
  }
  return result;
}

/// Byte offset of token `token` of one text: characters or bytes, a byte cut moving forward to the
/// next character.
inline std::size_t offset_of_token(std::string_view text, std::int64_t token,
                                   const Tokenizer& tokenizer) {
  if (tokenizer.kind() == "byte") return next_code_point(text, static_cast<std::size_t>(token));
  std::size_t at = 0;
  for (std::int64_t i = 0; i < token; ++i) {
    at += static_cast<std::size_t>(decode_utf8(text, at).length);
  }
  return at;
}

/// Where the train part ends, in bytes of the whole: behind the first int(n·(1-val_fraction)) of n
/// tokens, moved to a document start where that is asked for.
inline std::size_t train_end(const TextSources& texts, const TextSurvey& found,
                             const PrepareOptions& options) {
  std::int64_t total = 0;
  for (const std::int64_t tokens : found.tokens) total += tokens;
  auto left = static_cast<std::int64_t>(static_cast<double>(total) * (1.0 - options.val_fraction));
  if (left == total) return texts.size();
  std::size_t end = 0;
  for (std::size_t i = 0; i < texts.all().size(); ++i) {
    const auto& source = texts.all()[i];
    end = source.begin + source.text.size();
    if (left < found.tokens[i]) {
      end = source.begin + offset_of_token(source.text, left, *found.tokenizer);
      break;
    }
    left -= found.tokens[i];
  }
  if (!options.split_at_documents) return end;
  end = next_document(texts, end);
  if (end < texts.size()) return end;
  throw FileError("'" + options.input.string() + "': found no blank line in the last part of the " +
                  "text, expected one to cut at; leave out --split-at-documents, or raise " +
                  "--val-fraction");
}

/// Cuts a stream of tokens of one split into shards.
class ShardSetWriter {
 public:
  ShardSetWriter(const std::filesystem::path& folder, Split split, std::int64_t shard_tokens,
                 const ShardOrigin& origin, std::vector<DatasetShard>& shards)
      : folder_(folder), split_(split), limit_(shard_tokens), origin_(origin), shards_(&shards) {}

  void write(std::span<const std::int32_t> ids) {
    while (!ids.empty()) {
      if (!shard_) begin();
      const auto room = static_cast<std::size_t>(limit_ - shard_->count());
      const std::size_t size = std::min(room, ids.size());
      shard_->write(ids.first(size));
      ids = ids.subspan(size);
      if (shard_->count() == limit_) finish();
    }
  }
  void finish() {
    if (!shard_) return;
    shard_->finish();
    const std::int64_t count = shard_->count();
    shards_->push_back(
        {name_, split_, count, ShardHeader::bytes + count * (origin_.vocab_size > 65536 ? 4 : 2)});
    shard_.reset();
  }

 private:
  void begin() {
    char number[16];
    std::snprintf(number, sizeof number, "_%06d.bin", next_++);
    name_ = "tokens_" + std::string(name_of(split_)) + number;
    shard_ = std::make_unique<ShardWriter>(folder_ / name_, origin_);
  }

  std::filesystem::path folder_;
  Split split_;
  std::int64_t limit_;
  ShardOrigin origin_;
  std::vector<DatasetShard>* shards_;
  std::unique_ptr<ShardWriter> shard_;
  std::string name_;
  int next_ = 0;
};

/// Encodes bytes [begin, end) of the whole. Pieces end between characters: neither tokenizer has a
/// token that crosses from one into the next.
inline void encode_range(const TextSources& texts, const Tokenizer& tokenizer, std::size_t begin,
                         std::size_t end, ShardSetWriter& out, const Progress& progress) {
  constexpr std::size_t piece = std::size_t{1} << 20U;
  std::vector<std::int32_t> ids;
  for (const auto& source : texts.all()) {
    const std::size_t size = source.text.size();
    std::size_t at = std::clamp(begin, source.begin, source.begin + size) - source.begin;
    const std::size_t stop = std::clamp(end, source.begin, source.begin + size) - source.begin;
    while (at < stop) {
      const std::size_t to =
          stop - at > piece ? std::min(next_code_point(source.text, at + piece), stop) : stop;
      ids.clear();
      tokenizer.encode(source.text.substr(at, to - at), ids);
      out.write(ids);
      at = to;
      if (progress) {
        progress(static_cast<double>(source.begin + at) / static_cast<double>(texts.size()));
      }
    }
  }
  out.finish();
}

/// Names the result of a preparation, so that shards of two of them are never taken for one.
inline std::uint64_t dataset_hash(const TextSources& texts, std::size_t cut,
                                  std::uint64_t tokenizer_hash, std::int64_t shard_tokens) {
  Hash64 hash;
  hash.add(tokenizer_hash).add(static_cast<std::uint64_t>(cut));
  hash.add(static_cast<std::uint64_t>(shard_tokens)).add(static_cast<std::uint64_t>(texts.size()));
  for (const auto& source : texts.all()) hash.add(source.text);
  return hash.value();
}

inline void check_options(const PrepareOptions& options) {
  if (options.tokenizer != "char" && options.tokenizer != "byte") {
    throw ConfigError("prepare: tokenizer '" + options.tokenizer +
                      "' is not known; use char or byte");
  }
  if (!(options.val_fraction >= 0.0 && options.val_fraction < 1.0)) {
    throw ConfigError("prepare: val-fraction is " + std::to_string(options.val_fraction) +
                      "; it must be at least 0 and below 1");
  }
  if (options.shard_tokens < 1 || options.shard_tokens > max_shard_tokens) {
    throw ConfigError("prepare: shard-tokens is " + std::to_string(options.shard_tokens) +
                      "; it must be from 1 to " + std::to_string(max_shard_tokens));
  }
  if (!options.overwrite && is_prepared(options.output)) {
    throw FileError::content(options.output.string(), "prepared data (metadata.json)",
                             "a folder without", "choose another folder, or add --overwrite");
  }
}

/// The output folder while it is being written: locked, with a staging folder inside. If the
/// preparation fails, a folder that was made for it goes away again.
class PrepareOutput {
 public:
  explicit PrepareOutput(const std::filesystem::path& folder)
      : made_(ensure_directory(folder)), folder_(folder), lock_(folder, "another `fount prepare`") {
    // We hold the lock, so a staging folder that is there belongs to a run that was killed.
    std::error_code error;
    std::filesystem::remove_all(folder / staging_name, error);
    if (error) throw file_failure("cannot clear", folder / staging_name, error.value());
    staging_.emplace(folder / staging_name);
  }
  ~PrepareOutput() {
    staging_.reset();
    std::error_code ignored;  // not empty: something else put files there
    if (made_) std::filesystem::remove(folder_, ignored);
  }

  const std::filesystem::path& staging() const { return staging_->path(); }

  /// Moves the files into place. metadata.json goes first: from then on every reader compares each
  /// shard with it, so that a stop in between is found and never taken for a data set.
  void publish(const DatasetMetadata& metadata) {
    const std::vector<std::string> stale = stale_shards(metadata);
    sync_folder(staging());
    move(std::string(DatasetMetadata::file_name));
    made_ = false;
    sync_folder(folder_);
    move("tokenizer.json");
    move("tokenizer_config.json");
    for (const DatasetShard& shard : metadata.shards) move(shard.file);
    std::error_code ignored;  // a stale shard that stays is listed nowhere: no harm
    for (const std::string& name : stale) std::filesystem::remove(folder_ / name, ignored);
    sync_folder(folder_);
  }

 private:
  static constexpr std::string_view staging_name = ".fount-prepare";

  void move(const std::string& name) {
    if (::rename((staging() / name).c_str(), (folder_ / name).c_str()) != 0) {
      throw file_failure("cannot rename a finished file to", folder_ / name, errno);
    }
  }
  /// Shards of an earlier preparation that the new one does not replace.
  std::vector<std::string> stale_shards(const DatasetMetadata& metadata) const {
    std::vector<std::string> stale;
    if (!is_prepared(folder_)) return stale;
    try {
      for (const DatasetShard& old : read_metadata(folder_).shards) {
        if (matches_pattern(old.file, "tokens_*_??????.bin") &&
            std::ranges::find(metadata.shards, old.file, &DatasetShard::file) ==
                metadata.shards.end()) {
          stale.push_back(old.file);
        }
      }
    } catch (const FileError&) {
      // --overwrite is the way out of a damaged folder; what cannot be read names nothing stale.
    }
    return stale;
  }

  bool made_;
  std::filesystem::path folder_;
  FolderLock lock_;
  std::optional<StagingFolder> staging_;
};

}  // namespace detail

/// Writes the data set of a text: tokens_train_000000.bin ..., tokens_val_000000.bin ...,
/// tokenizer.json, tokenizer_config.json and metadata.json.
///
/// The train part is the first int(n·(1-val_fraction)) of the n tokens, as nanoGPT has it.
/// @return what was written, as in metadata.json
/// @throws FileError if the input is missing, empty or not UTF-8 (char), if the output holds
///         prepared data already, or if the disk refuses; ConfigError if an option is out of range
inline DatasetMetadata prepare(const PrepareOptions& options, const Progress& progress = {}) {
  detail::check_options(options);
  const TextSources texts(options.input);
  const detail::TextSurvey found = detail::survey(texts, options.tokenizer);
  const std::size_t cut = detail::train_end(texts, found, options);

  DatasetMetadata metadata;
  metadata.tokenizer = options.tokenizer;
  metadata.vocab_size = found.tokenizer->vocab_size();
  metadata.tokenizer_hash = found.tokenizer->hash();
  metadata.dataset_hash =
      detail::dataset_hash(texts, cut, metadata.tokenizer_hash, options.shard_tokens);
  for (const auto& source : texts.all()) {
    metadata.sources.push_back({source.name, static_cast<Bytes>(source.text.size())});
  }

  detail::PrepareOutput output(options.output);
  const ShardOrigin origin{metadata.vocab_size, metadata.tokenizer_hash, metadata.dataset_hash};
  for (const Split split : {Split::train, Split::validation}) {
    detail::ShardSetWriter shards(output.staging(), split, options.shard_tokens, origin,
                                  metadata.shards);
    const bool train = split == Split::train;
    detail::encode_range(texts, *found.tokenizer, train ? 0 : cut, train ? cut : texts.size(),
                         shards, progress);
  }
  found.tokenizer->save(output.staging());
  write_file_atomically(output.staging() / DatasetMetadata::file_name, to_json(metadata, version));
  output.publish(metadata);
  return metadata;
}

}  // namespace fount
