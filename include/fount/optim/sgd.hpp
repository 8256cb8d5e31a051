// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stochastic gradient descent with momentum, plain or Nesterov's (Sutskever et al. 2013, in the
// form of PyTorch: the velocity is a sum of gradients, the learning rate multiplies it outside).

#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/core/macros.hpp>
#include <fount/optim/update_rule.hpp>

namespace fount::optim {

struct Sgd;

inline namespace FOUNT_CPU_NAMESPACE {

/// One step for `count` parameters.   @param[in,out] weight, velocity (count)
template <Real T>
void sgd_update(const Cpu& cpu, const Segment<T>& segment, const Sgd& rule,
                const UpdateScalars& scalars);

}  // namespace FOUNT_CPU_NAMESPACE

/// With g the scaled gradient: velocity = momentum * velocity + g,
/// w = w (1 - lr * weight_decay) - lr * (nesterov ? g + momentum * velocity : velocity).
struct Sgd {
  static constexpr int num_moments = 1;  // velocity

  double momentum = 0.9;
  bool nesterov = false;

  template <Real T>
  void apply(const Cpu& cpu, const Segment<T>& segment, const UpdateScalars& scalars) const {
    sgd_update(cpu, segment, *this, scalars);
  }
};

static_assert(UpdateRule<Sgd>);

inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

template <Real T>
void sgd_chunk(T* __restrict weight, const T* __restrict gradient, T* __restrict velocity,
               std::int64_t count, const Sgd& rule, const UpdateScalars& s) {
  const T momentum = static_cast<T>(rule.momentum);
  const T scale = static_cast<T>(s.gradient_scale);
  const T keep = static_cast<T>(1 - s.lr * s.weight_decay);
  const T lr = static_cast<T>(s.lr);
  const T of_gradient = rule.nesterov ? lr : T(0);
  const T of_velocity = rule.nesterov ? lr * momentum : lr;
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * scale;
    const T v = momentum * velocity[i] + g;
    velocity[i] = v;
    weight[i] = keep * weight[i] - (of_gradient * g + of_velocity * v);
  }
}

}  // namespace detail

template <Real T>
void sgd_update(const Cpu& cpu, const Segment<T>& s, const Sgd& rule,
                const UpdateScalars& scalars) {
  parallel_chunks(cpu, s.count, elementwise_chunk, [&](std::int64_t begin, std::int64_t end) {
    detail::sgd_chunk(s.weight + begin, s.gradient + begin, s.moments[0] + begin, end - begin, rule,
                      scalars);
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
