// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pairs of a long piece that could merge, taken by rank and, within a rank, from the left. All
// pairs of one rank wait in a row: a sweep over the text finds them from left to right, so a row is
// in order by itself, and only the rows are in a heap. What comes out of order waits in a heap of
// its own. The work for n pairs of d ranks is O(n + d log n) where every rank is found in one
// sweep, as with a trained list of merges, and O(n log n) with any ranks whatever.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace fount {

/// A pair that could merge when it was found; outdated if the ids are no longer there.
struct MergeCandidate {
  std::uint32_t rank = 0;
  std::uint32_t left = 0;  // where its left token begins
  std::int32_t left_id = 0;
  std::int32_t right_id = 0;
  std::int32_t merged = 0;  // the same for all candidates of one rank
  bool operator>(const MergeCandidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

class MergeQueue {
 public:
  bool empty() const { return heads_.empty() && late_.empty(); }

  void push(const MergeCandidate& candidate) {
    const std::uint32_t at = row_of(candidate);
    Row& row = rows_[at];
    if (row.first != none && candidate.left < waiting_[row.last].left) {
      late_.push_back(candidate);
      std::push_heap(late_.begin(), late_.end(), std::greater<>());
      return;
    }
    const std::uint32_t place = free_place();
    waiting_[place] = {candidate.left, candidate.left_id, candidate.right_id, none};
    if (row.first == none) {
      row.first = place;
      heads_.push_back({candidate.rank, at});
      std::push_heap(heads_.begin(), heads_.end(), std::greater<>());
    } else {
      waiting_[row.last].next = place;
    }
    row.last = place;
  }

  /// Takes the candidate of the lowest rank, the leftmost of equal ones. Not if empty().
  MergeCandidate pop() {
    if (!late_.empty() && (heads_.empty() || first_in_rows() > late_.front())) {
      std::pop_heap(late_.begin(), late_.end(), std::greater<>());
      const MergeCandidate candidate = late_.back();
      late_.pop_back();
      return candidate;
    }
    const MergeCandidate candidate = first_in_rows();
    Row& row = rows_[heads_.front().row];
    const std::uint32_t place = row.first;
    row.first = waiting_[place].next;
    if (row.first == none) {
      std::pop_heap(heads_.begin(), heads_.end(), std::greater<>());
      heads_.pop_back();
    }
    waiting_[place].next = free_;
    free_ = place;
    return candidate;
  }

  /// Makes ready for the next piece; the memory stays.
  void clear() {
    for (const Row& row : rows_) row_of_rank_[row.rank] = none;
    rows_.clear();
    heads_.clear();
    waiting_.clear();
    late_.clear();
    free_ = none;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  /// A candidate in its row: a linked list, all in one array.
  struct Waiting {
    std::uint32_t left;
    std::int32_t left_id;
    std::int32_t right_id;
    std::uint32_t next;
  };
  struct Row {
    std::uint32_t rank;
    std::int32_t merged;
    std::uint32_t first;  // none: nobody waits
    std::uint32_t last;
  };
  /// A row in which somebody waits.
  struct Head {
    std::uint32_t rank;
    std::uint32_t row;
    bool operator>(const Head& other) const { return rank > other.rank; }
  };

  std::uint32_t row_of(const MergeCandidate& candidate) {
    if (candidate.rank >= row_of_rank_.size()) {
      row_of_rank_.resize(std::size_t{candidate.rank} + 1, none);
    }
    std::uint32_t& at = row_of_rank_[candidate.rank];
    if (at == none) {
      // In this order: without memory for the row, the rank has none.
      rows_.push_back({candidate.rank, candidate.merged, none, none});
      at = static_cast<std::uint32_t>(rows_.size() - 1);
    }
    return at;
  }

  std::uint32_t free_place() {
    if (free_ == none) {
      waiting_.emplace_back();
      return static_cast<std::uint32_t>(waiting_.size() - 1);
    }
    const std::uint32_t place = free_;
    free_ = waiting_[place].next;
    return place;
  }

  MergeCandidate first_in_rows() const {
    const Row& row = rows_[heads_.front().row];
    const Waiting& first = waiting_[row.first];
    return {row.rank, first.left, first.left_id, first.right_id, row.merged};
  }

  std::vector<std::uint32_t> row_of_rank_;  // none: no candidate of that rank yet
  std::vector<Row> rows_;
  std::vector<Head> heads_;  // a heap
  std::vector<Waiting> waiting_;
  std::uint32_t free_ = none;         // places in waiting_ that can be taken again, linked
  std::vector<MergeCandidate> late_;  // a heap
};

}  // namespace fount
