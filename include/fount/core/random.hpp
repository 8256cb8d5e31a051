// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counter-based random numbers: a value is a pure function of (seed, step, site, index), so nothing
// has to be stored, resumed or synchronised. Philox4x32-10, Salmon et al. 2011, "Parallel random
// numbers: as easy as 1, 2, 3".

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/unroll.hpp>

#if FOUNT_HAS_AVX2
#include <immintrin.h>
#endif

namespace fount {

/// Four 32-bit words from a 128-bit counter and a 64-bit key.
FOUNT_HOST_DEVICE constexpr std::array<std::uint32_t, 4> philox4x32(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(left)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

/// Streams that share a seed but never a value.
enum class RandomPurpose : std::uint32_t {
  initialise, dropout, shuffle, sampling, masking, rounding
};

/// One stream of random numbers, addressed by index.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t site = 0;  // which use within the step: layer, micro-batch, tensor
  RandomPurpose purpose = RandomPurpose::dropout;

  /// Words 4·block .. 4·block+3 of the stream.
  FOUNT_HOST_DEVICE constexpr std::array<std::uint32_t, 4> block(std::uint64_t block_index) const {
    return philox4x32({static_cast<std::uint32_t>(block_index),
                       static_cast<std::uint32_t>(block_index >> 32U), step, site},
                      key());
  }
  FOUNT_HOST_DEVICE constexpr std::array<std::uint32_t, 2> key() const {
    return {static_cast<std::uint32_t>(seed),
            static_cast<std::uint32_t>(seed >> 32U) ^
                (static_cast<std::uint32_t>(purpose) * 0x85EBCA6BU)};
  }
  FOUNT_HOST_DEVICE constexpr std::uint32_t bits(std::uint64_t index) const {
    return block(index >> 2U)[index & 3U];
  }
  /// Uniform in [0, 1), 24 bits.
  FOUNT_HOST_DEVICE constexpr float uniform(std::uint64_t index) const {
    return static_cast<float>(bits(index) >> 8U) * 0x1p-24F;
  }
  /// Standard normal by Box and Muller; each index uses a block of its own.
  double normal(std::uint64_t index) const {
    const auto words = block(index);
    const double u = (static_cast<double>(words[0]) + 1.0) * 0x1p-32;  // (0, 1]: log is finite
    const double v = static_cast<double>(words[1]) * 0x1p-32;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586476925 * v);
  }
};

inline namespace FOUNT_CPU_NAMESPACE {

/// Words for the stochastic rounding of many numbers, at a fifth of Philox's operations. Philox
/// makes two keys for a stretch of words; between them a word's index is mixed by two
/// multiplications (the mixer "lowbias32" of C. Wellons, 2018,
/// https://nullprogram.com/blog/2018/07/31/). Good enough for rounding, which asks that errors be
/// right on average and hardly related; not for what is drawn once.
class RoundingWords {
 public:
  constexpr RoundingWords(const RandomStream& stream, std::uint64_t stretch) {
    const auto block = stream.block(stretch);
    keys_[0] = block[0];
    keys_[1] = block[1];
  }

  /// The word of an index, or those of a register of indices.
  template <class W>
  [[gnu::always_inline]] constexpr W at(W index) const {
    W x = index ^ keys_[0];
    x = (x ^ (x >> 16U)) * 0x7feb352dU ^ keys_[1];
    x = (x ^ (x >> 15U)) * 0x846ca68bU;
    return x ^ (x >> 16U);
  }

 private:
  std::uint32_t keys_[2] = {};
};

#if FOUNT_HAS_AVX2
namespace philox {

#if defined(__AVX512F__)
inline constexpr int lanes = 8;
typedef std::uint64_t Lanes __attribute__((vector_size(8 * lanes)));
inline constexpr Lanes lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7};
#else
inline constexpr int lanes = 4;
typedef std::uint64_t Lanes __attribute__((vector_size(8 * lanes)));
inline constexpr Lanes lane_numbers = {0, 1, 2, 3};
#endif

/// Each round waits for the one before, so two sets of blocks take less than twice as long as one.
inline constexpr int sets = 2;
inline constexpr std::uint32_t blocks_at_once = sets * lanes;

/// The products of the lower halves.
[[gnu::always_inline]] inline Lanes multiply(const Lanes& a, std::uint32_t b) {
#if defined(__AVX512F__)
  constexpr __mmask8 all = 0xff;  // the unmasked form warns of an uninitialised value in g++ 12
  return reinterpret_cast<Lanes>(_mm512_maskz_mul_epu32(
      all, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(static_cast<long long>(b))));
#else
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a),
                                                  _mm256_set1_epi64x(static_cast<long long>(b))));
#endif
}

/// The words of `blocks_at_once` blocks, made side by side. A word is the lower half of a lane, the
/// upper half is anything: the multiplication does not look at it.
[[gnu::always_inline]] inline void several_blocks(std::uint32_t* words, const RandomStream& stream,
                                                  std::uint64_t first) {
  Lanes counter[sets][4];
  unroll<sets>([&](auto set) __attribute__((always_inline)) {
    const Lanes index = first + static_cast<std::uint64_t>(set * lanes) + lane_numbers;
    counter[set][0] = index;
    counter[set][1] = index >> 32U;
    counter[set][2] = Lanes{} + stream.step;
    counter[set][3] = Lanes{} + stream.site;
  });
  std::array<std::uint32_t, 2> key = stream.key();
  unroll<10>([&](auto) __attribute__((always_inline)) {
    unroll<sets>([&](auto set) __attribute__((always_inline)) {
      const Lanes left = multiply(counter[set][0], 0xD2511F53U);
      const Lanes right = multiply(counter[set][2], 0xCD9E8D57U);
      counter[set][0] = (right >> 32U) ^ counter[set][1] ^ key[0];
      counter[set][1] = right;
      counter[set][2] = (left >> 32U) ^ counter[set][3] ^ key[1];
      counter[set][3] = left;
    });
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  });
  unroll<sets>([&](auto set) __attribute__((always_inline)) {
    const Lanes low = (counter[set][0] & 0xffffffffU) | (counter[set][1] << 32U);
    const Lanes high = (counter[set][2] & 0xffffffffU) | (counter[set][3] << 32U);
#if defined(__AVX512F__)
    const Lanes result[2] = {__builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11),
                             __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15)};
#else
    const Lanes result[2] = {__builtin_shufflevector(low, high, 0, 4, 1, 5),
                             __builtin_shufflevector(low, high, 2, 6, 3, 7)};
#endif
    std::memcpy(words + 4 * lanes * set, result, sizeof result);
  });
}

}  // namespace philox
#endif

/// The words of blocks first .. first + Blocks - 1, four each. The stream is a copy, so that no
/// store can change it and the loop vectorises; with AVX-512 and AVX2 several blocks go side by
/// side all the same, at 0.43 ns a word where g++ 12 reaches 1.2 (Zen 4, AVX-512, 2026-11-29).
template <int Blocks>
inline void random_words(std::uint32_t* __restrict words, const RandomStream stream,
                         std::uint64_t first) {
  std::uint32_t block = 0;
#if FOUNT_HAS_AVX2
  for (; block + philox::blocks_at_once <= Blocks; block += philox::blocks_at_once) {
    philox::several_blocks(words + 4 * block, stream, first + block);
  }
#endif
  for (; block < Blocks; ++block) {
    const auto four = stream.block(first + block);
    for (std::uint32_t word = 0; word < 4; ++word) words[4 * block + word] = four[word];
  }
}

}  // namespace FOUNT_CPU_NAMESPACE

/// Up or down to one of the two neighbours in bfloat16, the nearer one the likelier: right on
/// average (Gupta et al. 2015, https://arxiv.org/abs/1502.02551). @param random at least 16 random
/// bits
FOUNT_HOST_DEVICE constexpr bf16 round_stochastically(float value, std::uint32_t random) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  // NaN and infinity stay; without a branch, so that a loop vectorises.
  const std::uint32_t mask = (word & 0x7f800000U) == 0x7f800000U ? 0U : 0xffffU;
  const std::uint32_t quiet = (word & 0x7fffffffU) > 0x7f800000U ? 0x40U : 0U;
  bf16 result;
  result.bits = static_cast<std::uint16_t>((word + (random & mask)) >> 16U | quiet);
  return result;
}

/// Inverted dropout: an element is zeroed with probability `rate`, the others grow by 1/(1-rate),
/// so that evaluation needs no scaling (Srivastava et al. 2014).
struct Dropout {
  RandomStream stream;
  float rate = 0.0F;

  FOUNT_HOST_DEVICE constexpr bool active() const { return rate > 0.0F; }
  FOUNT_HOST_DEVICE constexpr std::uint32_t threshold() const {
    const double limit = static_cast<double>(rate) * 4294967296.0;
    return limit >= 4294967295.0 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(limit);
  }
  /// Factor of element `index`: 0 or 1/(1-rate).
  FOUNT_HOST_DEVICE constexpr float factor(std::uint64_t index) const {
    return stream.bits(index) < threshold() ? 0.0F : 1.0F / (1.0F - rate);
  }
};

}  // namespace fount
