// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention backward for one block of queries of one head against a range of keys. Probabilities
// are computed again from the log-sum-exp, tile by tile. Dao 2023, algorithm 2.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fount/core/arena.hpp>
#include <fount/core/math.hpp>
#include <fount/ops/attention_shape.hpp>
#include <fount/ops/cpu/attention_forward.hpp>
#include <fount/ops/cpu/attention_mask.hpp>
#include <fount/ops/cpu/attention_tile.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace attention_detail {

/// Keys whose gradients are summed at a time: two register tiles, few enough to skip the panels
/// that see none of them.
inline constexpr int row_step = 12;

enum class Gradients : std::uint8_t { all, queries, keys_and_values };

template <Element A>
struct BackwardCall {
  const AttentionShape& shape;
  A* d_q;
  A* d_k;
  A* d_v;
  const A* d_out;
  const A* out;
  const compute_t<A>* lse;
  const A* q;
  const A* k;
  const A* v;
};

/// Whether the gradients of keys and values are summed in the workspace, because many blocks of
/// queries add to them and 16 bits would lose the small terms.
template <Element A>
inline constexpr bool sums_keys_apart = !std::is_same_v<A, compute_t<A>>;

template <Real T>
struct BackwardTiles {
  T* q_panels;      // (panels, head_dim, panel_width)
  T* d_out_panels;  // (panels, head_dim, panel_width)
  Rows<T> q;        // (query_tile, padded head_dim)
  Rows<T> d_out;    // (query_tile, padded head_dim)
  Rows<T> d_q;      // (query_tile, padded head_dim)
  Rows<T> k;        // (key_tile, padded head_dim), scaled
  Rows<T> v;        // (key_tile, padded head_dim)
  Rows<T> d_rows;   // (row_step, padded head_dim), this block's share of d_k or d_v
  Rows<T> p;        // (key_tile, query_tile) scores, then probabilities
  Rows<T> d_s;      // (key_tile, query_tile) gradient of the probabilities, then of the scores
  Rows<T> factors;  // (key_tile, panel_width), of dropout
  Rows<T> slope;    // (key_tile, panel_width), of the soft cap
  T* lse;           // (query_tile); +inf where the row saw no key, so that p is 0
  T* delta;         // (query_tile) sum of d_out * out
  Rows<T> d_k;      // (summed_keys, padded head_dim), only where sums_keys_apart
  Rows<T> d_v;      // (summed_keys, padded head_dim), only where sums_keys_apart

  template <class Cursor>
  static constexpr BackwardTiles take(Cursor& cursor, int head_dim, int summed_keys = key_tile) {
    const int columns = padded_head_dim<T>(head_dim);
    const auto rows = [&](int count, int width) {
      return Rows<T>{cursor.template take<T>(std::int64_t{count} * width), width};
    };
    BackwardTiles tiles{};
    tiles.q_panels = cursor.template take<T>(std::int64_t{query_tile} * head_dim);
    tiles.d_out_panels = cursor.template take<T>(std::int64_t{query_tile} * head_dim);
    tiles.q = rows(query_tile, columns);
    tiles.d_out = rows(query_tile, columns);
    tiles.d_q = rows(query_tile, columns);
    tiles.k = rows(key_tile, columns);
    tiles.v = rows(key_tile, columns);
    tiles.d_rows = rows(row_step, columns);
    tiles.p = rows(key_tile, query_tile);
    tiles.d_s = rows(key_tile, query_tile);
    tiles.factors = rows(key_tile, panel_width<T>);
    tiles.slope = rows(key_tile, panel_width<T>);
    tiles.lse = cursor.template take<T>(query_tile);
    tiles.delta = cursor.template take<T>(query_tile);
    tiles.d_k = rows(summed_keys, columns);
    tiles.d_v = rows(summed_keys, columns);
    return tiles;
  }

  /// Keys whose sums fit the workspace of a thread beside everything else.
  static constexpr std::int64_t most_summed_keys(int head_dim) {
    Planner others;
    take(others, head_dim, 0);
    const Bytes room = Cpu::workspace_bytes_per_thread - others.bytes() - 2 * buffer_alignment;
    return room / (2 * padded_head_dim<T>(head_dim) * static_cast<Bytes>(sizeof(T)));
  }
};
static_assert(tile_bytes<BackwardTiles<double>>() <= Cpu::workspace_bytes_per_thread,
              "attention: the backward tiles must fit the workspace of a thread");

/// Caps the scores and keeps the derivative of doing so, 1 - tanh^2.
template <Real T>
void soft_cap_with_slope(Rows<T> scores, Rows<T> slope, KeyRange rows, T cap) {
  for (int r = rows.begin; r < rows.end; ++r) {
    T* const row = scores[r];
    T* const derivative = slope[r];
    for (int lane = 0; lane < panel_width<T>; ++lane) {
      const T t = math::tanh(row[lane] / cap);
      row[lane] = cap * t;
      derivative[lane] = (T(1) - t) * (T(1) + t);
    }
  }
}

/// Scores become probabilities, d_s from their gradient to that of the scores.
template <Real T>
void softmax_backward(Rows<T> p, Rows<T> d_s, KeyRange rows, const T* lse, const T* delta) {
  for (int r = rows.begin; r < rows.end; ++r) {
    T* const probability = p[r];
    T* const gradient = d_s[r];
    for (int lane = 0; lane < panel_width<T>; ++lane) {
      const T value = math::exp(probability[lane] - lse[lane]);
      probability[lane] = value;
      gradient[lane] = value * (gradient[lane] - delta[lane]);
    }
  }
}

/// One block of queries of one head.
template <Element A>
struct BackwardBlock {
  using T = compute_t<A>;
  static constexpr int width = panel_width<T>;

  const BackwardCall<A>& call;
  const AttentionShape& shape;
  int b;
  int h;
  int kv_head;
  int first_summed;  // key of row 0 of the tiles' d_k and d_v
  QueryBlock<T> queries;
  BackwardTiles<T> tiles;

  void load_queries() const {
    const auto q_at = query_at<T>(shape, b, h, queries.first, shape.q_stride);
    const auto out_at = query_at<T>(shape, b, h, queries.first, shape.out_stride);
    const Rows<const A> q{call.q + q_at, shape.q_stride};
    const Rows<const A> d_out{call.d_out + out_at, shape.out_stride};
    const Rows<const A> out{call.out + out_at, shape.out_stride};
    const T* const lse = call.lse + statistics_at(shape, b, h, queries);
    pack_panels(tiles.q_panels, q, queries.count, shape.head_dim);
    pack_panels(tiles.d_out_panels, d_out, queries.count, shape.head_dim);
    pack_rows(tiles.q, q, queries.count, shape.head_dim, T(1));
    pack_rows(tiles.d_out, d_out, queries.count, shape.head_dim, T(1));
    zero_row(tiles.d_q.data, queries.count * static_cast<int>(tiles.d_q.stride));
    for (int lane = 0; lane < query_tile; ++lane) {
      const bool present = lane < queries.count;
      const bool saw_keys = present && lse[lane] > -std::numeric_limits<T>::infinity();
      tiles.lse[lane] = saw_keys ? lse[lane] : std::numeric_limits<T>::infinity();
      tiles.delta[lane] = present ? dot(d_out[lane], out[lane], shape.head_dim) : T(0);
    }
  }

  void load_keys(const KeyTile& tile) const {
    const auto k_at = key_at(shape, b, kv_head, tile.first, shape.k_stride, shape.k_batch_stride);
    const auto v_at = key_at(shape, b, kv_head, tile.first, shape.v_stride, shape.v_batch_stride);
    pack_rows(tiles.k, Rows<const A>{call.k + k_at, shape.k_stride}, tile.count, shape.head_dim,
              score_scale<T>(shape));
    pack_rows(tiles.v, Rows<const A>{call.v + v_at, shape.v_stride}, tile.count, shape.head_dim,
              T(1));
  }

  /// Fills p and d_s of one panel in these rows.
  void score_gradients(int panel, const KeyTile& tile, KeyRange rows) const {
    const int count = rows.end - rows.begin;
    const Rows<T> p{tiles.p.data + panel * width, query_tile};
    const Rows<T> d_s{tiles.d_s.data + panel * width, query_tile};
    const std::int64_t panel_at = std::int64_t{panel} * shape.head_dim * width;
    tile_product<Left::by_row, Write::replace, T>(
        {p[rows.begin], p.stride}, {tiles.k[rows.begin], tiles.k.stride},
        {tiles.q_panels + panel_at, width}, count, width, shape.head_dim);
    tile_product<Left::by_row, Write::replace, T>(
        {d_s[rows.begin], d_s.stride}, {tiles.v[rows.begin], tiles.v.stride},
        {tiles.d_out_panels + panel_at, width}, count, width, shape.head_dim);
    const bool capped = shape.softcap > 0.0F;
    const bool dropping = shape.dropout.active();
    if (capped) soft_cap_with_slope(p, tiles.slope, rows, static_cast<T>(shape.softcap));
    if (dropping) {
      const auto element = static_cast<std::uint64_t>(statistics_at(shape, b, h, queries)) *
                           static_cast<std::uint64_t>(shape.num_keys);
      dropout_factors(tiles.factors, shape, element, queries, panel, tile, rows);
      multiply_rows<T>(d_s, tiles.factors, rows);
    }
    softmax_backward(p, d_s, rows, tiles.lse + panel * width, tiles.delta + panel * width);
    if (capped) multiply_rows<T>(d_s, tiles.slope, rows);
    if (dropping) multiply_rows<T>(p, tiles.factors, rows);
    if (!queries.sees_all(panel, tile, rows)) {
      queries.hide(p, panel, tile, rows, T(0));
      queries.hide(d_s, panel, tile, rows, T(0));
    }
  }

  /// This panel's d_q from its d_s and the keys.
  void add_d_q(int panel, KeyRange rows) const {
    tile_product<Left::by_depth, Write::add, T>(
        {tiles.d_q[panel * width], tiles.d_q.stride},
        {tiles.d_s[rows.begin] + panel * width, query_tile}, {tiles.k[rows.begin], tiles.k.stride},
        queries.queries_in(panel), static_cast<int>(tiles.d_q.stride), rows.end - rows.begin);
  }

  /// to[key] += factor * sum over queries of weight[key][query] * from[query].
  void add_to_keys(Rows<T> to, Rows<const T> weight, Rows<const T> from, const KeyTile& tile,
                   T factor) const {
    for (int first = 0; first < tile.count; first += row_step) {
      const int count = std::min(row_step, tile.count - first);
      const auto [begin, end] = lanes_that_see({first, first + count}, tile);
      if (begin >= end) continue;
      tile_product<Left::by_row, Write::replace, T>(
          tiles.d_rows, {weight[first] + begin, weight.stride}, {from[begin], from.stride}, count,
          static_cast<int>(tiles.d_rows.stride), end - begin);
      for (int r = 0; r < count; ++r)
        scale_row<Write::add>(to[first + r], tiles.d_rows[r], shape.head_dim, factor);
    }
  }

  /// The first and last panel that see one of these rows, as lanes.
  KeyRange lanes_that_see(KeyRange rows, const KeyTile& tile) const {
    KeyRange lanes{query_tile, 0};
    for (int panel = 0; panel < queries.panel_count(); ++panel) {
      if (intersection(queries.rows_of(panel, tile), rows).empty()) continue;
      lanes.begin = std::min(lanes.begin, panel * width);
      lanes.end = std::min(queries.count, (panel + 1) * width);
    }
    return lanes;
  }

  /// Zeros of a panel's p and d_s that add_to_keys will read: the rows around its own, up to whole
  /// row_steps; all rows of a panel that sees none, since its neighbours may see some.
  void clear_around(int panel, const KeyTile& tile, KeyRange rows) const {
    if (rows.empty()) rows = {0, 0};
    const int begin = rows.begin / row_step * row_step;
    const int past_own = rows.empty() ? tile.count : rows.end;
    const int end = std::min(tile.count, (past_own + row_step - 1) / row_step * row_step);
    const Rows<T> sides[] = {tiles.p, tiles.d_s};
    for (const Rows<T> side : sides) {
      for (int r = begin; r < end; ++r) {
        if (r < rows.begin || r >= rows.end) zero_row(side[r] + panel * width, width);
      }
    }
  }

  void visit(const KeyTile& tile, Gradients wanted) const {
    load_keys(tile);
    for (int panel = 0; panel < queries.panel_count(); ++panel) {
      const KeyRange rows = queries.rows_of(panel, tile);
      if (wanted != Gradients::queries) clear_around(panel, tile, rows);
      if (rows.empty()) continue;
      score_gradients(panel, tile, rows);
      if (wanted != Gradients::keys_and_values) add_d_q(panel, rows);
    }
    if (wanted == Gradients::queries) return;
    if constexpr (sums_keys_apart<A>) {
      const int row = tile.first - first_summed;
      add_to_keys(Rows<T>{tiles.d_v[row], tiles.d_v.stride}, tiles.p, tiles.d_out, tile, T(1));
      add_to_keys(Rows<T>{tiles.d_k[row], tiles.d_k.stride}, tiles.d_s, tiles.q, tile,
                  score_scale<T>(shape));
    } else {
      const auto k_at =
          key_at(shape, b, kv_head, tile.first, shape.k_stride, shape.k_batch_stride);
      const auto v_at =
          key_at(shape, b, kv_head, tile.first, shape.v_stride, shape.v_batch_stride);
      add_to_keys(Rows<T>{call.d_v + v_at, shape.v_stride}, tiles.p, tiles.d_out, tile, T(1));
      add_to_keys(Rows<T>{call.d_k + k_at, shape.k_stride}, tiles.d_s, tiles.q, tile,
                  score_scale<T>(shape));
    }
  }

  void store_d_q() const {
    A* const d_q = call.d_q + query_at<T>(shape, b, h, queries.first, shape.q_stride);
    for (int lane = 0; lane < queries.count; ++lane) {
      store_row(d_q + lane * shape.q_stride, tiles.d_q[lane], shape.head_dim, T(1));
    }
  }
};

/// The tiles of the blocks that visit the keys in `range`.
template <Element A, class Cursor>
BackwardTiles<compute_t<A>> take_tiles(Cursor& cursor, const BackwardCall<A>& call,
                                       KeyRange range, Gradients wanted) {
  const bool sums_keys = sums_keys_apart<A> && wanted != Gradients::queries;
  const int summed_keys = sums_keys ? range.end - range.begin : 0;
  return BackwardTiles<compute_t<A>>::take(cursor, call.shape.head_dim, summed_keys);
}

/// Gradients of one block of queries, from the keys in `range`, which starts at a whole tile.
/// Adds to d_k and d_v; overwrites d_q.
template <Element A>
void backward_block(const BackwardCall<A>& call, int b, int h, int block_index, KeyRange range,
                    Gradients wanted, std::byte* memory) {
  const AttentionShape& shape = call.shape;
  Committer cursor(memory, Cpu::workspace_bytes_per_thread);
  const BackwardBlock<A> block{call,
                               shape,
                               b,
                               h,
                               h / (shape.num_heads / shape.num_kv_heads),
                               range.begin,
                               {shape, b, block_index},
                               take_tiles(cursor, call, range, wanted)};
  const KeyRange keys = intersection(block.queries.keys, range);
  if (keys.empty() && wanted == Gradients::keys_and_values) return;
  block.load_queries();
  for (int first = keys.begin / key_tile * key_tile; first < keys.end; first += key_tile) {
    block.visit({shape, b, first, std::min(first + key_tile, keys.end)}, wanted);
  }
  if (wanted != Gradients::keys_and_values) block.store_d_q();
}

/// Gradients of the keys and values in `range` of one key head, from all queries of its group; and
/// of those queries, where all are wanted and the range is everything.
template <Element A>
void backward_group(const BackwardCall<A>& call, int b, int kv_head, KeyRange range,
                    Gradients wanted, std::byte* memory) {
  const AttentionShape& shape = call.shape;
  const int group = shape.num_heads / shape.num_kv_heads;
  const auto k_at = key_at(shape, b, kv_head, range.begin, shape.k_stride, shape.k_batch_stride);
  const auto v_at = key_at(shape, b, kv_head, range.begin, shape.v_stride, shape.v_batch_stride);
  Committer cursor(memory, Cpu::workspace_bytes_per_thread);
  const auto tiles = take_tiles(cursor, call, range, wanted);
  for (int row = 0; row < range.end - range.begin; ++row) {
    if constexpr (sums_keys_apart<A>) {
      zero_row(tiles.d_k[row], static_cast<int>(tiles.d_k.stride));
      zero_row(tiles.d_v[row], static_cast<int>(tiles.d_v.stride));
    } else {
      std::fill_n(call.d_k + k_at + row * shape.k_stride, shape.head_dim, A(0));
      std::fill_n(call.d_v + v_at + row * shape.v_stride, shape.head_dim, A(0));
    }
  }
  for (int h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (int block = 0; block * query_tile < shape.num_queries; ++block) {
      backward_block(call, b, h, block, range, wanted, memory);
    }
  }
  if constexpr (sums_keys_apart<A>) {
    for (int row = 0; row < range.end - range.begin; ++row) {
      store_row(call.d_k + k_at + row * shape.k_stride, tiles.d_k[row], shape.head_dim, 1.0F);
      store_row(call.d_v + v_at + row * shape.v_stride, tiles.d_v[row], shape.head_dim, 1.0F);
    }
  }
}

}  // namespace attention_detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
