// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a model is trained when nobody says otherwise: batch, optimizer, schedule, intervals. Every
// field is the default of the command-line option of the same name; a preset carries its own.

#include <cstdint>
#include <string_view>

namespace fount {

/// Shapes of the learning rate after warm-up; see optim/schedule.hpp for the formulas.
enum class Schedule : std::uint8_t { constant, linear, cosine, warmup_stable_decay };

/// Update rules; see optim/.
enum class Optimizer : std::uint8_t { adamw, sgd };

/// What the backward pass computes again instead of keeping.
enum class Recompute : std::uint8_t { none, block };

struct Recipe {
  std::int64_t steps = 1000;
  int batch_size = 8;
  int seq_len = 0;  // 0: the model's max_seq_len
  int accumulate = 1;
  double learning_rate = 6e-4;
  double min_lr = 6e-5;
  Schedule schedule = Schedule::cosine;
  std::int64_t warmup_steps = 100;
  Optimizer optimizer = Optimizer::adamw;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double momentum = 0.9;
  double weight_decay = 0.1;
  double grad_clip = 1.0;
  double dropout = 0.0;
  Recompute recompute = Recompute::none;
  std::int64_t eval_interval = 100;
  std::int64_t eval_batches = 50;
  std::int64_t sample_interval = 0;      // 0: only after the last step
  std::int64_t checkpoint_interval = 0;  // 0: only at the end
  int keep = 3;
  std::int64_t log_interval = 10;
  std::uint64_t seed = 1;

  friend constexpr bool operator==(const Recipe&, const Recipe&) = default;
};

constexpr std::string_view name_of(Schedule value) {
  switch (value) {
    case Schedule::constant: return "constant";
    case Schedule::linear: return "linear";
    case Schedule::cosine: return "cosine";
    case Schedule::warmup_stable_decay: return "warmup_stable_decay";
  }
  return "?";
}
constexpr std::string_view name_of(Optimizer value) {
  return value == Optimizer::adamw ? "adamw" : "sgd";
}
constexpr std::string_view name_of(Recompute value) {
  return value == Recompute::none ? "none" : "block";
}

}  // namespace fount
