// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the training loop, the checkpoint and the command line know of a model: an interface without
// template parameters, so that they are compiled once and never see a kernel. TrainingModel<C, P>
// and GenerationModel<C, P> implement it for one configuration and precision.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fount/config/model_config.hpp>
#include <fount/config/precision.hpp>
#include <fount/config/recipe.hpp>
#include <fount/models/parameters.hpp>
#include <fount/train/plan.hpp>

namespace fount {

/// How the forward pass of a training step draws its dropout.
struct ForwardOptions {
  double loss_scale = 1.0;  // d(total)/d(loss of one token)
  float dropout = 0.0F;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t micro_batch = 0;
};

/// One application of the update rule to all parameters.
struct UpdateOptions {
  Optimizer optimizer = Optimizer::adamw;
  double learning_rate = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double momentum = 0.9;
  double weight_decay = 0.0;    // on matrices and embeddings only
  double gradient_scale = 1.0;  // token weighting times clipping, one factor for everything
  std::int64_t step = 1;        // updates applied, this one included: for the bias correction
  std::uint64_t seed = 0;       // of stochastic rounding, where the precision asks for it
};

/// A buffer of all parameters, gradients or moments, in the layout of the parameter table.
struct ParameterBuffer {
  DType dtype = DType::none;
  std::byte* data = nullptr;
  Bytes bytes = 0;
};

/// Predicts one token after another for one sequence.
class TokenGenerator {
 public:
  virtual ~TokenGenerator() = default;
  TokenGenerator() = default;
  TokenGenerator(const TokenGenerator&) = delete;
  TokenGenerator& operator=(const TokenGenerator&) = delete;

  virtual const ModelConfig& config() const = 0;
  virtual const std::vector<Parameter>& parameters() const = 0;
  virtual ParameterBuffer weights() = 0;

  /// Forgets the sequence.
  virtual void reset() = 0;
  /// Appends tokens and returns the logits (vocab_size) of what follows them.
  /// @throws ShapeError when the sequence would outgrow max_seq_len
  virtual std::span<const float> append(std::span<const std::int32_t> tokens) = 0;
  virtual int length() const = 0;
};

class TrainableModel {
 public:
  virtual ~TrainableModel() = default;
  TrainableModel() = default;
  TrainableModel(const TrainableModel&) = delete;
  TrainableModel& operator=(const TrainableModel&) = delete;

  virtual const ModelConfig& config() const = 0;
  virtual Precision precision() const = 0;
  virtual const std::vector<Parameter>& parameters() const = 0;
  virtual std::int64_t num_parameters() const = 0;
  virtual double flops_per_token() const = 0;
  virtual const MemoryPlan& plan() const = 0;
  virtual Bytes allocated_bytes() const = 0;
  virtual BatchShape shape() const = 0;

  /// Where the caller writes the next micro-batch, each (B, T).
  virtual std::int32_t* inputs() = 0;
  virtual std::int32_t* labels() = 0;  // negative: ignored
  /// Document ids, read only while use_documents(true): -1 is padding.
  virtual std::int32_t* documents() = 0;
  virtual void use_documents(bool use) = 0;

  virtual void initialize(std::uint64_t seed) = 0;
  /// Starts the gradients of a step anew. Those of large matrices are not cleared here: the next
  /// forward and backward overwrite them, and until then they hold those of the last step.
  virtual void zero_gradients() = 0;
  /// @return sum of the losses over the valid labels
  virtual double forward(const ForwardOptions& options) = 0;
  /// Adds the gradients of the last forward.
  virtual void backward() = 0;
  /// The loss sum of the batch in the buffers, without dropout; changes no state.
  virtual double evaluate() = 0;
  /// L2 norm of all gradients, unscaled; not finite if any of them is not.
  virtual double gradient_norm() = 0;
  virtual void update(const UpdateOptions& options) = 0;

  virtual ParameterBuffer weights() = 0;
  /// The weights that updates are applied to; null data where these are weights() itself.
  virtual ParameterBuffer master_weights() = 0;
  /// Makes weights() the rounded copy of master_weights(), after somebody filled these.
  virtual void round_master_weights() = 0;
  virtual ParameterBuffer gradients() = 0;
  virtual ParameterBuffer moments(int index) = 0;  // null data beyond the optimizer's last
  virtual const Cpu& backend() const = 0;

  /// Draws samples from weights() as they are; null unless RunShape::samples asks for it. It works
  /// in the memory of a pass: use it between steps, not between forward and backward. Every forward
  /// and evaluate makes it forget its sequence.
  virtual TokenGenerator* generator() = 0;
};

}  // namespace fount
