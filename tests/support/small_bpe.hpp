// SPDX-License-Identifier: Apache-2.0
#pragma once
// Byte-pair encodings of a few tokens, and the rule of merging written out plainly.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fount/text/bpe.hpp>

#include "support/unicode.hpp"

namespace fount::test {

/// Ids 0 to 255 are the bytes; then one token for each merge, in their order.
inline BpeModel small_bpe(const std::vector<std::pair<std::string, std::string>>& merges = {},
                          SplitRule split = SplitRule::gpt2) {
  BpeModel model;
  model.split = split;
  for (int byte = 0; byte < 256; ++byte) {
    model.tokens.emplace_back(1, static_cast<char>(static_cast<unsigned char>(byte)));
  }
  const auto find = [&](const std::string& bytes) {
    const auto at = std::find(model.tokens.begin(), model.tokens.end(), bytes);
    return static_cast<std::int32_t>(at - model.tokens.begin());
  };
  for (const auto& [left, right] : merges) {
    if (std::ranges::count(model.tokens, left + right) == 0) model.tokens.push_back(left + right);
    model.merges.push_back({find(left), find(right), find(left + right)});
  }
  return model;
}

/// Merges one piece by looking through everything each time.
inline std::vector<std::int32_t> merge_plainly(const BpeModel& model, const std::string& piece) {
  std::vector<std::int32_t> ids;
  for (const char c : piece) ids.push_back(static_cast<unsigned char>(c));
  const auto merge_once = [&] {
    for (const BpeMerge& merge : model.merges) {
      const auto both = std::vector<std::int32_t>{merge.left, merge.right};
      const auto at = std::search(ids.begin(), ids.end(), both.begin(), both.end());
      if (at == ids.end()) continue;
      *at = merge.result;
      ids.erase(at + 1);
      return true;
    }
    return false;
  };
  while (merge_once()) {
  }
  return ids;
}

/// The same numbers on every machine.
class SmallRandom {
 public:
  explicit SmallRandom(std::uint32_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 1664525U + 1013904223U;
    return (state_ >> 8U) % limit;
  }
  /// A text of pieces out of `parts`.
  std::string text(const std::vector<std::string>& parts, std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) {
      text += parts[below(static_cast<std::uint32_t>(parts.size()))];
    }
    return text;
  }

 private:
  std::uint32_t state_;
};

/// What texts are made of, for random ones: all kinds of characters, and bytes that are not UTF-8.
inline std::vector<std::string> awkward_parts() {
  return {"a",
          "Ab",
          "'s",
          "'LL",
          "\xC5\xBF",
          " ",
          "  ",
          "\n",
          "\r\n",
          "\t",
          "1",
          "23",
          ".",
          "!?",
          "/",
          "\xC3\xA9",
          "\xCC\x81",
          "'",
          "\xE4\xB8\xAD",
          "\xE3\x80\x80",
          "\xF0\x9F\x98\x80",
          "\xC2\xA0",
          "\x80",
          "\xFF",
          "\xE4\xB8",
          "<|x y|>",
          "word",
          std::string(1, '\0')};
}

}  // namespace fount::test
