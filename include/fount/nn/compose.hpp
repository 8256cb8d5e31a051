// SPDX-License-Identifier: Apache-2.0
#pragma once
// How layers make a body: a sublayer with its norm and residual (pre-norm or post-norm), two of
// them in sequence, a block repeated. Backward follows from forward: the same order, reversed.

#include <algorithm>
#include <array>
#include <string_view>

#include <fount/config/model_config.hpp>
#include <fount/config/recipe.hpp>
#include <fount/core/macros.hpp>
#include <fount/nn/norm_layer.hpp>
#include <fount/ops/residual.hpp>

namespace fount::nn {
inline namespace FOUNT_CPU_NAMESPACE {

/// Buffers that every sublayer of a body shares.
template <class E>
struct Working {
  typename E::Activation* delta;     // (B, T, C) what the last sublayer adds to the stream
  typename E::Activation* d_stream;  // (B, T, C) gradient of the stream's value
  typename E::Activation* d_normed;  // (B, T, C) gradient of a sublayer's input
};

/// x + sublayer(norm(x)) (`pre`), or norm(x + sublayer(x)) (`post`).
template <ModelConfig C, class Sublayer>
struct Residual {
  using Normalize = NormLayer<C>;
  static constexpr bool pre = C.norm_placement == NormPlacement::pre;
  // A pre-norm block stores the norm's parameters first, a post-norm block last.
  static constexpr std::int64_t norm_offset = pre ? 0 : parameter_storage<Sublayer>;
  static constexpr std::int64_t sublayer_offset = pre ? parameter_storage<Normalize> : 0;

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    const auto visit_norm = [&] {
      visit.enter(Sublayer::name);
      visit.enter("norm");
      Normalize::visit_parameters(visit);
      visit.leave();
      visit.leave();
    };
    if (pre) visit_norm();
    visit.enter(Sublayer::name);
    Sublayer::visit_parameters(visit);
    visit.leave();
    if (!pre) visit_norm();
  }

  template <class E>
  struct Saved {
    typename Normalize::template Saved<E> norm;
    typename Sublayer::template Saved<E> sublayer;
    const typename E::Activation* x;  // the sublayer's input
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    const auto norm = Normalize::template saved<E>(layout, shape);
    const auto sublayer = Sublayer::template saved<E>(layout, shape);
    return {norm, sublayer, nullptr};
  }

  template <class E>
  struct Scratch {
    typename Normalize::template Scratch<E> norm;
    typename Sublayer::template Scratch<E> sublayer;
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape, bool dropout) {
    const auto norm = Normalize::template scratch<E>(layout, shape);
    const auto sublayer = Sublayer::template scratch<E>(layout, shape, dropout);
    return {norm, sublayer};
  }

  template <class E>
  static Stream<E> forward(const Context<E>& context, const typename E::Weight* parameters,
                           Saved<E>& saved, const Working<E>& working, Stream<E> in) {
    if constexpr (pre) {
      Normalize::template forward<E>(context, parameters + norm_offset, saved.norm, in);
      saved.x = saved.norm.out;
      Sublayer::template forward<E>(context, parameters + sublayer_offset, saved.sublayer,
                                    working.delta, saved.x);
      return {saved.norm.x, working.delta};
    } else {
      saved.x = in.residual;
      Sublayer::template forward<E>(context, parameters + sublayer_offset, saved.sublayer,
                                    working.delta, saved.x);
      Normalize::template forward<E>(context, parameters + norm_offset, saved.norm,
                                     {in.residual, working.delta});
      return {saved.norm.out, nullptr};
    }
  }

  /// Turns the gradient in working.d_stream from that of the output into that of the input.
  template <class E>
  static void backward(const Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, const Saved<E>& saved,
                       const Scratch<E>& scratch, const Working<E>& working) {
    if constexpr (pre) {
      Sublayer::template backward<E>(context, parameters + sublayer_offset,
                                     gradients + sublayer_offset, saved.sublayer, scratch.sublayer,
                                     working.d_normed, working.d_stream, saved.x);
      Normalize::template backward<E>(context, parameters + norm_offset, gradients + norm_offset,
                                      saved.norm, scratch.norm, working.d_stream, working.d_normed,
                                      true);
    } else {
      // The delta buffer is free in backward: it holds the gradient of the norm's input.
      Normalize::template backward<E>(context, parameters + norm_offset, gradients + norm_offset,
                                      saved.norm, scratch.norm, working.delta, working.d_stream,
                                      false);
      Sublayer::template backward<E>(context, parameters + sublayer_offset,
                                     gradients + sublayer_offset, saved.sublayer, scratch.sublayer,
                                     working.d_normed, working.delta, saved.x);
      ops::add(context.cpu(), working.d_stream, working.delta, working.d_normed,
               context.shape.tokens() * C.hidden_size);
    }
  }
};

/// First, then second; their scratch shares memory.
template <class First, class Second>
struct Sequential {
  static constexpr std::int64_t second_offset = parameter_storage<First>;

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    First::visit_parameters(visit);
    Second::visit_parameters(visit);
  }

  template <class E>
  struct Saved {
    typename First::template Saved<E> first;
    typename Second::template Saved<E> second;
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape) {
    const auto first = First::template saved<E>(layout, shape);
    const auto second = Second::template saved<E>(layout, shape);
    return {first, second};
  }

  template <class E>
  struct Scratch {
    typename First::template Scratch<E> first;
    typename Second::template Scratch<E> second;
  };
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape, bool dropout) {
    const Bytes start = layout.mark();
    const auto first = First::template scratch<E>(layout, shape, dropout);
    const Bytes after_first = layout.mark();
    layout.rewind(start);
    const auto second = Second::template scratch<E>(layout, shape, dropout);
    layout.rewind(std::max(after_first, layout.mark()));
    return {first, second};
  }

  template <class E>
  static Stream<E> forward(const Context<E>& context, const typename E::Weight* parameters,
                           Saved<E>& saved, const Working<E>& working, Stream<E> in) {
    in = First::template forward<E>(context, parameters, saved.first, working, in);
    return Second::template forward<E>(context, parameters + second_offset, saved.second, working,
                                       in);
  }

  template <class E>
  static void backward(const Context<E>& context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, const Saved<E>& saved,
                       const Scratch<E>& scratch, const Working<E>& working) {
    Second::template backward<E>(context, parameters + second_offset, gradients + second_offset,
                                 saved.second, scratch.second, working);
    First::template backward<E>(context, parameters, gradients, saved.first, scratch.first,
                                working);
  }
};

/// What a body keeps of its blocks after forward.
enum class Keep : std::uint8_t {
  everything,    // backward reads it
  block_inputs,  // backward runs each block forward again
  nothing        // evaluation and generation: one block's buffers serve all
};

constexpr Keep keep_for_training(Recompute recompute) {
  return recompute == Recompute::none ? Keep::everything : Keep::block_inputs;
}

/// L blocks of one type, each with parameters of its own.
template <int L, class Block, int HiddenSize>
struct Repeat {
  static constexpr std::int64_t stride = parameter_storage<Block>;

  template <class Visitor>
  static constexpr void visit_parameters(Visitor& visit) {
    for (int layer = 0; layer < L; ++layer) {
      visit.enter("blocks", layer);
      Block::visit_parameters(visit);
      visit.leave();
    }
  }

  template <class E>
  struct Saved {
    std::array<typename Block::template Saved<E>, L> blocks;  // all the same memory unless kept
    std::array<typename E::Activation*, L> inputs;            // (B, T, C) each; block_inputs only
    Keep keep;
  };
  template <class E, class Layout>
  static constexpr Saved<E> saved(Layout& layout, BatchShape shape, Keep keep) {
    using A = typename E::Activation;
    Saved<E> result{};
    result.keep = keep;
    const Bytes start = layout.mark();
    for (int layer = 0; layer < L; ++layer) {
      if (keep != Keep::everything) layout.rewind(start);
      result.blocks[static_cast<std::size_t>(layer)] = Block::template saved<E>(layout, shape);
    }
    for (A*& input : result.inputs) {
      input = layout.template take<A>(
          keep == Keep::block_inputs ? shape.tokens() * HiddenSize : 0);
    }
    return result;
  }

  template <class E>
  using Scratch = typename Block::template Scratch<E>;
  template <class E, class Layout>
  static constexpr Scratch<E> scratch(Layout& layout, BatchShape shape, bool dropout) {
    return Block::template scratch<E>(layout, shape, dropout);
  }

  /// `caches` holds one entry a layer when generating, else null.
  template <class E>
  static Stream<E> forward(Context<E> context, const typename E::Weight* parameters,
                           Saved<E>& saved, const Working<E>& working, Stream<E> stream,
                           const KeyValueCache<E>* caches) {
    for (int layer = 0; layer < L; ++layer) {
      const auto at = static_cast<std::size_t>(layer);
      context.layer = layer;
      context.cache = caches != nullptr ? caches + layer : nullptr;
      if (saved.keep == Keep::block_inputs) {
        stream = settle(context, saved.inputs[at], stream);
      }
      stream = Block::template forward<E>(context, parameters + layer * stride, saved.blocks[at],
                                          working, stream);
    }
    return stream;
  }

  template <class E>
  static void backward(Context<E> context, const typename E::Weight* parameters,
                       typename E::Gradient* gradients, Saved<E>& saved, const Scratch<E>& scratch,
                       const Working<E>& working) {
    for (int layer = L - 1; layer >= 0; --layer) {
      const auto at = static_cast<std::size_t>(layer);
      context.layer = layer;
      if (saved.keep == Keep::block_inputs) {
        Block::template forward<E>(context, parameters + layer * stride, saved.blocks[at], working,
                                   {saved.inputs[at], nullptr});
      }
      Block::template backward<E>(context, parameters + layer * stride, gradients + layer * stride,
                                  saved.blocks[at], scratch, working);
    }
  }

 private:
  /// Writes the stream's value to `out`, so that a block can start from it twice.
  template <class E>
  static Stream<E> settle(const Context<E>& context, typename E::Activation* out,
                          Stream<E> stream) {
    const std::int64_t count = context.shape.tokens() * HiddenSize;
    if (stream.delta != nullptr) {
      ops::add(context.cpu(), out, stream.residual, stream.delta, count);
    } else {
      std::copy_n(stream.residual, count, out);
    }
    return {out, nullptr};
  }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
