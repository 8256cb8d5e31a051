// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model as a type: embedding, body and head, and the way a batch takes through them. Decoders
// (GPT-2, OPT, Llama kinds) and the BERT-kind encoder differ only in their ModelConfig. Memory
// belongs to the caller; train/plan.hpp says how much there must be.

#include <cstdint>
#include <type_traits>

#include <fount/config/checks.hpp>
#include <fount/core/macros.hpp>
#include <fount/nn/compose.hpp>
#include <fount/nn/embedding.hpp>
#include <fount/nn/feed_forward.hpp>
#include <fount/nn/heads.hpp>
#include <fount/nn/self_attention.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// One micro-batch as the model sees it; every pointer is (B, T).
struct Batch {
  const std::int32_t* inputs = nullptr;     // token ids in [0, vocab_size)
  const std::int32_t* labels = nullptr;     // ids to predict at each position; negative: ignored
  const std::int32_t* documents = nullptr;  // document ids, -1 is padding; null: one document each
};

template <ModelConfig C>
struct DecoderBlock : nn::Sequential<nn::Residual<C, nn::SelfAttention<C>>,
                                     nn::Residual<C, nn::FeedForward<C>>> {};

template <ModelConfig C>
struct Transformer : CheckedConfig<C> {
  static constexpr ModelConfig config = C;
  static constexpr bool has_final_norm = C.norm_placement == NormPlacement::pre;

  using Embedding = nn::Embedding<C>;
  using Body = nn::Repeat<C.num_layers, DecoderBlock<C>, C.hidden_size>;
  using FinalNorm = nn::NormLayer<C>;
  using Head = std::conditional_t<C.head == fount::Head::language_model, nn::LanguageModelHead<C>,
                                  nn::MaskedLanguageModelHead<C>>;

  static constexpr std::int64_t body_offset = nn::parameter_storage<Embedding>;
  static constexpr std::int64_t norm_offset = body_offset + nn::parameter_storage<Body>;
  static constexpr std::int64_t head_offset =
      norm_offset + (has_final_norm ? nn::parameter_storage<FinalNorm> : 0);

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit.enter("embedding");
    Embedding::visit_parameters(visit);
    visit.leave();
    Body::visit_parameters(visit);
    if constexpr (has_final_norm) {
      visit.enter("norm");
      FinalNorm::visit_parameters(visit);
      visit.leave();
    }
    visit.enter("head");
    Head::visit_parameters(visit);
    visit.leave();
  }

  /// Parameters of the model; the padding of the vocabulary is not counted, tied weights once.
  static constexpr std::int64_t num_parameters() {
    return nn::parameter_totals<Transformer>().elements;
  }
  /// Elements of the buffer that holds them.
  static constexpr std::int64_t parameter_storage() {
    return nn::parameter_totals<Transformer>().storage;
  }
  /// Training FLOPs of one token, forward and backward: 6 N_mm + 12 L C T, recompute not counted
  /// (Chowdhery et al. 2022, PaLM, appendix B).
  static constexpr double flops_per_token(int seq_len) {
    return 6.0 * static_cast<double>(nn::parameter_totals<Transformer>().matmul_elements) +
           12.0 * C.num_layers * static_cast<double>(C.num_heads * C.head_dim()) * seq_len;
  }

  template <class E>
  struct Saved {
    typename Embedding::template Saved<E> embedding;
    typename Body::template Saved<E> body;
    typename FinalNorm::template Saved<E> norm;  // unused by post-norm bodies
    typename Head::template Saved<E> head;
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape, nn::Keep keep) {
    Saved<E> result{};
    result.embedding = Embedding::template saved<E>(layout, shape);
    result.body = Body::template saved<E>(layout, shape, keep);
    if constexpr (has_final_norm) result.norm = FinalNorm::template saved<E>(layout, shape);
    result.head = Head::template saved<E>(layout, shape);
    return result;
  }

  template <class E>
  struct Scratch {
    nn::Working<E> working;
    typename Embedding::template Scratch<E> embedding;
    typename Body::template Scratch<E> body;
    typename FinalNorm::template Scratch<E> norm;
    typename Head::template Scratch<E> head;
  };
  /// `backward` is false for evaluation and generation.
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape, bool backward,
                                      bool dropout) {
    using A = typename E::Activation;
    const std::int64_t count = shape.tokens() * C.hidden_size;
    Scratch<E> result{};
    result.working.delta = layout.template take<A>(count);
    result.working.d_stream = layout.template take<A>(backward ? count : 0);
    result.working.d_normed = layout.template take<A>(backward ? count : 0);
    // Head, body and embedding take turns: their scratch is the same memory.
    const Bytes start = layout.mark();
    Bytes end = start;
    const auto turn = [&](auto&& take) {
      layout.rewind(start);
      take();
      end = std::max(end, layout.mark());
    };
    turn([&] { result.head = Head::template scratch<E>(layout, shape); });
    if (backward) {
      turn([&] { result.body = Body::template scratch<E>(layout, shape, dropout); });
      turn([&] { result.embedding = Embedding::template scratch<E>(layout, shape); });
      if constexpr (has_final_norm) {
        turn([&] { result.norm = FinalNorm::template scratch<E>(layout, shape); });
      }
    }
    layout.rewind(end);
    return result;
  }

  /// Hidden states (B, T, C) that the head reads.
  template <class E>
  static const typename E::Activation* hidden(const nn::Context<E>& context,
                                              const typename E::Weight* parameters,
                                              Saved<E>& saved, const Scratch<E>& scratch,
                                              const std::int32_t* ids,
                                              const nn::KeyValueCache<E>* caches = nullptr) {
    nn::Stream<E> stream =
        Embedding::template forward<E>(context, parameters, saved.embedding, ids);
    stream = Body::template forward<E>(context, parameters + body_offset, saved.body,
                                       scratch.working, stream, caches);
    if constexpr (has_final_norm) {
      FinalNorm::template forward<E>(context, parameters + norm_offset, saved.norm, stream);
      return saved.norm.out;
    } else {
      return stream.residual;
    }
  }

  /// Sum of the losses of all valid labels; no gradients, no dropout.
  template <class E>
  static double evaluate(const nn::Context<E>& context, const typename E::Weight* parameters,
                         Saved<E>& saved, const Scratch<E>& scratch, const Batch& batch,
                         typename E::Statistic* losses) {
    const auto* const x = hidden(context, parameters, saved, scratch, batch.inputs);
    const nn::HeadTask<E> task{
        .token_table = parameters, .labels = batch.labels, .losses = losses};
    return Head::template loss<E>(context, parameters + head_offset, saved.head, scratch.head,
                                  task, x);
  }

  /// Forward with everything backward needs. The loss is the last layer: since its logits are not
  /// kept, the head's gradients are taken here, scaled by `loss_scale`.
  /// @return the sum of the losses of all valid labels
  template <class E>
  static double forward(const nn::Context<E>& context, const typename E::Weight* parameters,
                        typename E::Gradient* gradients, Saved<E>& saved,
                        const Scratch<E>& scratch, const Batch& batch,
                        typename E::Statistic* losses, double loss_scale) {
    const auto* const x = hidden(context, parameters, saved, scratch, batch.inputs);
    const nn::HeadTask<E> task{
        .token_table = parameters,
        .labels = batch.labels,
        .losses = losses,
        .gradients = gradients + head_offset,
        .d_token_table = gradients,
        .d_hidden = has_final_norm ? scratch.working.d_normed : scratch.working.d_stream,
        .loss_scale = loss_scale};
    return Head::template loss<E>(context, parameters + head_offset, saved.head, scratch.head,
                                  task, x);
  }

  /// Adds the gradients of everything below the head; follows a forward on the same batch.
  template <class E>
  static void backward(const nn::Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, Saved<E>& saved,
                       const Scratch<E>& scratch, const Batch& batch) {
    if constexpr (has_final_norm) {
      FinalNorm::template backward<E>(context, parameters + norm_offset, gradients + norm_offset,
                                      saved.norm, scratch.norm, scratch.working.d_stream,
                                      scratch.working.d_normed, false);
    }
    Body::template backward<E>(context, parameters + body_offset, gradients + body_offset,
                               saved.body, scratch.body, scratch.working);
    Embedding::template backward<E>(context, parameters, gradients, saved.embedding,
                                    scratch.embedding, scratch.working.d_stream,
                                    scratch.working.d_normed, batch.inputs);
  }

  /// Logits (rows, padded_vocab_size) of the given rows of hidden states.
  template <class E>
  static void logits(const nn::Context<E>& context, const typename E::Weight* parameters,
                     Saved<E>& saved, typename E::Statistic* out,
                     const typename E::Activation* hidden_rows, std::int64_t rows) {
    Head::template logits<E>(context, parameters + head_offset, saved.head, parameters, out,
                             hidden_rows, rows);
  }
};

/// The model that predicts the next token.
template <ModelConfig C>
struct Decoder : Transformer<C> {
  static_assert(C.head == Head::language_model, "Decoder: needs Head::language_model");
};

/// The model that predicts masked tokens from both sides.
template <ModelConfig C>
struct Encoder : Transformer<C> {
  static_assert(C.head == Head::masked_language_model,
                "Encoder: needs Head::masked_language_model");
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
