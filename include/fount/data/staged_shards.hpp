// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shards of one split while a preparation writes them, in a folder that nobody reads yet: cut
// at a number of tokens, continued after a stop, and given their headers at the end, when the hash
// of the whole is known. The format is in data/shards.hpp.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/shards.hpp>
#include <fount/io/files.hpp>

namespace fount {

class StagedShards {
 public:
  /// @param tokens  those that are in the folder already, of an earlier run that was stopped; what
  ///                lies behind them is cut off
  /// @throws FileError if the files do not hold so many
  StagedShards(std::filesystem::path folder, Split split, std::int64_t shard_tokens,
               std::int32_t vocab_size, std::int64_t tokens = 0)
      : folder_(std::move(folder)),
        split_(split),
        limit_(shard_tokens),
        vocab_size_(vocab_size),
        tokens_(tokens) {
    // One by one: a journal that is wrong may tell any number.
    for (std::int64_t begin = 0; begin < tokens_; begin += limit_) check_size(shard_at(begin));
    const std::int64_t rest = tokens_ % limit_;
    if (rest == 0) return;
    const std::filesystem::path path = folder_ / list().back().file;
    if (::truncate(path.c_str(), static_cast<off_t>(bytes_of(rest))) != 0) {
      throw file_failure("cannot cut", path, errno);
    }
    file_ = std::make_unique<FileWriter>(path, WriteMode::append);
  }

  std::int64_t tokens() const { return tokens_; }

  /// @throws FileError naming shard, offset, id and vocabulary if an id does not fit
  void write(std::span<const std::int32_t> ids) {
    while (!ids.empty()) {
      const std::int64_t inside = tokens_ % limit_;
      if (!file_) begin();
      const std::size_t size = std::min(static_cast<std::size_t>(limit_ - inside), ids.size());
      detail::write_tokens(*file_, file_->path(), ids.first(size), vocab_size_, inside);
      tokens_ += static_cast<std::int64_t>(size);
      ids = ids.subspan(size);
      if (tokens_ % limit_ == 0) close();
    }
  }
  /// Afterwards all tokens so far are on the device.
  void sync() {
    if (file_) file_->sync();
  }
  /// The end: gives every shard its header. May be repeated after a stop.
  /// @return the shards as metadata.json lists them, with the hashes of what the files hold now
  std::vector<DatasetShard> seal(const ShardOrigin& origin) {
    close();
    std::vector<DatasetShard> shards = list();
    for (DatasetShard& shard : shards) {
      const std::filesystem::path path = folder_ / shard.file;
      const ShardHeader header = make_shard_header(origin, shard.tokens, path);
      const Descriptor file = open_file(path, O_WRONLY);
      // In one piece: the header is smaller than a block.
      const auto count = retry_interrupted(
          [&] { return ::pwrite(file.get(), header.words.data(), sizeof header.words, 0); });
      if (count != static_cast<ssize_t>(sizeof header.words)) {
        throw file_failure("cannot write", path, count < 0 ? errno : EIO);
      }
      if (retry_interrupted([&] { return ::fsync(file.get()); }) != 0) {
        throw file_failure("cannot make durable", path, errno);
      }
      shard.hash = hash_of_tokens(path);
    }
    return shards;
  }

 private:
  /// Names and sizes.
  std::vector<DatasetShard> list() const {
    std::vector<DatasetShard> shards;
    for (std::int64_t begin = 0; begin < tokens_; begin += limit_) {
      shards.push_back(shard_at(begin));
    }
    return shards;
  }
  DatasetShard shard_at(std::int64_t begin) const {
    const std::int64_t count = std::min(limit_, tokens_ - begin);
    return {name(begin / limit_), split_, count, bytes_of(count), 0};
  }
  std::string name(std::int64_t number) const {
    char digits[32];
    std::snprintf(digits, sizeof digits, "_%06lld.bin", static_cast<long long>(number));
    return "tokens_" + std::string(name_of(split_)) + digits;
  }
  Bytes bytes_of(std::int64_t tokens) const {
    return ShardHeader::bytes + tokens * (has_wide_tokens(vocab_size_) ? 4 : 2);
  }
  void check_size(const DatasetShard& shard) const {
    const std::filesystem::path path = folder_ / shard.file;
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    const bool last = shard.tokens < limit_;
    if (error ||
        (last ? static_cast<Bytes>(size) < shard.bytes : static_cast<Bytes>(size) != shard.bytes)) {
      throw FileError::content(path.string(),
                               error ? "no such file" : std::to_string(size) + " bytes",
                               std::to_string(shard.bytes) + " of the run that was stopped");
    }
  }
  void begin() {
    const std::filesystem::path path = folder_ / name(tokens_ / limit_);
    file_ = std::make_unique<FileWriter>(path);
    const ShardHeader header = make_shard_header({.vocab_size = vocab_size_}, 0, path);
    file_->write(std::as_bytes(std::span(header.words)));
  }
  void close() {
    if (file_) file_->close();
    file_.reset();
  }

  std::filesystem::path folder_;
  Split split_;
  std::int64_t limit_;
  std::int32_t vocab_size_;
  std::int64_t tokens_;
  std::unique_ptr<FileWriter> file_;  // the last shard, while it is not full
};

}  // namespace fount
