// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much memory a run needs, as a constant: the same layout functions that a run commits are
// counted here. One plan for each purpose: training, evaluation, generation.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <fount/config/precision.hpp>
#include <fount/config/recipe.hpp>
#include <fount/core/arena.hpp>
#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>
#include <fount/models/transformer.hpp>
#include <fount/ops/rotary.hpp>
#include <fount/optim/clip.hpp>

namespace fount {

/// The run-time shape of a run: nobody compiles again to change a batch.
struct RunShape {
  int batch_size = 1;
  int seq_len = 0;  // 0: the model's max_seq_len
  Recompute recompute = Recompute::none;
  bool dropout = false;
  bool samples = false;  // whether samples are drawn between steps
  Optimizer optimizer = Optimizer::adamw;
  int world_size = 1;
  int zero_stage = 0;  // 1: optimizer state sharded, 2: gradients too, 3: weights too

  template <ModelConfig C>
  constexpr BatchShape batch() const {
    return {batch_size, seq_len == 0 ? C.max_seq_len : seq_len};
  }
};

/// The batch of `shape`.
/// @throws ConfigError where the model cannot have it
template <ModelConfig C>
BatchShape checked_batch(const RunShape& shape) {
  const BatchShape batch = shape.template batch<C>();
  if (batch.batch_size < 1 || batch.seq_len < 1 || batch.seq_len > C.max_seq_len) {
    throw ConfigError("batch of " + std::to_string(batch.batch_size) + " x " +
                      std::to_string(batch.seq_len) +
                      " tokens: batch_size must be at least 1 and seq_len between 1 and the "
                      "model's max_seq_len " +
                      std::to_string(C.max_seq_len));
  }
  return batch;
}

/// Named parts of one allocation, in the order in which they lie there.
struct MemoryPlan {
  struct Region {
    std::string_view name;
    Bytes offset = 0;
    Bytes bytes = 0;
  };
  static constexpr int max_regions = 9;
  std::array<Region, max_regions> regions{};
  int num_regions = 0;
  Bytes used = 0;

  /// Closes the region that began where the last one ended.
  constexpr void close(std::string_view name, Bytes end) {
    regions[static_cast<std::size_t>(num_regions)] = {name, used, end - used};
    ++num_regions;
    used = end;
  }
  constexpr Bytes total() const { return used; }
  constexpr Bytes bytes_of(std::string_view name) const {
    Bytes sum = 0;
    for (const Region& region : regions) sum += region.name == name ? region.bytes : 0;
    return sum;
  }

  // The rows of the printed report.
  constexpr Bytes model() const { return bytes_of("weights"); }
  constexpr Bytes gradients() const { return bytes_of("gradients"); }
  constexpr Bytes optimizer() const { return bytes_of("master weights") + bytes_of("moments"); }
  constexpr Bytes activations() const { return total() - model() - gradients() - optimizer(); }
};

inline namespace FOUNT_CPU_NAMESPACE {

/// Memory of one batch on its way through the model.
template <ModelConfig C, class E>
struct BatchBuffers {
  typename Transformer<C>::template Saved<E> saved;
  typename Transformer<C>::template Scratch<E> scratch;
  std::int32_t* inputs = nullptr;                 // (B, T)
  std::int32_t* labels = nullptr;                 // (B, T)
  std::int32_t* documents = nullptr;              // (B, T)
  typename E::Statistic* losses = nullptr;        // (B, T)
  typename E::Statistic* rotary_table = nullptr;  // (max_seq_len, 2, D/2)
};

/// Fills what no batch changes: the rotary table, where positions are rotated.
template <ModelConfig C, class E>
void fill_tables(const BatchBuffers<C, E>& buffers) {
  if constexpr (C.position == Position::rotary) {
    ops::rotary_table(buffers.rotary_table, C.max_seq_len, C.head_dim(), C.rope_theta);
  }
}

/// Memory of evaluation or generation: weights, one block's buffers, and the cache if asked for.
/// Generation while training uses the weights and tables of the run.
template <ModelConfig C, class E>
struct InferenceBuffers {
  typename E::Weight* weights = nullptr;
  BatchBuffers<C, E> batch;
  std::array<nn::KeyValueCache<E>, C.num_layers> caches{};
  typename E::Statistic* logits = nullptr;  // (B, padded_vocab_size), generation only
};

/// Memory of a training run.
template <ModelConfig C, class E>
struct TrainBuffers {
  typename E::Weight* weights = nullptr;
  typename E::Statistic* master = nullptr;  // null where the precision has no master weights
  typename E::Gradient* gradients = nullptr;
  std::array<typename E::Moment*, 2> moments{};
  BatchBuffers<C, E> batch;
  InferenceBuffers<C, E> samples{};  // where samples are drawn; empty unless RunShape::samples
  double* norm_partials = nullptr;
};

/// Tokens that generation feeds at once when it reads a prompt.
inline constexpr int prefill_tokens = 64;

/// The shape in which generation calls the model.
template <ModelConfig C>
constexpr RunShape generation_shape(int batch_size = 1) {
  return {.batch_size = batch_size,
          .seq_len = C.max_seq_len < prefill_tokens ? C.max_seq_len : prefill_tokens};
}

}  // namespace FOUNT_CPU_NAMESPACE

namespace detail {
inline namespace FOUNT_CPU_NAMESPACE {

constexpr std::int64_t shard(std::int64_t count, const RunShape& shape, int stage) {
  return shape.zero_stage >= stage ? (count + shape.world_size - 1) / shape.world_size : count;
}

/// What is written and read within one pass through the model.
template <ModelConfig C, class E, class Layout>
constexpr void pass_layout(BatchBuffers<C, E>& buffers, Layout& layout, BatchShape shape,
                           nn::Keep keep, bool backward, bool dropout, MemoryPlan& plan) {
  buffers.saved = Transformer<C>::template saved<E>(layout, shape, keep);
  plan.close("activations", layout.mark());
  buffers.scratch = Transformer<C>::template scratch<E>(layout, shape, backward, dropout);
  plan.close("scratch", layout.mark());
}

/// What is read from outside, and what outlives a pass.
template <ModelConfig C, class E, class Layout>
constexpr void batch_layout(BatchBuffers<C, E>& buffers, Layout& layout, BatchShape shape,
                            MemoryPlan& plan) {
  using S = typename E::Statistic;
  buffers.inputs = layout.template take<std::int32_t>(shape.tokens());
  buffers.labels = layout.template take<std::int32_t>(shape.tokens());
  buffers.documents = layout.template take<std::int32_t>(shape.tokens());
  buffers.losses = layout.template take<S>(shape.tokens());
  buffers.rotary_table = layout.template take<S>(
      C.position == Position::rotary ? ops::rotary_table_size(C.max_seq_len, C.head_dim()) : 0);
  plan.close("batch and tables", layout.mark());
}

/// What is kept from token to token for `batch_size` sequences of `cache_len`, and what comes out.
template <ModelConfig C, class E, class Layout>
constexpr void cache_layout(InferenceBuffers<C, E>& buffers, Layout& layout, int batch_size,
                            int cache_len, MemoryPlan& plan) {
  using A = typename E::Activation;
  const std::int64_t rows = std::int64_t{batch_size} * cache_len;
  for (auto& cache : buffers.caches) {
    cache.keys = layout.template take<A>(rows * C.kv_heads() * C.head_dim());
    cache.values = layout.template take<A>(rows * C.kv_heads() * C.head_dim());
    cache.max_len = cache_len;
  }
  buffers.logits =
      layout.template take<typename E::Statistic>(std::int64_t{batch_size} * C.padded_vocab_size());
  plan.close("key-value cache", layout.mark());
}

/// Room to draw samples in, from `start` on: over activations and scratch, which nobody reads
/// between steps. Only what reaches beyond them is a region of its own.
template <ModelConfig C, class E, class Layout>
constexpr void samples_layout(TrainBuffers<C, E>& buffers, Layout& layout, Bytes start,
                              MemoryPlan& plan) {
  const Bytes end = layout.mark();
  layout.rewind(start);
  MemoryPlan inside;
  const RunShape shape = generation_shape<C>();
  pass_layout<C, E>(buffers.samples.batch, layout, shape.template batch<C>(), nn::Keep::nothing,
                    false, false, inside);
  cache_layout<C, E>(buffers.samples, layout, shape.batch_size, C.max_seq_len, inside);
  if (layout.mark() > end) {
    plan.close("samples", layout.mark());
  } else {
    layout.rewind(end);
  }
}

template <ModelConfig C, class E, class Layout>
constexpr TrainBuffers<C, E> train_layout(Layout& layout, const RunShape& shape, MemoryPlan& plan) {
  constexpr std::int64_t count = Transformer<C>::parameter_storage();
  TrainBuffers<C, E> buffers{};
  buffers.weights = layout.template take<typename E::Weight>(shard(count, shape, 3));
  plan.close("weights", layout.mark());
  if constexpr (E::precision.master != DType::none) {
    static_assert(std::is_same_v<element_t<E::precision.master>, typename E::Statistic>,
                  "a master weight has the type that kernels compute in");
    buffers.master = layout.template take<typename E::Statistic>(shard(count, shape, 1));
    plan.close("master weights", layout.mark());
  }
  buffers.gradients = layout.template take<typename E::Gradient>(shard(count, shape, 2));
  plan.close("gradients", layout.mark());
  const int num_moments = shape.optimizer == Optimizer::adamw ? 2 : 1;
  for (int i = 0; i < num_moments; ++i) {
    buffers.moments[static_cast<std::size_t>(i)] =
        layout.template take<typename E::Moment>(shard(count, shape, 1));
  }
  plan.close("moments", layout.mark());
  const BatchShape batch = shape.template batch<C>();
  const Bytes start = layout.mark();
  pass_layout<C, E>(buffers.batch, layout, batch, nn::keep_for_training(shape.recompute), true,
                    shape.dropout, plan);
  if (shape.samples) samples_layout<C, E>(buffers, layout, start, plan);
  batch_layout<C, E>(buffers.batch, layout, batch, plan);
  buffers.samples.weights = buffers.weights;
  buffers.samples.batch.rotary_table = buffers.batch.rotary_table;
  buffers.norm_partials = layout.template take<double>(optim::norm_partials(count));
  plan.close("norm partials", layout.mark());
  return buffers;
}

template <ModelConfig C, class E, class Layout>
constexpr InferenceBuffers<C, E> inference_layout(Layout& layout, const RunShape& shape,
                                                  int cache_len, MemoryPlan& plan) {
  InferenceBuffers<C, E> buffers{};
  buffers.weights = layout.template take<typename E::Weight>(Transformer<C>::parameter_storage());
  plan.close("weights", layout.mark());
  const BatchShape batch = shape.template batch<C>();
  pass_layout<C, E>(buffers.batch, layout, batch, nn::Keep::nothing, false, false, plan);
  batch_layout<C, E>(buffers.batch, layout, batch, plan);
  if (cache_len > 0) cache_layout<C, E>(buffers, layout, shape.batch_size, cache_len, plan);
  return buffers;
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace detail

inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C, Precision P>
constexpr MemoryPlan train_plan(const RunShape& shape) {
  MemoryPlan plan;
  Planner planner;
  detail::train_layout<C, nn::Elements<P>>(planner, shape, plan);
  return plan;
}

template <ModelConfig C, Precision P>
constexpr MemoryPlan evaluate_plan(const RunShape& shape) {
  MemoryPlan plan;
  Planner planner;
  detail::inference_layout<C, nn::Elements<P>>(planner, shape, 0, plan);
  return plan;
}

/// A cache of max_seq_len tokens for each of `batch_size` sequences.
template <ModelConfig C, Precision P>
constexpr MemoryPlan generate_plan(int batch_size = 1) {
  MemoryPlan plan;
  Planner planner;
  detail::inference_layout<C, nn::Elements<P>>(planner, generation_shape<C>(batch_size),
                                               C.max_seq_len, plan);
  return plan;
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
