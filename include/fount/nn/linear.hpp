// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear: y = x W^T + b with W stored [Out, In], the shape Hugging Face uses for nn.Linear. The
// products themselves are in ops/linear.hpp.

#include <fount/core/macros.hpp>
#include <fount/nn/layer.hpp>
#include <fount/ops/linear.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

template <int In, int Out, bool HasBias, Initializer Init = Initializer::normal>
struct Linear {
  static constexpr ParameterSpec weight_spec = matrix("weight", Out, In, Init);
  static constexpr std::int64_t bias_offset = weight_spec.storage();

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit(weight_spec);
    if constexpr (HasBias) visit(vector("bias", Out, Initializer::zeros));
  }

  /// y (N, Out) from x (N, In).
  template <class E>
  static void forward(const Context<E>& context, const typename E::Weight* parameters,
                      typename E::Activation* y, const typename E::Activation* x) {
    ops::linear_forward(context.cpu(), y, x, parameters,
                        HasBias ? parameters + bias_offset : nullptr, shape(context));
  }

  /// Overwrites d_x (N, In) unless it is null; adds to the gradients, or overwrites that of the
  /// weight as the context says.
  template <class E>
  static void backward(const Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, typename E::Activation* d_x,
                       const typename E::Activation* d_y, const typename E::Activation* x) {
    ops::linear_backward_weight(context.cpu(), gradients, d_y, x, shape(context),
                                !context.overwrites_gradients);
    if constexpr (HasBias) {
      ops::linear_backward_bias(context.cpu(), gradients + bias_offset, d_y,
                                context.shape.tokens(), Out);
    }
    if (d_x != nullptr) {
      ops::linear_backward_input(context.cpu(), d_x, d_y, parameters, shape(context), false);
    }
  }

 private:
  template <class E>
  static ops::LinearShape shape(const Context<E>& context) {
    return {context.shape.tokens(), In, Out};
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
