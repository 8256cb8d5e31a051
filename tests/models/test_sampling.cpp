// SPDX-License-Identifier: Apache-2.0
#include <fount/models/sampling.hpp>

#include <limits>
#include <map>

#include "support/catch.hpp"

using namespace fount;

namespace {

std::map<std::int32_t, int> draw(const SamplingOptions& options, const std::vector<float>& logits,
                                 int count = 4000) {
  Sampler sampler(options);
  std::map<std::int32_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[sampler(logits, 0, static_cast<std::uint64_t>(i))];
  return seen;
}

}  // namespace

TEST_CASE("temperature 0 takes the likeliest token, the first of equals", "[models][sampling]") {
  const std::vector<float> logits = {1, 3, 2, 3};
  CHECK(draw({.temperature = 0}, logits, 5) == std::map<std::int32_t, int>{{1, 5}});
}

TEST_CASE("tokens are drawn in proportion to their probability", "[models][sampling]") {
  const std::vector<float> logits = {0, std::log(3.0F)};
  const auto seen = draw({}, logits);
  CHECK(seen.at(1) / 4000.0 == Approx(0.75).margin(0.03));
  const auto hot = draw({.temperature = 1000}, logits);
  CHECK(hot.at(1) / 4000.0 == Approx(0.5).margin(0.03));
}

TEST_CASE("top-k and top-p cut the tail", "[models][sampling]") {
  const std::vector<float> logits = {0, 5, 4, 3};
  CHECK(draw({.temperature = 100, .top_k = 2}, logits).size() == 2);
  CHECK(draw({.temperature = 100, .top_k = 9}, logits).size() == 4);
  CHECK(draw({.top_p = 1e-9}, logits) == std::map<std::int32_t, int>{{1, 4000}});
}

TEST_CASE("one token and minus infinity are no trouble", "[models][sampling]") {
  CHECK(draw({}, {7}, 3).at(0) == 3);
  const float never = -std::numeric_limits<float>::infinity();
  CHECK(draw({}, {never, 0, never}, 100).at(1) == 100);
}

TEST_CASE("the same seed draws the same tokens, another draws others", "[models][sampling]") {
  const std::vector<float> logits(50, 0.0F);
  const auto sequence = [&](std::uint64_t seed, std::uint32_t sample) {
    Sampler sampler({.seed = seed});
    std::vector<std::int32_t> ids;
    for (std::uint64_t i = 0; i < 20; ++i) ids.push_back(sampler(logits, sample, i));
    return ids;
  };
  CHECK(sequence(1, 0) == sequence(1, 0));
  CHECK(sequence(1, 0) != sequence(2, 0));
  CHECK(sequence(1, 0) != sequence(1, 1));
}

TEST_CASE("values outside their range are refused", "[models][sampling]") {
  CHECK_THROWS_WITH(Sampler({.temperature = -1}), Catch::Contains("temperature"));
  CHECK_THROWS_WITH(Sampler({.top_k = -1}), Catch::Contains("top_k"));
  CHECK_THROWS_WITH(Sampler({.top_p = 0}), Catch::Contains("top_p"));
  Sampler sampler({});
  CHECK_THROWS_AS(sampler({}, 0, 0), ShapeError);
}
