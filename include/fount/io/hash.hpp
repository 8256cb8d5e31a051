// SPDX-License-Identifier: Apache-2.0
#pragma once
// A 64-bit hash that tells one file, tokenizer or list from another by accident, not by attack.
// FNV-1a: Fowler, Noll and Vo, http://www.isthe.com/chongo/tech/comp/fnv/

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fount {

/// Fed piece by piece; how the bytes are cut into pieces does not change the result.
class Hash64 {
 public:
  constexpr Hash64() = default;
  /// Goes on from the value() of another.
  static constexpr Hash64 resume(std::uint64_t value) {
    Hash64 hash;
    hash.state_ = value;
    return hash;
  }

  constexpr Hash64& add(std::string_view text) {
    for (const char c : text) mix(static_cast<std::uint8_t>(c));
    return *this;
  }
  constexpr Hash64& add(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) mix(std::to_integer<std::uint8_t>(b));
    return *this;
  }
  /// A number as eight bytes, lowest first.
  constexpr Hash64& add(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) mix(static_cast<std::uint8_t>(number >> (8 * byte)));
    return *this;
  }
  constexpr std::uint64_t value() const { return state_; }

 private:
  constexpr void mix(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }

  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

constexpr std::uint64_t hash64(std::string_view text) { return Hash64().add(text).value(); }

/// Sixteen hexadecimal digits.
inline std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t at = 16; at-- > 0; value >>= 4U) text[at] = "0123456789abcdef"[value & 15U];
  return text;
}

/// The number behind exactly sixteen hexadecimal digits, or nothing.
inline std::optional<std::uint64_t> from_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + 16) return std::nullopt;
  return value;
}

}  // namespace fount
