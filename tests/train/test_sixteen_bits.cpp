// SPDX-License-Identifier: Apache-2.0
// Whole runs in 16-bit precisions: as exact as those in fp32, and near them.
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/tiny_run.hpp"

using namespace fount;
using namespace fount::test;

namespace {

template <Precision P>
std::vector<std::byte> weights_after(const TrainOptions& options) {
  return train_weights<tiny_model, P>(options);
}

template <Precision P>
void check_exactness() {
  INFO(name_of(P));
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "plain");
  const auto plain = weights_after<P>(options);
  const auto same = [&](const char* name, auto change) {
    INFO(name);
    TrainOptions other = options;
    other.output = (folder / name).string();
    change(other);
    CHECK(weights_after<P>(other) == plain);
    return other;
  };
  same("2 threads", [](TrainOptions& o) { o.threads = 2; });
  same("3 threads", [](TrainOptions& o) { o.threads = 3; });
  same("recompute", [](TrainOptions& o) { o.recompute = Recompute::block; });
  same("evaluate, sample, checkpoint", [](TrainOptions& o) {
    o.eval_interval = 1;
    o.sample_interval = 4;
    o.checkpoint_interval = 3;
  });
  for (const std::int64_t cut : {1, 5, 10, 29}) {
    TrainOptions other = options;
    other.output = (folder / ("cut" + std::to_string(cut))).string();
    other.stop_after = cut;
    weights_after<P>(other);
    other.resume = "latest";
    other.stop_after = 0;
    INFO("cut after " << cut);
    CHECK(weights_after<P>(other) == plain);
  }
  options.output = (folder / "seed").string();
  options.seed = 2;
  CHECK(weights_after<P>(options) != plain);
}

/// Reports gradients that overflowed at these attempts.
class OverflowingModel : public TrainingModel<tiny_model, fp16_mixed> {
 public:
  OverflowingModel(const RunShape& shape, std::set<int> attempts)
      : TrainingModel<tiny_model, fp16_mixed>(shape), overflows_(std::move(attempts)) {}
  double gradient_norm() override {
    const double norm = TrainingModel<tiny_model, fp16_mixed>::gradient_norm();
    return overflows_.contains(attempt_++) ? std::numeric_limits<double>::infinity() : norm;
  }

 private:
  std::set<int> overflows_;
  int attempt_ = 0;
};

Json state_at(const std::filesystem::path& run, std::int64_t step) {
  const auto path = run / "checkpoints" / checkpoint_name(step) / "trainer" / "state.json";
  return parse_json(read_file(path, MiB(1)), path.string());
}

}  // namespace

TEST_CASE("runs in bf16_mixed are exact", "[train][determinism][16bit]") {
  check_exactness<bf16_mixed>();
}
TEST_CASE("runs in bf16_grad16 are exact", "[train][determinism][16bit]") {
  check_exactness<bf16_grad16>();
}
TEST_CASE("runs in bf16_lean are exact", "[train][determinism][16bit]") {
  check_exactness<bf16_lean>();
}
TEST_CASE("runs in fp16_mixed are exact", "[train][determinism][16bit]") {
  check_exactness<fp16_mixed>();
}

TEST_CASE("accumulation, stopping and resuming with SGD in 16 bits", "[train][resume][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "whole");
  options.accumulate = 3;
  options.optimizer = Optimizer::sgd;
  const auto whole = weights_after<bf16_lean>(options);
  options.output = (folder / "cut").string();
  options.stop_after = 7;
  weights_after<bf16_lean>(options);
  options.resume = "latest";
  options.stop_after = 0;
  CHECK(weights_after<bf16_lean>(options) == whole);
}

TEST_CASE("overflowing gradients halve the loss scale and move neither step nor schedule",
          "[train][nonfinite][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  const TrainOptions options = tiny_options(folder / "data", folder / "run");
  OverflowingModel model({.batch_size = options.batch_size, .dropout = true}, {0, 4, 5});
  const RunResult result = run_trainer(model, options);
  CHECK(result.step == 30);
  const Json state = state_at(folder / "run", 30);
  CHECK(state["loss_scale"] == LossScale::first / 8);
  CHECK(state["steps_at_scale"] == 27);
  CHECK(state["attempts"] == 33);
  CHECK(state["skipped"] == 3);
  const History history = read_metrics(folder / "run/metrics.jsonl");
  REQUIRE(history.steps.size() == 30);
  const TrainOptions plain = tiny_options(folder / "data", folder / "plain");
  weights_after<fp32>(plain);
  const History expected = read_metrics(folder / "plain/metrics.jsonl");
  for (std::size_t i = 0; i < 30; ++i) CHECK(history.steps[i].lr == expected.steps[i].lr);
}

TEST_CASE("the loss scale goes on where it was", "[train][resume][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.stop_after = 5;
  OverflowingModel first({.batch_size = options.batch_size, .dropout = true}, {1, 2});
  run_trainer(first, options);
  options.resume = "latest";
  options.stop_after = 8;
  OverflowingModel second({.batch_size = options.batch_size, .dropout = true}, {});
  run_trainer(second, options);
  const Json state = state_at(folder / "run", 8);
  CHECK(state["loss_scale"] == LossScale::first / 4);
  CHECK(state["steps_at_scale"] == 7);
}

TEST_CASE("gradients that overflow at every loss scale end the run", "[train][nonfinite][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  const TrainOptions options = tiny_options(folder / "data", folder / "run");
  std::set<int> always;
  for (int i = 0; i < 100; ++i) always.insert(i);
  OverflowingModel model({.batch_size = options.batch_size, .dropout = true}, always);
  CHECK_THROWS_WITH(run_trainer(model, options), Catch::Contains("10 steps in a row"));
}

TEST_CASE("weights that start a run in 16 bits come into the master weights unrounded",
          "[train][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "source");
  options.steps = 2;
  const auto source = train_weights(options);
  options.output = (folder / "started").string();
  options.init = (folder / "source/checkpoints/step-00000002").string();
  options.learning_rate = options.min_lr = 1e-30;  // and then stay where they are
  options.weight_decay = 0;
  TrainingModel<tiny_model, bf16_mixed> model({.batch_size = 2, .dropout = true});
  run_trainer(model, options);
  const auto* const floats = reinterpret_cast<const float*>(source.data());
  const auto* const master = reinterpret_cast<const float*>(model.master_weights().data);
  const auto* const weights = reinterpret_cast<const bf16*>(model.weights().data);
  for (const Parameter& parameter : model.parameters()) {
    INFO(parameter.name);
    bool same = true;
    for (std::int64_t i = parameter.offset; i < parameter.offset + parameter.elements(); ++i) {
      same = same && master[i] == floats[i] && weights[i] == bf16(floats[i]);
    }
    CHECK(same);
  }
}

TEST_CASE("a checkpoint of another precision is refused by name", "[train][resume][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.stop_after = 3;
  weights_after<bf16_lean>(options);
  options.resume = "latest";
  options.stop_after = 0;
  CHECK_THROWS_WITH(weights_after<bf16_mixed>(options),
                    Catch::Contains("precision was bf16_lean and is now bf16_mixed"));
}

TEST_CASE("16-bit runs learn what the float run learns", "[train][16bit]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  TrainOptions options = tiny_options(folder / "data", folder / "fp32");
  options.dropout = 0;
  RunResult plain, mixed, lean, half;
  train_weights<tiny_model, fp32>(options, &plain);
  options.output = (folder / "mixed").string();
  train_weights<tiny_model, bf16_mixed>(options, &mixed);
  options.output = (folder / "lean").string();
  train_weights<tiny_model, bf16_lean>(options, &lean);
  options.output = (folder / "half").string();
  train_weights<tiny_model, fp16_mixed>(options, &half);
  CHECK(plain.last_loss < plain.first_loss - 0.3);
  CHECK(mixed.last_loss == Approx(plain.last_loss).margin(0.02));
  CHECK(lean.last_loss == Approx(plain.last_loss).margin(0.05));
  CHECK(half.last_loss == Approx(plain.last_loss).margin(0.02));
}
