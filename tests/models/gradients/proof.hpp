// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gradient proof: a whole model in double, every element of every parameter tensor against a
// central difference of the loss. The error of a tensor is ||a - b|| / max(||b||, 1e-3 times the
// largest tensor's norm): a key bias has gradient exactly 0 and must not fail a ratio.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/random.hpp>
#include <fount/train/training_model.hpp>

namespace fount::test {

/// What a proof varies at run time.
struct ProofOptions {
  bool documents = false;
  float dropout = 0.0F;
  Recompute recompute = Recompute::none;
};

struct ProofResult {
  double worst = 0.0;
  std::string tensor;
};

template <ModelConfig C>
class GradientProof {
 public:
  static constexpr int batch_size = 2;
  static constexpr int seq_len = 5;

  static ProofResult run(const ProofOptions& options) {
    GradientProof proof(options);
    // A ReLU has no derivative at 0: move on to weights that keep every input away from it.
    for (std::uint64_t seed = 1; seed < 200; ++seed) {
      proof.fill(seed);
      if (C.activation != Activation::relu || proof.smallest_relu_input() > 2e-3) {
        return proof.compare();
      }
    }
    return {1.0, "no seed keeps the ReLU inputs away from 0"};
  }

 private:
  explicit GradientProof(const ProofOptions& options)
      : options_(options),
        model_({.batch_size = batch_size, .seq_len = seq_len, .recompute = options.recompute,
                .dropout = options.dropout > 0}) {}

  void fill(std::uint64_t seed) {
    const RandomStream random{seed, 7, 0, RandomPurpose::initialise};
    std::uint64_t at = 0;
    for (const Parameter& parameter : model_.parameters()) {
      const bool one = parameter.initializer == nn::Initializer::ones;
      for (std::int64_t i = 0; i < parameter.elements(); ++i) {
        weight(parameter, i) = (one ? 1.0 : 0.0) + (parameter.rows == 0 ? 0.2 : 0.4) *
                                                       random.normal(at++);
      }
    }
    constexpr int N = batch_size * seq_len;
    for (int i = 0; i < N; ++i) {
      const auto draw = random.block(1'000'000 + static_cast<std::uint64_t>(i));
      model_.inputs()[i] = static_cast<std::int32_t>(draw[0] % C.vocab_size);
      model_.labels()[i] = static_cast<std::int32_t>(draw[1] % C.vocab_size);
    }
    model_.labels()[1] = -100;
    model_.labels()[N - 2] = -1;
    if (options_.documents) {
      constexpr std::array<std::int32_t, N> documents = {0, 0, 1, 1, 1, 4, -1, 4, 5, -1};
      std::ranges::copy(documents, model_.documents());
      model_.use_documents(true);
    }
  }

  double smallest_relu_input() {
    loss();
    double smallest = 1.0;
    for (const auto& block : model_.buffers().batch.saved.body.blocks) {
      const double* const up = block.second.sublayer.up;
      for (std::int64_t i = 0; i < std::int64_t{batch_size} * seq_len * C.ffn_size(); ++i) {
        smallest = std::min(smallest, std::fabs(up[i]));
      }
    }
    return smallest;
  }

  double loss() {
    return model_.forward({.loss_scale = loss_scale, .dropout = options_.dropout, .seed = 3,
                           .step = 5, .micro_batch = 1}) *
           loss_scale;
  }

  double& weight(const Parameter& parameter, std::int64_t i) {
    return reinterpret_cast<double*>(model_.weights().data)[parameter.offset + i];
  }

  ProofResult compare() {
    model_.zero_gradients();
    loss();
    model_.backward();
    const auto* const buffer = reinterpret_cast<const double*>(model_.gradients().data);
    const std::vector<double> gradients(
        buffer, buffer + model_.gradients().bytes / static_cast<Bytes>(sizeof(double)));
    struct Norms {
      double error, value;
    };
    std::vector<Norms> norms;
    double largest = 0.0;
    for (const Parameter& parameter : model_.parameters()) {
      double error = 0.0;
      double value = 0.0;
      for (std::int64_t i = 0; i < parameter.elements(); ++i) {
        const double numeric = slope(weight(parameter, i));
        const double analytic = gradients[static_cast<std::size_t>(parameter.offset + i)];
        error += (analytic - numeric) * (analytic - numeric);
        value += numeric * numeric;
      }
      norms.push_back({std::sqrt(error), std::sqrt(value)});
      largest = std::max(largest, std::sqrt(value));
    }
    ProofResult result;
    for (std::size_t i = 0; i < norms.size(); ++i) {
      // A model of one word has no gradient at all: then the error itself must vanish.
      const double scale = largest > 0 ? std::max(norms[i].value, 1e-3 * largest) : 1.0;
      const double error = norms[i].error / scale;
      if (!(error <= result.worst)) result = {error, model_.parameters()[i].name};
    }
    return result;
  }

  /// Central difference. At this step the truncation error is about 1e-9 of a gradient and rounding
  /// about 1e-11 of the loss, both far below what is asked.
  double slope(double& weight) {
    constexpr double step = 2e-5;
    const double middle = weight;
    weight = middle + step;
    const double above = loss();
    weight = middle - step;
    const double below = loss();
    weight = middle;
    return (above - below) / (2 * step);
  }

  static constexpr double loss_scale = 1.0 / (batch_size * seq_len);
  ProofOptions options_;
  TrainingModel<C, fp64> model_;
};

/// The axes of the product, each a list of values.
inline constexpr std::array axis_sizes = {2, 4, 3, 2, 3, 2, 2};
using Choice = std::array<int, axis_sizes.size()>;

/// A model of 2 layers and 4 heads of size 2: norm, activation, key-value heads, position, mask,
/// tied, bias.
constexpr ModelConfig config_of(const Choice& choice) {
  ModelConfig c = {.vocab_size = 7, .hidden_size = 8, .num_layers = 2, .num_heads = 4,
                   .intermediate_size = 6, .max_seq_len = 6};
  c.norm = choice[0] == 0 ? Norm::layer_norm : Norm::rms_norm;
  c.activation = static_cast<Activation>(choice[1]);
  c.num_kv_heads = choice[2] == 0 ? 4 : choice[2] == 1 ? 2 : 1;
  c.position = choice[3] == 0 ? Position::learned : Position::rotary;
  c.mask = static_cast<Mask>(choice[4]);
  c.window = c.mask == Mask::sliding_window ? 2 : 0;
  c.tied_embeddings = choice[5] == 0;
  c.bias = choice[6] == 0;
  return c;
}

inline std::string describe(const ModelConfig& c) {
  return std::string(name_of(c.norm)) + " " + std::string(name_of(c.activation)) + " kv" +
         std::to_string(c.kv_heads()) + " " + std::string(name_of(c.position)) + " " +
         std::string(name_of(c.mask)) + (c.tied_embeddings ? " tied" : " untied") +
         (c.bias ? " bias" : "");
}

}  // namespace fount::test
