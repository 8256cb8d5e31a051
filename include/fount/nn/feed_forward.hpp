// SPDX-License-Identifier: Apache-2.0
#pragma once
// The position-wise feed-forward sublayer: down(activation(up(x))), or for SwiGLU
// down(silu(gate(x)) * up(x)) with gate and up in one matrix (Shazeer 2020, "GLU variants improve
// transformer", https://arxiv.org/abs/2002.05202).

#include <fount/config/model_config.hpp>
#include <fount/core/macros.hpp>
#include <fount/nn/linear.hpp>
#include <fount/ops/activation.hpp>
#include <fount/ops/residual.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C>
struct FeedForward {
  using Up = Linear<C.hidden_size, C.ffn_in_size(), C.bias>;
  using Down = Linear<C.ffn_size(), C.hidden_size, C.bias, Initializer::residual_normal>;
  static constexpr std::string_view name = "ffn";
  static constexpr std::uint32_t dropout_use = 2;

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit.enter(C.activation == Activation::swiglu ? "gate_up" : "up");
    Up::visit_parameters(visit);
    visit.leave();
    visit.enter("down");
    Down::visit_parameters(visit);
    visit.leave();
  }

  template <class E>
  struct Saved {
    typename E::Activation* up;         // (B, T, F), or (B, T, 2F) with gate first
    typename E::Activation* activated;  // (B, T, F)
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    using A = typename E::Activation;
    const std::int64_t N = shape.tokens();
    A* const up = layout.template take<A>(N * C.ffn_in_size());
    A* const activated = layout.template take<A>(N * C.ffn_size());
    return {up, activated};
  }

  template <class E>
  struct Scratch {
    typename E::Activation* d_out;        // (B, T, C) gradient before the residual dropout
    typename E::Activation* d_activated;  // (B, T, F)
    typename E::Activation* d_up;         // (B, T, F or 2F)
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape, bool dropout) {
    using A = typename E::Activation;
    const std::int64_t N = shape.tokens();
    A* const d_out = layout.template take<A>(dropout ? N * C.hidden_size : 0);
    A* const d_activated = layout.template take<A>(N * C.ffn_size());
    A* const d_up = layout.template take<A>(N * C.ffn_in_size());
    return {d_out, d_activated, d_up};
  }

  /// out (B, T, C) from x (B, T, C).
  template <class E>
  static void forward(const Context<E>& context, const typename E::Weight* parameters,
                      const Saved<E>& saved, typename E::Activation* out,
                      const typename E::Activation* x) {
    const std::int64_t N = context.shape.tokens();
    Up::template forward<E>(context, parameters, saved.up, x);
    ops::activation_forward(context.cpu(), C.activation, saved.activated, saved.up, N,
                            C.ffn_size());
    Down::template forward<E>(context, parameters + parameter_storage<Up>, out, saved.activated);
    if (const Dropout dropout = context.dropout(dropout_use); dropout.active()) {
      ops::dropout_forward(context.cpu(), out, out, dropout, N * C.hidden_size);
    }
  }

  /// Overwrites d_x (B, T, C); x is what forward was given.
  template <class E>
  static void backward(const Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, const Saved<E>& saved,
                       const Scratch<E>& scratch, typename E::Activation* d_x,
                       const typename E::Activation* d_out, const typename E::Activation* x) {
    const std::int64_t N = context.shape.tokens();
    if (const Dropout dropout = context.dropout(dropout_use); dropout.active()) {
      ops::dropout_backward(context.cpu(), scratch.d_out, d_out, dropout, N * C.hidden_size);
      d_out = scratch.d_out;
    }
    Down::template backward<E>(context, parameters + parameter_storage<Up>,
                               gradients + parameter_storage<Up>, scratch.d_activated, d_out,
                               saved.activated);
    ops::activation_backward(context.cpu(), C.activation, scratch.d_up, scratch.d_activated,
                             saved.up, N, C.ffn_size());
    Up::template backward<E>(context, parameters, gradients, d_x, scratch.d_up, x);
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
