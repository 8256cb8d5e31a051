// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW: Adam (Kingma & Ba 2015, https://arxiv.org/abs/1412.6980) with the weight decay decoupled
// from the gradient (Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101). Only the rule.

#include <cmath>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/backend/square_roots.hpp>
#include <fount/core/macros.hpp>
#include <fount/optim/update_rule.hpp>

namespace fount::optim {
inline namespace FOUNT_CPU_NAMESPACE {

struct AdamW;

/// One step for `count` parameters, in one pass over the four buffers, or five with master weights.
/// @param[in,out] weight, master, m, v (count)   @param[in] gradient (count)
template <Element W, Element G, Element M>
void adamw_update(const Cpu& cpu, const Segment<W, G, M>& segment, const AdamW& rule,
                  const UpdateScalars& scalars);

/// With g the scaled gradient: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// w = w (1 - lr * weight_decay) - lr * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) +
/// eps).
struct AdamW {
  static constexpr int num_moments = 2;  // m, v

  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;

  template <Element W, Element G, Element M>
  void apply(const Cpu& cpu, const Segment<W, G, M>& segment,
             const UpdateScalars& scalars) const {
    adamw_update(cpu, segment, *this, scalars);
  }
};

static_assert(UpdateRule<AdamW>);

namespace detail {

/// The factors of a step, in the type of the loop.
template <Real T>
struct AdamWFactors {
  T beta1, beta2, eps, gradient_scale, keep, step_size, root_scale;

  AdamWFactors(const AdamW& rule, const UpdateScalars& s)
      : beta1(static_cast<T>(rule.beta1)),
        beta2(static_cast<T>(rule.beta2)),
        eps(static_cast<T>(rule.eps)),
        gradient_scale(static_cast<T>(s.gradient_scale)),
        keep(static_cast<T>(1 - s.lr * s.weight_decay)),
        step_size(static_cast<T>(s.lr / (1 - std::pow(rule.beta1, static_cast<double>(s.step))))),
        root_scale(
            static_cast<T>(1 / std::sqrt(1 - std::pow(rule.beta2, static_cast<double>(s.step))))) {}
};

template <Element W, Element G, Element M>
void adamw_chunk(const Segment<W, G, M>& s, std::int64_t first, std::int64_t last,
                 const AdamWFactors<compute_t<W>> f) {
  using T = compute_t<W>;
  constexpr int width = update_width;
  const T rest1 = T(1) - f.beta1;
  const T rest2 = T(1) - f.beta2;
  RoundingWords words;
  for_each_block<width>(first, last, [&](std::int64_t begin, auto size) {
    T mean[width], root[width];
    const std::uint32_t* const random = words.at(s, begin);
    const G* const gradient = s.gradient + begin;
    M* const m = s.moments[0] + begin;
    M* const v = s.moments[1] + begin;
    fetch_ahead(gradient);
    fetch_ahead(m);
    fetch_ahead(v);
    fetch_weights_ahead(s, begin);
    for (std::int64_t j = 0; j < size; ++j) {
      const T g = value_of(gradient[j]) * f.gradient_scale;
      mean[j] = f.beta1 * value_of(m[j]) + rest1 * g;
      root[j] = f.beta2 * value_of(v[j]) + rest2 * g * g;
    }
    // One random word for two elements, 16 bits of it for each result of either: from bit 16 on for m,
    // from 8 on for v, from 0 on for the weight, and of the other element the 16 bits that these
    // leave. An element's three overlap, but the upper eight of a run decide in 255 of 256 cases, and
    // no two share those. The weight of one element and m of the other are rounded by the same bits:
    // they meet in no formula.
    store_rounded(m, mean, size, random, 16);
    store_rounded(v, root, size, random, 8);
    square_roots(root, size);
    update_weights(s, begin, size, random, [&](std::int64_t j, T w) {
      return f.keep * w - f.step_size * mean[j] / (root[j] * f.root_scale + f.eps);
    });
  });
}

}  // namespace detail

template <Element W, Element G, Element M>
void adamw_update(const Cpu& cpu, const Segment<W, G, M>& s, const AdamW& rule,
                  const UpdateScalars& scalars) {
  const detail::AdamWFactors<compute_t<W>> factors(rule, scalars);
  parallel_chunks(cpu, s.count, elementwise_chunk, [&](std::int64_t begin, std::int64_t end) {
    detail::adamw_chunk(s, begin, end, factors);
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
