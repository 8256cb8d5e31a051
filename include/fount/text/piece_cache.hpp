// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers the ids of short pieces of text: most of what a text consists of are words that came a
// moment ago. One line of the processor's cache for each piece, found by its bytes alone; a piece
// that needs the place of another one takes it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace fount {

class PieceCache {
 public:
  /// Longer pieces, and those of more ids, are not remembered.
  static constexpr std::size_t max_bytes = 15;
  static constexpr std::size_t max_ids = 11;

  /// Up to 15 bytes and their number, as two words.
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Key&) const = default;
  };
  struct alignas(64) Entry {
    Key key;
    std::uint32_t count = 0;
    std::array<std::int32_t, max_ids> ids{};
  };
  static_assert(sizeof(Entry) == 64);

  PieceCache() : entries_(std::size_t{1} << bits) {}

  /// The key of 1 to max_bytes bytes at `bytes`.
  /// @param readable bytes that may be read there, which is faster if they are at least 16
  static Key key_of(const char* bytes, std::size_t size, std::size_t readable) {
    Key key;
    if (std::endian::native == std::endian::little && readable >= 16) {
      std::memcpy(&key, bytes, 16);
      const auto low_bits = [](std::size_t count) { return (std::uint64_t{1} << (8 * count)) - 1; };
      if (size < 8) {
        key.low &= low_bits(size);
        key.high = 0;
      } else {
        key.high &= low_bits(size - 8);
      }
    } else {
      std::memcpy(&key, bytes, size);
    }
    // The sixteenth byte holds the size, so that zeros at the end are not lost.
    key.high ^= std::uint64_t{size} << (std::endian::native == std::endian::little ? 56U : 0U);
    return key;
  }
  /// The place of a key: holds its ids if the keys are equal.
  Entry& place_of(const Key& key) {
    std::uint64_t x = key.low * 0x9E3779B97F4A7C15ULL ^ key.high * 0xC2B2AE3D27D4EB4FULL;
    x ^= x >> 29U;
    return entries_[x * 0x9E3779B97F4A7C15ULL >> (64U - bits)];
  }
  static void remember(Entry& entry, const Key& key, std::span<const std::int32_t> ids) {
    if (ids.size() > max_ids) return;
    entry.key = key;
    entry.count = static_cast<std::uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), entry.ids.begin());
  }

 private:
  static constexpr unsigned bits = 13;  // 512 KiB: what a processor's second cache holds

  std::vector<Entry> entries_;
};

}  // namespace fount
