// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stochastic gradient descent with momentum, plain or Nesterov's (Sutskever et al. 2013, in the
// form of PyTorch: the velocity is a sum of gradients, the learning rate multiplies it outside).

#include <cstdint>

#include <fount/backend/chunks.hpp>
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
  void apply(const Cpu& cpu, const Segment<W, G, M>& segment,
             const UpdateScalars& scalars) const {
    sgd_update(cpu, segment, *this, scalars);
  }
};

static_assert(UpdateRule<Sgd>);

namespace detail {

template <Element W, Element G, Element M>
void sgd_chunk(const Segment<W, G, M>& s, std::int64_t first, std::int64_t last, const Sgd& rule,
               const UpdateScalars& scalars) {
  using T = compute_t<W>;
  constexpr int width = update_width;
  const T momentum = static_cast<T>(rule.momentum);
  const T scale = static_cast<T>(scalars.gradient_scale);
  const T keep = static_cast<T>(1 - scalars.lr * scalars.weight_decay);
  const T lr = static_cast<T>(scalars.lr);
  const T of_gradient = rule.nesterov ? lr : T(0);
  const T of_velocity = rule.nesterov ? lr * momentum : lr;
  RoundingWords words;
  for_each_block<width>(first, last, [&](std::int64_t begin, auto size) {
    T scaled[width], velocity[width];
    const std::uint32_t* const random = words.at(s, begin);
    const G* const gradient = s.gradient + begin;
    M* const moment = s.moments[0] + begin;
    fetch_ahead(gradient);
    fetch_ahead(moment);
    fetch_weights_ahead(s, begin);
    for (std::int64_t j = 0; j < size; ++j) {
      scaled[j] = value_of(gradient[j]) * scale;
      velocity[j] = momentum * value_of(moment[j]) + scaled[j];
    }
    update_weights(s, begin, size, random, [&](std::int64_t j, T w) {
      return keep * w - (of_gradient * scaled[j] + of_velocity * velocity[j]);
    });
    store_rounded(moment, velocity, size, random, 16);
  });
}

}  // namespace detail

template <Element W, Element G, Element M>
void sgd_update(const Cpu& cpu, const Segment<W, G, M>& s, const Sgd& rule,
                const UpdateScalars& scalars) {
  parallel_chunks(cpu, s.count, elementwise_chunk, [&](std::int64_t begin, std::int64_t end) {
    detail::sgd_chunk(s, begin, end, rule, scalars);
  });
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::optim
