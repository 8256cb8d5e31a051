// SPDX-License-Identifier: Apache-2.0
#pragma once
// One token per byte: 256 tokens, every text can be encoded. The id is the value of the byte,
// unlike GPT-2's, whose first 256 ids follow the order of its alphabet.
// The alphabet of the files: Radford et al. 2019 (encoder.py, bytes_to_unicode).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/io/json.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/text/tokenizer_json.hpp>

namespace fount {

/// The printable code point that stands for each byte in tokenizer files: bytes that are printable
/// in Latin-1 stand for themselves, the other 68 are U+0100, U+0101, ... in ascending order.
constexpr std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    alphabet[byte] = printable ? byte : next++;
  }
  return alphabet;
}

/// The identity on bytes; other orders of the ids are read too.
class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() {
    std::iota(byte_of_.begin(), byte_of_.end(), '\0');
    std::iota(id_of_.begin(), id_of_.end(), 0);
  }
  /// @param byte_of the byte that each id stands for: a permutation.
  explicit ByteTokenizer(const std::array<char, 256>& byte_of) : byte_of_(byte_of) {
    for (std::size_t id = 0; id < 256; ++id) {
      id_of_[static_cast<unsigned char>(byte_of[id])] = static_cast<std::int32_t>(id);
    }
  }

  std::string_view kind() const override { return "byte"; }
  std::int32_t vocab_size() const override { return 256; }
  std::string_view token(std::int32_t id) const override {
    check_id(id);
    return {&byte_of_[static_cast<std::size_t>(id)], 1};
  }
  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (const char c : text) ids.push_back(id_of_[static_cast<unsigned char>(c)]);
  }
  using Tokenizer::next_cut;
  std::size_t next_cut(std::string_view text, std::size_t at,
                       const AllowedSpecial&) const override {
    return std::min(at, text.size());
  }
  std::string to_json() const override {
    constexpr auto alphabet = byte_alphabet();
    Json vocabulary = Json::object();
    for (std::size_t id = 0; id < 256; ++id) {
      std::string name;
      append_utf8(name, alphabet[static_cast<unsigned char>(byte_of_[id])]);
      vocabulary[name] = id;
    }
    const Json byte_level = {{"type", "ByteLevel"},
                             {"add_prefix_space", false},
                             {"trim_offsets", true},
                             {"use_regex", false}};
    return unmerged_tokenizer_json(std::move(vocabulary), byte_level, byte_level);
  }

 private:
  std::array<char, 256> byte_of_{};
  std::array<std::int32_t, 256> id_of_{};
};

}  // namespace fount
