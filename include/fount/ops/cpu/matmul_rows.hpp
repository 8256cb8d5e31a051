// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the rows of C are cut into tiles of two heights, so that hardly any row is computed in vain.

#include <algorithm>
#include <cstdint>

#include <fount/core/macros.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// Tall tiles, then short ones, that reach as little beyond the last row as can be: 256 rows are
/// 16 x 14 + 4 x 8, not 18 x 14 and a tile that is half empty.
template <class Tile>
struct RowTiles {
  std::int64_t tall = 0, count = 0;

  explicit RowTiles(std::int64_t rows) {
    for (std::int64_t beyond = 0; beyond < Tile::rows; ++beyond) {
      for (std::int64_t low = 0; low < Tile::rows; ++low) {
        const std::int64_t rest = rows + beyond - low * Tile::short_rows;
        if (rest < 0 || rest % Tile::rows != 0) continue;
        tall = rest / Tile::rows;
        count = tall + low;
        return;
      }
    }
  }

  /// Where a tile starts; for number `count` where the last one ends, beyond C or not.
  std::int64_t first_row(std::int64_t tile) const {
    return std::min(tile, tall) * Tile::rows +
           std::max<std::int64_t>(tile - tall, 0) * Tile::short_rows;
  }
};

}  // namespace detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
