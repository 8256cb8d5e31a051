// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an update rule is: given weights, gradients and its moments, one step in place. Which
// tensors there are, which of them decay, and when a step is skipped is the driver's business.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fount/backend/chunks.hpp>
#include <fount/backend/cpu.hpp>
#include <fount/backend/prefetch.hpp>
#include <fount/backend/rounding.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>

namespace fount::optim {
inline namespace FOUNT_CPU_NAMESPACE {

/// A run of parameters that are updated alike. W, G and M are what weights, gradients and moments
/// are stored in; the arithmetic is in float (double for double).
template <Element W, Element G = W, Element M = W>
struct Segment {
  using T = compute_t<W>;
  W* weight = nullptr;                 // (count)
  const G* gradient = nullptr;         // (count)
  M* moments[2] = {nullptr, nullptr};  // (count) each; as many as the rule has
  std::int64_t count = 0;
  T* master = nullptr;      // (count) the weights that are updated, of which `weight` is then a
                            // rounded copy; null: `weight` itself is
  bool stochastic = false;  // weights and moments in bfloat16 are rounded stochastically
  RandomStream rounding = {};  // by the words of this stream, from element 0 on, half a word each
};

/// What changes from step to step. Weight decay is decoupled from the gradient: the weight shrinks
/// by the factor 1 - lr * weight_decay (Loshchilov & Hutter 2019).
struct UpdateScalars {
  double lr = 0;
  double weight_decay = 0;    // 0 for tensors that do not decay
  double gradient_scale = 1;  // token weighting and clipping, in one factor
  std::int64_t step = 1;      // updates applied, this one included: 1 for the first
};

namespace detail {

/// Elements that a rule updates at a time, on the stack: few, so that the processor looks beyond the
/// roots and quotients of one block into the loads of the next.
inline constexpr int update_width = 64;
/// Words for the rounding of one block after the other. They are made for two blocks at a time:
/// blocks of Philox side by side cost less, sixteen of them with AVX-512 and eight with AVX2.
class RoundingWords {
 public:
  /// Words for the block at `begin`, every second of which is asked for after the one before; null if
  /// the segment is rounded to nearest.
  template <Element W, Element G, Element M>
  [[gnu::always_inline]] const std::uint32_t* at(const Segment<W, G, M>& s, std::int64_t begin) {
    constexpr std::int64_t two_blocks = 2 * update_width;
    static_assert(elementwise_chunk % two_blocks == 0, "a chunk must begin where words are made");
    if (!s.stochastic) return nullptr;
    const std::int64_t place = begin % two_blocks;
    if (place == 0) {
      const std::int64_t philox_block = rounding_words(begin) / 4;
      random_words<rounding_words(two_blocks) / 4>(words_, s.rounding,
                                                   static_cast<std::uint64_t>(philox_block));
    }
    return words_ + rounding_words(place);
  }

 private:
  std::uint32_t words_[rounding_words(2 * update_width)];
};

/// Rounds a block of results to what they are stored in: to nearest, or where there are random words
/// stochastically, by 16 bits of them from bit `rotation` on.
template <Element S>
[[gnu::always_inline]] inline void store_rounded(S* to, const compute_t<S>* values,
                                                 std::int64_t count, const std::uint32_t* words,
                                                 unsigned rotation) {
  if constexpr (std::is_same_v<S, bf16>) {
    if (words != nullptr) return round_each_stochastically(to, values, count, words, rotation);
  }
  round_each(to, values, count);
}

/// How far ahead of a block its memory is asked for. The processor's own prefetching loses track of
/// four or five arrays that are read and written side by side (AMD Zen 5: 0.71 of a plain stream loop
/// without, 0.96 with it).
inline constexpr std::int64_t elements_ahead = 256;

template <class T>
[[gnu::always_inline]] inline void fetch_ahead(const T* block) {
  prefetch<update_width * sizeof(T)>(reinterpret_cast<std::uintptr_t>(block) +
                                     elements_ahead * sizeof(T));
}

/// The same for the weights that update_weights() reads.
template <Element W, Element G, Element M>
[[gnu::always_inline]] inline void fetch_weights_ahead(const Segment<W, G, M>& s,
                                                       std::int64_t begin) {
  if (s.master != nullptr) {
    fetch_ahead(s.master + begin);
  } else {
    fetch_ahead(s.weight + begin);
  }
}

/// Replaces `count` weights from `begin` on, w by updated(j, w) for the j-th: the master weights where
/// there are some, of which the weights are then a rounded copy.
/// @param words for stochastic rounding, or null
template <Element W, Element G, Element M, class Updated>
[[gnu::always_inline]] inline void update_weights(const Segment<W, G, M>& s, std::int64_t begin,
                                                  std::int64_t count, const std::uint32_t* words,
                                                  Updated updated) {
  compute_t<W> values[update_width];
  if (s.master != nullptr) {
    compute_t<W>* const master = s.master + begin;
    for (std::int64_t j = 0; j < count; ++j) values[j] = updated(j, master[j]);
    std::copy_n(values, count, master);
    store_rounded(s.weight + begin, values, count, nullptr, 0);
  } else {
    W* const weight = s.weight + begin;
    for (std::int64_t j = 0; j < count; ++j) values[j] = updated(j, value_of(weight[j]));
    store_rounded(weight, values, count, words, 0);
  }
}

}  // namespace detail

/// A rule with moments and an `apply` over a segment, for every element type.
template <class R>
concept UpdateRule = requires(const R& rule, const Cpu& cpu, const UpdateScalars& scalars) {
  { R::num_moments } -> std::convertible_to<int>;
  rule.apply(cpu, Segment<float>{}, scalars);
  rule.apply(cpu, Segment<bf16, bf16, bf16>{}, scalars);
  rule.apply(cpu, Segment<double>{}, scalars);
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
