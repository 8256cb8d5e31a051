// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention forward for one block of queries of one head: scores, online softmax and the weighted
// sum of values, one tile of keys after another. Lanes are queries, so the softmax needs no
// reduction across lanes. Milakov & Gimelshein 2018; Dao 2023.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fount/core/arena.hpp>
#include <fount/core/math.hpp>
#include <fount/ops/attention_shape.hpp>
#include <fount/ops/cpu/attention_mask.hpp>
#include <fount/ops/cpu/attention_tile.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace attention_detail {

template <Real T>
T score_scale(const AttentionShape& shape) {
  if (shape.scale != 0.0F) return static_cast<T>(shape.scale);
  return static_cast<T>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
}

/// Row of (batch_size, num_heads, num_queries) where a block of queries starts.
template <Real T>
std::int64_t statistics_at(const AttentionShape& shape, int b, int h, const QueryBlock<T>& block) {
  return (std::int64_t{b} * shape.num_heads + h) * shape.num_queries + block.first;
}

/// Where row 0 of a block of queries stands in q (or in out), of a tile of keys in k (or in v).
template <Real T>
std::int64_t query_at(const AttentionShape& shape, int b, int h, int first, std::int64_t stride) {
  return (std::int64_t{b} * shape.num_queries + first) * stride + std::int64_t{h} * shape.head_dim;
}
inline std::int64_t key_at(const AttentionShape& shape, int b, int kv_head, int first,
                           std::int64_t stride, std::int64_t batch_stride) {
  return b * batch_stride + first * stride + std::int64_t{kv_head} * shape.head_dim;
}

template <Real T>
constexpr int padded_head_dim(int head_dim) {
  return (head_dim + panel_width<T> - 1) / panel_width<T> * panel_width<T>;
}

/// Everything one block needs, in the thread's workspace.
template <Real T>
struct ForwardTiles {
  T* q;             // (panels, head_dim, panel_width)
  Rows<T> k;        // (key_tile, padded head_dim), scaled
  Rows<T> v;        // (key_tile, padded head_dim)
  Rows<T> out;      // (query_tile, padded head_dim), not yet divided by sum
  Rows<T> scores;   // (key_tile, panel_width), then probabilities
  Rows<T> factors;  // (key_tile, panel_width), of dropout
  T* maximum;       // (query_tile) of the scores so far
  T* sum;           // (query_tile) of exp(score - maximum)
  T* shrink;        // (panel_width) by how much the last tile raised the maximum

  template <class Cursor>
  static constexpr ForwardTiles take(Cursor& cursor, int head_dim) {
    const int columns = padded_head_dim<T>(head_dim);
    const auto rows = [&](int count, int width) {
      return Rows<T>{cursor.template take<T>(std::int64_t{count} * width), width};
    };
    ForwardTiles tiles{};
    tiles.q = cursor.template take<T>(std::int64_t{query_tile} * head_dim);
    tiles.k = rows(key_tile, columns);
    tiles.v = rows(key_tile, columns);
    tiles.out = rows(query_tile, columns);
    tiles.scores = rows(key_tile, panel_width<T>);
    tiles.factors = rows(key_tile, panel_width<T>);
    tiles.maximum = cursor.template take<T>(query_tile);
    tiles.sum = cursor.template take<T>(query_tile);
    tiles.shrink = cursor.template take<T>(panel_width<T>);
    return tiles;
  }
};

/// Bytes that a set of tiles takes at the largest head.
template <class Tiles>
constexpr Bytes tile_bytes() {
  Planner planner;
  Tiles::take(planner, max_head_dim);
  return planner.bytes();
}
static_assert(tile_bytes<ForwardTiles<double>>() <= Cpu::workspace_bytes_per_thread,
              "attention: the forward tiles must fit the workspace of a thread");

/// scores = cap * tanh(scores / cap).
template <Real T>
void soft_cap(Rows<T> scores, KeyRange rows, T cap) {
  for (int r = rows.begin; r < rows.end; ++r) {
    T* const row = scores[r];
    for (int lane = 0; lane < panel_width<T>; ++lane) {
      row[lane] = cap * math::tanh(row[lane] / cap);
    }
  }
}

/// Raises `maximum` to that of the scores, turns scores into exp(score - maximum), and brings `sum`
/// up to date. What was summed before must be multiplied by `shrink`.
template <Real T>
void online_softmax(Rows<T> scores, KeyRange rows, T* maximum, T* sum, T* shrink) {
  constexpr int width = panel_width<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  alignas(buffer_alignment) T base[width];
  Vector<T> high[2] = {load<T>(maximum), load<T>(maximum + width / 2)};
  for (int r = rows.begin; r < rows.end; ++r) {
    for (int half = 0; half < 2; ++half) {
      const Vector<T> score = load<T>(scores[r] + half * (width / 2));
      high[half] = score > high[half] ? score : high[half];
    }
  }
  store<T>(base, high[0]);
  store<T>(base + width / 2, high[1]);
  for (int lane = 0; lane < width; ++lane) {
    const T before = maximum[lane];
    maximum[lane] = base[lane];
    base[lane] = base[lane] == lowest ? T(0) : base[lane];  // -inf - -inf would be NaN
    shrink[lane] = before == maximum[lane] ? T(1) : math::exp(before - base[lane]);
  }
  for (int r = rows.begin; r < rows.end; ++r) {
    T* const row = scores[r];
    for (int lane = 0; lane < width; ++lane) row[lane] = math::exp(row[lane] - base[lane]);
  }
  Vector<T> total[2] = {};
  for (int r = rows.begin; r < rows.end; ++r) {
    for (int half = 0; half < 2; ++half) total[half] += load<T>(scores[r] + half * (width / 2));
  }
  for (int half = 0; half < 2; ++half) {
    const Vector<T> before = load<T>(sum + half * (width / 2));
    store<T>(sum + half * (width / 2), before * load<T>(shrink + half * (width / 2)) + total[half]);
  }
}

template <Real T>
void multiply_rows(Rows<T> tile, Rows<const T> factors, KeyRange rows) {
  for (int r = rows.begin; r < rows.end; ++r) {
    for (int lane = 0; lane < panel_width<T>; ++lane) tile[r][lane] *= factors[r][lane];
  }
}

/// One block of queries of one head.
template <Real T>
struct ForwardBlock {
  const AttentionShape& shape;
  int b;
  int h;
  QueryBlock<T> queries;
  ForwardTiles<T> tiles;

  /// One panel of queries against one tile of keys.
  void attend(int panel, const KeyTile& tile) const {
    constexpr int width = panel_width<T>;
    const KeyRange rows = queries.rows_of(panel, tile);
    if (rows.empty()) return;
    const int depth = rows.end - rows.begin;
    const Rows<const T> q{tiles.q + std::int64_t{panel} * shape.head_dim * width, width};
    tile_product<Left::by_row, Write::replace, T>({tiles.scores[rows.begin], width},
                                                  {tiles.k[rows.begin], tiles.k.stride}, q, depth,
                                                  width, shape.head_dim);
    if (shape.softcap > 0.0F) soft_cap(tiles.scores, rows, static_cast<T>(shape.softcap));
    if (!queries.sees_all(panel, tile, rows)) {
      queries.hide(tiles.scores, panel, tile, rows, -std::numeric_limits<T>::infinity());
    }
    online_softmax(tiles.scores, rows, tiles.maximum + panel * width, tiles.sum + panel * width,
                   tiles.shrink);
    if (shape.dropout.active()) {
      const auto element = static_cast<std::uint64_t>(statistics_at(shape, b, h, queries)) *
                           static_cast<std::uint64_t>(shape.num_keys);
      dropout_factors(tiles.factors, shape, element, queries, panel, tile, rows);
      multiply_rows<T>(tiles.scores, tiles.factors, rows);
    }
    const Rows<T> out{tiles.out[panel * width], tiles.out.stride};
    shrink_rows(out, queries.queries_in(panel));
    tile_product<Left::by_depth, Write::add, T>(
        out, {tiles.scores[rows.begin], width}, {tiles.v[rows.begin], tiles.v.stride},
        queries.queries_in(panel), static_cast<int>(out.stride), depth);
  }

  void shrink_rows(Rows<T> out, int count) const {
    for (int lane = 0; lane < count; ++lane) {
      const T factor = tiles.shrink[lane];
      if (factor == T(1)) continue;  // the common case once the maximum has settled
      for (std::ptrdiff_t d = 0; d < out.stride; ++d) out[lane][d] *= factor;
    }
  }

  template <Element A>
  void finish(A* out, T* lse) const {
    for (int lane = 0; lane < queries.count; ++lane) {
      const T sum = tiles.sum[lane];
      const T factor = sum == T(0) ? T(0) : T(1) / sum;  // 0: the row saw no key
      store_row(out + lane * shape.out_stride, tiles.out[lane], shape.head_dim, factor);
      if (lse == nullptr) continue;
      lse[lane] =
          sum == T(0) ? -std::numeric_limits<T>::infinity() : tiles.maximum[lane] + math::log(sum);
    }
  }
};

template <Element A>
void forward_block(const AttentionShape& shape, int b, int h, int block_index, std::byte* memory,
                   A* out, compute_t<A>* lse, const A* q, const A* k, const A* v) {
  using T = compute_t<A>;
  Committer cursor(memory, Cpu::workspace_bytes_per_thread);
  const ForwardBlock<T> block{
      shape, b, h, {shape, b, block_index}, ForwardTiles<T>::take(cursor, shape.head_dim)};
  const auto& queries = block.queries;
  const auto& tiles = block.tiles;
  const int kv_head = h / (shape.num_heads / shape.num_kv_heads);

  const auto rows_at = [](const A* first, std::int64_t stride) {
    return Rows<const A>{first, static_cast<std::ptrdiff_t>(stride)};
  };
  pack_panels(tiles.q,
              rows_at(q + query_at<T>(shape, b, h, queries.first, shape.q_stride), shape.q_stride),
              queries.count, shape.head_dim);
  zero_row(tiles.out.data, queries.count * static_cast<int>(tiles.out.stride));
  for (int lane = 0; lane < query_tile; ++lane) {
    tiles.maximum[lane] = -std::numeric_limits<T>::infinity();
    tiles.sum[lane] = T(0);
  }
  // Tiles start at multiples of key_tile, so that a query meets the same tiles in every block.
  for (int first = queries.keys.begin / key_tile * key_tile; first < queries.keys.end;
       first += key_tile) {
    const KeyTile tile(shape, b, first, std::min(first + key_tile, queries.keys.end));
    pack_rows(tiles.k,
              rows_at(k + key_at(shape, b, kv_head, first, shape.k_stride, shape.k_batch_stride),
                      shape.k_stride),
              tile.count, shape.head_dim, score_scale<T>(shape));
    pack_rows(tiles.v,
              rows_at(v + key_at(shape, b, kv_head, first, shape.v_stride, shape.v_batch_stride),
                      shape.v_stride),
              tile.count, shape.head_dim, T(1));
    for (int panel = 0; panel < queries.panel_count(); ++panel) block.attend(panel, tile);
  }
  block.finish(out + query_at<T>(shape, b, h, queries.first, shape.out_stride),
               lse == nullptr ? nullptr : lse + statistics_at(shape, b, h, queries));
}

}  // namespace attention_detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
