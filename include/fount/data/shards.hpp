// SPDX-License-Identifier: Apache-2.0
#pragma once
// Token shards: files of token ids as llm.c lays them out, with our words in the spare part of the
// header, and nanoGPT's files without a header. Which shards make up a data set: data/dataset.hpp.
// https://github.com/karpathy/llm.c (dev/data/data_common.py); https://github.com/karpathy/nanoGPT

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>

namespace fount {

static_assert(std::endian::native == std::endian::little, "files are little-endian, memory too");

/// 256 words of 32 bits before the tokens. llm.c reads the first three.
struct ShardHeader {
  static constexpr std::uint32_t magic16 = 20240520;     // version 1, uint16 tokens
  static constexpr std::uint32_t magic32 = 20240801;     // version 7, uint32 tokens
  static constexpr std::uint32_t our_mark = 0x31544E46;  // "FNT1": words 16 to 21 are ours
  static constexpr Bytes bytes = 1024;

  std::array<std::uint32_t, 256> words{};

  std::uint32_t& magic() { return words[0]; }
  std::uint32_t& version() { return words[1]; }
  std::uint32_t& count() { return words[2]; }
  std::uint32_t& mark() { return words[16]; }
  std::uint32_t& vocab_size() { return words[17]; }
  std::uint64_t tokenizer_hash() const { return join(18); }
  std::uint64_t dataset_hash() const { return join(20); }
  void set_tokenizer_hash(std::uint64_t hash) { split(18, hash); }
  void set_dataset_hash(std::uint64_t hash) { split(20, hash); }

 private:
  std::uint64_t join(std::size_t at) const {
    return words[at] | static_cast<std::uint64_t>(words[at + 1]) << 32U;
  }
  void split(std::size_t at, std::uint64_t value) {
    words[at] = static_cast<std::uint32_t>(value);
    words[at + 1] = static_cast<std::uint32_t>(value >> 32U);
  }
};

/// Counts are 32-bit and signed in llm.c.
inline constexpr std::int64_t max_shard_tokens = std::numeric_limits<std::int32_t>::max();

/// What the header of a shard says about where its tokens come from; zeros: it does not say.
struct ShardOrigin {
  std::int32_t vocab_size = 0;
  std::uint64_t tokenizer_hash = 0;
  std::uint64_t dataset_hash = 0;
};

namespace detail {

/// The error for an id outside the vocabulary, in a file or on its way into one.
inline FileError token_outside(const std::filesystem::path& shard, std::int64_t offset,
                               std::int64_t id, std::int64_t vocab_size) {
  return FileError::content(
      shard.string(), "token id " + std::to_string(id) + " at token " + std::to_string(offset),
      "ids from 0 to " + std::to_string(vocab_size - 1) + " (the vocabulary has " +
          std::to_string(vocab_size) + " tokens)",
      "the data were prepared for another vocabulary, or are damaged; "
      "prepare them again");
}

}  // namespace detail

/// Whether the ids of a vocabulary take 32 bits each.
constexpr bool has_wide_tokens(std::int32_t vocab_size) { return vocab_size > 65536; }

/// The header of a shard of ours. @throws Error unless origin.vocab_size is positive
inline ShardHeader make_shard_header(const ShardOrigin& origin, std::int64_t count,
                                     const std::filesystem::path& path) {
  if (origin.vocab_size <= 0) {
    throw Error("'" + path.string() + "': a shard needs the vocabulary size of its tokens");
  }
  const bool wide = has_wide_tokens(origin.vocab_size);
  ShardHeader header;
  header.magic() = wide ? ShardHeader::magic32 : ShardHeader::magic16;
  header.version() = wide ? 7 : 1;
  header.count() = static_cast<std::uint32_t>(count);
  header.mark() = ShardHeader::our_mark;
  header.vocab_size() = static_cast<std::uint32_t>(origin.vocab_size);
  header.set_tokenizer_hash(origin.tokenizer_hash);
  header.set_dataset_hash(origin.dataset_hash);
  return header;
}

namespace detail {

/// Appends ids to a file as a shard has them. @param written tokens before them, for messages
/// @throws FileError naming file, offset, id and vocabulary if an id does not fit
inline void write_tokens(FileWriter& file, const std::filesystem::path& name,
                         std::span<const std::int32_t> ids, std::int32_t vocab_size,
                         std::int64_t written) {
  std::array<std::byte, 8192> buffer;
  const std::size_t width = has_wide_tokens(vocab_size) ? 4 : 2;
  while (!ids.empty()) {
    const std::size_t size = std::min(ids.size(), buffer.size() / width);
    for (std::size_t i = 0; i < size; ++i) {
      if (ids[i] < 0 || ids[i] >= vocab_size) {
        throw token_outside(name, written + static_cast<std::int64_t>(i), ids[i], vocab_size);
      }
      const auto word = static_cast<std::uint32_t>(ids[i]);
      std::memcpy(buffer.data() + i * width, &word, width);  // little-endian: the low bytes
    }
    file.write(std::span(buffer).first(size * width));
    written += static_cast<std::int64_t>(size);
    ids = ids.subspan(size);
  }
}

}  // namespace detail

/// Writes one shard; it appears under its name on finish(). 16-bit tokens up to a vocabulary of
/// 65536, 32-bit ones beyond.
class ShardWriter {
 public:
  /// @throws Error unless origin.vocab_size is positive
  ShardWriter(const std::filesystem::path& path, const ShardOrigin& origin)
      : file_(path), origin_(origin) {
    const ShardHeader header = make_shard_header(origin_, 0, path);
    file_.writer().write(std::as_bytes(std::span(header.words)));
  }

  std::int64_t count() const { return count_; }

  /// @throws FileError naming shard, offset, id and vocabulary if an id does not fit, or if the
  ///         shard would hold more than max_shard_tokens
  void write(std::span<const std::int32_t> ids) {
    if (static_cast<std::int64_t>(ids.size()) > max_shard_tokens - count_) {
      throw FileError("'" + file_.path().string() + "': more than " +
                      std::to_string(max_shard_tokens) + " tokens; begin another shard");
    }
    detail::write_tokens(file_.writer(), file_.path(), ids, origin_.vocab_size, count_);
    count_ += static_cast<std::int64_t>(ids.size());
  }

  void finish() {
    const ShardHeader header = make_shard_header(origin_, count_, file_.path());
    file_.writer().write_at(0, std::as_bytes(std::span(header.words)));
    file_.commit();
  }

 private:
  AtomicFile file_;
  ShardOrigin origin_;
  std::int64_t count_ = 0;
};

/// One shard, mapped: llm.c's or ours with a header, or nanoGPT's raw 16-bit ids.
class TokenShard {
 public:
  /// @throws FileError if the file is neither, or if its size is not what its header says
  explicit TokenShard(const std::filesystem::path& path) : file_(path) {
    const std::span<const std::byte> bytes = file_.bytes();
    std::uint32_t first = 0;
    if (bytes.size() >= 4) std::memcpy(&first, bytes.data(), 4);
    if (first == ShardHeader::magic16 || first == ShardHeader::magic32) {
      read_header(first == ShardHeader::magic32);
    } else {
      refuse_foreign(first);
      count_ = static_cast<std::int64_t>(bytes.size()) / 2;
    }
  }

  const std::filesystem::path& path() const { return file_.path(); }
  Bytes bytes() const { return static_cast<Bytes>(file_.bytes().size()); }
  std::int64_t count() const { return count_; }
  /// What the header says; zeros for files that are not ours.
  const ShardOrigin& origin() const { return origin_; }

  /// Token `index`, which must be in [0, count()), as the file has it.
  std::uint32_t token(std::int64_t index) const {
    const std::byte* at = tokens() + index * width();
    std::uint32_t value = 0;
    std::memcpy(&value, at, static_cast<std::size_t>(width()));
    return value;
  }

  /// Tokens begin .. begin+count-1, checked. @param[out] out (count)
  /// @throws FileError naming shard, offset, id and vocabulary if an id is not below `vocab_size`,
  ///         ShapeError if the range is not inside the shard
  void copy(std::int64_t begin, std::int64_t count, std::int32_t vocab_size,
            std::int32_t* out) const {
    if (begin < 0 || count < 0 || begin > count_ - count) {
      throw ShapeError("'" + path().string() + "': tokens " + std::to_string(begin) + " to " +
                       std::to_string(begin + count) + " of " + std::to_string(count_));
    }
    const std::uint32_t largest =
        wide_ ? widen<std::uint32_t>(begin, count, out) : widen<std::uint16_t>(begin, count, out);
    if (largest < static_cast<std::uint32_t>(vocab_size)) return;
    for (std::int64_t i = begin; i < begin + count; ++i) {
      if (token(i) >= static_cast<std::uint32_t>(vocab_size)) {
        throw detail::token_outside(path(), i, token(i), vocab_size);
      }
    }
  }

 private:
  const std::byte* tokens() const { return file_.bytes().data() + data_start_; }
  std::int64_t width() const { return wide_ ? 4 : 2; }

  template <class Word>
  std::uint32_t widen(std::int64_t begin, std::int64_t count, std::int32_t* out) const {
    const std::byte* in = tokens() + begin * static_cast<std::int64_t>(sizeof(Word));
    std::uint32_t largest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      Word word;
      std::memcpy(&word, in + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
      largest = std::max<std::uint32_t>(largest, word);
      out[i] = static_cast<std::int32_t>(word);
    }
    return largest;
  }

  [[noreturn]] void damaged(const std::string& found, const std::string& expected) const {
    throw FileError::content(path().string(), found, expected,
                             "the shard is damaged or incomplete; prepare the data again");
  }

  void read_header(bool wide) {
    if (bytes() < ShardHeader::bytes) {
      damaged(std::to_string(bytes()) + " bytes",
              "a header of " + std::to_string(ShardHeader::bytes) + " bytes");
    }
    ShardHeader header;
    std::memcpy(header.words.data(), file_.bytes().data(), sizeof header.words);
    wide_ = wide;
    data_start_ = ShardHeader::bytes;
    count_ = static_cast<std::int64_t>(header.count());
    const std::uint32_t version = wide ? 7 : 1;
    if (header.version() != version) {
      damaged("version " + std::to_string(header.version()), "version " + std::to_string(version));
    }
    if (count_ > max_shard_tokens) damaged(std::to_string(count_) + " tokens", "fewer than 2^31");
    const Bytes expected = ShardHeader::bytes + count_ * width();
    if (bytes() != expected) {
      damaged(std::to_string(bytes()) + " bytes", std::to_string(expected) + " for the " +
                                                      std::to_string(count_) +
                                                      " tokens of its header");
    }
    if (header.mark() != ShardHeader::our_mark) return;
    const std::uint32_t vocab_size = header.vocab_size();
    if (vocab_size == 0 || vocab_size > static_cast<std::uint32_t>(max_shard_tokens)) {
      damaged("a vocabulary of " + std::to_string(vocab_size) + " tokens", "1 to 2^31-1");
    }
    origin_ = {static_cast<std::int32_t>(vocab_size), header.tokenizer_hash(),
               header.dataset_hash()};
  }

  /// A file without header has nothing to check but its length, so known strangers are named.
  void refuse_foreign(std::uint32_t first) const {
    static constexpr std::pair<std::uint32_t, std::string_view> strangers[] = {
        {20240326, "an llm.c model"},          {20240803, "an llm.c model"},
        {20240328, "an llm.c tokenizer"},      {20240522, "an llm.c multiple-choice evaluation"},
        {20240527, "an llm.c training state"}, {0x88D83401, "a shard with swapped bytes"},
        {0x04034B50, "a zip archive"},         {0x31524150, "a parquet file"},
        {0x49444D4D, "a Megatron index"},      {0x4D554E93, "a NumPy array"},
        {0x46554747, "a GGUF model"},          {0xFD2FB528, "zstd-compressed data"}};
    const std::string_view text = file_.text();
    std::string_view found;
    for (const auto& [magic, name] : strangers) {
      if (bytes() >= 4 && first == magic) found = name;
    }
    if (text.starts_with("\x1F\x8B")) found = "gzip-compressed data";
    if (text.size() > 9 && text.substr(8, 2) == "{\"") found = "a safetensors file";
    const std::string expected = "a token shard of llm.c or nanoGPT";
    if (!found.empty()) {
      throw FileError::content(path().string(), found, expected, "name another file");
    }
    if (bytes() % 2 != 0) {
      damaged(std::to_string(bytes()) + " bytes and no header",
              expected + " (16-bit ids: an even size)");
    }
  }

  MappedFile file_;
  std::int64_t count_ = 0;
  std::size_t data_start_ = 0;
  bool wide_ = false;
  ShardOrigin origin_;
};

}  // namespace fount
