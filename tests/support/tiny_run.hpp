// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model and data small enough to train whole runs in a test: shards of random tokens whose
// windows end unevenly, and a run with every option that a test wants to vary.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fount/core/random.hpp>
#include <fount/data/shards.hpp>
#include <fount/train/trainer.hpp>
#include <fount/train/training_model.hpp>

namespace fount::test {

inline constexpr ModelConfig tiny_model = {.vocab_size = 11,
                                           .hidden_size = 16,
                                           .num_layers = 2,
                                           .num_heads = 4,
                                           .num_kv_heads = 2,
                                           .intermediate_size = 24,
                                           .max_seq_len = 8,
                                           .norm = Norm::rms_norm,
                                           .activation = Activation::swiglu,
                                           .position = Position::rotary};

/// Two training shards of 5 and 4 windows of 8 tokens with tokens left over, one for validation.
inline void write_tiny_data(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, std::int64_t count, std::uint64_t seed) {
    std::vector<std::int32_t> tokens;
    const RandomStream random{seed, 0, 0, RandomPurpose::shuffle};
    for (std::int64_t i = 0; i < count; ++i) {
      // A pattern with some noise, so that there is something to learn.
      const auto noise = random.bits(static_cast<std::uint64_t>(i));
      tokens.push_back(static_cast<std::int32_t>(noise % 4 == 0 ? noise / 4 % 11 : i % 11));
    }
    ShardWriter shard(folder / name, {.vocab_size = 11});
    shard.write(tokens);
    shard.finish();
  };
  write("tokens_train_000000.bin", 5 * 8 + 4, 1);
  write("tokens_train_000001.bin", 4 * 8 + 1, 2);
  write("tokens_val_000000.bin", 5 * 8 + 1, 3);
}

inline TrainOptions tiny_options(const std::filesystem::path& data,
                                 const std::filesystem::path& output) {
  TrainOptions options;
  options.data = data.string();
  options.output = output.string();
  options.steps = 30;
  options.batch_size = 2;
  options.learning_rate = 1e-2;
  options.min_lr = 1e-3;
  options.warmup_steps = 3;
  options.dropout = 0.1;
  options.eval_interval = 7;
  options.eval_batches = 3;
  options.log_interval = 5;
  options.threads = 1;
  return options;
}

/// Trains a model; compiled once, in tiny_run.cpp.
RunResult run_trainer(TrainableModel& model, const TrainOptions& options);

/// Trains, and returns the weights at the end, byte for byte.
template <ModelConfig C = tiny_model, Precision P = fp32>
std::vector<std::byte> train_weights(const TrainOptions& options, RunResult* result = nullptr) {
  TrainingModel<C, P> model({.batch_size = options.batch_size,
                             .seq_len = options.seq_len,
                             .recompute = options.recompute,
                             .dropout = options.dropout > 0,
                             .samples = true,
                             .optimizer = options.optimizer},
                            options.threads);
  const RunResult outcome = run_trainer(model, options);
  if (result != nullptr) *result = outcome;
  const ParameterBuffer weights = model.weights();
  return {weights.data, weights.data + weights.bytes};
}

}  // namespace fount::test
