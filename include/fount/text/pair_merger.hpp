// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inner loop of byte-pair training: words as rows of symbols, the count of every pair of
// neighbours, and one merge after the other with only the touched counts brought up to date. What
// symbols stand for, and when to stop, is in text/bpe_trainer.hpp and text/wordpiece_trainer.hpp.
// Sennrich, Haddow and Birch 2016, https://arxiv.org/abs/1508.07909; the rules where counts are
// equal or a pair overlaps itself are those of Hugging Face tokenizers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>

namespace fount {

/// Two neighbouring symbols, and how often they stand side by side in all words.
struct SymbolPair {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::int64_t count = 0;
};

/// Holds the words and finds, again and again, the most frequent pair. The work of all merges
/// together is that of visiting each place where a pair ever stood once: long words cost no more
/// than short ones.
class PairMerger {
 public:
  /// @param min_count   pairs that occur less often are never found
  /// @param max_length  a pair with a merged symbol in it counts only while both together are made
  ///                    of fewer than so many first symbols; 0: no limit
  explicit PairMerger(std::int64_t min_count, std::int64_t max_length = 0)
      : min_count_(std::max<std::int64_t>(min_count, 1)), max_length_(max_length) {
    cells_.push_back(boundary);
    word_of_.push_back(0);
  }

  /// Adds a word. @param symbols ids below 2^30 @param count how often it occurs
  void add(std::span<const std::uint32_t> symbols, std::int64_t count) {
    if (symbols.size() < 2) return;  // no pair
    if (cells_.size() + symbols.size() + 1 > max_cells) {
      throw Error(
          "tokenizer training: the distinct words have more than 2^31 symbols; use less text");
    }
    cells_.insert(cells_.end(), symbols.begin(), symbols.end());
    cells_.push_back(boundary);
    word_of_.resize(cells_.size(), static_cast<std::uint32_t>(counts_.size()));
    counts_.push_back(count);
    const std::uint32_t last = *std::max_element(symbols.begin(), symbols.end());
    if (last >= length_of_.size()) length_of_.resize(last + 1, 1);
  }

  /// Counts the pairs of the words added so far. Once, behind the last add().
  void count_pairs() {
    for (std::size_t at = 1; at + 1 < cells_.size(); ++at) {
      if (cells_[at] == boundary || cells_[at + 1] == boundary) continue;
      Pair& pair = pairs_.insert(key_of(cells_[at], cells_[at + 1]));
      pair.count += counts_[word_of_[at]];
      pair.places.push_back(static_cast<std::uint32_t>(at));
    }
    pairs_.remove_below(min_count_);
    std::vector<Candidate> candidates;
    pairs_.for_each([&](const Pair& pair) { candidates.push_back({pair.count, pair.key}); });
    queue_ = std::priority_queue<Candidate>({}, std::move(candidates));
  }

  /// The pair with the highest count; of equals, that with the smallest left, then right id.
  std::optional<SymbolPair> best() {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      const Pair* pair = pairs_.find(top.key);
      if (pair != nullptr && pair->count == top.count) {
        return SymbolPair{left_of(top.key), right_of(top.key), top.count};
      }
      queue_.pop();
      if (pair != nullptr && pair->count >= min_count_) queue_.push({pair->count, top.key});
    }
    return std::nullopt;
  }

  /// Replaces the pair by `merged` in all words, from the left, and updates the counts.
  /// @param merged an id below 2^30
  void merge(const SymbolPair& pair, std::uint32_t merged) {
    const std::uint64_t key = key_of(pair.left, pair.right);
    Pair* found = pairs_.find(key);
    if (found == nullptr) return;
    const std::vector<std::uint32_t> places = std::exchange(found->places, {});
    found->count = 0;
    const std::size_t symbols = std::max({pair.left, pair.right, merged}) + std::size_t{1};
    if (symbols > length_of_.size()) length_of_.resize(symbols, 1);
    if (symbols > before_.size()) {
      before_.resize(std::max(symbols, length_of_.size()));
      after_.resize(before_.size());
    }
    length_of_[merged] = length_of_[pair.left] + length_of_[pair.right];
    last_replaced_ = 0;
    touching_ = 0;
    for (const std::uint32_t place : places) replace(place, pair.left, pair.right, merged);
    update_counts(pair, merged);
  }

 private:
  // A cell holds a symbol, or belongs to the symbol before it: then its highest bit is set and the
  // rest is the number of cells of that symbol, which the second and the last cell know.
  static constexpr std::uint32_t inner = 0x80000000U;
  static constexpr std::uint32_t boundary = 0x7FFFFFFFU;  // between words
  static constexpr std::size_t max_cells = inner;

  struct Pair {
    std::uint64_t key = free_key;
    std::int64_t count = 0;
    std::vector<std::uint32_t> places;  // cells of the left symbol, ascending; some are outdated
  };
  static constexpr std::uint64_t free_key = ~std::uint64_t{0};
  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32U | right;
  }
  static std::uint32_t left_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32U); }
  static std::uint32_t right_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

  /// Pairs by key: a table with linear probing. Pairs that have become rare are dropped when it
  /// grows, so that it stays as large as the pairs that can still be merged.
  class PairTable {
   public:
    PairTable() : slots_(1024) {}
    Pair* find(std::uint64_t key) {
      Pair& pair = slots_[slot_of(key)];
      return pair.key == key ? &pair : nullptr;
    }
    Pair& insert(std::uint64_t key) {
      Pair* pair = &slots_[slot_of(key)];
      if (pair->key == key) return *pair;
      if ((used_ + 1) * 2 > slots_.size()) {
        rebuild(slots_.size() * 2, 1);
        pair = &slots_[slot_of(key)];
      }
      ++used_;
      pair->key = key;
      return *pair;
    }
    void remove_below(std::int64_t count) { rebuild(slots_.size(), count); }
    template <class Visit>
    void for_each(Visit&& visit) const {
      for (const Pair& pair : slots_) {
        if (pair.key != free_key) visit(pair);
      }
    }

   private:
    std::size_t slot_of(std::uint64_t key) const {
      const std::size_t mask = slots_.size() - 1;
      std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
      mixed ^= mixed >> 32U;
      auto slot = static_cast<std::size_t>(mixed) & mask;
      while (slots_[slot].key != key && slots_[slot].key != free_key) slot = (slot + 1) & mask;
      return slot;
    }
    /// Moves the pairs with at least `count` to a table of `size` slots, or half if they are few.
    void rebuild(std::size_t size, std::int64_t count) {
      const auto stays = [count](const Pair& p) { return p.key != free_key && p.count >= count; };
      used_ = static_cast<std::size_t>(std::ranges::count_if(slots_, stays));
      while (size > 1024 && used_ * 8 < size) size /= 2;
      std::vector<Pair> old(size);
      old.swap(slots_);
      for (Pair& pair : old) {
        if (stays(pair)) slots_[slot_of(pair.key)] = std::move(pair);
      }
    }

    std::vector<Pair> slots_;  // a power of two
    std::size_t used_ = 0;
  };

  struct Candidate {
    std::int64_t count;
    std::uint64_t key;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.count != b.count ? a.count < b.count : a.key > b.key;
    }
  };

  /// What one merge changes for one neighbour.
  struct Neighbour {
    std::int64_t count = 0;             // how often the neighbour's pair became another one
    std::vector<std::uint32_t> places;  // of the new pair
  };

  std::uint32_t next_of(std::uint32_t cell) const {
    const std::uint32_t second = cells_[cell + 1];
    return (second & inner) != 0 ? cell + (second & ~inner) : cell + 1;
  }
  std::uint32_t previous_of(std::uint32_t cell) const {
    const std::uint32_t last = cells_[cell - 1];
    return (last & inner) != 0 ? cell - (last & ~inner) : cell - 1;
  }

  /// Merges at one place, if the pair still stands there, and notes the neighbours.
  void replace(std::uint32_t place, std::uint32_t left, std::uint32_t right, std::uint32_t merged) {
    if (cells_[place] != left) return;
    const std::uint32_t second = next_of(place);
    if (cells_[second] != right) return;
    const std::uint32_t next = next_of(second);
    const std::uint32_t previous = previous_of(place);
    const std::int64_t count = counts_[word_of_[place]];
    if (cells_[previous] != boundary) {
      note(before_, touched_before_, cells_[previous], count, previous);
      if (previous == last_replaced_) touching_ += count;
    }
    if (cells_[next] != boundary) note(after_, touched_after_, cells_[next], count, place);
    last_replaced_ = place;
    cells_[place] = merged;
    cells_[second] = inner;  // no symbol any more
    cells_[place + 1] = cells_[next - 1] = inner | (next - place);
  }
  static void note(std::vector<Neighbour>& side, std::vector<std::uint32_t>& touched,
                   std::uint32_t symbol, std::int64_t count, std::uint32_t place) {
    Neighbour& neighbour = side[symbol];
    if (neighbour.places.empty()) touched.push_back(symbol);
    neighbour.count += count;
    neighbour.places.push_back(place);
  }

  void update_counts(const SymbolPair& pair, std::uint32_t merged) {
    // Where two merged places touch, the first took what follows it for `left`, and only the second
    // saw what both are now: (merged, merged). The pair (merged, left) never stood there.
    if (touching_ > 0) after_[pair.left].count -= touching_;
    for (const std::uint32_t symbol : touched_before_) {
      const std::int64_t seen = symbol == merged ? touching_ : 0;
      lower(key_of(symbol, pair.left), before_[symbol].count - seen);
      raise(symbol, merged, before_[symbol]);
    }
    for (const std::uint32_t symbol : touched_after_) {
      const std::int64_t unseen = symbol == pair.left ? touching_ : 0;
      lower(key_of(pair.right, symbol), after_[symbol].count + unseen);
      raise(merged, symbol, after_[symbol]);
    }
    touched_before_.clear();
    touched_after_.clear();
  }
  void lower(std::uint64_t key, std::int64_t count) {
    if (Pair* pair = pairs_.find(key)) pair->count = std::max<std::int64_t>(pair->count - count, 0);
  }
  /// Counts only fall once a pair exists, so one that begins too rare need not be kept.
  void raise(std::uint32_t left, std::uint32_t right, Neighbour& neighbour) {
    std::vector<std::uint32_t> places = std::exchange(neighbour.places, {});
    const std::int64_t count = std::exchange(neighbour.count, 0);
    if (count < min_count_) return;
    if (max_length_ > 0 && length_of_[left] + length_of_[right] >= max_length_) return;
    Pair& pair = pairs_.insert(key_of(left, right));
    pair.count += count;
    if (pair.places.empty()) {
      pair.places = std::move(places);
      pair.places.shrink_to_fit();
    } else {
      // A symbol that existed before was made again, from another pair.
      std::vector<std::uint32_t> both(pair.places.size() + places.size());
      std::merge(pair.places.begin(), pair.places.end(), places.begin(), places.end(),
                 both.begin());
      pair.places = std::move(both);
    }
    queue_.push({pair.count, pair.key});
  }

  std::int64_t min_count_;
  std::int64_t max_length_;
  std::vector<std::uint32_t> cells_;     // all words, a boundary before, between and behind them
  std::vector<std::uint32_t> word_of_;   // of each cell
  std::vector<std::int64_t> counts_;     // of each word
  std::vector<std::int64_t> length_of_;  // of each symbol, in first symbols
  PairTable pairs_;
  std::priority_queue<Candidate> queue_;  // counts may be outdated: then they are too high
  std::vector<Neighbour> before_;         // by symbol; empty between merges
  std::vector<Neighbour> after_;
  std::vector<std::uint32_t> touched_before_;
  std::vector<std::uint32_t> touched_after_;
  std::uint32_t last_replaced_ = 0;  // the place before in this merge; 0: none, no symbol is there
  std::int64_t touching_ = 0;        // merged places right behind another one
};

}  // namespace fount
