// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every model that has a name, with the recipe it is trained by and its exact parameter count
// (vocabulary padding not counted). tests/models/test_presets.cpp asserts the counts against the
// layers at compile time.

#include <array>
#include <cstdint>
#include <string_view>

#include <fount/config/model_config.hpp>
#include <fount/config/recipe.hpp>

namespace fount {

struct Preset {
  std::string_view name;
  ModelConfig model;
  Recipe recipe;
  std::int64_t parameters = 0;
  std::string_view description;
};

}  // namespace fount

namespace fount::presets {

/// The three numbers that tell members of a family apart.
struct Size {
  int num_layers, hidden_size, num_heads;
};

/// Radford et al. 2019, "Language models are unsupervised multitask learners".
constexpr ModelConfig gpt2(Size size) {
  return {.vocab_size = 50'257, .hidden_size = size.hidden_size, .num_layers = size.num_layers,
          .num_heads = size.num_heads, .max_seq_len = 1'024, .bias = true};
}

/// Zhang et al. 2022, "OPT: Open Pre-trained Transformer Language Models".
constexpr ModelConfig opt(Size size) {
  return {.vocab_size = 50'272, .hidden_size = size.hidden_size, .num_layers = size.num_layers,
          .num_heads = size.num_heads, .max_seq_len = 2'048, .activation = Activation::relu,
          .bias = true, .position_offset = 2};
}

/// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models", with grouped
/// key-value heads (Ainslie et al. 2023).
constexpr ModelConfig llama(Size size, int num_kv_heads, int intermediate_size) {
  return {.vocab_size = 32'000, .hidden_size = size.hidden_size, .num_layers = size.num_layers,
          .num_heads = size.num_heads, .num_kv_heads = num_kv_heads,
          .intermediate_size = intermediate_size, .max_seq_len = 2'048, .norm = Norm::rms_norm,
          .activation = Activation::swiglu, .position = Position::rotary,
          .tied_embeddings = false};
}

/// Devlin et al. 2018, "BERT", with its masked-language-model head.
constexpr ModelConfig bert(Size size) {
  return {.vocab_size = 30'522, .hidden_size = size.hidden_size, .num_layers = size.num_layers,
          .num_heads = size.num_heads, .max_seq_len = 128, .activation = Activation::gelu_erf,
          .mask = Mask::bidirectional, .norm_placement = NormPlacement::post,
          .head = Head::masked_language_model, .bias = true, .num_token_types = 2,
          .norm_eps = 1e-12F};
}

inline constexpr ModelConfig gpt_1_3b = opt({24, 2'048, 16});
inline constexpr ModelConfig gpt_3b = opt({32, 2'560, 20});
inline constexpr ModelConfig gpt_7b = opt({32, 4'096, 32});
inline constexpr ModelConfig gpt_8b = opt({36, 4'096, 32});

inline constexpr ModelConfig gpt_125m = gpt2({12, 768, 12});
inline constexpr ModelConfig gpt_350m = gpt2({24, 1'024, 16});
inline constexpr ModelConfig gpt_760m = gpt2({24, 1'536, 16});
inline constexpr ModelConfig gpt_1_2b = gpt2({24, 2'048, 16});

inline constexpr ModelConfig llama_tiny = llama({6, 256, 8}, 8, 768);
inline constexpr ModelConfig llama_small = llama({12, 768, 12}, 12, 2'048);
inline constexpr ModelConfig llama_medium = llama({24, 1'024, 16}, 8, 2'816);
inline constexpr ModelConfig llama_large = llama({24, 1'536, 16}, 8, 4'096);
inline constexpr ModelConfig llama_xl = llama({32, 2'048, 32}, 8, 5'632);

inline constexpr ModelConfig mlm_fast = bert({4, 8, 4});
inline constexpr ModelConfig mlm_standard = bert({6, 16, 8});
inline constexpr ModelConfig mlm_quality = bert({8, 24, 12});

inline constexpr ModelConfig gpt2_124m = gpt2({12, 768, 12});
inline constexpr ModelConfig gpt2_355m = gpt2({24, 1'024, 16});
inline constexpr ModelConfig gpt2_774m = gpt2({36, 1'280, 20});
inline constexpr ModelConfig gpt2_1558m = gpt2({48, 1'600, 25});
inline constexpr ModelConfig gpt2_124m_untied = [] {
  ModelConfig model = gpt2_124m;
  model.tied_embeddings = false;
  return model;
}();

/// Dubey et al. 2024, "The Llama 3 Herd of Models".
inline constexpr ModelConfig llama3_8b = {
    .vocab_size = 128'256, .hidden_size = 4'096, .num_layers = 32, .num_heads = 32,
    .num_kv_heads = 8, .intermediate_size = 14'336, .max_seq_len = 8'192, .norm = Norm::rms_norm,
    .activation = Activation::swiglu, .position = Position::rotary, .tied_embeddings = false,
    .rope_theta = 500'000.0F};

/// Allal et al. 2025, "SmolLM2".
inline constexpr ModelConfig smollm2_135m = {
    .vocab_size = 49'152, .hidden_size = 576, .num_layers = 30, .num_heads = 9, .num_kv_heads = 3,
    .intermediate_size = 1'536, .max_seq_len = 8'192, .norm = Norm::rms_norm,
    .activation = Activation::swiglu, .position = Position::rotary, .rope_theta = 100'000.0F,
    .init_std = 0.041666668F};

/// nanoGPT's two character-level models of tiny Shakespeare: GPT-2 without biases.
inline constexpr ModelConfig shakespeare_char = {
    .vocab_size = 65, .hidden_size = 128, .num_layers = 4, .num_heads = 4, .max_seq_len = 64,
    .activation = Activation::gelu_erf};
inline constexpr ModelConfig shakespeare_char_gpu = {
    .vocab_size = 65, .hidden_size = 384, .num_layers = 6, .num_heads = 6, .max_seq_len = 256,
    .activation = Activation::gelu_erf};

/// A Llama of a million parameters that learns the built-in stories in a minute on two cores.
inline constexpr ModelConfig quickstart = {
    .vocab_size = 64, .hidden_size = 128, .num_layers = 4, .num_heads = 4, .num_kv_heads = 2,
    .intermediate_size = 384, .max_seq_len = 128, .norm = Norm::rms_norm,
    .activation = Activation::swiglu, .position = Position::rotary};

inline constexpr std::array all = {
    Preset{"gpt-1.3b", gpt_1_3b,
           {.batch_size = 16, .learning_rate = 2e-4, .min_lr = 2e-5, .warmup_steps = 2'000},
           1'315'758'080, "OPT kind, 8 GPUs: batch 16 each"},
    Preset{"gpt-3b", gpt_3b,
           {.batch_size = 8, .accumulate = 2, .learning_rate = 2e-4, .min_lr = 2e-5,
            .warmup_steps = 2'000},
           2'651'596'800, "OPT kind, 8 GPUs: batch 8 each"},
    Preset{"gpt-7b", gpt_7b,
           {.batch_size = 4, .accumulate = 4, .learning_rate = 2e-4, .min_lr = 2e-5,
            .warmup_steps = 2'000},
           6'658'473'984, "OPT kind, 8 GPUs: batch 4 each"},
    Preset{"gpt-8b", gpt_8b,
           {.batch_size = 2, .accumulate = 8, .learning_rate = 2e-4, .min_lr = 2e-5,
            .warmup_steps = 2'000},
           7'463'993'344, "OPT kind, 8 GPUs: batch 2 each"},
    Preset{"gpt-125m", gpt_125m, {.warmup_steps = 2'000, .dropout = 0.1}, 124'439'808,
           "GPT-2 kind with dropout"},
    Preset{"gpt-350m", gpt_350m, {.warmup_steps = 2'000, .dropout = 0.1}, 354'823'168,
           "GPT-2 kind with dropout"},
    Preset{"gpt-760m", gpt_760m, {.warmup_steps = 2'000, .dropout = 0.1}, 758'727'168,
           "GPT-2 kind with dropout"},
    Preset{"gpt-1.2b", gpt_1_2b, {.warmup_steps = 2'000, .dropout = 0.1}, 1'313'626'112,
           "GPT-2 kind with dropout"},
    Preset{"llama-tiny", llama_tiny, {.learning_rate = 3e-4, .min_lr = 3e-5}, 21'499'136,
           "Llama kind, trains on a laptop"},
    Preset{"llama-small", llama_small, {.learning_rate = 3e-4, .min_lr = 3e-5}, 134'105'856,
           "Llama kind"},
    Preset{"llama-medium", llama_medium, {.learning_rate = 3e-4, .min_lr = 3e-5}, 348'701'696,
           "Llama kind, 8 key-value heads"},
    Preset{"llama-large", llama_large, {.learning_rate = 3e-4, .min_lr = 3e-5}, 721'233'408,
           "Llama kind, 8 key-value heads"},
    Preset{"llama-xl", llama_xl, {.learning_rate = 3e-4, .min_lr = 3e-5}, 1'574'045'696,
           "Llama kind, 8 key-value heads"},
    Preset{"mlm-fast", mlm_fast,
           {.batch_size = 64, .learning_rate = 3e-5, .min_lr = 0, .schedule = Schedule::linear,
            .weight_decay = 0.01},
           279'330, "BERT kind, masked language model"},
    Preset{"mlm-standard", mlm_standard,
           {.batch_size = 32, .learning_rate = 3e-5, .min_lr = 0, .schedule = Schedule::linear,
            .weight_decay = 0.01},
           540'970, "BERT kind, masked language model"},
    Preset{"mlm-quality", mlm_quality,
           {.batch_size = 16, .learning_rate = 3e-5, .min_lr = 0, .schedule = Schedule::linear,
            .weight_decay = 0.01},
           824'658, "BERT kind, masked language model"},
    Preset{"gpt2-124m", gpt2_124m, {.warmup_steps = 700}, 124'439'808, "the published GPT-2"},
    Preset{"gpt2-124m-untied", gpt2_124m_untied,
           {.steps = 38'146, .batch_size = 16, .accumulate = 16, .warmup_steps = 700}, 163'037'184,
           "GPT-2 with a head of its own"},
    Preset{"gpt2-355m", gpt2_355m, {.learning_rate = 3e-4, .min_lr = 3e-5, .warmup_steps = 700},
           354'823'168, "the published GPT-2 medium"},
    Preset{"gpt2-774m", gpt2_774m, {.learning_rate = 2.5e-4, .min_lr = 2.5e-5, .warmup_steps = 700},
           774'030'080, "the published GPT-2 large"},
    Preset{"gpt2-1558m", gpt2_1558m, {.learning_rate = 2e-4, .min_lr = 2e-5, .warmup_steps = 700},
           1'557'611'200, "the published GPT-2 XL"},
    Preset{"llama3-8b", llama3_8b, {.batch_size = 1, .learning_rate = 3e-4, .min_lr = 3e-5,
                                    .warmup_steps = 2'000},
           8'030'261'248, "the published Llama 3 8B"},
    Preset{"smollm2-135m", smollm2_135m, {.learning_rate = 3e-3, .min_lr = 3e-4}, 134'515'008,
           "the published SmolLM2 135M"},
    Preset{"shakespeare-char", shakespeare_char,
           {.steps = 2'000, .batch_size = 12, .learning_rate = 1e-3, .min_lr = 1e-4, .beta2 = 0.99,
            .eval_interval = 250, .eval_batches = 200},
           804'096, "nanoGPT's character model for a CPU"},
    Preset{"shakespeare-char-gpu", shakespeare_char_gpu,
           {.steps = 5'000, .batch_size = 64, .learning_rate = 1e-3, .min_lr = 1e-4, .beta2 = 0.99,
            .dropout = 0.2, .eval_interval = 250, .eval_batches = 200},
           10'745'088, "nanoGPT's character model for a GPU"},
    Preset{"quickstart", quickstart,
           {.steps = 1'200, .batch_size = 8, .learning_rate = 3e-3, .min_lr = 1e-4,
            .warmup_steps = 40, .eval_interval = 200, .eval_batches = 50, .log_interval = 40},
           795'776, "learns the built-in stories in a minute"},
};

/// The preset of that name, or nothing.
constexpr const Preset* find(std::string_view name) {
  for (const Preset& preset : all) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

}  // namespace fount::presets
