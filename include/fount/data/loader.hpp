// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serves training samples from token shards. A sample is a pure function of its index and the
// seed, so the whole state of a loader is one integer: resuming, skipping ahead and any number of
// ranks need nothing else. Shuffle: a keyed permutation by Feistel rounds with cycle walking (Black
// and Rogaway 2002, "Ciphers with arbitrary finite domains").

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/random.hpp>
#include <fount/core/units.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/data/shards.hpp>
#include <fount/io/hash.hpp>

namespace fount {

/// A permutation of 0 .. size-1 that is computed, not stored.
class Permutation {
 public:
  /// @param size at least 1, below 2^62
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch)
      : size_(size), seed_(seed), epoch_(epoch) {
    // The rounds permute 2^(2·half) numbers, fewer than 4 times `size`: walking is short.
    while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  }

  /// Where `position` goes.
  std::uint64_t operator()(std::uint64_t position) const {
    do {
      position = encrypt(position);
    } while (position >= size_);
    return position;
  }

 private:
  static constexpr std::uint32_t rounds = 8;

  std::uint64_t encrypt(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const RandomStream stream{seed_, epoch_, round, RandomPurpose::shuffle};
      const std::uint64_t mixed = left ^ (stream.block(right)[0] & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  std::uint64_t seed_;
  std::uint32_t epoch_;
  unsigned half_bits_ = 1;
};

struct LoaderOptions {
  std::int64_t seq_len = 0;
  std::int32_t vocab_size = 0;  // of the model: every id must be below
  std::uint64_t seed = 0;
  bool shuffle = true;               // false: windows in the order of the files
  std::uint64_t tokenizer_hash = 0;  // shards that name another tokenizer are refused; 0: any
  std::int64_t stride = 0;           // tokens from one window to the next; 0: seq_len
  std::int32_t document_start = -1;  // the token that documents begin with; -1: there is none
};

/// Windows of seq_len tokens and their successors, each exactly once per epoch.
///
/// A shard of n tokens has floor((n-1-seq_len)/stride) + 1 windows, with the usual stride of
/// seq_len floor((n-1)/seq_len); window k begins at token k·stride, and its labels are one token
/// further on. Windows do not cross from one shard into the next. Tokens at the end of a shard that
/// fill no window are never served: leftover_tokens() counts them.
class TokenLoader final : public SampleSource {
 public:
  /// @param paths the shards, in the order that defines the numbering of windows
  /// @throws FileError if a shard cannot be read, belongs to another vocabulary or tokenizer, or if
  ///         there is no window at all; ConfigError if an option is out of range
  TokenLoader(std::span<const std::filesystem::path> paths, const LoaderOptions& options)
      : options_(options) {
    if (options.seq_len < 1 || options.vocab_size < 1) {
      throw ConfigError("loader: seq_len is " + std::to_string(options.seq_len) +
                        " and vocab_size is " + std::to_string(options.vocab_size) +
                        "; both must be at least 1");
    }
    if (options_.stride == 0) options_.stride = options_.seq_len;
    if (options_.stride < 1 || options_.stride > options_.seq_len) {
      throw ConfigError("loader: stride is " + std::to_string(options_.stride) +
                        "; it must be from 1 to seq_len = " + std::to_string(options_.seq_len) +
                        ", so that no token is left out");
    }
    Hash64 hash;
    for (const std::filesystem::path& path : paths) add(path, hash);
    if (options_.stride != options_.seq_len) hash.add(static_cast<std::uint64_t>(options_.stride));
    list_hash_ = hash.value();
    if (windows_ == 0) refuse_empty(paths);
  }

  std::int64_t windows_per_epoch() const { return windows_; }
  std::int64_t count_samples(std::int64_t files) override {
    const std::int64_t n = num_files();
    return files / n * windows_ + (files % n * windows_ + n - 1) / n;
  }
  /// Tokens in all shards.
  std::int64_t tokens() const { return tokens_; }
  /// Tokens that no window of an epoch reads.
  std::int64_t leftover_tokens() const { return leftover_; }
  /// Shards too short for one window.
  std::int64_t skipped_shards() const { return skipped_; }
  /// Names and sizes of the shards in order: equal hashes mean equal numbering of windows.
  std::uint64_t list_hash() const override { return list_hash_; }
  /// Windows come from all shards in turn: so many shards' worth of them is a file.
  DataProgress progress(std::int64_t sample) const override {
    const std::int64_t epoch = sample / windows_;
    return {epoch, epoch * num_files() + sample % windows_ * num_files() / windows_};
  }
  std::int64_t num_files() const override { return static_cast<std::int64_t>(shards_.size()); }
  std::string describe() const override {
    return with_commas(tokens_) + " tokens, " + with_commas(windows_) + " windows an epoch";
  }
  std::vector<std::string> take_notes() override {
    if (skipped_ == 0 || std::exchange(told_, true)) return {};
    return {with_commas(skipped_) +
            " shards are shorter than seq_len + 1 tokens and were left out"};
  }
  std::int64_t seq_len() const { return options_.seq_len; }

  /// The window behind sample `sample` = 0, 1, 2, ... without end; each epoch has its own order.
  std::int64_t window_of(std::int64_t sample) const {
    const std::int64_t position = sample % windows_;
    if (!options_.shuffle) return position;
    const auto epoch = static_cast<std::uint32_t>(sample / windows_);
    const Permutation order(static_cast<std::uint64_t>(windows_), options_.seed, epoch);
    return static_cast<std::int64_t>(order(static_cast<std::uint64_t>(position)));
  }

  /// Copies one sample. Samples of several threads may be filled at once; allocates nothing.
  /// @throws FileError naming shard, offset, id and vocabulary if an id is out of range
  void fill(std::int64_t sample, const SampleRow& row) override {
    fill(sample, row.inputs, row.labels);
    if (row.documents != nullptr) {
      number_documents(row.inputs, options_.seq_len, options_.document_start, row.documents);
    }
  }
  /// @param[out] inputs  (seq_len)
  /// @param[out] labels  (seq_len) the token after each input
  void fill(std::int64_t sample, std::int32_t* inputs, std::int32_t* labels) const {
    const std::int64_t T = options_.seq_len;
    const std::int64_t window = window_of(sample);
    const auto after = std::ranges::upper_bound(shards_, window, {}, &Entry::first_window);
    const Entry& entry = *std::prev(after);
    const std::int64_t begin = (window - entry.first_window) * options_.stride;
    entry.shard.copy(begin, T, options_.vocab_size, inputs);
    std::copy_n(inputs + 1, T - 1, labels);
    entry.shard.copy(begin + T, 1, options_.vocab_size, labels + T - 1);
  }

 private:
  struct Entry {
    TokenShard shard;
    std::int64_t first_window;  // number of windows before this shard
  };

  void add(const std::filesystem::path& path, Hash64& hash) {
    TokenShard shard(path);
    const ShardOrigin& origin = shard.origin();
    if (origin.vocab_size > options_.vocab_size) {
      throw FileError::content(path.string(),
                               "tokens of a vocabulary of " + std::to_string(origin.vocab_size),
                               "at most the model's " + std::to_string(options_.vocab_size),
                               "use a model with a larger vocab_size or prepare the data anew");
    }
    if (options_.tokenizer_hash != 0 && origin.tokenizer_hash != 0 &&
        origin.tokenizer_hash != options_.tokenizer_hash) {
      throw FileError::content(path.string(),
                               "tokens of tokenizer " + to_hex(origin.tokenizer_hash),
                               "tokenizer " + to_hex(options_.tokenizer_hash),
                               "prepare the data with the tokenizer of the model");
    }
    const std::string name = path.filename().string();
    hash.add(static_cast<std::uint64_t>(name.size())).add(name);
    hash.add(static_cast<std::uint64_t>(shard.bytes()));
    const std::int64_t count = shard.count();
    const std::int64_t T = options_.seq_len;
    const std::int64_t windows = count > T ? (count - 1 - T) / options_.stride + 1 : 0;
    tokens_ += count;
    leftover_ += windows > 0 ? count - 1 - T - (windows - 1) * options_.stride : count;
    if (windows == 0) {
      ++skipped_;
      return;
    }
    shards_.push_back({std::move(shard), windows_});
    windows_ += windows;
  }

  [[noreturn]] void refuse_empty(std::span<const std::filesystem::path> paths) const {
    if (paths.empty()) throw FileError("loader: no shards given; name a folder of prepared data");
    std::string where = "'" + paths.front().string() + "'";
    if (paths.size() > 1) where += " and " + std::to_string(paths.size() - 1) + " more";
    throw FileError(where + ": found " + with_commas(tokens_) +
                    " tokens in all, expected one shard of at least " +
                    with_commas(options_.seq_len + 1) +
                    " (seq_len + 1); use a smaller seq_len or more text");
  }

  LoaderOptions options_;
  std::vector<Entry> shards_;
  std::int64_t windows_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t leftover_ = 0;
  std::int64_t skipped_ = 0;
  bool told_ = false;  // of the skipped ones
  std::uint64_t list_hash_ = 0;
};

}  // namespace fount
