// SPDX-License-Identifier: Apache-2.0
#include <fount/config/presets.hpp>
#include <fount/monitor/machine.hpp>
#include <fount/train/evaluation_model.hpp>
#include <fount/train/generation_model.hpp>
#include <fount/train/plan.hpp>
#include <fount/train/training_model.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/catch.hpp"

using namespace fount;

namespace {

constexpr ModelConfig tiny = {.vocab_size = 13, .hidden_size = 12, .num_layers = 3, .num_heads = 2,
                              .num_kv_heads = 1, .max_seq_len = 9, .norm = Norm::rms_norm,
                              .activation = Activation::swiglu, .position = Position::rotary,
                              .qk_norm = true};

/// Weights, gradients, master weights and moments of one process, in GiB to one digit.
template <ModelConfig C, Precision P>
double static_gib(int zero_stage) {
  const MemoryPlan plan = train_plan<C, P>({.world_size = 8, .zero_stage = zero_stage});
  const auto bytes = static_cast<double>(plan.model() + plan.gradients() + plan.optimizer());
  return std::round(bytes / 1073741824.0 * 10) / 10;
}

constexpr Precision sixteen_bit_state_without_master = {
    DType::bfloat16, DType::bfloat16, DType::none, DType::float32, DType::bfloat16, true};

template <ModelConfig C>
void check_table(const std::array<std::array<double, 4>, 4>& rows) {
  for (int stage = 0; stage < 4; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    INFO("ZeRO stage " << stage);
    CHECK(static_gib<C, bf16_mixed>(stage) == Approx(rows[0][at]).margin(0.06));
    CHECK(static_gib<C, bf16_grad16>(stage) == Approx(rows[1][at]).margin(0.06));
    CHECK(static_gib<C, sixteen_bit_state_without_master>(stage) ==
          Approx(rows[2][at]).margin(0.06));
    CHECK(static_gib<C, bf16_lean>(stage) == Approx(rows[3][at]).margin(0.06));
  }
}

template <ModelConfig C, Precision P = fp32>
void check_allocations(const RunShape& shape) {
  const TrainingModel<C, P> training(shape);
  CHECK(training.allocated_bytes() == train_plan<C, P>(shape).total());
  CHECK(training.plan().total() == training.allocated_bytes());
  const GenerationModel<C, P> generation;
  CHECK(generation.allocated_bytes() == generate_plan<C, P>().total());
  const EvaluationModel<C, P> evaluation(shape);
  CHECK(evaluation.allocated_bytes() == evaluate_plan<C, P>(shape).total());
}

/// Allocates what `plan` says and lays `layout` out in it: both must end at the same byte, region by
/// region. @return false where this machine has too little memory
template <class Layout>
bool fills(const MemoryPlan& plan, const char* purpose, const Layout& layout) {
  INFO(purpose);
  if (plan.total() > inspect_machine().available_memory) return false;
  const Arena arena(plan.total(), purpose);
  Committer committer(arena.data(), arena.size());
  MemoryPlan committed;
  layout(committer, committed);
  CHECK(committer.mark() == plan.total());
  CHECK(committed.num_regions == plan.num_regions);
  for (std::size_t i = 0; i < plan.regions.size(); ++i) {
    INFO(plan.regions[i].name);
    CHECK(committed.regions[i].bytes == plan.regions[i].bytes);
  }
  return true;
}

/// Training, evaluation and generation of one preset.
/// @return for how many of the three there was memory
template <std::size_t I, Precision P>
int check_preset() {
  static constexpr ModelConfig C = presets::all[I].model;
  using E = nn::Elements<P>;
  INFO(presets::all[I].name << ", " << name_of(P));
  constexpr RunShape shape = {.batch_size = 2, .samples = true};
  const bool trains = fills(train_plan<C, P>(shape), "training",
                            [&](Committer& committer, MemoryPlan& plan) {
                              detail::train_layout<C, E>(committer, shape, plan);
                            });
  const bool evaluates = fills(evaluate_plan<C, P>(shape), "evaluation",
                               [&](Committer& committer, MemoryPlan& plan) {
                                 detail::inference_layout<C, E>(committer, shape, 0, plan);
                               });
  const bool generates =
      fills(generate_plan<C, P>(), "generation", [](Committer& committer, MemoryPlan& plan) {
        detail::inference_layout<C, E>(committer, generation_shape<C>(), C.max_seq_len, plan);
      });
  return int{trains} + int{evaluates} + int{generates};
}

}  // namespace

TEST_CASE("bytes of a parameter follow from the precision", "[train][plan]") {
  CHECK(bf16_mixed.bytes_per_parameter() == 18);
  CHECK(bf16_grad16.bytes_per_parameter() == 16);
  CHECK(sixteen_bit_state_without_master.bytes_per_parameter() == 12);
  CHECK(bf16_lean.bytes_per_parameter() == 8);
  CHECK(fp32.bytes_per_parameter() == 16);
}

TEST_CASE("the plan gives the known static memory of the named sizes for every ZeRO stage",
          "[train][plan]") {
  check_table<presets::gpt_1_3b>({{{22.1, 9.2, 4.9, 2.8},
                                   {19.6, 6.7, 4.6, 2.5},
                                   {14.7, 6.1, 4.0, 1.8},
                                   {9.8, 5.5, 3.4, 1.2}}});
  check_table<presets::gpt_3b>({{{44.5, 18.5, 9.9, 5.6},
                                 {39.5, 13.6, 9.3, 4.9},
                                 {29.6, 12.3, 8.0, 3.7},
                                 {19.8, 11.1, 6.8, 2.5}}});
  check_table<presets::gpt_7b>({{{111.6, 46.5, 24.8, 14.0},
                                 {99.2, 34.1, 23.3, 12.4},
                                 {74.4, 31.0, 20.2, 9.3},
                                 {49.6, 27.9, 17.1, 6.2}}});
  check_table<presets::gpt_8b>({{{125.1, 52.1, 27.8, 15.6},
                                 {111.2, 38.2, 26.1, 13.9},
                                 {83.4, 34.8, 22.6, 10.4},
                                 {55.6, 31.3, 19.1, 7.0}}});
  check_table<presets::llama3_8b>({{{134.6, 56.1, 29.9, 16.8},
                                    {119.7, 41.1, 28.0, 15.0},
                                    {89.7, 37.4, 24.3, 11.2},
                                    {59.8, 33.7, 20.6, 7.5}}});
}

TEST_CASE("planned bytes are allocated bytes", "[train][plan]") {
  for (const Recompute recompute : {Recompute::none, Recompute::block}) {
    for (const bool dropout : {false, true}) {
      for (const bool samples : {false, true}) {
        for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::sgd}) {
          check_allocations<tiny>({.batch_size = 3, .seq_len = 7, .recompute = recompute,
                                   .dropout = dropout, .samples = samples, .optimizer = optimizer});
        }
      }
    }
  }
  check_allocations<tiny>({.batch_size = 1, .seq_len = 1});
  check_allocations<tiny>({.batch_size = 1, .seq_len = 1, .samples = true});
  check_allocations<tiny, bf16_mixed>({.batch_size = 3, .seq_len = 7, .dropout = true});
  check_allocations<tiny, bf16_lean>({.batch_size = 3, .seq_len = 7});
  check_allocations<presets::shakespeare_char>({.batch_size = 12});
  check_allocations<presets::quickstart>({.batch_size = 16});
  check_allocations<presets::llama_tiny>({.batch_size = 1, .seq_len = 64});
  check_allocations<presets::gpt2_124m>({.batch_size = 1, .seq_len = 64});
  check_allocations<presets::mlm_fast>({.batch_size = 2});
}

TEST_CASE("planned bytes are allocated bytes for every preset that fits here", "[train][plan]") {
  const int fitted = []<std::size_t... I>(std::index_sequence<I...>) {
    return (check_preset<I, fp32>() + ...) + (check_preset<I, bf16_lean>() + ...);
  }(std::make_index_sequence<presets::all.size()>());
  // Half a gibibyte free is enough for the smallest.
  CHECK(fitted >= 24);
  WARN(fitted << " of " << 6 * presets::all.size() << " allocations fitted into this machine");
}

TEST_CASE("an evaluation model gives the loss of the training model", "[train][plan]") {
  constexpr RunShape shape = {.batch_size = 2, .seq_len = 7};
  TrainingModel<tiny, fp32> training(shape);
  training.initialize(3);
  EvaluationModel<tiny, fp32> evaluation(shape);
  REQUIRE(evaluation.weights().bytes == training.weights().bytes);
  std::copy_n(training.weights().data, training.weights().bytes, evaluation.weights().data);
  for (int i = 0; i < 14; ++i) {
    training.inputs()[i] = evaluation.inputs()[i] = (i * 5) % 13;
    training.labels()[i] = evaluation.labels()[i] = i == 3 ? -1 : (i * 7 + 1) % 13;
    training.documents()[i] = evaluation.documents()[i] = i % 7 / 3;
  }
  CHECK(evaluation.evaluate() == training.evaluate());
  const double together = evaluation.evaluate();
  training.use_documents(true);
  evaluation.use_documents(true);
  CHECK(evaluation.evaluate() == training.evaluate());
  CHECK(evaluation.evaluate() != together);
  CHECK(evaluation.allocated_bytes() < training.allocated_bytes() / 3);
}

TEST_CASE("drawing samples while training takes no second set of weights", "[train][plan]") {
  // One GPT-2 sequence leaves room enough; one of a token lacks the cache and one block's buffers.
  constexpr auto plan = [](int seq_len, bool samples) {
    return train_plan<presets::gpt2_124m, fp32>({.seq_len = seq_len, .samples = samples});
  };
  STATIC_REQUIRE(plan(1024, true).total() == plan(1024, false).total());
  constexpr MemoryPlan alone = generate_plan<presets::gpt2_124m, fp32>();
  STATIC_REQUIRE(plan(1, true).bytes_of("samples") > 0);
  STATIC_REQUIRE(plan(1, true).total() - plan(1, false).total() ==
                 plan(1, true).bytes_of("samples"));
  STATIC_REQUIRE(plan(1, true).bytes_of("samples") < alone.total() - alone.model());
  STATIC_REQUIRE(train_plan<presets::gpt_1_3b, bf16_lean>(
                     {.recompute = Recompute::block, .samples = true}).total() < GiB(11));

  TrainingModel<tiny, fp32> training({.batch_size = 2, .samples = true});
  REQUIRE(training.generator() != nullptr);
  CHECK(training.generator()->weights().data == training.weights().data);
  CHECK(training.generator()->weights().bytes == training.weights().bytes);
  CHECK(TrainingModel<tiny, fp32>({.batch_size = 2}).generator() == nullptr);
}

TEST_CASE("a layout that takes more than was planned is refused", "[train][plan]") {
  alignas(64) std::byte memory[128];
  Committer committer(memory, 128);
  committer.take<float>(16);
  CHECK_THROWS_WITH(committer.take<float>(17), Catch::Contains("planned"));
}

TEST_CASE("recomputing blocks keeps less", "[train][plan]") {
  constexpr RunShape keep = {.batch_size = 8};
  constexpr RunShape again = {.batch_size = 8, .recompute = Recompute::block};
  STATIC_REQUIRE(train_plan<presets::gpt2_124m, fp32>(again).activations() <
                 train_plan<presets::gpt2_124m, fp32>(keep).activations() / 2);
}

TEST_CASE("a shape that the model cannot have is refused", "[train][plan]") {
  using Model = TrainingModel<tiny, fp32>;
  CHECK_THROWS_WITH(Model({.batch_size = 0}), Catch::Contains("batch_size"));
  CHECK_THROWS_WITH(Model({.seq_len = 10}), Catch::Contains("max_seq_len 9"));
  CHECK_THROWS_AS(Model({.world_size = 2}), ConfigError);
  using Evaluation = EvaluationModel<tiny, fp32>;
  CHECK_THROWS_WITH(Evaluation({.seq_len = 10}), Catch::Contains("max_seq_len 9"));
}
