// SPDX-License-Identifier: Apache-2.0
#pragma once
// How often each word occurs in a text: what trainers of tokenizers learn from, instead of the text
// itself. Several threads count, and what comes out does not depend on how many. What a word is,
// the caller's splitter decides.
// Open addressing: Knuth, The Art of Computer Programming, volume 3, section 6.4.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/backend/threads.hpp>
#include <fount/core/error.hpp>
#include <fount/text/split.hpp>
#include <fount/text/token_table.hpp>

namespace fount {

/// Distinct words with 64-bit counts. Memory grows with the distinct words, not with the text.
class WordCounter {
 public:
  WordCounter() : slots_(1024) {}

  /// @param count how often `word` occurred; below 1 is nothing.
  /// @throws Error if all words together exceed 2^63 bytes, or the distinct ones 2^32
  void add(std::string_view word, std::int64_t count = 1) {
    if (word.empty() || count < 1) return;
    add(word, count, static_cast<std::uint32_t>(detail::hash_bytes(word)));
  }
  void merge(const WordCounter& other) {
    for (std::size_t i = 0; i < other.entries_.size(); ++i) {
      add(other.word(i), other.entries_[i].count, other.entries_[i].hash);
    }
  }

  std::int64_t distinct() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Bytes of all words, each as often as it occurred.
  std::int64_t total_bytes() const { return total_bytes_; }
  /// Bytes of the distinct words.
  std::int64_t distinct_bytes() const { return static_cast<std::int64_t>(bytes_.size()); }
  /// Calls visit(word, count) for each distinct word, in an order without meaning.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) visit(word(i), entries_[i].count);
  }

 private:
  struct Entry {
    std::size_t end;  // in bytes_; the word begins where the one before ends
    std::int64_t count;
    std::uint32_t hash;
  };

  std::string_view word(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : entries_[i - 1].end;
    return std::string_view(bytes_).substr(begin, entries_[i].end - begin);
  }

  void add(std::string_view word, std::int64_t count, std::uint32_t hash) {
    count_bytes(word.size(), count);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
      const std::size_t i = slots_[slot] - 1;
      if (entries_[i].hash == hash && this->word(i) == word) {
        entries_[i].count += count;
        return;
      }
    }
    if (entries_.size() >= std::numeric_limits<std::uint32_t>::max() - 1) {
      throw Error("word counter: more than 2^32 distinct words; train with less text");
    }
    bytes_ += word;
    entries_.push_back({bytes_.size(), count, hash});
    slots_[slot] = static_cast<std::uint32_t>(entries_.size());
    if (entries_.size() * 2 > slots_.size()) grow();
  }
  /// Every sum of counts over symbols stays below this one: checked here, it cannot overflow later.
  void count_bytes(std::size_t size, std::int64_t count) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(size), count, &bytes) ||
        __builtin_add_overflow(total_bytes_, bytes, &total_bytes_)) {
      throw Error("word counter: more than 2^63 bytes of text; train with less");
    }
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t slot = entries_[i].hash & mask;
      while (slots_[slot] != 0) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::string bytes_;  // all words in a row
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // number of an entry plus one; 0: free. A power of two
  std::int64_t total_bytes_ = 0;
};

namespace detail {

/// Pieces of about `size` bytes that together are the text; cuts change no word.
inline std::vector<std::string_view> pieces_for_threads(std::string_view text, std::size_t size) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t cut = text.size() > size ? next_certain_cut(text, size) : text.size();
    pieces.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  return pieces;
}

}  // namespace detail

/// Counts the words of texts, each of which is split as a whole. Long texts are shared out between
/// threads in pieces that end where a word ends by every rule (next_certain_cut()).
/// @param split     split(text, emit) calls emit(word) for each word; called by several threads
/// @param threads   at most so many; the result does not depend on it
/// @param progress  hears, on the calling thread, which part of the bytes is counted: 0 to 1
/// @throws Error as WordCounter::add(), or what `split` throws
template <class Split>
WordCounter count_words(std::span<const std::string_view> texts, const Split& split, int threads,
                        const std::function<void(double)>& progress = {}) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 18U;
  std::vector<std::string_view> pieces;
  std::size_t total = 0;
  for (const std::string_view text : texts) {
    const auto more = detail::pieces_for_threads(text, piece_bytes);
    pieces.insert(pieces.end(), more.begin(), more.end());
    total += text.size();
  }
  threads = static_cast<int>(
      std::clamp<std::size_t>(pieces.size(), 1, static_cast<std::size_t>(std::max(threads, 1))));
  std::vector<WordCounter> counters(static_cast<std::size_t>(threads));
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
  std::atomic<std::size_t> done{0};
  std::atomic<bool> failed{false};
  auto body = [&](std::int64_t index, int thread) {
    if (failed) return;
    const std::string_view piece = pieces[static_cast<std::size_t>(index)];
    WordCounter& counter = counters[static_cast<std::size_t>(thread)];
    try {
      split(piece, [&counter](std::string_view word) { counter.add(word); });
      done += piece.size();
      if (thread == 0 && progress) {
        progress(static_cast<double>(done) / static_cast<double>(total));
      }
    } catch (...) {
      failures[static_cast<std::size_t>(thread)] = std::current_exception();
      failed = true;
    }
  };
  ThreadPool pool(threads);
  pool.run(static_cast<std::int64_t>(pieces.size()), body);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (std::size_t i = 1; i < counters.size(); ++i) {
    counters[0].merge(counters[i]);
    counters[i] = WordCounter();
  }
  return std::move(counters[0]);
}

}  // namespace fount
