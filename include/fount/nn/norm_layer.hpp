// SPDX-License-Identifier: Apache-2.0
#pragma once
// The norm as a layer: adds what the last sublayer left in the stream, normalises, and keeps the
// sum for backward. LayerNorm (Ba et al. 2016) or RMSNorm (Zhang & Sennrich 2019); the passes
// themselves are in ops/norm.hpp.

#include <fount/config/model_config.hpp>
#include <fount/core/macros.hpp>
#include <fount/nn/layer.hpp>
#include <fount/ops/norm.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C>
struct NormLayer {
  static constexpr ParameterSpec weight_spec = vector("weight", C.hidden_size, Initializer::ones);
  static constexpr std::int64_t bias_offset = weight_spec.storage();
  static constexpr bool centers = C.norm == fount::Norm::layer_norm;

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit(weight_spec);
    if constexpr (C.norm_bias()) visit(vector("bias", C.hidden_size, Initializer::zeros));
  }

  template <class E>
  struct Saved {
    typename E::Activation* sum;      // (B, T, C) residual + delta
    typename E::Activation* out;      // (B, T, C)
    typename E::Statistic* mean;      // (B, T), LayerNorm only
    typename E::Statistic* rstd;      // (B, T)
    const typename E::Activation* x;  // what was normalised: sum, or the residual itself
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    using A = typename E::Activation;
    using S = typename E::Statistic;
    const std::int64_t N = shape.tokens();
    A* const sum = layout.template take<A>(N * C.hidden_size);
    A* const out = layout.template take<A>(N * C.hidden_size);
    S* const mean = layout.template take<S>(centers ? N : 0);
    S* const rstd = layout.template take<S>(N);
    return {sum, out, mean, rstd, nullptr};
  }

  template <class E>
  struct Scratch {
    typename E::Statistic* partials;  // partial sums of the weight and bias gradients
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape) {
    const std::int64_t N = shape.tokens();
    return {layout.template take<typename E::Statistic>(
        centers ? ops::layer_norm_scratch(N, C.hidden_size)
                : ops::rms_norm_scratch(N, C.hidden_size))};
  }

  /// Fills saved.out; saved.x is the stream's value with nothing left to add.
  template <class E>
  static void forward(const Context<E>& context, const typename E::Weight* parameters,
                      Saved<E>& saved, Stream<E> in) {
    saved.x = in.delta != nullptr ? saved.sum : in.residual;
    using Norm = ops::NormForward<typename E::Activation, typename E::Weight>;
    const Norm norm{.out = saved.out,
                    .sum = saved.sum,
                    .mean = saved.mean,
                    .rstd = saved.rstd,
                    .residual = in.residual,
                    .delta = in.delta,
                    .weight = parameters,
                    .bias = C.norm_bias() ? parameters + bias_offset : nullptr,
                    .rows = context.shape.tokens(),
                    .hidden_size = C.hidden_size,
                    .eps = static_cast<typename E::Statistic>(C.norm_eps)};
    if constexpr (centers) {
      ops::layer_norm_forward(context.cpu(), norm);
    } else {
      ops::rms_norm_forward(context.cpu(), norm);
    }
  }

  /// d_x (B, T, C) from d_out: added to what is there, or overwriting it.
  template <class E>
  static void backward(const Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, const Saved<E>& saved,
                       const Scratch<E>& scratch, typename E::Activation* d_x,
                       const typename E::Activation* d_out, bool accumulate) {
    using Norm =
        ops::NormBackward<typename E::Activation, typename E::Weight, typename E::Gradient>;
    const Norm norm{.d_x = d_x,
                    .d_weight = gradients,
                    .d_bias = C.norm_bias() ? gradients + bias_offset : nullptr,
                    .d_out = d_out,
                    .x = saved.x,
                    .mean = saved.mean,
                    .rstd = saved.rstd,
                    .weight = parameters,
                    .scratch = scratch.partials,
                    .rows = context.shape.tokens(),
                    .hidden_size = C.hidden_size,
                    .accumulate_d_x = accumulate};
    if constexpr (centers) {
      ops::layer_norm_backward(context.cpu(), norm);
    } else {
      ops::rms_norm_backward(context.cpu(), norm);
    }
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
