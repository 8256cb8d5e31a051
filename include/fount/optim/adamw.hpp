// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW: Adam (Kingma & Ba 2015, https://arxiv.org/abs/1412.6980) with the weight decay decoupled
// from the gradient (Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101). Only the rule.

#include <cmath>

#include <fount/backend/cpu.hpp>
#include <fount/backend/vectors.hpp>
#include <fount/core/dtype.hpp>
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
  void apply(const Cpu& cpu, const Segment<W, G, M>& segment, const UpdateScalars& scalars) const {
    adamw_update(cpu, segment, *this, scalars);
  }
};

static_assert(UpdateRule<AdamW>);

template <Element W, Element G, Element M>
void adamw_update(const Cpu& cpu, const Segment<W, G, M>& segment, const AdamW& rule,
                  const UpdateScalars& scalars) {
  using T = compute_t<W>;
  const auto step = static_cast<double>(scalars.step);
  const T beta1 = static_cast<T>(rule.beta1);
  const T beta2 = static_cast<T>(rule.beta2);
  const T rest1 = T(1) - beta1;
  const T rest2 = T(1) - beta2;
  const T eps = static_cast<T>(rule.eps);
  const T gradient_scale = static_cast<T>(scalars.gradient_scale);
  const T keep = static_cast<T>(1 - scalars.lr * scalars.weight_decay);
  const T step_size = static_cast<T>(scalars.lr / (1 - std::pow(rule.beta1, step)));
  const T root_scale = static_cast<T>(1 / std::sqrt(1 - std::pow(rule.beta2, step)));
  detail::update_segment<AdamW::num_moments>(
      cpu, segment,
      [=](auto& weight, const auto& gradient, auto& m, auto& v) __attribute__((always_inline)) {
        const auto g = gradient * gradient_scale;
        m = beta1 * m + rest1 * g;
        v = beta2 * v + rest2 * g * g;
        weight = keep * weight - step_size * m / (square_root(v) * root_scale + eps);
      });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
