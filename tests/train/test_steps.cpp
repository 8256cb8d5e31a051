// SPDX-License-Identifier: Apache-2.0
// One step by hand: token weighting, accumulation, ignored labels, padding, and allocation.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fount/train/generation_model.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/tiny_run.hpp"

using namespace fount;
using namespace fount::test;

namespace {

constexpr int T = 8;
using Model = TrainingModel<tiny_model, fp64>;

void fill_row(Model& model, int row, int sample) {
  const RandomStream random{static_cast<std::uint64_t>(sample) + 50, 0, 0, RandomPurpose::shuffle};
  for (int t = 0; t < T; ++t) {
    const auto draw = random.block(static_cast<std::uint64_t>(t));
    model.inputs()[row * T + t] = static_cast<std::int32_t>(draw[0] % 11);
    // The eight sequences have 1 to 8 valid labels.
    model.labels()[row * T + t] = t <= sample ? static_cast<std::int32_t>(draw[1] % 11) : -1;
  }
}

std::vector<double> gradients_of(Model& model) {
  const auto* const begin = reinterpret_cast<const double*>(model.gradients().data);
  return {begin, begin + model.gradients().bytes / 8};
}

}  // namespace

TEST_CASE("8 x 1 accumulated equals 1 x 8 with unequal numbers of labels", "[train][step]") {
  Model one_by_one({.batch_size = 1});
  Model all_at_once({.batch_size = 8});
  one_by_one.initialize(1);
  all_at_once.initialize(1);
  const ForwardOptions options{.loss_scale = 1.0 / (8 * T)};
  double sum = 0.0;
  for (int sample = 0; sample < 8; ++sample) {
    fill_row(one_by_one, 0, sample);
    fill_row(all_at_once, sample, sample);
    sum += one_by_one.forward(options);
    one_by_one.backward();
  }
  const double whole = all_at_once.forward(options);
  all_at_once.backward();
  CHECK(sum == Approx(whole).epsilon(1e-12));
  const auto a = gradients_of(one_by_one);
  const auto b = gradients_of(all_at_once);
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  CHECK(norm > 0.0);
  CHECK(std::sqrt(error / norm) <= 1e-6);
}

TEST_CASE("with every label ignored the loss is 0 and all gradients are 0", "[train][step]") {
  Model model({.batch_size = 2});
  model.initialize(1);
  fill_row(model, 0, 7);
  fill_row(model, 1, 7);
  std::fill_n(model.labels(), 2 * T, -100);
  CHECK(model.forward({.loss_scale = 1.0}) == 0.0);
  model.backward();
  CHECK(model.gradient_norm() == 0.0);
}

TEST_CASE("the first micro-batch of a step leaves nothing of the gradients before it",
          "[train][step]") {
  Model model({.batch_size = 1});
  model.initialize(1);
  const auto run = [&] {
    model.zero_gradients();
    for (const int sample : {7, 3}) {  // the second adds to the first
      fill_row(model, 0, sample);
      model.forward({.loss_scale = 1.0});
      model.backward();
    }
    return gradients_of(model);
  };
  const auto first = run();
  auto* const gradients = reinterpret_cast<double*>(model.gradients().data);
  std::fill_n(gradients, first.size(), std::nan(""));
  const auto second = run();
  if (first != second) FAIL_CHECK("what the gradients held before the step is still in them");
  CHECK(std::isfinite(model.gradient_norm()));
  model.zero_gradients();
  fill_row(model, 0, 7);
  model.forward({.loss_scale = 1.0});
  model.backward();
  if (gradients_of(model) == first) FAIL_CHECK("the second micro-batch of a step added nothing");
}

TEST_CASE("padding attends to nothing and receives nothing", "[train][step]") {
  Model model({.batch_size = 1});
  model.initialize(1);
  fill_row(model, 0, 7);
  std::fill_n(model.documents(), T, -1);
  model.use_documents(true);
  const double loss = model.forward({.loss_scale = 1.0});
  model.backward();
  CHECK(std::isfinite(loss));
  CHECK(std::isfinite(model.gradient_norm()));
}

TEST_CASE("evaluation changes neither weights nor the next step", "[train][step]") {
  Model model({.batch_size = 1});
  model.initialize(1);
  fill_row(model, 0, 7);
  const double first = model.evaluate();
  CHECK(model.evaluate() == first);
  CHECK(model.forward({.loss_scale = 1.0}) == first);
}

TEST_CASE("the padding of the vocabulary stays zero", "[train][step]") {
  TrainingModel<tiny_model, fp32> model({.batch_size = 1});
  model.initialize(1);
  for (int step = 1; step <= 3; ++step) {
    for (int t = 0; t < T; ++t) {
      model.inputs()[t] = t;
      model.labels()[t] = t + 1;
    }
    model.zero_gradients();
    model.forward({.loss_scale = 1.0 / T});
    model.backward();
    model.update({.learning_rate = 1e-2, .weight_decay = 0.1, .step = step});
  }
  const auto* const table = reinterpret_cast<const float*>(model.weights().data);
  const std::int64_t C = tiny_model.hidden_size;
  for (std::int64_t i = 11 * C; i < tiny_model.padded_vocab_size() * C; ++i) {
    REQUIRE(table[i] == 0.0F);
  }
}

TEST_CASE("generation with a cache gives the logits of the whole sequence", "[train][generate]") {
  TrainingModel<tiny_model, fp64> model({.batch_size = 1});
  GenerationModel<tiny_model, fp64> generator;
  model.initialize(3);
  std::copy_n(model.weights().data, model.weights().bytes, generator.weights().data);
  const std::vector<std::int32_t> ids = {3, 1, 4, 1, 5, 9, 2, 6};
  std::copy(ids.begin(), ids.end(), model.inputs());
  std::vector<double> logits(static_cast<std::size_t>(T * tiny_model.padded_vocab_size()));
  model.logits(logits.data());
  for (const std::size_t first : {1U, 3U, 8U}) {
    generator.reset();
    std::span<const float> next = generator.append(std::span(ids).first(first));
    for (std::size_t t = first;; ++t) {
      for (std::size_t id = 0; id < 11; ++id) {
        const auto row = (t - 1) * static_cast<std::size_t>(tiny_model.padded_vocab_size());
        CHECK(next[id] == Approx(logits[row + id]).epsilon(1e-6).margin(1e-6));
      }
      if (t == ids.size()) break;
      next = generator.append(std::span(ids).subspan(t, 1));
    }
    CHECK(generator.length() == T);
    CHECK_THROWS_WITH(generator.append(std::span(ids).first(1)), Catch::Contains("context of 8"));
  }
  generator.reset();
  const std::vector<std::int32_t> foreign = {11};
  CHECK_THROWS_WITH(generator.append(foreign), Catch::Contains("vocabulary of 11"));
}
