// SPDX-License-Identifier: Apache-2.0
// Forward, backward and update by hand: what the trainer does, without the trainer.
#include <cstdio>
#include <string>

#include <fount/fount.hpp>

constexpr fount::ModelConfig model_config = {.vocab_size = 128, .hidden_size = 64, .num_layers = 2,
                                             .num_heads = 4, .max_seq_len = 32, .bias = true};

int main() {
  const std::string text = "the quick brown fox jumps over the lazy dog and runs home again. ";
  constexpr int B = 4;
  constexpr int T = 32;
  fount::TrainingModel<model_config, fount::fp32> model({.batch_size = B, .seq_len = T},
                                                        fount::available_threads());
  model.initialize(/*seed=*/1);
  std::printf("%lld parameters in %lld bytes\n", static_cast<long long>(model.num_parameters()),
              static_cast<long long>(model.allocated_bytes()));
  const fount::optim::LearningRate schedule{
      .peak = 3e-3, .floor = 3e-4, .warmup_steps = 10, .total_steps = 100};

  for (int step = 0; step < 100; ++step) {
    for (int i = 0; i < B * T; ++i) {  // every position predicts the character after it
      const auto at = static_cast<std::size_t>(i / T * 7 + i % T + step);
      model.inputs()[i] = text[at % text.size()];
      model.labels()[i] = text[(at + 1) % text.size()];
    }
    model.zero_gradients();
    const double loss = model.forward({.loss_scale = 1.0 / (B * T)}) / (B * T);
    model.backward();
    const double norm = model.gradient_norm();
    model.update({.learning_rate = schedule.at(step),
                  .weight_decay = 0.1,
                  .gradient_scale = fount::optim::clip_factor(norm, 1.0),
                  .step = step + 1});
    if (step % 10 == 9) std::printf("step %3d  loss %.4f  norm %.3f\n", step + 1, loss, norm);
  }
}
