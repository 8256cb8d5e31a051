// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an update rule is: given weights, gradients and its moments, one step in place. Which
// tensors there are, which of them decay, and when a step is skipped is the driver's business.

#include <concepts>
#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>

namespace fount::optim {

/// A run of parameters that are updated alike.
template <Real T>
struct Segment {
  T* weight = nullptr;                 // (count)
  const T* gradient = nullptr;         // (count)
  T* moments[2] = {nullptr, nullptr};  // (count) each; as many as the rule has
  std::int64_t count = 0;
};

/// What changes from step to step. Weight decay is decoupled from the gradient: the weight shrinks
/// by the factor 1 - lr * weight_decay (Loshchilov & Hutter 2019).
struct UpdateScalars {
  double lr = 0;
  double weight_decay = 0;    // 0 for tensors that do not decay
  double gradient_scale = 1;  // token weighting and clipping, in one factor
  std::int64_t step = 1;      // updates applied, this one included: 1 for the first
};

/// A rule with moments and an `apply` over a segment, for every element type.
template <class R>
concept UpdateRule = requires(const R& rule, const Cpu& cpu, const UpdateScalars& scalars) {
  { R::num_moments } -> std::convertible_to<int>;
  rule.apply(cpu, Segment<float>{}, scalars);
  rule.apply(cpu, Segment<double>{}, scalars);
};

}  // namespace fount::optim
