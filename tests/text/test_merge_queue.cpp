// SPDX-License-Identifier: Apache-2.0
#include <fount/text/merge_queue.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include <fount/text/merge_piece.hpp>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// What the queue must do, in the plainest way.
using Oracle = std::priority_queue<MergeCandidate, std::vector<MergeCandidate>, std::greater<>>;

std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int32_t, std::int32_t> fields(
    const MergeCandidate& of) {
  return {of.rank, of.left, of.left_id, of.right_id, of.merged};
}
/// Ids follow from rank and place: candidates that compare equal are equal.
MergeCandidate candidate(std::uint32_t rank, std::uint32_t left) {
  return {rank, left, static_cast<std::int32_t>(left % 7), static_cast<std::int32_t>(left % 11),
          static_cast<std::int32_t>(rank) + 1000};
}

}  // namespace

TEST_CASE("candidates come by rank and from the left, in whatever order they went in",
          "[text][bpe]") {
  SmallRandom random(5);
  MergeQueue queue;  // one for all: clear() must leave nothing behind
  for (const std::uint32_t ranks : {1U, 2U, 7U, 1000U}) {
    for (const std::uint32_t places : {1U, 3U, 97U, 5000U}) {
      queue.clear();
      Oracle oracle;
      REQUIRE(queue.empty());
      // Fills and empties in turn, and never quite the same way.
      for (int round = 0; round < 40; ++round) {
        const std::uint32_t sweep = random.below(3);
        for (std::uint32_t i = 0; i < random.below(50); ++i) {
          const std::uint32_t left = sweep == 0 ? i * places / 50 : random.below(places);
          const MergeCandidate added = candidate(random.below(ranks), left);
          queue.push(added);
          oracle.push(added);
        }
        for (std::uint32_t i = random.below(60); i > 0 && !oracle.empty(); --i) {
          REQUIRE(!queue.empty());
          CHECK(fields(queue.pop()) == fields(oracle.top()));
          oracle.pop();
        }
      }
      while (!oracle.empty()) {
        REQUIRE(!queue.empty());
        CHECK(fields(queue.pop()) == fields(oracle.top()));
        oracle.pop();
      }
      CHECK(queue.empty());
      queue.push(candidate(ranks - 1, 0));  // for clear() to forget
    }
  }
}

TEST_CASE("long pieces merge as looking through all pairs each time does", "[text][bpe]") {
  // Lists of merges in any order, also such that no training gives: a merge before those that make
  // its parts, and ranks that fall while a piece merges.
  SmallRandom random(11);
  std::array<std::int32_t, 256> bytes{};
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte] = static_cast<std::int32_t>(byte);
  for (int round = 0; round < 60; ++round) {
    std::vector<BpeMerge> made;
    std::vector<std::int32_t> known = {'a', 'b', 'c'};
    for (std::int32_t id = 256; id < 286; ++id) {
      const auto pick = [&] {
        return known[random.below(static_cast<std::uint32_t>(known.size()))];
      };
      made.push_back({pick(), pick(), id});
      known.push_back(id);
    }
    for (std::size_t i = made.size() - 1; i > 0; --i) {
      std::swap(made[i], made[random.below(static_cast<std::uint32_t>(i + 1))]);
    }
    BpeModel model;
    PairTable pairs(made.size());
    for (const BpeMerge& merge : made) {
      const auto rank = static_cast<std::uint32_t>(model.merges.size());
      if (pairs.insert(merge.left, merge.right, {rank, merge.result})) {
        model.merges.push_back(merge);
      }
    }
    for (const std::size_t size : {std::size_t{41}, std::size_t{64}, std::size_t{997}}) {
      const std::string piece = random.text({"a", "b", "c"}, static_cast<std::uint32_t>(size));
      PieceMerger merger;
      std::vector<std::int32_t> ids;
      merger.merge(piece, bytes, PairRanks{pairs}, ids);
      INFO("round " << round << ", " << size << " bytes");
      CHECK(ids == merge_plainly(model, piece));
    }
  }
}
