// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of every id, and the id of every string of bytes; and a table from pairs of ids to what
// they merge to. Both are open addressing with linear probing, built once and then only read.
// Knuth, The Art of Computer Programming 3, section 6.4.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fount {

/// No token.
inline constexpr std::int32_t no_token = -1;

namespace detail {

constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x *= 0x9E3779B97F4A7C15ULL;  // 2^64 divided by the golden ratio
  return x ^ x >> 32U;
}

/// For tables in memory only: the value depends on the byte order of the machine.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = mix_bits(bytes.size());
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::memcpy(&word, bytes.data() + at, 8);
    hash = mix_bits(hash ^ word);
  }
  if (at < bytes.size()) {
    word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at);
    hash = mix_bits(hash ^ word);
  }
  return mix_bits(hash);
}

/// Slots for `count` entries: at most half of them are taken.
constexpr std::size_t table_size(std::size_t count) { return std::bit_ceil(2 * count + 2); }

}  // namespace detail

/// Strings of bytes numbered 0, 1, ...; an empty one is an id without a token.
class TokenTable {
 public:
  TokenTable() : TokenTable(std::span<const std::string>()) {}
  /// @param tokens by id. Of equal ones only the first is found: check with find().
  explicit TokenTable(std::span<const std::string> tokens)
      : slots_(detail::table_size(tokens.size())) {
    std::size_t bytes = 0;
    for (const std::string& token : tokens) bytes += token.size();
    bytes_.reserve(bytes);
    begins_.reserve(tokens.size() + 1);
    for (const std::string& token : tokens) {
      begins_.push_back(bytes_.size());
      bytes_ += token;
      longest_ = token.size() > longest_ ? token.size() : longest_;
    }
    begins_.push_back(bytes_.size());
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (!tokens[id].empty()) insert(tokens[id], static_cast<std::int32_t>(id));
    }
  }

  std::size_t size() const { return begins_.size() - 1; }
  std::string_view operator[](std::size_t id) const {
    return std::string_view(bytes_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }
  std::size_t longest() const { return longest_; }

  /// The id of these bytes, or no_token.
  std::int32_t find(std::string_view bytes) const {
    if (bytes.size() > longest_) return no_token;
    const std::uint64_t hash = detail::hash_bytes(bytes);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.id == no_token) return no_token;
      if (slot.tag == tag(hash) && (*this)[static_cast<std::size_t>(slot.id)] == bytes) {
        return slot.id;
      }
    }
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = no_token;
  };
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }

  void insert(std::string_view bytes, std::int32_t id) {
    const std::uint64_t hash = detail::hash_bytes(bytes);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (; slots_[at].id != no_token; at = (at + 1) & mask) {
      if (slots_[at].tag == tag(hash) &&
          (*this)[static_cast<std::size_t>(slots_[at].id)] == bytes) {
        return;
      }
    }
    slots_[at] = {tag(hash), id};
  }

  std::string bytes_;
  std::vector<std::size_t> begins_;
  std::vector<Slot> slots_;
  std::size_t longest_ = 0;
};

/// What two neighbours merge to; lower ranks merge first.
struct Merge {
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t rank = never;
  std::int32_t id = no_token;
};

/// From pairs of ids to merges.
class PairTable {
 public:
  PairTable() : PairTable(0) {}
  /// @param count how many pairs will be inserted
  explicit PairTable(std::size_t count) : slots_(detail::table_size(count)) {}

  /// False if the pair is there already; it then keeps its merge.
  bool insert(std::int32_t left, std::int32_t right, Merge merge) {
    const std::uint64_t key = key_of(left, right);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = detail::mix_bits(key) & mask;
    for (; slots_[at].key != free; at = (at + 1) & mask) {
      if (slots_[at].key == key) return false;
    }
    slots_[at] = {key, merge};
    return true;
  }
  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = key_of(left, right);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = detail::mix_bits(key) & mask;; at = (at + 1) & mask) {
      if (slots_[at].key == key) return slots_[at].merge;
      if (slots_[at].key == free) return {};
    }
  }

 private:
  static constexpr std::uint64_t free = std::numeric_limits<std::uint64_t>::max();
  struct Slot {
    std::uint64_t key = free;
    Merge merge;
  };
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U |
           static_cast<std::uint32_t>(right);
  }

  std::vector<Slot> slots_;
};

}  // namespace fount
