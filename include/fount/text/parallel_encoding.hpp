// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes with the threads of a pool. Texts are cut where the tokenizer is certain, and never by
// the number of threads: the ids are those of Tokenizer::encode(), whoever computes them.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include <fount/backend/threads.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

/// The ids of each text.
/// @throws what Tokenizer::encode() throws for the first text that it refuses
inline std::vector<std::vector<std::int32_t>> encode_all(const Tokenizer& tokenizer,
                                                         std::span<const std::string_view> texts,
                                                         const AllowedSpecial& allowed,
                                                         ThreadPool& pool) {
  std::vector<std::vector<std::int32_t>> ids(texts.size());
  std::vector<std::exception_ptr> failures(texts.size());
  const auto encode = [&](std::int64_t index, int) {
    const auto at = static_cast<std::size_t>(index);
    try {
      tokenizer.encode(texts[at], allowed, ids[at]);
    } catch (...) {
      failures[at] = std::current_exception();  // a loop of the pool must not throw
    }
  };
  pool.run(static_cast<std::int64_t>(texts.size()), encode);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return ids;
}

/// The ids of one text, which is cut into parts of about `part_bytes`. Places in messages are
/// counted from the start of a part.
/// @throws as encode_all()
inline std::vector<std::int32_t> encode_parallel(const Tokenizer& tokenizer, std::string_view text,
                                                 const AllowedSpecial& allowed, ThreadPool& pool,
                                                 std::size_t part_bytes = std::size_t{1} << 18U) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.size() - at <= part_bytes
                                ? text.size()
                                : tokenizer.next_cut(text, at + part_bytes, allowed);
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  std::vector<std::int32_t> all;
  for (const auto& ids : encode_all(tokenizer, parts, allowed, pool)) {
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

}  // namespace fount
