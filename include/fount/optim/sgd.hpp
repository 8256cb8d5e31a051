// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stochastic gradient descent with momentum, plain or Nesterov's (Sutskever et al. 2013, in the
// form of PyTorch: the velocity is a sum of gradients, the learning rate multiplies it outside).

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/optim/update_rule.hpp>

namespace fount::optim {
inline namespace FOUNT_CPU_NAMESPACE {

struct Sgd;

/// One step for `count` parameters.   @param[in,out] weight, master, velocity (count)
template <Element W, Element G, Element M>
void sgd_update(const Cpu& cpu, const Segment<W, G, M>& segment, const Sgd& rule,
                const UpdateScalars& scalars);

/// With g the scaled gradient: velocity = momentum * velocity + g,
/// w = w (1 - lr * weight_decay) - lr * (nesterov ? g + momentum * velocity : velocity).
struct Sgd {
  static constexpr int num_moments = 1;  // velocity

  double momentum = 0.9;
  bool nesterov = false;

  template <Element W, Element G, Element M>
  void apply(const Cpu& cpu, const Segment<W, G, M>& segment, const UpdateScalars& scalars) const {
    sgd_update(cpu, segment, *this, scalars);
  }
};

static_assert(UpdateRule<Sgd>);

template <Element W, Element G, Element M>
void sgd_update(const Cpu& cpu, const Segment<W, G, M>& segment, const Sgd& rule,
                const UpdateScalars& scalars) {
  using T = compute_t<W>;
  const T momentum = static_cast<T>(rule.momentum);
  const T scale = static_cast<T>(scalars.gradient_scale);
  const T keep = static_cast<T>(1 - scalars.lr * scalars.weight_decay);
  const T lr = static_cast<T>(scalars.lr);
  const T of_gradient = rule.nesterov ? lr : T(0);
  const T of_velocity = rule.nesterov ? lr * momentum : lr;
  detail::update_segment<Sgd::num_moments>(
      cpu, segment,
      [=](auto& weight, const auto& gradient, auto& velocity) __attribute__((always_inline)) {
        const auto g = gradient * scale;
        velocity = momentum * velocity + g;
        weight = keep * weight - (of_gradient * g + of_velocity * velocity);
      });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
