// SPDX-License-Identifier: Apache-2.0
#pragma once
// A token per byte and one between documents, in a vocabulary of any size: what a preparation needs
// to know of a larger tokenizer. It cannot be written to a file that others read.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fount/text/tokenizer.hpp>

namespace fount::test {

class EndOfTextTokenizer final : public Tokenizer {
 public:
  static constexpr std::int32_t end = 7;  // byte b is b + 100

  explicit EndOfTextTokenizer(std::int32_t vocab_size = 356) : vocab_size_(vocab_size) {
    for (std::size_t i = 0; i < 256; ++i) bytes_[i] = static_cast<char>(i);
  }
  std::string_view kind() const override { return "test"; }
  std::int32_t vocab_size() const override { return vocab_size_; }
  std::optional<std::int32_t> end_of_text() const override { return end; }
  std::string_view token(std::int32_t id) const override {
    check_id(id);
    if (id < vocab_size_ - 256) return id == end ? "<|endoftext|>" : "";
    return {&bytes_[static_cast<std::size_t>(id - (vocab_size_ - 256))], 1};
  }
  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + vocab_size_ - 256);
  }
  std::string to_json() const override { return "{}\n"; }

 private:
  std::int32_t vocab_size_;
  std::array<char, 256> bytes_{};
};

}  // namespace fount::test
