// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who sees whom, for a block of queries and a tile of keys: ranges from the mask, document ids, and
// the dropout factors of a tile. Scores and sums are elsewhere.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fount/ops/attention_shape.hpp>
#include <fount/ops/cpu/attention_tile.hpp>
#include <fount/ops/residual.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace attention_detail {

inline constexpr int query_tile = 64;  // a multiple of every panel_width
inline constexpr int key_tile = 64;

/// Half-open range of keys, or of rows of a key tile.
struct KeyRange {
  int begin = 0;
  int end = 0;
  bool empty() const { return begin >= end; }
};

constexpr KeyRange intersection(KeyRange a, KeyRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Keys that the query at `position` may see, documents aside.
inline KeyRange visible_keys(const AttentionShape& shape, int position) {
  const int after = std::min(shape.num_keys, position + 1);
  switch (shape.mask) {
    case Mask::causal: return {0, after};
    case Mask::bidirectional: return {0, shape.num_keys};
    case Mask::sliding_window: return {std::max(0, position - (shape.window - 1)), after};
  }
  return {};
}

/// Some neighbouring keys of one sequence.
struct KeyTile {
  int first = 0;
  int count = 0;
  const std::int32_t* documents = nullptr;  // (count), or null
  std::int32_t lowest_document = 0;
  std::int32_t highest_document = 0;

  KeyTile(const AttentionShape& shape, int b, int first_key, int end_key)
      : first(first_key), count(end_key - first_key) {
    if (shape.documents == nullptr) return;
    documents = shape.documents + std::int64_t{b} * shape.num_keys + first;
    const auto [lowest, highest] = std::minmax_element(documents, documents + count);
    lowest_document = *lowest;
    highest_document = *highest;
  }
};

/// What the queries of a panel have in common.
struct PanelSummary {
  KeyRange any;  // from the first key that one of them sees to the last
  KeyRange all;  // keys that all of them see, documents aside
  std::int32_t lowest_document = std::numeric_limits<std::int32_t>::max();
  std::int32_t highest_document = std::numeric_limits<std::int32_t>::min();
};

/// The queries of one block: which keys each may see, lane by lane.
template <Real T>
struct QueryBlock {
  static constexpr int width = panel_width<T>;

  int first = 0;
  int count = 0;
  KeyRange keys;                   // that anyone in the block sees
  std::int32_t begin[query_tile];  // of the range of each query
  std::int32_t end[query_tile];
  std::int32_t document[query_tile];
  PanelSummary panels[query_tile / width];

  QueryBlock(const AttentionShape& shape, int b, int block)
      : first(block * query_tile), count(std::min(query_tile, shape.num_queries - first)) {
    keys = {shape.num_keys, 0};
    for (int panel = 0; panel * width < count; ++panel) {
      for (int lane = panel * width; lane < (panel + 1) * width; ++lane) place(shape, b, lane);
      panels[panel] = summary(panel);
      keys.begin = std::min(keys.begin, panels[panel].any.begin);
      keys.end = std::max(keys.end, panels[panel].any.end);
    }
  }

  int panel_count() const { return (count + width - 1) / width; }
  int queries_in(int panel) const { return std::min(width, count - panel * width); }

  /// Rows of `tile` that some query of the panel may see.
  KeyRange rows_of(int panel, const KeyTile& tile) const {
    const PanelSummary& seen = panels[panel];
    if (tile.documents != nullptr && (tile.highest_document < seen.lowest_document ||
                                      tile.lowest_document > seen.highest_document)) {
      return {};
    }
    return intersection({seen.any.begin - tile.first, seen.any.end - tile.first}, {0, tile.count});
  }

  /// Whether every query of the panel sees every key of these rows.
  bool sees_all(int panel, const KeyTile& tile, KeyRange rows) const {
    const PanelSummary& seen = panels[panel];
    if (tile.first + rows.begin < seen.all.begin || tile.first + rows.end > seen.all.end) {
      return false;
    }
    return tile.documents == nullptr || (tile.lowest_document == tile.highest_document &&
                                         tile.lowest_document == seen.lowest_document &&
                                         tile.highest_document == seen.highest_document);
  }

  /// scores[row][lane] = `hidden` where the lane's query does not see the row's key.
  void hide(Rows<T> scores, int panel, const KeyTile& tile, KeyRange rows, T hidden) const {
    const std::int32_t* const lane_begin = begin + panel * width;
    const std::int32_t* const lane_end = end + panel * width;
    const std::int32_t* const lane_document = document + panel * width;
    for (int r = rows.begin; r < rows.end; ++r) {
      const std::int32_t key = tile.first + r;
      const std::int32_t key_document = tile.documents == nullptr ? 0 : tile.documents[r];
      T* const row = scores[r];
      for (int lane = 0; lane < width; ++lane) {
        const bool visible = (lane_begin[lane] <= key) & (key < lane_end[lane]) &
                             (lane_document[lane] == key_document);
        row[lane] = visible ? row[lane] : hidden;
      }
    }
  }

 private:
  /// Lanes beyond the last query repeat it: their results are never read, and what they see does
  /// not widen a range or force a mask.
  void place(const AttentionShape& shape, int b, int lane) {
    const int position = shape.query_offset + first + std::min(lane, count - 1);
    KeyRange range = visible_keys(shape, position);
    document[lane] = 0;
    if (shape.documents != nullptr) {
      document[lane] = shape.documents[std::int64_t{b} * shape.num_keys + position];
      if (document[lane] == -1) range = {};
    }
    begin[lane] = range.begin;
    end[lane] = range.end;
  }

  PanelSummary summary(int panel) const {
    constexpr int far = std::numeric_limits<int>::max();
    PanelSummary result{{far, 0}, {0, far}};
    for (int lane = panel * width; lane < (panel + 1) * width; ++lane) {
      result.all = intersection(result.all, {begin[lane], end[lane]});
      if (begin[lane] >= end[lane]) continue;
      result.any.begin = std::min(result.any.begin, begin[lane]);
      result.any.end = std::max(result.any.end, end[lane]);
      result.lowest_document = std::min(result.lowest_document, document[lane]);
      result.highest_document = std::max(result.highest_document, document[lane]);
    }
    return result;
  }
};

/// factors[row][lane] of the probabilities of one panel; see AttentionShape::dropout.
/// @param element index of (block's first query, key 0)
template <Real T>
void dropout_factors(Rows<T> factors, const AttentionShape& shape, std::uint64_t element,
                     const QueryBlock<T>& block, int panel, const KeyTile& tile, KeyRange rows) {
  constexpr int words_at_once = 4 * detail::dropout_blocks;
  const std::uint32_t threshold = shape.dropout.threshold();
  const T kept = static_cast<T>(1.0F / (1.0F - shape.dropout.rate));
  std::uint32_t words[words_at_once];
  T values[words_at_once];
  for (int lane = 0; lane < block.queries_in(panel); ++lane) {
    const auto query = static_cast<std::uint64_t>(panel * block.width + lane);
    const std::uint64_t index = element + query * static_cast<std::uint64_t>(shape.num_keys) +
                                static_cast<std::uint64_t>(tile.first + rows.begin);
    const int skipped = static_cast<int>(index % 4);  // words of the first random block
    for (int r = rows.begin, word = skipped; r < rows.end; word = 0) {
      random_words<detail::dropout_blocks>(words, shape.dropout.stream,
                           index / 4 + static_cast<std::uint64_t>(r - rows.begin + skipped) / 4);
      for (int w = 0; w < words_at_once; ++w) values[w] = words[w] < threshold ? T(0) : kept;
      const int end = std::min(rows.end, r + words_at_once - word);
      for (; r < end; ++r, ++word) factors[r][lane] = values[word];
    }
  }
}

}  // namespace attention_detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
