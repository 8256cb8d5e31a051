// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which Hugging Face model a ModelConfig is, and where each of our tensors stands among theirs.
// No files here: those are in hugging_face.hpp and hugging_face_config.hpp.
// Names after the GPT-2, OPT, Llama and BERT models of Hugging Face transformers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/config/model_config.hpp>
#include <fount/core/error.hpp>
#include <fount/models/parameters.hpp>

namespace fount {

/// The `model_type` of a folder. `fount` is a combination that no published family has.
enum class Family : std::uint8_t { gpt2, opt, llama, bert, fount };

constexpr std::string_view name_of(Family value) {
  switch (value) {
    case Family::gpt2: return "gpt2";
    case Family::opt: return "opt";
    case Family::llama: return "llama";
    case Family::bert: return "bert";
    case Family::fount: return "fount";
  }
  return "?";
}

/// The family that `config` comes closest to.
constexpr Family nearest_family(const ModelConfig& config) {
  if (config.head == Head::masked_language_model) return Family::bert;
  if (config.norm == Norm::rms_norm || config.position == Position::rotary) return Family::llama;
  return config.position_offset != 0 ? Family::opt : Family::gpt2;
}

/// The first field that keeps `config` out of the family nearest to it; empty if nothing does.
constexpr std::string_view family_obstacle(const ModelConfig& config) {
  const Family family = nearest_family(config);
  const bool llama = family == Family::llama;
  const bool bert = family == Family::bert;
  const Activation activation = config.activation;
  if (config.norm != (llama ? Norm::rms_norm : Norm::layer_norm)) return "norm";
  if (config.position != (llama ? Position::rotary : Position::learned)) return "position";
  if (llama != (activation == Activation::swiglu)) return "activation";
  if (family == Family::opt && activation != Activation::relu) return "activation";
  if (config.mask != (bert ? Mask::bidirectional : Mask::causal)) return "mask";
  if (config.norm_placement != (bert ? NormPlacement::post : NormPlacement::pre)) {
    return "norm_placement";
  }
  if (bert && !config.tied_embeddings) return "tied_embeddings";
  if (bert && !config.bias) return "bias";
  if (!llama && config.kv_heads() != config.num_heads) return "num_kv_heads";
  if (config.position_offset != (family == Family::opt ? 2 : 0)) return "position_offset";
  if (bert != (config.num_token_types > 0)) return "num_token_types";
  if (family == Family::opt && config.norm_eps != 1e-5F) return "norm_eps";
  if (config.qk_norm) return "qk_norm";
  if (config.attention_softcap != 0.0F) return "attention_softcap";
  if (config.logit_softcap != 0.0F) return "logit_softcap";
  return {};
}

constexpr Family family_of(const ModelConfig& config) {
  return family_obstacle(config).empty() ? nearest_family(config) : Family::fount;
}

/// One tensor of a Hugging Face folder: rows of one of our tensors, or zeros.
struct HfTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  int parameter = -1;          // the row of the parameter table; -1: all zeros
  std::int64_t row_begin = 0;  // rows of a matrix, elements of a vector
  std::int64_t rows = 0;
  std::int64_t cols = 1;   // elements of a row; 1 for a vector
  bool transpose = false;  // stored [cols, rows]

  std::int64_t elements() const { return rows * cols; }
};

namespace detail {

/// Which rows of one of our fused matrices a tensor holds.
enum class Part : std::uint8_t { whole, query, key, value, gate, up };

/// "ours" and "theirs" are without their last part, "weight" or "bias"; # is the layer.
struct NameRule {
  std::string_view ours;
  std::string_view theirs;
  Part part = Part::whole;
  bool transpose = false;    // their matrix is [in, out]
  bool always_bias = false;  // they have a bias even where we have none
};

// clang-format off
// NOLINTBEGIN(modernize-use-designated-initializers): tables, one row a layer
inline constexpr NameRule gpt2_names[] = {
    {"embedding.token",    "transformer.wte"},
    {"embedding.position", "transformer.wpe"},
    {"attention.norm",     "transformer.h.#.ln_1",        Part::whole, false, true},
    {"attention.qkv",      "transformer.h.#.attn.c_attn", Part::whole, true,  true},
    {"attention.out",      "transformer.h.#.attn.c_proj", Part::whole, true,  true},
    {"ffn.norm",           "transformer.h.#.ln_2",        Part::whole, false, true},
    {"ffn.up",             "transformer.h.#.mlp.c_fc",    Part::whole, true,  true},
    {"ffn.down",           "transformer.h.#.mlp.c_proj",  Part::whole, true,  true},
    {"norm",               "transformer.ln_f",            Part::whole, false, true},
    {"head",               "lm_head"}};

inline constexpr NameRule opt_names[] = {
    {"embedding.token",    "model.decoder.embed_tokens"},
    {"embedding.position", "model.decoder.embed_positions"},
    {"attention.norm",     "model.decoder.layers.#.self_attn_layer_norm", Part::whole, false, true},
    {"attention.qkv",      "model.decoder.layers.#.self_attn.q_proj",     Part::query},
    {"attention.qkv",      "model.decoder.layers.#.self_attn.k_proj",     Part::key},
    {"attention.qkv",      "model.decoder.layers.#.self_attn.v_proj",     Part::value},
    {"attention.out",      "model.decoder.layers.#.self_attn.out_proj"},
    {"ffn.norm",           "model.decoder.layers.#.final_layer_norm",     Part::whole, false, true},
    {"ffn.up",             "model.decoder.layers.#.fc1"},
    {"ffn.down",           "model.decoder.layers.#.fc2"},
    {"norm",               "model.decoder.final_layer_norm",              Part::whole, false, true},
    {"head",               "lm_head"}};

inline constexpr NameRule llama_names[] = {
    {"embedding.token", "model.embed_tokens"},
    {"attention.norm",  "model.layers.#.input_layernorm"},
    {"attention.qkv",   "model.layers.#.self_attn.q_proj", Part::query},
    {"attention.qkv",   "model.layers.#.self_attn.k_proj", Part::key},
    {"attention.qkv",   "model.layers.#.self_attn.v_proj", Part::value},
    {"attention.out",   "model.layers.#.self_attn.o_proj"},
    {"ffn.norm",        "model.layers.#.post_attention_layernorm"},
    {"ffn.gate_up",     "model.layers.#.mlp.gate_proj",    Part::gate},
    {"ffn.gate_up",     "model.layers.#.mlp.up_proj",      Part::up},
    {"ffn.down",        "model.layers.#.mlp.down_proj"},
    {"norm",            "model.norm"},
    {"head",            "lm_head"}};

inline constexpr NameRule bert_names[] = {
    {"embedding.token",      "bert.embeddings.word_embeddings"},
    {"embedding.position",   "bert.embeddings.position_embeddings"},
    {"embedding.token_type", "bert.embeddings.token_type_embeddings"},
    {"embedding.norm",       "bert.embeddings.LayerNorm"},
    {"attention.qkv",        "bert.encoder.layer.#.attention.self.query", Part::query},
    {"attention.qkv",        "bert.encoder.layer.#.attention.self.key",   Part::key},
    {"attention.qkv",        "bert.encoder.layer.#.attention.self.value", Part::value},
    {"attention.out",        "bert.encoder.layer.#.attention.output.dense"},
    {"attention.norm",       "bert.encoder.layer.#.attention.output.LayerNorm"},
    {"ffn.up",               "bert.encoder.layer.#.intermediate.dense"},
    {"ffn.down",             "bert.encoder.layer.#.output.dense"},
    {"ffn.norm",             "bert.encoder.layer.#.output.LayerNorm"},
    {"head.transform",       "cls.predictions.transform.dense"},
    {"head.transform.norm",  "cls.predictions.transform.LayerNorm"},
    {"head",                 "cls.predictions"}};
// NOLINTEND(modernize-use-designated-initializers)
// clang-format on

constexpr std::span<const NameRule> name_rules(Family family) {
  switch (family) {
    case Family::gpt2: return gpt2_names;
    case Family::opt: return opt_names;
    case Family::llama: return llama_names;
    case Family::bert: return bert_names;
    case Family::fount: return {};
  }
  return {};
}

/// Our name without ".weight" or ".bias", and which of them it is; tables have ".weight" there.
inline std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  for (const std::string_view suffix : {std::string_view(".weight"), std::string_view(".bias")}) {
    if (name.ends_with(suffix)) return {name.substr(0, name.size() - suffix.size()), suffix};
  }
  return {name, ".weight"};
}

/// First row and number of rows that `part` takes of a matrix or vector of `rows`.
inline std::pair<std::int64_t, std::int64_t> rows_of(Part part, const ModelConfig& config,
                                                     std::int64_t rows) {
  const std::int64_t q = std::int64_t{config.num_heads} * config.head_dim();
  const std::int64_t kv = std::int64_t{config.kv_heads()} * config.head_dim();
  const std::int64_t F = config.ffn_size();
  switch (part) {
    case Part::whole: return {0, rows};
    case Part::query: return {0, q};
    case Part::key: return {q, kv};
    case Part::value: return {q + kv, kv};
    case Part::gate: return {0, F};
    case Part::up: return {F, F};
  }
  return {0, rows};
}

inline HfTensor make_hf_tensor(std::string name, const Parameter& parameter, int index,
                               const ModelConfig& config, Part part, bool transpose) {
  HfTensor tensor;
  const bool matrix = parameter.rows != 0;
  const auto [begin, rows] = rows_of(part, config, matrix ? parameter.rows : parameter.cols);
  tensor.name = std::move(name);
  tensor.parameter = index;
  tensor.row_begin = begin;
  tensor.rows = rows;
  tensor.cols = matrix ? parameter.cols : 1;
  tensor.transpose = matrix && transpose;
  tensor.shape.push_back(tensor.transpose ? tensor.cols : rows);
  if (matrix) tensor.shape.push_back(tensor.transpose ? rows : tensor.cols);
  return tensor;
}

/// The bias that they have and we have not, for the weight at `weight`.
inline HfTensor make_zero_bias(std::string name, const HfTensor& weight) {
  HfTensor tensor;
  tensor.name = std::move(name);
  tensor.rows = weight.rows;
  tensor.shape = {weight.rows};
  return tensor;
}

inline std::string with_layer(std::string_view pattern, int layer) {
  std::string name(pattern);
  if (const auto at = name.find('#'); at != std::string::npos) {
    name.replace(at, 1, std::to_string(layer));
  }
  return name;
}

}  // namespace detail

/// Every tensor of the folder that `config` is written to, in the order of our table.
/// @param parameters  the table of the model of this configuration (models/parameters.hpp)
/// @throws ConfigError if the table has a tensor that the family has no name for
inline std::vector<HfTensor> hugging_face_tensors(const ModelConfig& config,
                                                  const std::vector<Parameter>& parameters) {
  const Family family = family_of(config);
  std::vector<HfTensor> tensors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const auto index = static_cast<int>(i);
    if (family == Family::fount) {
      tensors.push_back(detail::make_hf_tensor(parameter.name, parameter, index, config,
                                               detail::Part::whole, false));
      continue;
    }
    const auto [ours, suffix] = detail::split_name(parameter.local);
    bool known = false;
    for (const detail::NameRule& rule : detail::name_rules(family)) {
      if (rule.ours != ours) continue;
      known = true;
      const std::string stem = detail::with_layer(rule.theirs, parameter.layer);
      tensors.push_back(detail::make_hf_tensor(stem + std::string(suffix), parameter, index, config,
                                               rule.part, rule.transpose));
      if (rule.always_bias && !config.bias) {
        tensors.push_back(detail::make_zero_bias(stem + ".bias", tensors.back()));
      }
    }
    if (!known) {
      throw ConfigError("parameter '" + parameter.name + "' has no name in the " +
                        std::string(name_of(family)) +
                        " family; pass the parameter table of the same configuration");
    }
  }
  return tensors;
}

/// A tensor that repeats another one: it may stand in a file if it is equal.
struct HfAlias {
  std::string_view name;
  std::string_view same_as;
};

/// The repetitions that files of `config` may hold.
inline std::vector<HfAlias> hugging_face_aliases(const ModelConfig& config) {
  if (!config.tied_embeddings) return {};
  const std::string_view lm_head = "lm_head.weight";
  switch (family_of(config)) {
    case Family::gpt2: return {{.name = lm_head, .same_as = "transformer.wte.weight"}};
    case Family::opt: return {{.name = lm_head, .same_as = "model.decoder.embed_tokens.weight"}};
    case Family::llama: return {{.name = lm_head, .same_as = "model.embed_tokens.weight"}};
    case Family::bert:
      return {{.name = "cls.predictions.decoder.weight",
               .same_as = "bert.embeddings.word_embeddings.weight"},
              {.name = "cls.predictions.decoder.bias", .same_as = "cls.predictions.bias"}};
    case Family::fount: return {};
  }
  return {};
}

/// What files of the bare model (without its head) leave out in front of every name.
constexpr std::string_view base_prefix(Family family) {
  switch (family) {
    case Family::gpt2: return "transformer.";
    case Family::opt:
    case Family::llama: return "model.";
    case Family::bert: return "bert.";
    case Family::fount: return {};
  }
  return {};
}

/// Whether a tensor of that name holds nothing that our model has: masks and position tables that
/// old versions saved, and BERT's layers for other tasks.
constexpr bool is_ignorable(Family family, std::string_view name) {
  switch (family) {
    case Family::gpt2: return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
    case Family::llama: return name.ends_with(".self_attn.rotary_emb.inv_freq");
    case Family::bert:
      return name.ends_with("embeddings.position_ids") || name.starts_with("bert.pooler.") ||
             name.starts_with("cls.seq_relationship.");
    case Family::opt:
    case Family::fount: return false;
  }
  return false;
}

}  // namespace fount
