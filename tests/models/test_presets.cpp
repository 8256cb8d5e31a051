// SPDX-License-Identifier: Apache-2.0
#include <fount/config/presets.hpp>
#include <fount/models/parameters.hpp>
#include <fount/models/transformer.hpp>
#include <fount/train/plan.hpp>

#include <set>

#include "support/catch.hpp"

using namespace fount;

namespace {

/// The count written in the table against the layers, and all plans, at compile time.
template <std::size_t I>
constexpr bool preset_holds() {
  constexpr Preset preset = presets::all[I];
  static_assert(Transformer<preset.model>::num_parameters() == preset.parameters,
                "the parameter count in the preset table differs from the layers");
  static_assert(train_plan<preset.model, bf16_mixed>({}).total() > 18 * preset.parameters);
  static_assert(train_plan<preset.model, fp32>({}).total() > 16 * preset.parameters);
  static_assert(evaluate_plan<preset.model, fp32>({}).total() > 4 * preset.parameters);
  static_assert(generate_plan<preset.model, fp32>().total() > 4 * preset.parameters);
  return true;
}

template <std::size_t... I>
constexpr bool all_hold(std::index_sequence<I...>) {
  return (preset_holds<I>() && ...);
}
static_assert(all_hold(std::make_index_sequence<presets::all.size()>{}));

// Counts published or computed elsewhere, once more and independently of the table.
static_assert(Transformer<presets::gpt_1_3b>::num_parameters() == 1'315'758'080);
static_assert(Transformer<presets::gpt_8b>::num_parameters() == 7'463'993'344);
static_assert(Transformer<presets::gpt2_124m>::num_parameters() == 124'439'808);
static_assert(Transformer<presets::gpt2_124m_untied>::num_parameters() == 163'037'184);
static_assert(Transformer<presets::llama3_8b>::num_parameters() == 8'030'261'248);
static_assert(Transformer<presets::smollm2_135m>::num_parameters() == 134'515'008);
static_assert(Transformer<presets::shakespeare_char>::num_parameters() == 804'096);

/// BERT with C hidden, L layers, by hand: tables, embedding norm, blocks, transform, norm, biases.
constexpr std::int64_t bert_parameters(std::int64_t C, std::int64_t L) {
  const std::int64_t V = 30'522;
  const std::int64_t T = 128;
  return (V + T + 2) * C + 2 * C + L * (4 * C * C + 4 * C + 8 * C * C + 5 * C + 4 * C) + C * C + C +
         2 * C + V;
}
static_assert(Transformer<presets::mlm_fast>::num_parameters() == bert_parameters(8, 4));
static_assert(Transformer<presets::mlm_standard>::num_parameters() == bert_parameters(16, 6));
static_assert(Transformer<presets::mlm_quality>::num_parameters() == bert_parameters(24, 8));

}  // namespace

TEST_CASE("every preset has a name of its own and can be found", "[models][presets]") {
  std::set<std::string_view> names;
  for (const Preset& preset : presets::all) {
    CHECK(names.insert(preset.name).second);
    REQUIRE(presets::find(preset.name) != nullptr);
    CHECK(presets::find(preset.name)->model == preset.model);
    CHECK(preset.recipe.min_lr <= preset.recipe.learning_rate);
  }
  CHECK(presets::find("gpt5") == nullptr);
}

TEST_CASE("FLOPs of a token are 6 N + 12 L C T", "[models][presets]") {
  // GPT-2 124M: 123.6 million matmul parameters, the head included once.
  const double n = 12.0 * 12 * 768 * 768 + 50257.0 * 768;
  CHECK(Transformer<presets::gpt2_124m>::flops_per_token(1024) ==
        Approx(6 * n + 12.0 * 12 * 768 * 1024));
}

TEST_CASE("weight decay touches matrices and embeddings only", "[models][presets]") {
  const auto decays = [](const std::vector<Parameter>& table) {
    for (const Parameter& parameter : table) {
      INFO(parameter.name);
      CHECK(parameter.decay == (parameter.rows > 0));
    }
  };
  decays(parameter_table<Transformer<presets::gpt2_124m>>());
  decays(parameter_table<Transformer<presets::llama_tiny>>());
  decays(parameter_table<Transformer<presets::mlm_fast>>());
}

TEST_CASE("a tied head has no table of its own, an untied one has", "[models][presets]") {
  const auto has_head = [](const std::vector<Parameter>& table) {
    return std::any_of(table.begin(), table.end(),
                       [](const Parameter& p) { return p.name == "head.weight"; });
  };
  CHECK_FALSE(has_head(parameter_table<Transformer<presets::gpt2_124m>>()));
  CHECK(has_head(parameter_table<Transformer<presets::gpt2_124m_untied>>()));
}
