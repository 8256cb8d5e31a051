// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/embedding.hpp>

#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

constexpr std::int64_t vocab_size = 11;
constexpr std::int64_t position_rows = 50;

/// Ids that repeat, so that gradients of one token meet.
std::vector<std::int32_t> some_ids(std::int64_t rows) {
  std::vector<std::int32_t> ids;
  for (std::int64_t r = 0; r < rows; ++r) {
    ids.push_back(static_cast<std::int32_t>(r * r % vocab_size));
  }
  return ids;
}

}  // namespace

TEMPLATE_TEST_CASE("embedding adds token, position and token type", "[ops][embedding]", float,
                   double) {
  for (const std::int64_t rows : {0, 1, 7, 33}) {
    for (const std::int64_t C : {1, 2, 3, 17, 128, 769}) {
      for (const int parts : {0, 1, 2}) {
        CAPTURE(rows, C, parts);
        const auto ids = some_ids(rows);
        const auto tokens = random_vector<TestType>(vocab_size * C, 1);
        const auto positions = random_vector<TestType>(position_rows * C, 2);
        const auto type = random_vector<TestType>(C, 3);
        auto out = nan_vector<TestType>(rows * C);
        ops::embedding_forward<TestType>(Cpu(2),
                                         {.out = out.data(),
                                          .tokens = tokens.data(),
                                          .positions = parts > 0 ? positions.data() : nullptr,
                                          .token_type = parts > 1 ? type.data() : nullptr,
                                          .at = {.ids = ids.data(),
                                                 .rows = rows,
                                                 .seq_len = 7,
                                                 .hidden_size = C,
                                                 .position_offset = 2,
                                                 .first_position = 3}});
        bool right = true;
        for (std::int64_t i = 0; i < rows * C; ++i) {
          const std::int64_t r = i / C, c = i % C;
          const auto at = [C, c](std::int64_t row) {
            return static_cast<std::size_t>(row * C + c);
          };
          TestType wanted = tokens[at(ids[static_cast<std::size_t>(r)])];
          if (parts > 0) wanted += positions[at(2 + 3 + r % 7)];
          if (parts > 1) wanted += type[at(0)];
          right = right && out[static_cast<std::size_t>(i)] == wanted;
        }
        CHECK(right);
      }
    }
  }
}

TEMPLATE_TEST_CASE("embedding backward adds in the order of the rows, whatever the threads",
                   "[ops][embedding]", float, double) {
  for (const std::int64_t rows : {0, 1, 7, 33}) {
    for (const std::int64_t C : {1, 3, 128, 769}) {
      CAPTURE(rows, C);
      const auto ids = some_ids(rows);
      const auto d_out = random_vector<TestType>(rows * C, 4);
      auto tokens = random_vector<TestType>(vocab_size * C, 1);
      auto positions = random_vector<TestType>(position_rows * C, 2);
      auto type = random_vector<TestType>(C, 3);
      const auto tokens_before = tokens, positions_before = positions, type_before = type;
      for (std::int64_t i = 0; i < rows * C; ++i) {
        const std::int64_t r = i / C, c = i % C;
        const auto at = [C, c](std::int64_t row) { return static_cast<std::size_t>(row * C + c); };
        const TestType d = d_out[static_cast<std::size_t>(i)];
        tokens[at(ids[static_cast<std::size_t>(r)])] += d;
        positions[at(2 + r % 7)] += d;
        type[at(0)] += d;
      }
      for (const int threads : {1, 2, 3}) {
        auto d_tokens = tokens_before, d_positions = positions_before, d_type = type_before;
        ops::embedding_backward<TestType>(Cpu(threads), {.d_tokens = d_tokens.data(),
                                                         .d_positions = d_positions.data(),
                                                         .d_token_type = d_type.data(),
                                                         .d_out = d_out.data(),
                                                         .at = {.ids = ids.data(),
                                                                .rows = rows,
                                                                .seq_len = 7,
                                                                .hidden_size = C,
                                                                .position_offset = 2}});
        CHECK(same_bits(d_tokens, tokens));
        CHECK(same_bits(d_positions, positions));
        CHECK(same_bits(d_type, type));
        ops::embedding_backward<TestType>(
            Cpu(threads), {.d_tokens = d_tokens.data(),
                           .d_out = d_out.data(),
                           .at = {.ids = ids.data(), .rows = rows, .hidden_size = C}});
        CHECK(same_bits(d_positions, positions));  // not given, not touched
      }
    }
  }
}
