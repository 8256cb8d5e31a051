// SPDX-License-Identifier: Apache-2.0
#pragma once
// config.json of a Hugging Face model folder read into a ModelConfig, and compared with the model
// that was compiled. Writing: hugging_face_config.hpp. Weights: hugging_face.hpp.
// Keys and defaults after the configuration classes of Hugging Face transformers 4 and 5.

#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fount/config/model_config.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/interchange/hugging_face_config.hpp>
#include <fount/interchange/hugging_face_names.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>

namespace fount {

namespace detail {

/// Reads config.json key by key; what is missing has the default of the configuration class.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string_view where) : json_(json), where_(where) {
    if (!json.is_object()) throw FileError::content(where, "no JSON object", "a model's config");
  }

  int integer(std::string_view key, std::optional<int> otherwise = std::nullopt) const {
    if (otherwise && missing(key)) return *otherwise;
    return static_cast<int>(
        json_integer(json_, key, where_, 0, std::numeric_limits<int>::max()));
  }
  bool boolean(std::string_view key, bool otherwise) const {
    if (missing(key)) return otherwise;
    const Json& value = json_member(json_, key, where_);
    if (!value.is_boolean()) refuse(key, value.dump(), "true or false");
    return value.get<bool>();
  }
  float number(std::string_view key, float otherwise) const {
    return missing(key) ? otherwise : number_in(json_, key);
  }
  std::string text(std::string_view key, std::string_view otherwise) const {
    return missing(key) ? std::string(otherwise) : json_string(json_, key, where_);
  }
  /// The value whose name stands under `key`; `otherwise` if there is none.
  template <class Enum, std::size_t N>
  Enum named(std::string_view key, const std::array<Enum, N>& values, Enum otherwise) const {
    const std::string name = text(key, name_of(otherwise));
    std::string names;
    for (const Enum value : values) {
      if (name == name_of(value)) return value;
      names += (names.empty() ? "" : ", ") + std::string(name_of(value));
    }
    refuse(key, name, "one of " + names);
  }
  /// Refuses a model that computes something else than ours.
  void require(std::string_view key, bool value, bool otherwise) const {
    if (boolean(key, otherwise) != value) refuse(key, value ? "false" : "true",
                                                 value ? "true" : "false");
  }
  void require(std::string_view key, std::string_view value) const {
    if (const std::string found = text(key, value); found != value) refuse(key, found, value);
  }
  void require(std::string_view key, int value) const {
    if (const int found = integer(key, value); found != value) {
      refuse(key, std::to_string(found), std::to_string(value));
    }
  }
  /// Base of the rotary angles, from either version's key; scaled positions are refused.
  float rope_theta() const {
    float theta = number("rope_theta", 10000.0F);
    for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
      if (missing(key)) continue;
      const Json& rope = json_member(json_, key, where_);
      for (const char* const type : {"rope_type", "type"}) {
        if (rope.contains(type) && rope[type] != "default") {
          refuse(key, rope[type].dump(), "\"default\", positions that are not scaled");
        }
      }
      if (rope.contains("rope_theta")) theta = number_in(rope, "rope_theta");
    }
    return theta;
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view found,
                           std::string_view expected) const {
    throw FileError::content(where_, "\"" + std::string(key) + "\": " +
                             std::string(found.substr(0, 60)), expected,
                             "this model computes something that fount does not");
  }

 private:
  bool missing(std::string_view key) const {
    const auto at = json_.find(std::string(key));
    return at == json_.end() || at->is_null();
  }
  float number_in(const Json& object, std::string_view key) const {
    const Json& value = json_member(object, key, where_);
    if (!value.is_number()) refuse(key, value.dump(), "a number");
    return static_cast<float>(value.get<double>());
  }

  const Json& json_;
  std::string_view where_;
};

inline Activation read_activation(const ConfigReader& read, std::string_view key,
                                  std::string_view otherwise) {
  const std::string name = read.text(key, otherwise);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "gelu") return Activation::gelu_erf;
  if (name == "relu") return Activation::relu;
  read.refuse(key, name, "gelu_new, gelu_pytorch_tanh, gelu or relu");
}

inline ModelConfig read_gpt2_config(const ConfigReader& read) {
  read.require("scale_attn_weights", true, true);
  read.require("scale_attn_by_inverse_layer_idx", false, false);
  read.require("add_cross_attention", false, false);
  ModelConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("n_embd");
  config.num_layers = read.integer("n_layer");
  config.num_heads = read.integer("n_head");
  config.intermediate_size = read.integer("n_inner", 0);
  config.max_seq_len = read.integer("n_positions");
  config.activation = read_activation(read, "activation_function", "gelu_new");
  config.bias = true;
  config.tied_embeddings = read.boolean("tie_word_embeddings", true);
  config.norm_eps = read.number("layer_norm_epsilon", 1e-5F);
  config.init_std = read.number("initializer_range", 0.02F);
  return config;
}

inline ModelConfig read_llama_config(const ConfigReader& read) {
  ModelConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("hidden_size");
  config.num_layers = read.integer("num_hidden_layers");
  config.num_heads = read.integer("num_attention_heads");
  config.num_kv_heads = read.integer("num_key_value_heads", config.num_heads);
  config.intermediate_size = read.integer("intermediate_size");
  config.max_seq_len = read.integer("max_position_embeddings", 2048);
  config.norm = Norm::rms_norm;
  config.activation = Activation::swiglu;
  config.position = Position::rotary;
  config.bias = read.boolean("attention_bias", false);
  config.tied_embeddings = read.boolean("tie_word_embeddings", false);
  config.rope_theta = read.rope_theta();
  config.norm_eps = read.number("rms_norm_eps", 1e-6F);
  config.init_std = read.number("initializer_range", 0.02F);
  read.require("hidden_act", "silu");
  read.require("head_dim", config.head_dim());
  read.require("mlp_bias", config.bias, false);
  return config;
}

inline ModelConfig read_opt_config(const ConfigReader& read) {
  ModelConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("hidden_size");
  config.num_layers = read.integer("num_hidden_layers");
  config.num_heads = read.integer("num_attention_heads");
  config.intermediate_size = read.integer("ffn_dim");
  config.max_seq_len = read.integer("max_position_embeddings", 2048);
  config.activation = Activation::relu;
  config.position_offset = 2;
  config.bias = read.boolean("enable_bias", true);
  config.tied_embeddings = read.boolean("tie_word_embeddings", true);
  config.init_std = read.number("init_std", 0.02F);
  read.require("activation_function", "relu");
  read.require("word_embed_proj_dim", config.hidden_size);
  read.require("do_layer_norm_before", true, true);
  read.require("_remove_final_layer_norm", false, false);
  read.require("layer_norm_elementwise_affine", true, true);
  return config;
}

inline ModelConfig read_bert_config(const ConfigReader& read) {
  read.require("position_embedding_type", "absolute");
  read.require("is_decoder", false, false);
  read.require("tie_word_embeddings", true, true);
  ModelConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("hidden_size");
  config.num_layers = read.integer("num_hidden_layers");
  config.num_heads = read.integer("num_attention_heads");
  config.intermediate_size = read.integer("intermediate_size");
  config.max_seq_len = read.integer("max_position_embeddings", 512);
  config.activation = read_activation(read, "hidden_act", "gelu");
  config.mask = Mask::bidirectional;
  config.norm_placement = NormPlacement::post;
  config.head = Head::masked_language_model;
  config.bias = true;
  config.num_token_types = read.integer("type_vocab_size", 2);
  config.norm_eps = read.number("layer_norm_eps", 1e-12F);
  config.init_std = read.number("initializer_range", 0.02F);
  return config;
}

inline ModelConfig read_fount_config(const ConfigReader& read) {
  ModelConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("hidden_size");
  config.num_layers = read.integer("num_layers");
  config.num_heads = read.integer("num_heads");
  config.num_kv_heads = read.integer("num_kv_heads", 0);
  config.intermediate_size = read.integer("intermediate_size", 0);
  config.max_seq_len = read.integer("max_seq_len");
  config.norm = read.named("norm", std::array{Norm::layer_norm, Norm::rms_norm}, config.norm);
  config.activation = read.named("activation",
                                 std::array{Activation::gelu_tanh, Activation::gelu_erf,
                                            Activation::relu, Activation::swiglu},
                                 config.activation);
  config.position = read.named("position", std::array{Position::learned, Position::rotary},
                               config.position);
  config.mask = read.named(
      "mask", std::array{Mask::causal, Mask::bidirectional, Mask::sliding_window}, config.mask);
  config.norm_placement =
      read.named("norm_placement", std::array{NormPlacement::pre, NormPlacement::post},
                 config.norm_placement);
  config.head = read.named(
      "head", std::array{Head::language_model, Head::masked_language_model}, config.head);
  config.bias = read.boolean("bias", config.bias);
  config.tied_embeddings = read.boolean("tied_embeddings", config.tied_embeddings);
  config.qk_norm = read.boolean("qk_norm", config.qk_norm);
  config.window = read.integer("window", config.window);
  config.position_offset = read.integer("position_offset", config.position_offset);
  config.num_token_types = read.integer("num_token_types", config.num_token_types);
  config.rope_theta = read.number("rope_theta", config.rope_theta);
  config.norm_eps = read.number("norm_eps", config.norm_eps);
  config.attention_softcap = read.number("attention_softcap", config.attention_softcap);
  config.logit_softcap = read.number("logit_softcap", config.logit_softcap);
  config.init_std = read.number("init_std", config.init_std);
  return config;
}

}  // namespace detail

/// The `model_type` of a config.json. @throws FileError if it is none that we know.
inline Family family_from_hugging_face(const Json& json, std::string_view where) {
  const std::string type = json_string(json, "model_type", where);
  for (const Family family :
       {Family::gpt2, Family::opt, Family::llama, Family::bert, Family::fount}) {
    if (type == name_of(family)) return family;
  }
  throw FileError::content(where, R"("model_type": ")" + type.substr(0, 60) + '"',
                           "gpt2, opt, llama, bert or fount",
                           "models of other types cannot be loaded");
}

/// The model that a config.json describes. What our models cannot compute (scaled rotary positions,
/// OPT with post-norm, ...) is refused; training-only facts such as dropout are not read.
/// @param where  the file's path, for messages
/// @throws FileError naming the key
inline ModelConfig model_config_from_hugging_face(const Json& json, std::string_view where) {
  const detail::ConfigReader read(json, where);
  switch (family_from_hugging_face(json, where)) {
    case Family::gpt2: return detail::read_gpt2_config(read);
    case Family::opt: return detail::read_opt_config(read);
    case Family::llama: return detail::read_llama_config(read);
    case Family::bert: return detail::read_bert_config(read);
    case Family::fount: return detail::read_fount_config(read);
  }
  return {};
}

namespace detail {

/// Collects the fields in which two configurations differ.
class ConfigDifferences {
 public:
  void compare(std::string_view field, int found, int built) {
    add(field, found == built, std::to_string(found), std::to_string(built));
  }
  void compare(std::string_view field, bool found, bool built) {
    add(field, found == built, found ? "true" : "false", built ? "true" : "false");
  }
  void compare(std::string_view field, float found, float built) {
    // A file may hold the number rounded to its shortest decimal form.
    const bool same = std::abs(found - built) <= 1e-6F * std::abs(built);
    add(field, same, Json(as_written(found)).dump(), Json(as_written(built)).dump());
  }
  template <class Enum>
  void compare_names(std::string_view field, Enum found, Enum built) {
    add(field, found == built, std::string(name_of(found)), std::string(name_of(built)));
  }
  const std::string& text() const { return text_; }

 private:
  void add(std::string_view field, bool same, const std::string& found, const std::string& built) {
    if (same) return;
    if (!text_.empty()) text_ += "; ";
    text_ += std::string(field) + ": checkpoint has " + found + ", this trainer was built for " +
             built;
  }
  std::string text_;
};

}  // namespace detail

/// The fields in which a checkpoint differs from the compiled model, with both values, or "".
/// Derived sizes are compared, not their spellings (0 for "as many as num_heads"); what only
/// matters at initialisation, or not at all for this kind of model, is not compared.
inline std::string config_differences(const ModelConfig& found, const ModelConfig& built) {
  detail::ConfigDifferences differ;
  differ.compare_names("model_type", family_of(found), family_of(built));
  differ.compare("vocab_size", found.vocab_size, built.vocab_size);
  differ.compare("hidden_size", found.hidden_size, built.hidden_size);
  differ.compare("num_layers", found.num_layers, built.num_layers);
  differ.compare("num_heads", found.num_heads, built.num_heads);
  differ.compare("num_kv_heads", found.kv_heads(), built.kv_heads());
  differ.compare("intermediate_size", found.ffn_size(), built.ffn_size());
  differ.compare("max_seq_len", found.max_seq_len, built.max_seq_len);
  differ.compare_names("norm", found.norm, built.norm);
  differ.compare_names("activation", found.activation, built.activation);
  differ.compare_names("position", found.position, built.position);
  differ.compare_names("mask", found.mask, built.mask);
  differ.compare_names("norm_placement", found.norm_placement, built.norm_placement);
  differ.compare_names("head", found.head, built.head);
  // A bias-free GPT-2 is written with zero biases: whether they are zero shows when they are read.
  if (family_of(built) != Family::gpt2) differ.compare("bias", found.bias, built.bias);
  differ.compare("tied_embeddings", found.tied_embeddings, built.tied_embeddings);
  differ.compare("qk_norm", found.qk_norm, built.qk_norm);
  differ.compare("window", found.window, built.window);
  differ.compare("position_offset", found.position_offset, built.position_offset);
  differ.compare("num_token_types", found.num_token_types, built.num_token_types);
  if (built.position == Position::rotary) {
    differ.compare("rope_theta", found.rope_theta, built.rope_theta);
  }
  differ.compare("norm_eps", found.norm_eps, built.norm_eps);
  differ.compare("attention_softcap", found.attention_softcap, built.attention_softcap);
  differ.compare("logit_softcap", found.logit_softcap, built.logit_softcap);
  return differ.text();
}

/// config.json at `path`, as JSON.
inline Json read_hugging_face_config(const std::filesystem::path& path) {
  return parse_json(read_file(path, MiB(16)), path.string());
}

/// Makes sure that the checkpoint with this config.json is of the compiled model.
/// @throws ConfigError listing every field that differs; FileError if the file is unusable
inline void check_hugging_face_config(const std::filesystem::path& path, const ModelConfig& built) {
  const Json json = read_hugging_face_config(path);
  const std::string where = path.string();
  std::string differences =
      config_differences(model_config_from_hugging_face(json, where), built);
  const Family family = family_from_hugging_face(json, where);
  // A file may call itself fount though another family has these fields: its names would differ.
  if (differences.empty() && family != family_of(built)) {
    differences = "model_type: checkpoint has " + std::string(name_of(family)) +
                  ", this trainer was built for " + std::string(name_of(family_of(built)));
  }
  if (!differences.empty()) {
    throw ConfigError("'" + where + "': " + differences +
                      "; use the trainer of the checkpoint's model, or another checkpoint");
  }
}

}  // namespace fount
