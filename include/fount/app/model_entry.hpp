// SPDX-License-Identifier: Apache-2.0
#pragma once
// A compiled model as the command line sees it: values and functions, no template parameters left.
// model_main builds one from a configuration; run_model (app/run_model.hpp) does the rest.

#include <memory>
#include <string_view>
#include <vector>

#include <fount/config/presets.hpp>
#include <fount/core/macros.hpp>
#include <fount/train/generation_model.hpp>
#include <fount/train/model.hpp>
#include <fount/train/plan.hpp>
#include <fount/train/training_model.hpp>

namespace fount {

/// What a model needs in one precision, whether or not this program computes in it.
struct PlanEntry {
  Precision precision;
  MemoryPlan (*train)(const RunShape&);
  MemoryPlan (*evaluate)(const RunShape&);
  MemoryPlan (*generate)(int batch_size);
};

/// A precision this program was compiled to compute in.
struct ComputeEntry {
  Precision precision;
  std::unique_ptr<TrainableModel> (*train)(const RunShape&, int threads);
  std::unique_ptr<TokenGenerator> (*generate)(int threads);
};

struct ModelEntry {
  std::string_view name;
  ModelConfig config;
  Recipe recipe;
  std::string_view description;
  std::int64_t num_parameters = 0;
  double (*flops_per_token)(int seq_len) = nullptr;
  std::vector<PlanEntry> plans;
  std::vector<ComputeEntry> computes;
};

inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C, Precision P>
PlanEntry plan_entry() {
  return {P, &train_plan<C, P>, &evaluate_plan<C, P>, &generate_plan<C, P>};
}

template <ModelConfig C, Precision P>
ComputeEntry compute_entry() {
  static_assert(can_compute_on_cpu(P),
                "model_main: this precision mixes double with something else, or has master "
                "weights in a type that nothing is computed in");
  return {P,
          [](const RunShape& shape, int threads) -> std::unique_ptr<TrainableModel> {
            return std::make_unique<TrainingModel<C, P>>(shape, threads);
          },
          [](int threads) -> std::unique_ptr<TokenGenerator> {
            return std::make_unique<GenerationModel<C, P>>(threads);
          }};
}

/// @param name of a preset, whose recipe and description are then used; or any other name
template <ModelConfig C, Precision... P>
ModelEntry model_entry(std::string_view name) {
  ModelEntry entry;
  const Preset* const preset = presets::find(name);
  entry.name = name;
  entry.config = C;
  if (preset != nullptr && preset->model == C) {
    entry.recipe = preset->recipe;
    entry.description = preset->description;
  }
  entry.num_parameters = Transformer<C>::num_parameters();
  entry.flops_per_token = &Transformer<C>::flops_per_token;
  entry.plans = {plan_entry<C, fp32>(),        plan_entry<C, bf16_mixed>(),
                 plan_entry<C, bf16_grad16>(), plan_entry<C, bf16_lean>(),
                 plan_entry<C, fp16_mixed>(),  plan_entry<C, fp64>()};
  (entry.computes.push_back(compute_entry<C, P>()), ...);
  return entry;
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
