// SPDX-License-Identifier: Apache-2.0
#pragma once
// Merges the bytes of one piece of text to tokens: again and again the pair of neighbours of the
// lowest rank, the leftmost of equal ones. Short pieces look through all pairs each time; long ones
// keep them in a queue, so that n bytes cost O(n log n), whatever they are. No recursion.
// Sennrich, Haddow & Birch 2016 (https://arxiv.org/abs/1508.07909); order of merges as in
// openai/tiktoken (src/lib.rs) and huggingface/tokenizers (models/bpe/word.rs).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/merge_queue.hpp>
#include <fount/text/token_table.hpp>

namespace fount {

/// Merges by a list of pairs, as Hugging Face's files have it.
struct PairRanks {
  const PairTable& pairs;
  Merge operator()(std::int32_t left, std::int32_t right, std::string_view) const {
    return pairs.find(left, right);
  }
};

/// Merges any two neighbours that together are a token; the id is the rank, as tiktoken has it.
struct TokenRanks {
  const TokenTable& tokens;
  Merge operator()(std::int32_t, std::int32_t, std::string_view both) const {
    const std::int32_t id = tokens.find(both);
    return id == no_token ? Merge{} : Merge{static_cast<std::uint32_t>(id), id};
  }
};

/// Scratch memory for merging; one for each thread.
class PieceMerger {
 public:
  /// Up to so many bytes all pairs are looked through for each merge.
  static constexpr std::size_t short_piece = 40;

  /// Appends the ids of a piece.
  /// @param bytes  the id of each byte
  /// @param ranks  gives the Merge of (left id, right id, bytes of both)
  template <class Ranks>
  void merge(std::string_view piece, const std::array<std::int32_t, 256>& bytes, const Ranks& ranks,
             std::vector<std::int32_t>& ids) {
    if (piece.size() <= short_piece) {
      merge_short(piece, bytes, ranks, ids);
    } else {
      merge_long(piece, bytes, ranks, ids);
    }
  }

  /// Candidates taken from the queue since construction: what the work on long pieces grows with.
  std::int64_t steps() const { return steps_; }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  /// A token of a long piece; a doubly linked list in an array. The end is the next one's begin.
  struct Node {
    std::int32_t id;  // no_token: merged into its left neighbour
    std::uint32_t end;
    std::uint32_t previous;
    std::uint32_t next;
  };

  template <class Ranks>
  void merge_short(std::string_view piece, const std::array<std::int32_t, 256>& bytes,
                   const Ranks& ranks, std::vector<std::int32_t>& ids) {
    std::array<std::uint8_t, short_piece + 1> begins;  // of each part, and the end
    std::array<std::int32_t, short_piece> parts;
    std::array<Merge, short_piece> merges;  // of each part with the next one
    std::size_t count = piece.size();
    const auto look = [&](std::size_t i) {
      merges[i] = i + 1 < count
                      ? ranks(parts[i], parts[i + 1],
                              piece.substr(begins[i], std::size_t{begins[i + 2]} - begins[i]))
                      : Merge{};
    };
    for (std::size_t i = 0; i < count; ++i) {
      begins[i] = static_cast<std::uint8_t>(i);
      parts[i] = bytes[static_cast<unsigned char>(piece[i])];
    }
    begins[count] = static_cast<std::uint8_t>(count);
    for (std::size_t i = 0; i < count; ++i) look(i);
    while (count > 1) {
      std::size_t best = 0;
      for (std::size_t i = 1; i + 1 < count; ++i) {
        if (merges[i].rank < merges[best].rank) best = i;
      }
      if (merges[best].rank == Merge::never) break;
      parts[best] = merges[best].id;
      for (std::size_t i = best + 1; i + 1 < count; ++i) {
        parts[i] = parts[i + 1];
        merges[i] = merges[i + 1];
        begins[i] = begins[i + 1];
      }
      begins[count - 1] = begins[count];
      --count;
      look(best);
      if (best > 0) look(best - 1);
    }
    ids.insert(ids.end(), parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
  }

  template <class Ranks>
  void push(std::string_view piece, std::uint32_t left, const Ranks& ranks) {
    const Node& node = nodes_[left];
    if (node.next == none) return;
    const Node& right = nodes_[node.next];
    const Merge merge = ranks(node.id, right.id, piece.substr(left, right.end - left));
    if (merge.rank != Merge::never) queue_.push({merge.rank, left, node.id, right.id, merge.id});
  }

  template <class Ranks>
  void merge_long(std::string_view piece, const std::array<std::int32_t, 256>& bytes,
                  const Ranks& ranks, std::vector<std::int32_t>& ids) {
    // Up to two candidates a byte wait in the queue, and are counted in 32 bits.
    if (piece.size() > none / 2) {
      throw Error("bpe: a piece of " + std::to_string(piece.size()) +
                  " bytes without a place to cut; at most " + std::to_string(none / 2) +
                  " bytes can be merged at once, so break the text into lines or words");
    }
    const auto count = static_cast<std::uint32_t>(piece.size());
    nodes_.resize(count);
    queue_.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      nodes_[i] = {bytes[static_cast<unsigned char>(piece[i])], i + 1, i == 0 ? none : i - 1,
                   i + 1 == count ? none : i + 1};
    }
    for (std::uint32_t i = 0; i < count; ++i) push(piece, i, ranks);
    while (!queue_.empty()) {
      ++steps_;
      const MergeCandidate top = queue_.pop();
      Node& node = nodes_[top.left];
      if (node.id != top.left_id || node.next == none || nodes_[node.next].id != top.right_id) {
        continue;
      }
      Node& right = nodes_[node.next];
      node.id = top.merged;
      node.end = right.end;
      node.next = right.next;
      right.id = no_token;
      if (node.next != none) nodes_[node.next].previous = top.left;
      // From left to right, as the queue likes it.
      if (node.previous != none) push(piece, node.previous, ranks);
      push(piece, top.left, ranks);
    }
    for (std::uint32_t i = 0; i != none; i = nodes_[i].next) ids.push_back(nodes_[i].id);
    release_after_long(count);
  }

  /// A giant piece must not hold its memory for the rest of the program.
  void release_after_long(std::uint32_t count) {
    if (count < 1U << 20U) return;
    nodes_ = {};
    queue_ = {};
  }

  std::vector<Node> nodes_;
  MergeQueue queue_;
  std::int64_t steps_ = 0;
};

}  // namespace fount
