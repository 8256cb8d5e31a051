// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shape of a model, as a value that can be a template argument. Numbers that follow from others
// are member functions, never fields. What must hold between the fields is in config/checks.hpp.

#include <cstdint>
#include <string_view>

namespace fount {

enum class Norm : std::uint8_t { layer_norm, rms_norm };
enum class Activation : std::uint8_t { gelu_tanh, gelu_erf, relu, swiglu };
enum class Position : std::uint8_t { learned, rotary };
enum class Mask : std::uint8_t { causal, bidirectional, sliding_window };
/// Where a block normalises: before each sublayer (GPT-2, OPT, Llama) or after its sum (BERT).
enum class NormPlacement : std::uint8_t { pre, post };
/// What stands on top of the body: next-token logits, or BERT's transform and masked-token logits.
enum class Head : std::uint8_t { language_model, masked_language_model };

struct ModelConfig {
  int vocab_size = 0;
  int hidden_size = 0;
  int num_layers = 0;
  int num_heads = 0;
  int num_kv_heads = 0;       // 0: as many as num_heads
  int intermediate_size = 0;  // 0: 4 * hidden_size
  int max_seq_len = 0;

  Norm norm = Norm::layer_norm;
  Activation activation = Activation::gelu_tanh;
  Position position = Position::learned;
  Mask mask = Mask::causal;
  NormPlacement norm_placement = NormPlacement::pre;
  Head head = Head::language_model;

  bool bias = false;             // in every linear layer and LayerNorm; RMSNorm never has one
  bool tied_embeddings = true;   // the head multiplies by the token embedding
  bool qk_norm = false;          // RMSNorm of each query and key head before rotary
  int window = 0;                // sliding_window: keys at distance 0 .. window-1
  int position_offset = 0;       // unused rows in front of the position table (OPT has 2)
  int num_token_types = 0;       // rows of BERT's token-type table; 0: no table
  float rope_theta = 10000.0F;
  float norm_eps = 1e-5F;
  float attention_softcap = 0.0F;  // cap * tanh(score / cap); 0: off
  float logit_softcap = 0.0F;      // the same for the head's logits
  float init_std = 0.02F;

  constexpr int kv_heads() const { return num_kv_heads == 0 ? num_heads : num_kv_heads; }
  constexpr int head_dim() const { return num_heads > 0 ? hidden_size / num_heads : 0; }
  constexpr int ffn_size() const {
    return intermediate_size == 0 ? 4 * hidden_size : intermediate_size;
  }
  /// Rows of the fused query-key-value projection: (H + 2K) * D.
  constexpr int qkv_size() const { return (num_heads + 2 * kv_heads()) * head_dim(); }
  /// Width of the first feed-forward projection: SwiGLU computes gate and up together.
  constexpr int ffn_in_size() const {
    return activation == Activation::swiglu ? 2 * ffn_size() : ffn_size();
  }
  constexpr int position_rows() const {
    return position == Position::learned ? max_seq_len + position_offset : 0;
  }
  /// The vocabulary as stored, a multiple of 128; the padding is never counted, sampled or written.
  constexpr int padded_vocab_size() const { return (vocab_size + 127) / 128 * 128; }
  constexpr bool norm_bias() const { return bias && norm == Norm::layer_norm; }

  friend constexpr bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

constexpr std::string_view name_of(Norm value) {
  return value == Norm::layer_norm ? "layer_norm" : "rms_norm";
}
constexpr std::string_view name_of(Activation value) {
  switch (value) {
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::gelu_erf: return "gelu_erf";
    case Activation::relu: return "relu";
    case Activation::swiglu: return "swiglu";
  }
  return "?";
}
constexpr std::string_view name_of(Position value) {
  return value == Position::learned ? "learned" : "rotary";
}
constexpr std::string_view name_of(Mask value) {
  switch (value) {
    case Mask::causal: return "causal";
    case Mask::bidirectional: return "bidirectional";
    case Mask::sliding_window: return "sliding_window";
  }
  return "?";
}
constexpr std::string_view name_of(NormPlacement value) {
  return value == NormPlacement::pre ? "pre" : "post";
}
constexpr std::string_view name_of(Head value) {
  return value == Head::language_model ? "language_model" : "masked_language_model";
}

}  // namespace fount
