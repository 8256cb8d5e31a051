// SPDX-License-Identifier: Apache-2.0
#pragma once
// What defines a byte-level byte-pair encoding, as files hold it and trainers make it. Encoding
// with it is in text/bpe.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/text/added_tokens.hpp>
#include <fount/text/split_rule.hpp>
#include <fount/text/token_table.hpp>

namespace fount {

/// Two tokens that become one.
struct BpeMerge {
  std::int32_t left = no_token;
  std::int32_t right = no_token;
  std::int32_t result = no_token;  // the token of both their bytes
  bool operator==(const BpeMerge&) const = default;
};

struct BpeModel {
  SplitRule split = SplitRule::gpt2;
  std::vector<std::string> tokens;  // bytes of each id; empty: no ordinary token has this id
  std::vector<BpeMerge> merges;     // the first ones merge first
  bool merge_by_id = false;         // tiktoken's way, without a list of merges: any two neighbours
                                    // that together are a token merge, the lowest id first
  bool ignore_merges = false;       // a piece that is a token is that token, whatever the merges
                                    // say; always so with merge_by_id
  std::vector<AddedToken> added;    // special tokens, and words that are found before all else
  std::string post_processor;       // JSON that tokenizer.json hands on; encoding never uses it
};

/// The list of merges that does what merging by id does: for each token, in the order of the ids,
/// every pair of tokens that makes it, sorted.
/// Hugging Face transformers, convert_slow_tokenizer.py (TikTokenConverter).
inline std::vector<BpeMerge> merges_by_id(const TokenTable& tokens) {
  std::vector<BpeMerge> merges;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view bytes = tokens[id];
    pairs.clear();
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const std::int32_t left = tokens.find(bytes.substr(0, cut));
      if (left == no_token) continue;
      const std::int32_t right = tokens.find(bytes.substr(cut));
      if (right != no_token) pairs.emplace_back(left, right);
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [left, right] : pairs) {
      merges.push_back({left, right, static_cast<std::int32_t>(id)});
    }
  }
  return merges;
}

}  // namespace fount
