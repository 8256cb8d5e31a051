// SPDX-License-Identifier: Apache-2.0
// One program out of objects of several instruction sets: each trains with code of its own, and all
// of them learn the same.

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "instruction_sets/tiny_model.hpp"
#include "support/catch.hpp"

namespace {

using fount::test::TinyModel;

struct Set {
  const char* name;
  TinyModel (*model)();
  const char* (*missing)();
};

const std::vector<Set> all_sets = {
#define SET(set) {#set, &fount::test::tiny_model_##set, &fount::test::missing_for_##set},
#include "sets.inc"
#undef SET
};

/// The models of the sets that this processor has. The first is the one for any processor.
std::vector<TinyModel> runnable_models() {
  std::vector<TinyModel> models;
  for (const Set& set : all_sets) {
    if (const char* const missing = set.missing(); missing != nullptr) {
      WARN("left out: " << set.name << ", because this processor lacks " << missing);
      continue;
    }
    models.push_back(set.model());
  }
  return models;
}

std::vector<double> losses_of_training(fount::TrainableModel& model) {
  model.initialize(1);
  const std::int64_t tokens = model.shape().tokens();
  for (std::int64_t i = 0; i < tokens; ++i) {
    model.inputs()[i] = static_cast<std::int32_t>(i * i % model.config().vocab_size);
    model.labels()[i] = static_cast<std::int32_t>((i + 1) * (i + 1) % model.config().vocab_size);
  }
  std::vector<double> losses;
  for (std::int64_t step = 1; step <= 5; ++step) {
    model.zero_gradients();
    losses.push_back(model.forward({.loss_scale = 1.0 / static_cast<double>(tokens)}) /
                     static_cast<double>(tokens));
    model.backward();
    model.update({.learning_rate = 1e-2, .weight_decay = 0.1, .step = step, .seed = 1});
  }
  losses.push_back(model.evaluate() / static_cast<double>(tokens));
  return losses;
}

/// How far losses may lie from those in double.
double tolerance(fount::Precision precision) {
  if (precision.activation == fount::DType::float64) return 1e-12;
  return precision.activation == fount::DType::float32 ? 1e-5 : 3e-2;
}

std::unique_ptr<fount::TrainableModel> trainable(const fount::ComputeEntry& compute) {
  return compute.train({.batch_size = 3, .seq_len = 23}, 2);
}

/// The name of an object's type by its table of virtual functions: the one that the linker has kept.
template <class T>
std::string type_name(const T& object) {
  return typeid(object).name();
}

}  // namespace

TEST_CASE("each instruction set of a program trains, and to the same losses",
          "[instruction_sets]") {
  std::vector<double> expected;
  for (const TinyModel& model : runnable_models()) {
    for (const fount::ComputeEntry& compute : model.entry.computes) {
      const auto losses = losses_of_training(*trainable(compute));
      if (expected.empty()) expected = losses;  // of the first set, in double
      REQUIRE(losses.size() == expected.size());
      for (std::size_t step = 0; step < losses.size(); ++step) {
        INFO(model.instruction_set << ", " << name_of(compute.precision) << ", step " << step
                                   << ": loss " << losses[step] << ", expected " << expected[step]);
        CHECK(std::abs(losses[step] - expected[step]) <= tolerance(compute.precision));
      }
    }
  }
  REQUIRE(expected.size() > 1);
  CHECK(expected.back() < 0.9 * expected.front());
}

TEST_CASE("each instruction set of a program runs code of its own", "[instruction_sets]") {
  const auto models = runnable_models();
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(models[i].cpu_namespace != models[j].cpu_namespace);
    const std::string space(models[i].cpu_namespace);
    const std::string mangled = std::to_string(space.size()) + space;
    for (const fount::ComputeEntry& compute : models[i].entry.computes) {
      INFO(models[i].instruction_set << ", " << name_of(compute.precision));
      CHECK(type_name(*trainable(compute)).find(mangled) != std::string::npos);
      CHECK(type_name(*compute.generate(1)).find(mangled) != std::string::npos);
    }
  }
}
