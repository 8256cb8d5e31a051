// SPDX-License-Identifier: Apache-2.0
#pragma once
// What config.json and generation_config.json of a Hugging Face model folder say of a ModelConfig.
// Reading them: hugging_face_config_reader.hpp. Weights: hugging_face.hpp.
// Keys after the configuration classes of Hugging Face transformers 4 and 5.

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fount/config/model_config.hpp>
#include <fount/core/dtype.hpp>
#include <fount/interchange/hugging_face_names.hpp>
#include <fount/io/json.hpp>

namespace fount {

/// What a folder says besides the model itself.
struct HfFacts {
  double dropout = 0.0;
  std::optional<int> bos_token_id;  // nothing: null, or left out
  std::optional<int> eos_token_id;
  std::optional<int> pad_token_id;
};

namespace detail {

/// The double that prints like the float: 1e-05, not 9.999999747378752e-06.
inline double as_written(float value) {
  std::array<char, 48> text{};
  std::to_chars(text.data(), text.data() + text.size() - 1, value);
  return std::strtod(text.data(), nullptr);
}

inline Json id_or_null(const std::optional<int>& id) { return id ? Json(*id) : Json(nullptr); }

inline std::string_view hf_activation(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh: return "gelu_new";
    case Activation::gelu_erf: return "gelu";
    case Activation::relu: return "relu";
    case Activation::swiglu: return "silu";
  }
  return "?";
}

inline Json gpt2_config(const ModelConfig& config, const HfFacts& facts) {
  const Json inner =
      config.ffn_size() == 4 * config.hidden_size ? Json(nullptr) : Json(config.ffn_size());
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", config.vocab_size},
          {"n_positions", config.max_seq_len},
          {"n_ctx", config.max_seq_len},
          {"n_embd", config.hidden_size},
          {"n_layer", config.num_layers},
          {"n_head", config.num_heads},
          {"n_inner", inner},
          {"activation_function", hf_activation(config.activation)},
          {"layer_norm_epsilon", as_written(config.norm_eps)},
          {"embd_pdrop", facts.dropout},
          {"attn_pdrop", facts.dropout},
          {"resid_pdrop", facts.dropout},
          {"initializer_range", as_written(config.init_std)},
          {"scale_attn_weights", true},
          {"tie_word_embeddings", config.tied_embeddings},
          {"bos_token_id", id_or_null(facts.bos_token_id)},
          {"eos_token_id", id_or_null(facts.eos_token_id)},
          {"use_cache", true}};
}

inline Json llama_config(const ModelConfig& config, const HfFacts& facts) {
  const double theta = as_written(config.rope_theta);
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"intermediate_size", config.ffn_size()},
          {"num_hidden_layers", config.num_layers},
          {"num_attention_heads", config.num_heads},
          {"num_key_value_heads", config.kv_heads()},
          {"head_dim", config.head_dim()},
          {"hidden_act", hf_activation(config.activation)},
          {"max_position_embeddings", config.max_seq_len},
          {"rms_norm_eps", as_written(config.norm_eps)},
          {"rope_theta", theta},
          {"rope_scaling", nullptr},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", theta}}},
          {"attention_bias", config.bias},
          {"mlp_bias", config.bias},
          {"attention_dropout", facts.dropout},
          {"initializer_range", as_written(config.init_std)},
          {"tie_word_embeddings", config.tied_embeddings},
          {"bos_token_id", id_or_null(facts.bos_token_id)},
          {"eos_token_id", id_or_null(facts.eos_token_id)},
          {"pad_token_id", id_or_null(facts.pad_token_id)},
          {"use_cache", true}};
}

inline Json opt_config(const ModelConfig& config, const HfFacts& facts) {
  return {{"architectures", {"OPTForCausalLM"}},
          {"model_type", "opt"},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"word_embed_proj_dim", config.hidden_size},
          {"ffn_dim", config.ffn_size()},
          {"num_hidden_layers", config.num_layers},
          {"num_attention_heads", config.num_heads},
          {"max_position_embeddings", config.max_seq_len},
          {"do_layer_norm_before", true},
          {"_remove_final_layer_norm", false},
          {"activation_function", hf_activation(config.activation)},
          {"enable_bias", config.bias},
          {"layer_norm_elementwise_affine", true},
          {"dropout", facts.dropout},
          {"attention_dropout", facts.dropout},
          {"layerdrop", 0.0},
          {"init_std", as_written(config.init_std)},
          {"pad_token_id", id_or_null(facts.pad_token_id)},
          {"bos_token_id", id_or_null(facts.bos_token_id)},
          {"eos_token_id", id_or_null(facts.eos_token_id)},
          {"tie_word_embeddings", config.tied_embeddings},
          {"use_cache", true}};
}

inline Json bert_config(const ModelConfig& config, const HfFacts& facts) {
  return {{"architectures", {"BertForMaskedLM"}},
          {"model_type", "bert"},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"num_hidden_layers", config.num_layers},
          {"num_attention_heads", config.num_heads},
          {"intermediate_size", config.ffn_size()},
          {"hidden_act", hf_activation(config.activation)},
          {"hidden_dropout_prob", facts.dropout},
          {"attention_probs_dropout_prob", facts.dropout},
          {"max_position_embeddings", config.max_seq_len},
          {"type_vocab_size", config.num_token_types},
          {"initializer_range", as_written(config.init_std)},
          {"layer_norm_eps", as_written(config.norm_eps)},
          {"pad_token_id", id_or_null(facts.pad_token_id)},
          {"position_embedding_type", "absolute"},
          {"tie_word_embeddings", config.tied_embeddings}};
}

/// The fields of ModelConfig under their own names.
inline Json fount_config(const ModelConfig& config, const HfFacts& facts) {
  const bool decoder = config.head == Head::language_model;
  return {{"architectures", {decoder ? "FountForCausalLM" : "FountForMaskedLM"}},
          {"model_type", "fount"},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"num_layers", config.num_layers},
          {"num_heads", config.num_heads},
          {"num_kv_heads", config.kv_heads()},
          {"intermediate_size", config.ffn_size()},
          {"max_seq_len", config.max_seq_len},
          {"norm", name_of(config.norm)},
          {"activation", name_of(config.activation)},
          {"position", name_of(config.position)},
          {"mask", name_of(config.mask)},
          {"norm_placement", name_of(config.norm_placement)},
          {"head", name_of(config.head)},
          {"bias", config.bias},
          {"tied_embeddings", config.tied_embeddings},
          {"qk_norm", config.qk_norm},
          {"window", config.window},
          {"position_offset", config.position_offset},
          {"num_token_types", config.num_token_types},
          {"rope_theta", as_written(config.rope_theta)},
          {"norm_eps", as_written(config.norm_eps)},
          {"attention_softcap", as_written(config.attention_softcap)},
          {"logit_softcap", as_written(config.logit_softcap)},
          {"init_std", as_written(config.init_std)},
          {"dropout", facts.dropout},
          {"bos_token_id", id_or_null(facts.bos_token_id)},
          {"eos_token_id", id_or_null(facts.eos_token_id)},
          {"pad_token_id", id_or_null(facts.pad_token_id)}};
}

}  // namespace detail

/// config.json of a model whose weights are stored as `dtype`.
inline Json hugging_face_config(const ModelConfig& config, DType dtype, const HfFacts& facts = {}) {
  Json json;
  switch (family_of(config)) {
    case Family::gpt2: json = detail::gpt2_config(config, facts); break;
    case Family::opt: json = detail::opt_config(config, facts); break;
    case Family::llama: json = detail::llama_config(config, facts); break;
    case Family::bert: json = detail::bert_config(config, facts); break;
    case Family::fount: json = detail::fount_config(config, facts); break;
  }
  json["dtype"] = name_of(dtype);  // the key of transformers 5; the other one is that of 4
  json["torch_dtype"] = name_of(dtype);
  return json;
}

/// generation_config.json: sample from the whole distribution. Ids that nobody gave are left out.
inline Json hugging_face_generation_config(const HfFacts& facts) {
  Json json = Json::object();
  if (facts.bos_token_id) json["bos_token_id"] = *facts.bos_token_id;
  if (facts.eos_token_id) json["eos_token_id"] = *facts.eos_token_id;
  if (facts.pad_token_id) json["pad_token_id"] = *facts.pad_token_id;
  json["do_sample"] = true;
  json["temperature"] = 1.0;
  json["top_k"] = 50;
  json["top_p"] = 1.0;
  json["max_new_tokens"] = 64;
  return json;
}

}  // namespace fount
