// SPDX-License-Identifier: Apache-2.0
// Rounding many numbers at once gives the bits that rounding one by one gives.

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <fount/backend/rounding.hpp>
#include <fount/core/random.hpp>

#include "support/catch.hpp"

namespace {

template <fount::Element S>
void check_bits(const std::vector<float>& values) {
  std::vector<S> rounded(values.size() + 1, S(1.0F));
  fount::round_each(rounded.data(), values.data(), static_cast<std::int64_t>(values.size()));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += rounded[i] != S(values[i]) ? 1 : 0;
  CHECK(wrong == 0);
  CHECK(rounded.back() == S(1.0F));  // nothing beyond the end
}

}  // namespace

TEST_CASE("numbers rounded together have the bits of numbers rounded alone",
          "[backend][rounding]") {
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 97U, 4096U}) {
    CAPTURE(count);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {  // every exponent, ties among them
      values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 1048592U * 37U));
    }
    check_bits<fount::bf16>(values);
    check_bits<fount::fp16>(values);
  }
}

TEST_CASE("rounding keeps subnormal numbers, zeros, infinities and NaN", "[backend][rounding]") {
  using limits = std::numeric_limits<float>;
  const float special[] = {limits::denorm_min(),
                           -limits::denorm_min(),
                           limits::min() / 3,
                           0.0F,
                           -0.0F,
                           limits::infinity(),
                           -limits::infinity(),
                           limits::quiet_NaN(),
                           limits::max(),
                           std::bit_cast<float>(0x7f800001U)};  // the last: a NaN of low bits only
  for (const float value : special) {
    for (std::size_t place = 0; place < 64; place += 9) {
      std::vector<float> values(64, 1.00390625F);  // halfway between two bf16
      values[place] = value;
      check_bits<fount::bf16>(values);
    }
  }
}

TEST_CASE("random words made together are those of their blocks", "[backend][rounding][random]") {
  constexpr int blocks = 37;  // two groups of sixteen or four of eight, and a rest
  for (const std::uint64_t first : {0ULL, 5ULL, 0xfffffff9ULL, 1234567890123ULL}) {
    CAPTURE(first);
    const fount::RandomStream stream{.seed = 0x123456789abcdefULL,
                                     .step = 77,
                                     .site = 4'000'000'007U,
                                     .purpose = fount::RandomPurpose::rounding};
    std::uint32_t words[4 * blocks];
    fount::random_words<blocks>(words, stream, first);
    int wrong = 0;
    for (std::uint32_t i = 0; i < 4 * blocks; ++i) {
      wrong += words[i] != stream.block(first + i / 4)[i % 4] ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}
