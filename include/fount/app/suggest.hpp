// SPDX-License-Identifier: Apache-2.0
#pragma once
// "Did you mean ...?": the known name that a mistyped one is nearest to. Used by all command lines.
// Levenshtein 1966, "Binary codes capable of correcting deletions, insertions, and reversals".

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fount {

/// Insertions, deletions and replacements of one byte that turn `a` into `b`.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The nearest of `known`, unless even that needs more changes than a slip would: one for each
/// three letters, at least two. A name that begins with what was typed counts as near, too.
inline std::optional<std::string> nearest_name(std::string_view typed,
                                               std::span<const std::string> known) {
  const std::size_t limit = std::max<std::size_t>(2, typed.size() / 3);
  std::optional<std::string> nearest;
  std::size_t best = limit + 1;
  for (const std::string& name : known) {
    std::size_t distance = edit_distance(typed, name);
    if (distance > limit && typed.size() >= 3 && name.starts_with(typed)) distance = limit;
    if (distance < best && distance < std::max(typed.size(), name.size())) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

/// "; did you mean 'x'?" or nothing: the end of a sentence about an unknown name.
inline std::string suggestion(std::string_view typed, std::span<const std::string> known) {
  const auto nearest = nearest_name(typed, known);
  return nearest ? "; did you mean '" + *nearest + "'?" : std::string();
}

}  // namespace fount
