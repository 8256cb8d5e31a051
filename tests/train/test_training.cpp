// SPDX-License-Identifier: Apache-2.0
// Bit-exactness of whole runs: threads, switches that must not matter, and stopping anywhere.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <fount/io/files.hpp>
#include <fount/text/character.hpp>
#include <fount/train/generation_model.hpp>
#include <fount/train/text_generation.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/tiny_run.hpp"

using namespace fount;
using namespace fount::test;

TEST_CASE("the same run ends in the same bits for 1, 2 and 3 threads", "[train][determinism]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "one");
  const auto one = train_weights(options);
  for (const int threads : {2, 3}) {
    options.threads = threads;
    options.output = (folder / std::to_string(threads)).string();
    CHECK(train_weights(options) == one);
  }
}

TEST_CASE("evaluation, logging, sampling and recompute change no bit", "[train][determinism]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "plain");
  const auto plain = train_weights(options);
  const auto same = [&](const char* name, auto change) {
    TrainOptions other = options;
    other.output = (folder / name).string();
    change(other);
    INFO(name);
    CHECK(train_weights(other) == plain);
  };
  same("evaluate every step", [](TrainOptions& o) { o.eval_interval = 1; });
  same("evaluate never", [](TrainOptions& o) { o.eval_interval = 0; });
  same("log every step", [](TrainOptions& o) { o.log_interval = 1; });
  same("sample", [](TrainOptions& o) { o.sample_interval = 4; });
  same("checkpoints", [](TrainOptions& o) { o.checkpoint_interval = 3; });
  same("recompute", [](TrainOptions& o) { o.recompute = Recompute::block; });
}

namespace {

constexpr ModelConfig tiny_post_norm = [] {
  ModelConfig model = tiny_model;
  model.norm = Norm::layer_norm;
  model.activation = Activation::gelu_tanh;
  model.position = Position::learned;
  model.norm_placement = NormPlacement::post;
  return model;
}();

/// Rows of a whole number of registers and some elements more, on every processor.
constexpr ModelConfig wide_layer_norm = [] {
  ModelConfig model = tiny_post_norm;
  model.norm_placement = NormPlacement::pre;
  model.hidden_size = 88;
  model.bias = true;
  return model;
}();
constexpr ModelConfig wide_rms_norm = [] {
  ModelConfig model = tiny_model;
  model.hidden_size = 88;
  return model;
}();

/// The weights after five steps; between them the memory of a pass is left as it is, or filled with
/// bytes that are NaN in every type.
template <ModelConfig C, Precision P>
std::vector<std::byte> weights_of_steps(const RunShape& shape, bool spoil) {
  TrainingModel<C, P> model(shape, 2);
  model.initialize(1);
  for (int i = 0; i < static_cast<int>(model.shape().tokens()); ++i) {
    model.inputs()[i] = i * 5 % C.vocab_size;
    model.labels()[i] = (i * 7 + 1) % C.vocab_size;
  }
  for (std::int64_t step = 1; step <= 5; ++step) {
    if (spoil) {
      for (const auto& region : model.plan().regions) {
        if (region.name != "activations" && region.name != "scratch") continue;
        std::fill_n(model.weights().data + region.offset, region.bytes, std::byte{0xff});
      }
    }
    model.zero_gradients();
    model.forward({.loss_scale = 0.1, .dropout = shape.dropout ? 0.1F : 0.0F, .seed = 1,
                   .step = static_cast<std::uint32_t>(step)});
    model.backward();
    model.update({.learning_rate = 1e-2, .step = step, .seed = 1});
  }
  const ParameterBuffer weights = model.weights();
  return {weights.data, weights.data + weights.bytes};
}

template <ModelConfig C, Precision P>
void check_spoiled_steps() {
  for (const Recompute recompute : {Recompute::none, Recompute::block}) {
    for (const bool dropout : {false, true}) {
      const RunShape shape{.batch_size = 3, .seq_len = 7, .recompute = recompute,
                           .dropout = dropout};
      CHECK(weights_of_steps<C, P>(shape, true) == weights_of_steps<C, P>(shape, false));
    }
  }
}

}  // namespace

TEST_CASE("nothing in the memory of a pass is read by the next step", "[train][determinism]") {
  check_spoiled_steps<tiny_model, fp32>();
  check_spoiled_steps<tiny_model, bf16_mixed>();
  check_spoiled_steps<tiny_post_norm, fp32>();
  check_spoiled_steps<tiny_post_norm, bf16_lean>();
}

TEST_CASE("recompute changes no bit where a norm adds its input or finds it added",
          "[train][determinism]") {
  const auto check = []<ModelConfig C, Precision P>() {
    const auto weights = [](Recompute recompute) {
      const RunShape shape{.batch_size = 3, .seq_len = 7, .recompute = recompute};
      return weights_of_steps<C, P>(shape, false);
    };
    const bool same = weights(Recompute::none) == weights(Recompute::block);
    CHECK(same);
  };
  check.template operator()<wide_layer_norm, fp32>();
  check.template operator()<wide_layer_norm, bf16_mixed>();
  check.template operator()<wide_rms_norm, fp32>();
  check.template operator()<tiny_post_norm, fp32>();
}

TEST_CASE("the samples of a run change no bit, and are what its checkpoints would write",
          "[train][determinism]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "plain");
  const auto plain = train_weights(options);
  CHECK(list_files(folder / "plain/samples", "step-*.txt").empty());  // no tokenizer, no samples
  const auto tokenizer = CharacterTokenizer::of_text("\nabcdefghij");
  write_file_atomically(folder / "data/tokenizer.json", tokenizer.to_json());
  options.output = (folder / "sampled").string();
  options.sample_interval = 4;
  const auto weights = train_weights(options);
  CHECK(weights == plain);
  CHECK(list_files(folder / "sampled/samples", "step-*.txt").size() == 9);
  // The text is longer than the context: the cache has been filled more than once.
  GenerationModel<tiny_model, fp32> alone;
  std::copy(weights.begin(), weights.end(), alone.weights().data);
  std::string text = "\n";
  generate_text(alone, tokenizer,
                {.prompt = "\n",
                 .max_new_tokens = options.sample_tokens,
                 .sampling = {.temperature = 0.5, .seed = options.seed}},
                [&](const std::string& piece) { text += piece; });
  CHECK(read_file(folder / "sampled/samples/step-00000030.txt", MiB(1)) == text + "\n");
  CHECK(text.size() == 201);
}

TEST_CASE("samples of a running training are those of a model with these weights",
          "[train][generation]") {
  TrainingModel<tiny_model, bf16_mixed> training({.batch_size = 2, .samples = true}, 2);
  training.initialize(1);
  TokenGenerator& samples = *training.generator();
  const std::vector<std::int32_t> prompt = {1, 2, 3, 4, 5};
  for (std::int64_t step = 1; step <= 3; ++step) {
    for (int i = 0; i < 16; ++i) training.inputs()[i] = training.labels()[i] = i % 11;
    training.zero_gradients();
    training.forward({});
    training.backward();
    training.update({.learning_rate = 1e-2, .step = step});
    GenerationModel<tiny_model, bf16_mixed> alone;
    std::copy_n(training.weights().data, training.weights().bytes, alone.weights().data);
    const auto same = [&](const std::vector<std::int32_t>& tokens) {
      const auto found = samples.append(tokens);
      const auto expected = alone.append(tokens);
      return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
    };
    CHECK(samples.length() == 0);  // the step has overwritten what was there
    CHECK(same(prompt));
    CHECK(same({6}));
    CHECK(samples.length() == 6);
    samples.reset();
    alone.reset();
    CHECK(same({7, 8}));
  }
  training.evaluate();
  CHECK(samples.length() == 0);
}

TEST_CASE("seeds matter", "[train][determinism]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "a");
  const auto first = train_weights(options);
  options.output = (folder / "b").string();
  options.seed = 2;
  CHECK(train_weights(options) != first);
}

TEST_CASE("stopping and resuming anywhere gives the bits of the unbroken run",
          "[train][resume]") {
  // 9 windows an epoch, 2 or 6 a step: the cuts lie across ends of shards and of epochs.
  for (const int accumulate : {1, 3}) {
    for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::sgd}) {
      const TemporaryFolder folder;
      write_tiny_data(folder / "data");
      TrainOptions options = tiny_options(folder / "data", folder / "whole");
      options.accumulate = accumulate;
      options.optimizer = optimizer;
      const auto whole = train_weights(options);
      for (const std::int64_t cut : {1, 4, 5, 10, 29}) {
        INFO("accumulate " << accumulate << ", " << name_of(optimizer) << ", cut after " << cut);
        options.output = (folder / ("cut" + std::to_string(cut))).string();
        options.resume.clear();
        options.stop_after = cut;
        RunResult first;
        train_weights(options, &first);
        CHECK(first.step == cut);
        options.resume = "latest";
        options.stop_after = 0;
        CHECK(train_weights(options) == whole);
      }
    }
  }
}

TEST_CASE("resuming twice in a row, from a named checkpoint, and on another thread count",
          "[train][resume]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "whole");
  const auto whole = train_weights(options);
  options.output = (folder / "cut").string();
  options.stop_after = 10;
  train_weights(options);
  options.resume = "latest";
  options.stop_after = 20;
  options.threads = 3;
  train_weights(options);
  options.stop_after = 0;
  options.resume = (folder / "cut/checkpoints/step-00000010").string();
  CHECK(train_weights(options) == whole);
}

TEST_CASE("metrics of a resumed run are those of the unbroken one", "[train][resume]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "whole");
  train_weights(options);
  options.output = (folder / "cut").string();
  options.stop_after = 10;
  train_weights(options);
  options.resume = "latest";
  options.stop_after = 0;
  train_weights(options);
  const History whole = read_metrics(folder / "whole/metrics.jsonl");
  const History cut = read_metrics(folder / "cut/metrics.jsonl");
  REQUIRE(whole.steps.size() == 30);
  REQUIRE(cut.steps.size() == 30);
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    CHECK(whole.steps[i].loss == cut.steps[i].loss);
    CHECK(whole.steps[i].lr == cut.steps[i].lr);
    CHECK(whole.steps[i].tokens == cut.steps[i].tokens);
  }
  REQUIRE(whole.validations.size() == cut.validations.size());
  for (std::size_t i = 0; i < whole.validations.size(); ++i) {
    CHECK(whole.validations[i].val_loss == cut.validations[i].val_loss);
  }
}

TEST_CASE("a resume that cannot be exact is refused with both values", "[train][resume]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.stop_after = 4;
  train_weights(options);
  options.resume = "latest";
  SECTION("another seed") {
    options.seed = 9;
    CHECK_THROWS_WITH(train_weights(options), Catch::Contains("seed was 1 and is now 9"));
  }
  SECTION("another sequence length") {
    options.seq_len = 4;
    CHECK_THROWS_WITH(train_weights(options), Catch::Contains("seq_len was 8 and is now 4"));
  }
  SECTION("other shards") {
    std::filesystem::remove(folder / "data/tokens_train_000001.bin");
    CHECK_THROWS_WITH(train_weights(options), Catch::Contains("training shards"));
  }
  SECTION("a folder without optimizer state") {
    std::filesystem::remove_all(folder / "run/checkpoints/step-00000004/trainer");
    options.resume = (folder / "run/checkpoints/step-00000004").string();
    CHECK_THROWS_WITH(train_weights(options), Catch::Contains("--init"));
  }
  SECTION("a damaged newest checkpoint: the one before it is used") {
    options.stop_after = 8;
    train_weights(options);
    std::ofstream(folder / "run/checkpoints/step-00000008/trainer/state.json") << "{";
    RunResult result;
    options.stop_after = 5;
    train_weights(options, &result);
    CHECK(result.step == 5);
  }
}

TEST_CASE("weights from a checkpoint start a new run at step 0", "[train][resume]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  train_weights(options);
  options.init = (folder / "run/checkpoints/step-00000030").string();
  options.output = (folder / "next").string();
  options.steps = 1;
  RunResult result;
  train_weights(options, &result);
  CHECK(result.step == 1);
  const History before = read_metrics(folder / "run/metrics.jsonl");
  CHECK(result.first_val_loss == before.validations.back().val_loss);
}

TEST_CASE("the list of learning rates does not depend on accumulation", "[train][schedule]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  std::vector<std::vector<double>> rates;
  for (const int accumulate : {1, 4}) {
    TrainOptions options = tiny_options(folder / "data", folder / std::to_string(accumulate));
    options.accumulate = accumulate;
    options.steps = 20;
    train_weights(options);
    rates.emplace_back();
    for (const StepRecord& step : read_metrics(folder / std::to_string(accumulate) /
                                               "metrics.jsonl").steps) {
      rates.back().push_back(step.lr);
    }
  }
  REQUIRE(rates[0].size() == 20);
  CHECK(rates[0] == rates[1]);
}

TEST_CASE("a run folder is not overwritten unless asked", "[train][folder]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.steps = 2;
  train_weights(options);
  std::ofstream(folder / "run/notes.txt") << "mine";
  CHECK_THROWS_WITH(train_weights(options), Catch::Contains("--resume latest"));
  options.overwrite = true;
  train_weights(options);
  CHECK(std::filesystem::exists(folder / "run/notes.txt"));
}

TEST_CASE("a run leaves everything it promises", "[train][folder]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.checkpoint_interval = 5;
  options.keep = 2;
  train_weights(options);
  for (const char* name : {"metrics.jsonl", "train.log", "report.html", "best.json",
                           "checkpoints/latest", "checkpoints/step-00000030/model.safetensors",
                           "checkpoints/step-00000030/config.json",
                           "checkpoints/step-00000030/trainer/state.json"}) {
    INFO(name);
    CHECK(std::filesystem::exists(folder / "run" / name));
  }
  const auto kept = list_checkpoints(folder / "run/checkpoints");
  CHECK(kept.size() >= 2);
  CHECK(kept.size() <= 3);  // two and the best
  CHECK(kept.front().first == 30);
}

TEST_CASE("retention keeps the newest and the best, and never counts below zero",
          "[train][checkpoint]") {
  const std::vector<std::int64_t> steps = {500, 400, 300, 200, 100};
  CHECK(steps_to_remove(steps, 3, 100) == std::vector<std::int64_t>{200});
  CHECK(steps_to_remove(steps, 9, -1).empty());
  CHECK(steps_to_remove(steps, 1, 500) == std::vector<std::int64_t>{400, 300, 200, 100});
  CHECK(steps_to_remove({}, 3, -1).empty());
}

TEST_CASE("checkpoint names are read strictly", "[train][checkpoint]") {
  CHECK(checkpoint_name(250) == "step-00000250");
  CHECK(checkpoint_step("step-00000250") == 250);
  CHECK(checkpoint_step(checkpoint_name(123'456'789'012)) == 123'456'789'012);
  for (const char* name : {"step-", "step-old", "step-1x", "step_1", "xstep-1", "step--1"}) {
    CHECK_FALSE(checkpoint_step(name).has_value());
  }
}

TEST_CASE("a gradient that is not finite is left out, named, and capped", "[train][nonfinite]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.learning_rate = 1e30;  // the weights overflow, and no step after that can be finite
  options.min_lr = 1e30;
  options.schedule = Schedule::constant;
  options.warmup_steps = 0;
  options.grad_clip = 0;
  options.optimizer = Optimizer::sgd;
  options.eval_interval = 0;
  CHECK_THROWS_WITH(train_weights(options), Catch::Contains("10 steps in a row"));
  std::ifstream log(folder / "run/train.log");
  const std::string text(std::istreambuf_iterator<char>(log), {});
  CHECK_THAT(text, Catch::Contains("first bad tensor"));
}
