// SPDX-License-Identifier: Apache-2.0
#pragma once
// One configuration in one precision, with the memory it trains in: a single allocation made from
// train_plan. Forward, backward and update by hand (examples/custom_loop.cpp) or by the Trainer.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fount/backend/chunks.hpp>
#include <fount/core/macros.hpp>
#include <fount/optim/adamw.hpp>
#include <fount/optim/clip.hpp>
#include <fount/optim/sgd.hpp>
#include <fount/train/generator.hpp>
#include <fount/train/model.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C, Precision P>
class TrainingModel : public TrainableModel {
 public:
  using Model = Transformer<C>;
  using E = nn::Elements<P>;

  /// @param shape batch_size and seq_len of one micro-batch, recompute, whether dropout is used and
  ///        samples are drawn
  /// @throws ConfigError for a shape the model cannot have, DeviceError without enough memory
  explicit TrainingModel(const RunShape& shape, int threads = 1)
      : run_shape_(checked(shape)),
        shape_(checked_batch<C>(shape)),
        plan_(train_plan<C, P>(shape)),
        arena_(plan_.total(), "training"),
        cpu_(threads),
        parameters_(parameter_table<Model>()) {
    Committer committer(arena_.data(), arena_.size());
    MemoryPlan ignored;
    buffers_ = detail::train_layout<C, E>(committer, shape, ignored);
    fill_tables(buffers_.batch);
    if (shape.samples) generator_.emplace(cpu_, parameters_, buffers_.samples);
  }

  const ModelConfig& config() const override { return Model::config; }
  Precision precision() const override { return P; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::int64_t num_parameters() const override { return Model::num_parameters(); }
  double flops_per_token() const override { return Model::flops_per_token(shape_.seq_len); }
  const MemoryPlan& plan() const override { return plan_; }
  Bytes allocated_bytes() const override { return arena_.size(); }
  BatchShape shape() const override { return shape_; }
  const Cpu& backend() const override { return cpu_; }

  std::int32_t* inputs() override { return buffers_.batch.inputs; }
  std::int32_t* labels() override { return buffers_.batch.labels; }
  std::int32_t* documents() override { return buffers_.batch.documents; }
  void use_documents(bool use) override { use_documents_ = use; }

  void initialize(std::uint64_t seed) override {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      fount::initialize(buffers_.weights + parameters_[i].offset, parameters_[i],
                        static_cast<std::uint32_t>(i), seed, C.init_std, C.num_layers);
      if (buffers_.master != nullptr) {
        fount::initialize(buffers_.master + parameters_[i].offset, parameters_[i],
                          static_cast<std::uint32_t>(i), seed, C.init_std, C.num_layers);
      }
    }
    for (auto* moment : buffers_.moments) {
      if (moment != nullptr) ops::zero(cpu_, moment, Model::parameter_storage());
    }
  }

  void zero_gradients() override {
    // Products overwrite theirs in the next micro-batch, all but the padding.
    for (const Parameter& parameter : parameters_) {
      const std::int64_t kept = parameter.matmul ? parameter.elements() : 0;
      ops::zero(cpu_, buffers_.gradients + parameter.offset + kept, parameter.storage - kept);
    }
    first_micro_batch_ = true;
  }

  double forward(const ForwardOptions& options) override {
    forget_sequence();
    nn::Context<E> with = context();
    with.dropout_rate = options.dropout;
    with.seed = options.seed;
    with.step = options.step;
    with.micro_batch = options.micro_batch;
    with.overwrites_gradients = first_micro_batch_;
    last_ = with;
    return Model::template forward<E>(with, buffers_.weights, buffers_.gradients,
                                      buffers_.batch.saved, buffers_.batch.scratch, batch(),
                                      buffers_.batch.losses, options.loss_scale);
  }

  void backward() override {
    Model::template backward<E>(last_, buffers_.weights, buffers_.gradients, buffers_.batch.saved,
                                buffers_.batch.scratch, batch());
    first_micro_batch_ = false;
  }

  double evaluate() override {
    forget_sequence();
    return Model::template evaluate<E>(context(), buffers_.weights, buffers_.batch.saved,
                                       buffers_.batch.scratch, batch(), buffers_.batch.losses);
  }

  double gradient_norm() override {
    return std::sqrt(optim::squared_norm(cpu_, buffers_.gradients, Model::parameter_storage(),
                                         buffers_.norm_partials));
  }

  void update(const UpdateOptions& options) override {
    if (options.optimizer == Optimizer::adamw) {
      walk(optim::AdamW{options.beta1, options.beta2, options.eps}, options);
    } else {
      walk(optim::Sgd{options.momentum}, options);
    }
  }

  ParameterBuffer weights() override { return buffer(buffers_.weights); }
  ParameterBuffer master_weights() override { return buffer(buffers_.master); }
  void round_master_weights() override {
    if (buffers_.master == nullptr) return;
    using W = typename E::Weight;
    parallel_chunks(cpu_, Model::parameter_storage(), elementwise_chunk,
                    [this](std::int64_t begin, std::int64_t end) {
                      std::transform(buffers_.master + begin, buffers_.master + end,
                                     buffers_.weights + begin,
                                     [](auto value) { return static_cast<W>(value); });
                    });
  }
  ParameterBuffer gradients() override { return buffer(buffers_.gradients); }
  ParameterBuffer moments(int index) override {
    return index >= 0 && index < 2 ? buffer(buffers_.moments[static_cast<std::size_t>(index)])
                                   : ParameterBuffer{};
  }

  TokenGenerator* generator() override { return generator_ ? &*generator_ : nullptr; }

  /// Views of everything: for tests and for those who want to look inside.
  const TrainBuffers<C, E>& buffers() const { return buffers_; }

  /// Logits (B, T, padded_vocab_size) of the batch in the buffers: for tests and inspection.
  void logits(typename E::Statistic* out) {
    const auto* const x =
        Model::template hidden<E>(context(), buffers_.weights, buffers_.batch.saved,
                                  buffers_.batch.scratch, buffers_.batch.inputs);
    Model::template logits<E>(context(), buffers_.weights, buffers_.batch.saved, out, x,
                              shape_.tokens());
  }

 private:
  static const RunShape& checked(const RunShape& shape) {
    if (shape.world_size != 1) {
      throw ConfigError("world_size " + std::to_string(shape.world_size) +
                        ": this version trains in one process; plans take any world size");
    }
    return shape;
  }

  /// A pass overwrites the keys and values of the sequence that is being sampled.
  void forget_sequence() {
    if (generator_) generator_->reset();
  }

  nn::Context<E> context() const {
    nn::Context<E> result;
    result.backend = &cpu_;
    result.shape = shape_;
    result.documents = use_documents_ ? buffers_.batch.documents : nullptr;
    result.rotary_table = buffers_.batch.rotary_table;
    return result;
  }

  Batch batch() const {
    return {buffers_.batch.inputs, buffers_.batch.labels,
            use_documents_ ? buffers_.batch.documents : nullptr};
  }

  template <class Rule>
  void walk(const Rule& rule, const UpdateOptions& options) {
    for (std::size_t index = 0; index < parameters_.size(); ++index) {
      const Parameter& parameter = parameters_[index];
      optim::UpdateScalars scalars;
      scalars.lr = options.learning_rate;
      scalars.weight_decay = parameter.decay ? options.weight_decay : 0.0;
      scalars.gradient_scale = options.gradient_scale;
      scalars.step = options.step;
      const std::int64_t at = parameter.offset;
      optim::Segment<typename E::Weight, typename E::Gradient, typename E::Moment> segment;
      segment.weight = buffers_.weights + at;
      segment.master = buffers_.master == nullptr ? nullptr : buffers_.master + at;
      segment.gradient = buffers_.gradients + at;
      for (std::size_t i = 0; i < 2; ++i) {
        segment.moments[i] = buffers_.moments[i] == nullptr ? nullptr : buffers_.moments[i] + at;
      }
      segment.count = parameter.elements();
      segment.stochastic = P.stochastic_rounding;
      segment.rounding = {options.seed, static_cast<std::uint32_t>(options.step),
                          static_cast<std::uint32_t>(index), RandomPurpose::rounding};
      rule.apply(cpu_, segment, scalars);
    }
  }

  template <class T>
  ParameterBuffer buffer(T* data) const {
    if (data == nullptr) return {};
    return {dtype_of<T>, reinterpret_cast<std::byte*>(data),
            Model::parameter_storage() * static_cast<Bytes>(sizeof(T))};
  }

  RunShape run_shape_;
  BatchShape shape_;
  MemoryPlan plan_;
  Arena arena_;
  Cpu cpu_;
  std::vector<Parameter> parameters_;
  TrainBuffers<C, E> buffers_;
  std::optional<Generator<C, P>> generator_;
  nn::Context<E> last_;
  bool use_documents_ = false;
  bool first_micro_batch_ = false;  // since the gradients were last zeroed
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
