// SPDX-License-Identifier: Apache-2.0
#pragma once
// Token ids to vectors: the token table, learned positions or none (rotary), BERT's token-type row
// and norm where the config asks for them. Every token has type 0.

#include <type_traits>

#include <fount/config/model_config.hpp>
#include <fount/core/macros.hpp>
#include <fount/nn/norm_layer.hpp>
#include <fount/ops/embedding.hpp>
#include <fount/ops/residual.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C>
struct Embedding {
  static constexpr bool has_positions = C.position == Position::learned;
  static constexpr bool has_types = C.num_token_types > 0;
  static constexpr bool has_norm = C.norm_placement == NormPlacement::post;
  static constexpr std::uint32_t dropout_use = 3;
  using Normalize = NormLayer<C>;

  static constexpr ParameterSpec token_spec = {
      "token",     C.vocab_size, C.hidden_size,    C.padded_vocab_size(), Initializer::normal,
      /*decay=*/true, /*matmul=*/C.tied_embeddings};
  static constexpr ParameterSpec position_spec = {
      "position", C.position_rows(), C.hidden_size, C.position_rows(), Initializer::normal, true};
  static constexpr ParameterSpec type_spec = {
      "token_type", C.num_token_types, C.hidden_size, C.num_token_types, Initializer::normal, true};
  static constexpr std::int64_t position_offset = token_spec.storage();
  static constexpr std::int64_t type_offset =
      position_offset + (has_positions ? position_spec.storage() : 0);
  static constexpr std::int64_t norm_offset = type_offset + (has_types ? type_spec.storage() : 0);

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit(token_spec);
    if constexpr (has_positions) visit(position_spec);
    if constexpr (has_types) visit(type_spec);
    if constexpr (has_norm) {
      visit.enter("norm");
      Normalize::visit_parameters(visit);
      visit.leave();
    }
  }

  struct NoNorm {};
  template <class E>
  struct Saved {
    typename E::Activation* x;  // (B, T, C) sum of the tables, then dropout unless normalised
    std::conditional_t<has_norm, typename Normalize::template Saved<E>, NoNorm> norm;
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    using A = typename E::Activation;
    Saved<E> result{};
    result.x = layout.template take<A>(shape.tokens() * C.hidden_size);
    if constexpr (has_norm) result.norm = Normalize::template saved<E>(layout, shape);
    return result;
  }

  template <class E>
  struct Scratch {
    std::conditional_t<has_norm, typename Normalize::template Scratch<E>, NoNorm> norm;
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape) {
    Scratch<E> result{};
    if constexpr (has_norm) result.norm = Normalize::template scratch<E>(layout, shape);
    (void)layout;
    (void)shape;
    return result;
  }

  /// ids (B, T), each in [0, vocab_size): checked where they enter the program.
  template <class E>
  static Stream<E> forward(const Context<E>& context, const typename E::Weight* parameters,
                           Saved<E>& saved, const std::int32_t* ids) {
    const std::int64_t N = context.shape.tokens();
    ops::embedding_forward(
        context.cpu(), ops::EmbeddingForward<typename E::Activation, typename E::Weight>{
                           .out = saved.x,
                           .tokens = parameters,
                           .positions = has_positions ? parameters + position_offset : nullptr,
                           .token_type = has_types ? parameters + type_offset : nullptr,
                           .at = rows(context, ids)});
    typename E::Activation* out = saved.x;
    if constexpr (has_norm) {
      Normalize::template forward<E>(context, parameters + norm_offset, saved.norm,
                                     {saved.x, nullptr});
      out = saved.norm.out;
    }
    if (const Dropout dropout = context.dropout(dropout_use); dropout.active()) {
      ops::dropout_forward(context.cpu(), out, out, dropout, N * C.hidden_size);
    }
    return {out, nullptr};
  }

  /// Adds to the gradients of the tables; working.d_stream is spent.
  template <class E>
  static void backward(const Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, const Saved<E>& saved,
                       const Scratch<E>& scratch, typename E::Activation* d_stream,
                       typename E::Activation* d_x, const std::int32_t* ids) {
    const std::int64_t N = context.shape.tokens();
    if (const Dropout dropout = context.dropout(dropout_use); dropout.active()) {
      ops::dropout_backward(context.cpu(), d_stream, d_stream, dropout, N * C.hidden_size);
    }
    if constexpr (has_norm) {
      Normalize::template backward<E>(context, parameters + norm_offset, gradients + norm_offset,
                                      saved.norm, scratch.norm, d_x, d_stream, false);
    } else {
      d_x = d_stream;
    }
    ops::embedding_backward(
        context.cpu(), ops::EmbeddingBackward<typename E::Gradient, typename E::Activation>{
                           .d_tokens = gradients,
                           .d_positions = has_positions ? gradients + position_offset : nullptr,
                           .d_token_type = has_types ? gradients + type_offset : nullptr,
                           .d_out = d_x,
                           .at = rows(context, ids)});
  }

 private:
  template <class E>
  static ops::EmbeddingRows rows(const Context<E>& context, const std::int32_t* ids) {
    return {.ids = ids,
            .rows = context.shape.tokens(),
            .seq_len = context.shape.seq_len,
            .hidden_size = C.hidden_size,
            .position_offset = C.position_offset,
            .first_position = context.past_len};
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
