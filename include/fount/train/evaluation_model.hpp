// SPDX-License-Identifier: Apache-2.0
#pragma once
// One configuration in one precision with the memory that measuring its loss takes, and no more:
// weights and one block's buffers, a single allocation made from evaluate_plan.

#include <vector>

#include <fount/core/macros.hpp>
#include <fount/train/model.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C, Precision P>
class EvaluationModel {
 public:
  using Model = Transformer<C>;
  using E = nn::Elements<P>;

  /// The weights are zero until somebody fills weights() (read_weights, or a copy).
  /// @param shape batch_size and seq_len of one batch
  /// @throws ConfigError for a shape the model cannot have, DeviceError without enough memory
  explicit EvaluationModel(const RunShape& shape, int threads = 1)
      : shape_(checked_batch<C>(shape)),
        plan_(evaluate_plan<C, P>(shape)),
        arena_(plan_.total(), "evaluation"),
        cpu_(threads),
        parameters_(parameter_table<Model>()) {
    Committer committer(arena_.data(), arena_.size());
    MemoryPlan ignored;
    buffers_ = detail::inference_layout<C, E>(committer, shape, 0, ignored);
    fill_tables(buffers_.batch);
  }

  const ModelConfig& config() const { return Model::config; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const MemoryPlan& plan() const { return plan_; }
  Bytes allocated_bytes() const { return arena_.size(); }
  BatchShape shape() const { return shape_; }

  /// All parameters, in the layout of parameters().
  ParameterBuffer weights() {
    return {P.weight, reinterpret_cast<std::byte*>(buffers_.weights),
            Model::parameter_storage() * static_cast<Bytes>(sizeof(typename E::Weight))};
  }

  /// Where the caller writes the next batch, each (B, T).
  std::int32_t* inputs() { return buffers_.batch.inputs; }
  std::int32_t* labels() { return buffers_.batch.labels; }  // negative: ignored
  /// Document ids, read only while use_documents(true): -1 is padding.
  std::int32_t* documents() { return buffers_.batch.documents; }
  void use_documents(bool use) { use_documents_ = use; }

  /// @return the sum of the losses over the valid labels of the batch in the buffers
  double evaluate() {
    nn::Context<E> context;
    context.backend = &cpu_;
    context.shape = shape_;
    context.documents = use_documents_ ? buffers_.batch.documents : nullptr;
    context.rotary_table = buffers_.batch.rotary_table;
    return Model::template evaluate<E>(
        context, buffers_.weights, buffers_.batch.saved, buffers_.batch.scratch,
        {buffers_.batch.inputs, buffers_.batch.labels, context.documents}, buffers_.batch.losses);
  }

 private:
  BatchShape shape_;
  MemoryPlan plan_;
  Arena arena_;
  Cpu cpu_;
  std::vector<Parameter> parameters_;
  InferenceBuffers<C, E> buffers_;
  bool use_documents_ = false;
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
