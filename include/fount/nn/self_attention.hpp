// SPDX-License-Identifier: Apache-2.0
#pragma once
// Self-attention with one fused query-key-value projection; multi-head, grouped or multi-query by
// the number of key-value heads (Vaswani et al. 2017; Ainslie et al. 2023). Optional RMSNorm of
// queries and keys (Dehghani et al. 2023) and rotary positions. The tiles are in ops/attention.hpp.

#include <algorithm>
#include <type_traits>

#include <fount/config/model_config.hpp>
#include <fount/core/macros.hpp>
#include <fount/nn/linear.hpp>
#include <fount/ops/attention.hpp>
#include <fount/ops/norm.hpp>
#include <fount/ops/residual.hpp>
#include <fount/ops/rotary.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C>
struct SelfAttention {
  static constexpr int head_dim = C.head_dim();
  static constexpr int q_size = C.num_heads * head_dim;
  static constexpr int kv_size = C.kv_heads() * head_dim;
  static constexpr int qk_size = q_size + kv_size;
  static constexpr int qkv_size = C.qkv_size();
  static constexpr bool rotates = C.position == Position::rotary;

  using Qkv = Linear<C.hidden_size, qkv_size, C.bias>;
  using Out = Linear<q_size, C.hidden_size, C.bias, Initializer::residual_normal>;
  static constexpr std::string_view name = "attention";
  static constexpr std::uint32_t dropout_use = 1;
  static constexpr std::uint32_t probability_dropout_use = 0;

  static constexpr std::int64_t out_offset = parameter_storage<Qkv>;
  static constexpr std::int64_t q_norm_offset = out_offset + parameter_storage<Out>;
  static constexpr std::int64_t k_norm_offset =
      q_norm_offset + vector("weight", head_dim, Initializer::ones).storage();

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    visit.enter("qkv");
    Qkv::visit_parameters(visit);
    visit.leave();
    visit.enter("out");
    Out::visit_parameters(visit);
    visit.leave();
    if constexpr (C.qk_norm) {
      visit.enter("q_norm");
      visit(vector("weight", head_dim, Initializer::ones));
      visit.leave();
      visit.enter("k_norm");
      visit(vector("weight", head_dim, Initializer::ones));
      visit.leave();
    }
  }

  template <class E>
  struct Saved {
    typename E::Activation* qkv;       // (B, T, (H+2K)*D), rotated in place unless qk_norm
    typename E::Activation* qk;        // (B, T, (H+K)*D) normalised and rotated; qk_norm only
    typename E::Statistic* qk_rstd;    // (B, T, H+K); qk_norm only
    typename E::Activation* attended;  // (B, T, H*D)
    typename E::Statistic* lse;        // (B, H, T)
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    using A = typename E::Activation;
    using S = typename E::Statistic;
    const std::int64_t N = shape.tokens();
    A* const qkv = layout.template take<A>(N * qkv_size);
    A* const qk = layout.template take<A>(C.qk_norm ? N * qk_size : 0);
    S* const qk_rstd = layout.template take<S>(C.qk_norm ? N * (C.num_heads + C.kv_heads()) : 0);
    A* const attended = layout.template take<A>(N * q_size);
    S* const lse = layout.template take<S>(N * C.num_heads);
    return {qkv, qk, qk_rstd, attended, lse};
  }

  template <class E>
  struct Scratch {
    typename E::Activation* d_out;       // (B, T, C) gradient before the residual dropout
    typename E::Activation* d_attended;  // (B, T, H*D)
    typename E::Activation* d_qkv;       // (B, T, (H+2K)*D)
    typename E::Activation* d_qk;        // (B, T, (H+K)*D); qk_norm only
    typename E::Statistic* partials;     // partial sums of the q and k norm gradients
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape, bool dropout) {
    using A = typename E::Activation;
    using S = typename E::Statistic;
    const std::int64_t N = shape.tokens();
    A* const d_out = layout.template take<A>(dropout ? N * C.hidden_size : 0);
    A* const d_attended = layout.template take<A>(N * q_size);
    A* const d_qkv = layout.template take<A>(N * qkv_size);
    A* const d_qk = layout.template take<A>(C.qk_norm ? N * qk_size : 0);
    S* const partials = layout.template take<S>(
        C.qk_norm ? ops::rms_norm_heads_scratch(q_heads(N)) : 0);
    return {d_out, d_attended, d_qkv, d_qk, partials};
  }

  /// out (B, T, C) from x (B, T, C). With a cache in the context, the keys and values of these
  /// tokens are appended to it and attention looks back over all of it.
  template <class E>
  static void forward(const Context<E>& context, const typename E::Weight* parameters,
                      const Saved<E>& saved, typename E::Activation* out,
                      const typename E::Activation* x) {
    const std::int64_t N = context.shape.tokens();
    Qkv::template forward<E>(context, parameters, saved.qkv, x);
    if constexpr (C.qk_norm) {
      const auto normalize = [&](std::int64_t at, typename E::Statistic* rstd,
                                 std::int64_t weight, const ops::HeadShape& heads) {
        ops::rms_norm_heads_forward(
            context.cpu(), ops::HeadNormForward<typename E::Activation, typename E::Weight>{
                               .out = saved.qk + at,
                               .rstd = rstd,
                               .x = saved.qkv + at,
                               .weight = parameters + weight,
                               .shape = heads,
                               .out_stride = qk_size,
                               .x_stride = qkv_size,
                               .eps = static_cast<typename E::Statistic>(C.norm_eps)});
      };
      normalize(0, saved.qk_rstd, q_norm_offset, q_heads(N));
      normalize(q_size, saved.qk_rstd + N * C.num_heads, k_norm_offset, k_heads(N));
    }
    typename E::Activation* const qk = C.qk_norm ? saved.qk : saved.qkv;
    if constexpr (rotates) {
      ops::rotary_forward(context.cpu(), qk, context.rotary_table, rotary_shape(context));
    }
    auto shape = attention_shape(context);
    const typename E::Activation* keys = qk + q_size;
    const typename E::Activation* values = saved.qkv + qk_size;
    if (context.cache != nullptr) {
      append(context, keys, values);
      keys = context.cache->keys;
      values = context.cache->values;
      shape.num_keys = context.past_len + context.shape.seq_len;
      shape.query_offset = context.past_len;
      shape.k_stride = shape.v_stride = kv_size;
      shape.k_batch_stride = shape.v_batch_stride = std::int64_t{context.cache->max_len} * kv_size;
    }
    ops::attention_forward(context.cpu(), shape, saved.attended, saved.lse, qk, keys, values);
    Out::template forward<E>(context, parameters + out_offset, out, saved.attended);
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
    Out::template backward<E>(context, parameters + out_offset, gradients + out_offset,
                              scratch.d_attended, d_out, saved.attended);
    typename E::Activation* const qk = C.qk_norm ? saved.qk : saved.qkv;
    typename E::Activation* const d_qk = C.qk_norm ? scratch.d_qk : scratch.d_qkv;
    ops::attention_backward(context.cpu(), attention_shape(context), d_qk, d_qk + q_size,
                            scratch.d_qkv + qk_size, scratch.d_attended, saved.attended, saved.lse,
                            qk, qk + q_size, saved.qkv + qk_size);
    if constexpr (rotates) {
      ops::rotary_backward(context.cpu(), d_qk, context.rotary_table, rotary_shape(context));
    }
    if constexpr (C.qk_norm) {
      const auto normalize = [&](std::int64_t at, const typename E::Statistic* rstd,
                                 std::int64_t weight, const ops::HeadShape& heads) {
        ops::rms_norm_heads_backward(context.cpu(),
                                     ops::HeadNormBackward<typename E::Activation, typename E::Weight,
                                                           typename E::Gradient>{
                                         .d_x = scratch.d_qkv + at,
                                         .d_weight = gradients + weight,
                                         .d_out = scratch.d_qk + at,
                                         .x = saved.qkv + at,
                                         .rstd = rstd,
                                         .weight = parameters + weight,
                                         .scratch = scratch.partials,
                                         .shape = heads,
                                         .d_x_stride = qkv_size,
                                         .d_out_stride = qk_size,
                                         .x_stride = qkv_size});
      };
      normalize(0, saved.qk_rstd, q_norm_offset, q_heads(N));
      normalize(q_size, saved.qk_rstd + N * C.num_heads, k_norm_offset, k_heads(N));
    }
    Qkv::template backward<E>(context, parameters, gradients, d_x, scratch.d_qkv, x);
  }

 private:
  static constexpr std::int64_t qk_stride = C.qk_norm ? qk_size : qkv_size;

  static constexpr ops::HeadShape q_heads(std::int64_t rows) {
    return {rows, C.num_heads, head_dim};
  }
  static constexpr ops::HeadShape k_heads(std::int64_t rows) {
    return {rows, C.kv_heads(), head_dim};
  }

  /// Query and key heads stand side by side, so that one call rotates both.
  template <class E>
  static ops::RotaryShape rotary_shape(const Context<E>& context) {
    return {.batch_size = context.shape.batch_size,
            .seq_len = context.shape.seq_len,
            .num_heads = C.num_heads + C.kv_heads(),
            .head_dim = head_dim,
            .stride = qk_stride,
            .position_offset = context.past_len,
            .max_positions = C.max_seq_len};
  }

  template <class E>
  static ops::AttentionShape attention_shape(const Context<E>& context) {
    const int T = context.shape.seq_len;
    return {.batch_size = context.shape.batch_size,
            .num_heads = C.num_heads,
            .num_kv_heads = C.kv_heads(),
            .head_dim = head_dim,
            .num_queries = T,
            .num_keys = T,
            .q_stride = qk_stride,
            .k_stride = qk_stride,
            .v_stride = qkv_size,
            .out_stride = q_size,
            .k_batch_stride = T * qk_stride,
            .v_batch_stride = std::int64_t{T} * qkv_size,
            .mask = C.mask,
            .window = C.window,
            .softcap = C.attention_softcap,
            .documents = context.documents,
            .dropout = context.dropout(probability_dropout_use)};
  }

  template <class E>
  static void append(const Context<E>& context, const typename E::Activation* keys,
                     const typename E::Activation* values) {
    for (int b = 0; b < context.shape.batch_size; ++b) {
      for (int t = 0; t < context.shape.seq_len; ++t) {
        const std::int64_t row = std::int64_t{b} * context.shape.seq_len + t;
        const std::int64_t slot =
            (std::int64_t{b} * context.cache->max_len + context.past_len + t) * kv_size;
        std::copy_n(keys + row * qk_stride, kv_size, context.cache->keys + slot);
        std::copy_n(values + row * qkv_size, kv_size, context.cache->values + slot);
      }
    }
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
