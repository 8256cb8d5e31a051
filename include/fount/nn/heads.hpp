// SPDX-License-Identifier: Apache-2.0
#pragma once
// From hidden states to a loss. The vocabulary projection and the cross-entropy run over chunks of
// rows: logits never exist for all tokens at once, so the gradient of a chunk is taken while its
// logits are there (Wijmans et al. 2024, "Cut your losses in large-vocabulary language models").

#include <algorithm>
#include <cstdint>

#include <fount/config/model_config.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/math.hpp>
#include <fount/nn/linear.hpp>
#include <fount/nn/norm_layer.hpp>
#include <fount/ops/activation.hpp>
#include <fount/ops/cross_entropy.hpp>
#include <fount/ops/linear.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

/// What a head reads besides its own parameters, and what training adds to it.
template <class E>
struct HeadTask {
  const typename E::Weight* token_table = nullptr;  // (Vp, C), used when tied
  const std::int32_t* labels = nullptr;             // (B, T), negative: ignored
  typename E::Statistic* losses = nullptr;          // (B, T) out

  // Training only:
  typename E::Gradient* gradients = nullptr;      // the head's own; null: no gradients at all
  typename E::Gradient* d_token_table = nullptr;  // (Vp, C)
  typename E::Activation* d_hidden = nullptr;     // (B, T, C) out
  double loss_scale = 1.0;                        // d(total)/d(loss of one token)
};

/// Rows of one chunk of logits: chunks of about equal size, of at most 1024 rows and, beyond 64 rows,
/// 33.5 million logits. Every chunk reads the whole token table and adds to the whole of its
/// gradient, so few and large ones are faster.
constexpr std::int64_t logits_chunk_rows(std::int64_t padded_vocab_size, std::int64_t tokens) {
  const std::int64_t most =
      std::clamp<std::int64_t>(33'554'432 / padded_vocab_size / 64 * 64, 64, 1024);
  const std::int64_t chunks = (tokens + most - 1) / most;
  const std::int64_t even = (tokens + chunks - 1) / chunks;
  return std::min(tokens, (even + 63) / 64 * 64);
}

/// Logits against a (Vp, C) table, loss, and gradients, chunk by chunk.
template <ModelConfig C>
struct VocabularyProjection {
  template <class E>
  struct Scratch {
    typename E::Statistic* logits;  // (chunk rows, Vp): a softmax over words wants more than 16 bits
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape) {
    const std::int64_t Vp = C.padded_vocab_size();
    return {layout.template take<typename E::Statistic>(
        logits_chunk_rows(Vp, shape.tokens()) * Vp)};
  }

  /// logits (rows, Vp) from hidden (rows, C), before the soft-cap; the padding columns are left
  /// alone.
  template <class E>
  static void logits(const Context<E>& context, typename E::Statistic* logits,
                     const typename E::Activation* hidden, const typename E::Weight* table,
                     const typename E::Weight* bias, std::int64_t rows) {
    using Product = ops::Matmul<typename E::Statistic, typename E::Activation, typename E::Weight>;
    ops::matmul(context.cpu(), Product{.m = rows, .n = C.vocab_size, .k = C.hidden_size,
                                       .c = logits, .c_row_stride = padded,
                                       .a = hidden, .a_row_stride = C.hidden_size,
                                       .b = table, .b_row_stride = 1,
                                       .b_col_stride = C.hidden_size, .bias = bias});
  }

  /// cap * tanh(z / cap), in place, where the config has a soft-cap (Gemma team 2024).
  template <class E>
  static void cap(typename E::Statistic* logits, std::int64_t rows) {
    if constexpr (C.logit_softcap > 0.0F) {
      using T = typename E::Statistic;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (T* z = logits + row * padded; z != logits + row * padded + C.vocab_size; ++z) {
          *z = static_cast<T>(C.logit_softcap) * math::tanh(*z / static_cast<T>(C.logit_softcap));
        }
      }
    }
    (void)logits;
    (void)rows;
  }

  /// Sum of the losses; with gradients: d_table, d_bias (null: none) and d_hidden.
  template <class E>
  static double loss(const Context<E>& context, const Scratch<E>& scratch, const HeadTask<E>& task,
                     const typename E::Activation* hidden, const typename E::Weight* table,
                     const typename E::Weight* bias, typename E::Gradient* d_table,
                     typename E::Gradient* d_bias, typename E::Activation* d_hidden) {
    const std::int64_t N = context.shape.tokens();
    const std::int64_t chunk = logits_chunk_rows(padded, N);
    for (std::int64_t first = 0; first < N; first += chunk) {
      const std::int64_t rows = std::min(chunk, N - first);
      const auto* const x = hidden + first * C.hidden_size;
      logits(context, scratch.logits, x, table, bias, rows);
      using T = typename E::Statistic;
      ops::cross_entropy(context.cpu(),
                         ops::CrossEntropy<T>{.logits = scratch.logits,
                                              .loss = task.losses + first,
                                              .labels = task.labels + first,
                                              .rows = rows,
                                              .vocab_size = C.vocab_size,
                                              .stride = padded,
                                              .softcap = static_cast<T>(C.logit_softcap),
                                              .d_scale = static_cast<T>(task.loss_scale),
                                              .want_gradient = task.gradients != nullptr});
      if (task.gradients != nullptr) {
        backward(context, scratch, x, table, d_table, d_bias, d_hidden + first * C.hidden_size,
                 rows, !context.overwrites_gradients || first > 0);
      }
    }
    return ops::sum_rows(task.losses, N);
  }

 private:
  static constexpr std::int64_t padded = C.padded_vocab_size();

  template <class E>
  static void backward(const Context<E>& context, const Scratch<E>& scratch,
                       const typename E::Activation* hidden, const typename E::Weight* table,
                       typename E::Gradient* d_table, typename E::Gradient* d_bias,
                       typename E::Activation* d_hidden, std::int64_t rows, bool accumulate) {
    using S = typename E::Statistic;
    using A = typename E::Activation;
    constexpr std::int64_t width = C.hidden_size;
    using Hidden = ops::Matmul<A, S, typename E::Weight>;
    ops::matmul(context.cpu(), Hidden{.m = rows, .n = width, .k = C.vocab_size,
                                      .c = d_hidden, .c_row_stride = width,
                                      .a = scratch.logits, .a_row_stride = padded,
                                      .b = table, .b_row_stride = width});
    using Table = ops::Matmul<typename E::Gradient, S, A>;
    ops::matmul(context.cpu(), Table{.m = C.vocab_size, .n = width, .k = rows,
                                     .c = d_table, .c_row_stride = width,
                                     .a = scratch.logits, .a_row_stride = 1,
                                     .a_col_stride = padded,
                                     .b = hidden, .b_row_stride = width,
                                     .accumulate = accumulate});
    if (d_bias != nullptr) {
      ops::linear_backward_bias(context.cpu(), d_bias, scratch.logits, rows, padded);
    }
  }
};

/// Next-token logits: hidden times the token table, or times a table of its own.
template <ModelConfig C>
struct LanguageModelHead {
  using Projection = VocabularyProjection<C>;
  static constexpr ParameterSpec weight_spec = {
      "weight", C.vocab_size, C.hidden_size, C.padded_vocab_size(), Initializer::normal, true, true};

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    if constexpr (!C.tied_embeddings) visit(weight_spec);
  }

  template <class E>
  struct Saved {};
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout&, BatchShape) { return {}; }
  template <class E>
  using Scratch = typename Projection::template Scratch<E>;
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape) {
    return Projection::template scratch<E>(layout, shape);
  }

  template <class E>
  static double loss(const Context<E>& context, const typename E::Weight* parameters,
                     Saved<E>&, const Scratch<E>& scratch, const HeadTask<E>& task,
                     const typename E::Activation* hidden) {
    return Projection::template loss<E>(
        context, scratch, task, hidden, C.tied_embeddings ? task.token_table : parameters, nullptr,
        C.tied_embeddings ? task.d_token_table : task.gradients, nullptr, task.d_hidden);
  }

  /// Logits (rows, Vp) of `rows` rows of hidden states.
  template <class E>
  static void logits(const Context<E>& context, const typename E::Weight* parameters, Saved<E>&,
                     const typename E::Weight* token_table, typename E::Statistic* out,
                     const typename E::Activation* hidden, std::int64_t rows) {
    Projection::template logits<E>(context, out, hidden,
                                   C.tied_embeddings ? token_table : parameters, nullptr, rows);
    Projection::template cap<E>(out, rows);
  }
};

/// BERT's head: dense, activation, norm, then the token table and a bias for every word.
template <ModelConfig C>
struct MaskedLanguageModelHead {
  using Projection = VocabularyProjection<C>;
  using Dense = Linear<C.hidden_size, C.hidden_size, C.bias>;
  using Normalize = NormLayer<C>;
  static constexpr Activation activation =
      C.activation == Activation::swiglu ? Activation::gelu_erf : C.activation;
  static constexpr std::int64_t norm_offset = parameter_storage<Dense>;
  static constexpr std::int64_t bias_offset = norm_offset + parameter_storage<Normalize>;

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit.enter("transform");
    Dense::visit_parameters(visit);
    visit.enter("norm");
    Normalize::visit_parameters(visit);
    visit.leave();
    visit.leave();
    // Stored padded: the gradient of the bias is summed over whole rows of logits.
    visit(ParameterSpec{"bias", 0, C.vocab_size, C.padded_vocab_size(), Initializer::zeros});
  }

  template <class E>
  struct Saved {
    typename E::Activation* dense;      // (B, T, C)
    typename E::Activation* activated;  // (B, T, C)
    typename Normalize::template Saved<E> norm;
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    using A = typename E::Activation;
    A* const dense = layout.template take<A>(shape.tokens() * C.hidden_size);
    A* const activated = layout.template take<A>(shape.tokens() * C.hidden_size);
    return {dense, activated, Normalize::template saved<E>(layout, shape)};
  }
  template <class E>
  struct Scratch {
    typename Projection::template Scratch<E> projection;
    typename Normalize::template Scratch<E> norm;
    typename E::Activation* d_normed;     // (B, T, C)
    typename E::Activation* d_activated;  // (B, T, C)
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape) {
    using A = typename E::Activation;
    const auto projection = Projection::template scratch<E>(layout, shape);
    const auto norm = Normalize::template scratch<E>(layout, shape);
    A* const d_normed = layout.template take<A>(shape.tokens() * C.hidden_size);
    A* const d_activated = layout.template take<A>(shape.tokens() * C.hidden_size);
    return {projection, norm, d_normed, d_activated};
  }

  template <class E>
  static double loss(const Context<E>& context, const typename E::Weight* parameters,
                     Saved<E>& saved, const Scratch<E>& scratch, const HeadTask<E>& task,
                     const typename E::Activation* hidden) {
    const std::int64_t N = context.shape.tokens();
    transform(context, parameters, saved, hidden);
    const double sum = Projection::template loss<E>(
        context, scratch.projection, task, saved.norm.out, task.token_table,
        parameters + bias_offset, task.d_token_table,
        task.gradients == nullptr ? nullptr : task.gradients + bias_offset, scratch.d_normed);
    if (task.gradients != nullptr) {
      Normalize::template backward<E>(context, parameters + norm_offset,
                                      task.gradients + norm_offset, saved.norm, scratch.norm,
                                      scratch.d_activated, scratch.d_normed, false);
      ops::activation_backward(context.cpu(), activation, scratch.d_normed, scratch.d_activated,
                               saved.dense, N, C.hidden_size);
      Dense::template backward<E>(context, parameters, task.gradients, task.d_hidden,
                                  scratch.d_normed, hidden);
    }
    return sum;
  }

  template <class E>
  static void logits(const Context<E>& context, const typename E::Weight* parameters,
                     Saved<E>& saved, const typename E::Weight* token_table,
                     typename E::Statistic* out, const typename E::Activation* hidden,
                     std::int64_t rows) {
    transform(context, parameters, saved, hidden);
    Projection::template logits<E>(context, out, saved.norm.out, token_table,
                                   parameters + bias_offset, rows);
    Projection::template cap<E>(out, rows);
  }

 private:
  template <class E>
  static void transform(const Context<E>& context, const typename E::Weight* parameters,
                        Saved<E>& saved, const typename E::Activation* hidden) {
    Dense::template forward<E>(context, parameters, saved.dense, hidden);
    ops::activation_forward(context.cpu(), activation, saved.activated, saved.dense,
                            context.shape.tokens(), C.hidden_size);
    Normalize::template forward<E>(context, parameters + norm_offset, saved.norm,
                                   {saved.activated, nullptr});
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
