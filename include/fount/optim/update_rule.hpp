// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an update rule is: given weights, gradients and its moments, one step in place. Which
// tensors there are, which of them decay, and when a step is skipped is the driver's business.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fount/backend/chunks.hpp>
#include <fount/backend/cpu.hpp>
#include <fount/backend/pairs.hpp>
#include <fount/backend/prefetch.hpp>
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
  T* master = nullptr;         // (count) the weights that are updated, of which `weight` is then a
                               // rounded copy; null: `weight` itself is
  bool stochastic = false;     // weights and moments in bfloat16 are rounded stochastically
  RandomStream rounding = {};  // by words made from this stream, half a word each
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

/// Elements whose memory is asked for at once, and how far ahead. The processor's own prefetching
/// loses track of four or five arrays that are read and written side by side (AMD Zen 5: 0.71 of a
/// plain stream loop without, 0.96 with it).
inline constexpr int update_width = 64;
inline constexpr std::int64_t elements_ahead = 256;

template <class T>
[[gnu::always_inline]] inline void fetch_ahead(const T* block) {
  prefetch<update_width * sizeof(T)>(reinterpret_cast<std::uintptr_t>(block) +
                                     elements_ahead * sizeof(T));
}

enum class Rounding : std::uint8_t { to_nearest, stochastic };

/// Weights that are updated: a segment's own, or its master weights, of which its own are then a
/// copy.
enum class Updated : std::uint8_t { weights, master };

/// Stores results of a rule. @tparam rotation of the words that they are rounded by
template <Rounding R, unsigned rotation, class Place, Element S, class Numbers, class Random>
[[gnu::always_inline]] inline void store_result(Place at, S* row, const Numbers& numbers,
                                                const Random& words) {
  if constexpr (R == Rounding::stochastic && std::is_same_v<S, bf16>) {
    at.template store_stochastically<rotation>(row, numbers, words);
  } else {
    at.store(row, numbers);
  }
}

/// Applies a rule to elements [begin, end), which make one chunk.
template <int num_moments, Order O, Rounding R, Updated U, Element W, Element G, Element M,
          class Rule>
void update_chunk(const Segment<W, G, M>& s, std::int64_t begin, std::int64_t end, Rule rule) {
  using T = compute_t<W>;
  const auto stretch = static_cast<std::uint64_t>(begin / elementwise_chunk);
  const RoundingWords all_words(s.rounding, stretch);
  W* const copy = s.weight + begin;
  auto* const weight = [&] {
    if constexpr (U == Updated::master) {
      return s.master + begin;
    } else {
      return s.weight + begin;
    }
  }();
  const G* const gradient = s.gradient + begin;
  M* const m = s.moments[0] + begin;
  M* const v = num_moments > 1 ? s.moments[1] + begin : nullptr;
  for_each_block<update_width>(0, end - begin, [=](std::int64_t block, auto size) {
    fetch_ahead(weight + block);
    fetch_ahead(gradient + block);
    fetch_ahead(m + block);
    if constexpr (num_moments > 1) fetch_ahead(v + block);
    for_each_pair<O, T>(
        block, block + size, [=](auto at) __attribute__((always_inline)) {
          auto new_weight = at.load(weight);
          const auto d_weight = at.load(gradient);
          auto new_m = at.load(m);
          const auto words = R == Rounding::stochastic ? at.words(all_words) : at.no_words();
          // One random word for two elements, 16 bits of it for each result of either: from bit 16
          // on for m, from 8 on for v, from 0 on for the weight, and of the other element the 16
          // bits that these leave. An element's three overlap, but the upper eight of a run decide
          // in 255 of 256 cases, and no two share those. The weight of one element and m of the
          // other are rounded by the same bits: they
          // meet in no formula of this step.
          if constexpr (num_moments > 1) {
            auto new_v = at.load(v);
            on_each(rule, new_weight, d_weight, new_m, new_v);
            store_result<R, 8>(at, v, new_v, words);
          } else {
            on_each(rule, new_weight, d_weight, new_m);
          }
          store_result<R, 16>(at, m, new_m, words);
          store_result<R, 0>(at, weight, new_weight, words);
          if constexpr (U == Updated::master) at.store(copy, new_weight);
        });
  });
}

/// rule(weight, gradient, moments...) for every element of a segment: what it leaves in weight and
/// moments is stored. It is called with registers, and with numbers where a chunk ends.
template <int num_moments, Element W, Element G, Element M, class Rule>
void update_segment(const Cpu& cpu, const Segment<W, G, M>& s, Rule rule) {
  parallel_chunks(cpu, s.count, elementwise_chunk, [&](std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<W, bf16> || std::is_same_v<M, bf16>) {
      if (s.stochastic) {
        constexpr Order order = Order::alternating;  // of words: two elements share one
        constexpr Rounding rounding = Rounding::stochastic;
        return s.master != nullptr ? update_chunk<num_moments, order, rounding, Updated::master>(
                                         s, begin, end, rule)
                                   : update_chunk<num_moments, order, rounding, Updated::weights>(
                                         s, begin, end, rule);
      }
    }
    constexpr Rounding rounding = Rounding::to_nearest;
    s.master != nullptr ? update_chunk<num_moments, Order::consecutive, rounding, Updated::master>(
                              s, begin, end, rule)
                        : update_chunk<num_moments, order_of<W, G, M>, rounding, Updated::weights>(
                              s, begin, end, rule);
  });
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
