// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW: Adam (Kingma & Ba 2015, https://arxiv.org/abs/1412.6980) with the weight decay decoupled
// from the gradient (Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101). Only the rule.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/backend/square_roots.hpp>
#include <fount/core/macros.hpp>
#include <fount/optim/update_rule.hpp>

namespace fount::optim {

struct AdamW;

inline namespace FOUNT_CPU_NAMESPACE {

/// One step for `count` parameters, in one pass over the four buffers.
/// @param[in,out] weight, m, v (count)   @param[in] gradient (count)
template <Real T>
void adamw_update(const Cpu& cpu, const Segment<T>& segment, const AdamW& rule,
                  const UpdateScalars& scalars);

}  // namespace FOUNT_CPU_NAMESPACE

/// With g the scaled gradient: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// w = w (1 - lr * weight_decay) - lr * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) +
/// eps).
struct AdamW {
  static constexpr int num_moments = 2;  // m, v

  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;

  template <Real T>
  void apply(const Cpu& cpu, const Segment<T>& segment, const UpdateScalars& scalars) const {
    adamw_update(cpu, segment, *this, scalars);
  }
};

static_assert(UpdateRule<AdamW>);

inline namespace FOUNT_CPU_NAMESPACE {
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

template <Real T>
void adamw_chunk(T* __restrict weight, const T* __restrict gradient, T* __restrict m,
                 T* __restrict v, std::int64_t count, const AdamWFactors<T> f) {
  constexpr std::int64_t width = 128;
  const T rest1 = T(1) - f.beta1;
  const T rest2 = T(1) - f.beta2;
  for (std::int64_t begin = 0; begin < count; begin += width) {
    T root[width];
    const std::int64_t size = std::min(count - begin, width);
    for (std::int64_t j = 0; j < size; ++j) {
      const std::int64_t i = begin + j;
      const T g = gradient[i] * f.gradient_scale;
      m[i] = f.beta1 * m[i] + rest1 * g;
      v[i] = f.beta2 * v[i] + rest2 * g * g;
      root[j] = v[i];
    }
    square_roots(root, size);
    for (std::int64_t j = 0; j < size; ++j) {
      const std::int64_t i = begin + j;
      weight[i] = f.keep * weight[i] - f.step_size * m[i] / (root[j] * f.root_scale + f.eps);
    }
  }
}

}  // namespace detail

template <Real T>
void adamw_update(const Cpu& cpu, const Segment<T>& s, const AdamW& rule,
                  const UpdateScalars& scalars) {
  const detail::AdamWFactors<T> factors(rule, scalars);
  parallel_chunks(cpu, s.count, elementwise_chunk, [&](std::int64_t begin, std::int64_t end) {
    detail::adamw_chunk(s.weight + begin, s.gradient + begin, s.moments[0] + begin,
                        s.moments[1] + begin, end - begin, factors);
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
