// SPDX-License-Identifier: Apache-2.0
// Hugging Face folders: which family a model is, the names and layouts of its tensors, config.json
// in both directions, round trips, and what is refused. That the folders mean the same to
// transformers is proved by tests/models/test_reference.cpp.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fount/config/presets.hpp>
#include <fount/core/random.hpp>
#include <fount/interchange/hugging_face.hpp>
#include <fount/models/transformer.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fount;
using test::mentions;
using test::message_of;
using test::TemporaryFolder;
namespace fs = std::filesystem;

constexpr ModelConfig gpt2 = {.vocab_size = 5, .hidden_size = 4, .num_layers = 1, .num_heads = 2,
                              .max_seq_len = 3, .bias = true};
constexpr ModelConfig gpt2_bias_free = {.vocab_size = 5, .hidden_size = 4, .num_layers = 2,
                                        .num_heads = 1, .intermediate_size = 6, .max_seq_len = 3,
                                        .activation = Activation::gelu_erf,
                                        .tied_embeddings = false};
constexpr ModelConfig opt = {.vocab_size = 7, .hidden_size = 6, .num_layers = 1, .num_heads = 3,
                             .max_seq_len = 4, .activation = Activation::relu, .bias = true,
                             .position_offset = 2};
constexpr ModelConfig opt_bias_free = {.vocab_size = 7, .hidden_size = 6, .num_layers = 1,
                                       .num_heads = 3, .max_seq_len = 4,
                                       .activation = Activation::relu, .position_offset = 2};
constexpr ModelConfig llama = {.vocab_size = 130, .hidden_size = 8, .num_layers = 1,
                               .num_heads = 4, .num_kv_heads = 2, .intermediate_size = 5,
                               .max_seq_len = 6, .norm = Norm::rms_norm,
                               .activation = Activation::swiglu, .position = Position::rotary,
                               .tied_embeddings = false, .rope_theta = 500'000.0F};
constexpr ModelConfig bert = {.vocab_size = 9, .hidden_size = 4, .num_layers = 1, .num_heads = 2,
                              .max_seq_len = 5, .activation = Activation::gelu_erf,
                              .mask = Mask::bidirectional, .norm_placement = NormPlacement::post,
                              .head = Head::masked_language_model, .bias = true,
                              .num_token_types = 2, .norm_eps = 1e-12F};
constexpr ModelConfig own = {.vocab_size = 9, .hidden_size = 8, .num_layers = 2, .num_heads = 2,
                             .num_kv_heads = 1, .max_seq_len = 5, .norm = Norm::rms_norm,
                             .activation = Activation::relu, .position = Position::rotary,
                             .mask = Mask::sliding_window, .bias = true, .qk_norm = true,
                             .window = 3, .logit_softcap = 30.0F};

constexpr ModelConfig with(ModelConfig config, auto member, auto value) {
  config.*member = value;
  return config;
}

/// A parameter table with a buffer; the padding holds a mark that nobody may touch.
struct Weights {
  static constexpr float mark = -77.0F;
  ModelConfig config;
  std::vector<Parameter> table;
  std::vector<float> values;

  void fill(std::uint64_t seed) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      const RandomStream random{seed, 0, static_cast<std::uint32_t>(i), RandomPurpose::initialise};
      for (std::int64_t at = 0; at < table[i].elements(); ++at) {
        values[static_cast<std::size_t>(table[i].offset + at)] =
            static_cast<float>(random.normal(static_cast<std::uint64_t>(at)));
      }
    }
  }
  void write(const fs::path& folder, const HfWriteOptions& options = {}) const {
    write_hugging_face(folder, config, table, DType::float32, values.data(), options);
  }
  void read(const fs::path& path) {
    read_hugging_face(path, config, table, DType::float32, values.data());
  }
};

template <ModelConfig C>
Weights weights_of(std::uint64_t seed = 0) {
  Weights weights{C, parameter_table<Transformer<C>>(), {}};
  weights.values.assign(static_cast<std::size_t>(Transformer<C>::parameter_storage()),
                        Weights::mark);
  if (seed != 0) weights.fill(seed);
  return weights;
}

template <ModelConfig C>
void check_round_trip() {
  const TemporaryFolder folder;
  const Weights written = weights_of<C>(42);
  written.write(folder.path());
  Weights read = weights_of<C>();
  read.read(folder.path());
  CHECK(std::memcmp(read.values.data(), written.values.data(),
                    written.values.size() * sizeof(float)) == 0);
  Weights from_file = weights_of<C>();
  from_file.read(folder / "model.safetensors");
  CHECK(from_file.values == written.values);
}

/// "name [shape]" of every tensor.
std::vector<std::string> described(const Weights& weights) {
  std::vector<std::string> lines;
  for (const HfTensor& tensor : hugging_face_tensors(weights.config, weights.table)) {
    lines.push_back(tensor.name + " " + to_string(tensor.shape));
  }
  return lines;
}

/// Writes the tensors of `from` again under other names; an empty name leaves one out.
void rewrite(const fs::path& to, const fs::path& from,
             const std::function<std::string(const std::string&)>& rename,
             const std::vector<std::pair<std::string, TensorShape>>& added = {}) {
  const SafetensorsReader reader(from);
  SafetensorsWriter writer(to);
  for (const TensorInfo& info : reader.tensors()) {
    const std::string name = rename(info.name);
    if (!name.empty()) writer.declare(name, info.type, info.shape);
  }
  for (const auto& [name, shape] : added) writer.declare(name, TensorType::f32, shape);
  for (const TensorInfo& info : reader.tensors()) {
    const std::string name = rename(info.name);
    if (!name.empty()) writer.write(name, reader.at(info.name).data);
  }
  for (const auto& [name, shape] : added) {
    const std::vector<float> ones(static_cast<std::size_t>(*tensor_bytes(TensorType::u8, shape)),
                                  1.0F);
    writer.write_values(name, std::span<const float>(ones));
  }
  writer.finish();
}

std::string same(const std::string& name) { return name; }

}  // namespace

TEST_CASE("a configuration is of the family that computes the same", "[interchange][family]") {
  STATIC_REQUIRE(family_of(gpt2) == Family::gpt2);
  STATIC_REQUIRE(family_of(gpt2_bias_free) == Family::gpt2);
  STATIC_REQUIRE(family_of(opt) == Family::opt);
  STATIC_REQUIRE(family_of(opt_bias_free) == Family::opt);
  STATIC_REQUIRE(family_of(llama) == Family::llama);
  STATIC_REQUIRE(family_of(bert) == Family::bert);
  STATIC_REQUIRE(family_of(own) == Family::fount);
  for (const Preset& preset : presets::all) {
    INFO(preset.name);
    CHECK(family_obstacle(preset.model).empty());
  }
}

TEST_CASE("the field that no family has is named", "[interchange][family]") {
  const auto obstacle = [](const ModelConfig& config) {
    return std::string(family_obstacle(config));
  };
  CHECK(obstacle(gpt2).empty());
  CHECK(obstacle(own) == "activation");
  CHECK(obstacle(with(gpt2, &ModelConfig::num_kv_heads, 1)) == "num_kv_heads");
  CHECK(obstacle(with(gpt2, &ModelConfig::mask, Mask::sliding_window)) == "mask");
  CHECK(obstacle(with(gpt2, &ModelConfig::activation, Activation::swiglu)) == "activation");
  CHECK(obstacle(with(gpt2, &ModelConfig::norm_placement, NormPlacement::post)) ==
        "norm_placement");
  CHECK(obstacle(with(gpt2, &ModelConfig::num_token_types, 1)) == "num_token_types");
  CHECK(obstacle(with(gpt2, &ModelConfig::position_offset, 3)) == "activation");
  CHECK(obstacle(with(opt, &ModelConfig::position_offset, 3)) == "position_offset");
  CHECK(obstacle(with(opt, &ModelConfig::norm_eps, 1e-6F)) == "norm_eps");
  CHECK(obstacle(with(llama, &ModelConfig::position, Position::learned)) == "position");
  CHECK(obstacle(with(llama, &ModelConfig::norm, Norm::layer_norm)) == "norm");
  CHECK(obstacle(with(llama, &ModelConfig::qk_norm, true)) == "qk_norm");
  CHECK(obstacle(with(llama, &ModelConfig::attention_softcap, 5.0F)) == "attention_softcap");
  CHECK(obstacle(with(llama, &ModelConfig::logit_softcap, 5.0F)) == "logit_softcap");
  CHECK(obstacle(with(bert, &ModelConfig::bias, false)) == "bias");
  CHECK(obstacle(with(bert, &ModelConfig::num_token_types, 0)) == "num_token_types");
}

TEST_CASE("GPT-2 has these tensors", "[interchange][names]") {
  CHECK(described(weights_of<gpt2>()) ==
        std::vector<std::string>{
            "transformer.wte.weight [5, 4]", "transformer.wpe.weight [3, 4]",
            "transformer.h.0.ln_1.weight [4]", "transformer.h.0.ln_1.bias [4]",
            "transformer.h.0.attn.c_attn.weight [4, 12]", "transformer.h.0.attn.c_attn.bias [12]",
            "transformer.h.0.attn.c_proj.weight [4, 4]", "transformer.h.0.attn.c_proj.bias [4]",
            "transformer.h.0.ln_2.weight [4]", "transformer.h.0.ln_2.bias [4]",
            "transformer.h.0.mlp.c_fc.weight [4, 16]", "transformer.h.0.mlp.c_fc.bias [16]",
            "transformer.h.0.mlp.c_proj.weight [16, 4]", "transformer.h.0.mlp.c_proj.bias [4]",
            "transformer.ln_f.weight [4]", "transformer.ln_f.bias [4]"});
}

TEST_CASE("GPT-2 without biases has the same tensors, with zero biases", "[interchange][names]") {
  const Weights weights = weights_of<gpt2_bias_free>();
  int zeros = 0;
  for (const HfTensor& tensor : hugging_face_tensors(weights.config, weights.table)) {
    CHECK(tensor.name.ends_with(".bias") == (tensor.parameter < 0));
    zeros += tensor.parameter < 0 ? 1 : 0;
  }
  CHECK(zeros == 2 * 6 + 1);
  CHECK(described(weights).back() == "lm_head.weight [5, 4]");
}

TEST_CASE("OPT has these tensors", "[interchange][names]") {
  CHECK(described(weights_of<opt>()) ==
        std::vector<std::string>{"model.decoder.embed_tokens.weight [7, 6]",
                                 "model.decoder.embed_positions.weight [6, 6]",
                                 "model.decoder.layers.0.self_attn_layer_norm.weight [6]",
                                 "model.decoder.layers.0.self_attn_layer_norm.bias [6]",
                                 "model.decoder.layers.0.self_attn.q_proj.weight [6, 6]",
                                 "model.decoder.layers.0.self_attn.k_proj.weight [6, 6]",
                                 "model.decoder.layers.0.self_attn.v_proj.weight [6, 6]",
                                 "model.decoder.layers.0.self_attn.q_proj.bias [6]",
                                 "model.decoder.layers.0.self_attn.k_proj.bias [6]",
                                 "model.decoder.layers.0.self_attn.v_proj.bias [6]",
                                 "model.decoder.layers.0.self_attn.out_proj.weight [6, 6]",
                                 "model.decoder.layers.0.self_attn.out_proj.bias [6]",
                                 "model.decoder.layers.0.final_layer_norm.weight [6]",
                                 "model.decoder.layers.0.final_layer_norm.bias [6]",
                                 "model.decoder.layers.0.fc1.weight [24, 6]",
                                 "model.decoder.layers.0.fc1.bias [24]",
                                 "model.decoder.layers.0.fc2.weight [6, 24]",
                                 "model.decoder.layers.0.fc2.bias [6]",
                                 "model.decoder.final_layer_norm.weight [6]",
                                 "model.decoder.final_layer_norm.bias [6]"});
}

TEST_CASE("Llama has these tensors, the vocabulary unpadded", "[interchange][names]") {
  CHECK(described(weights_of<llama>()) ==
        std::vector<std::string>{"model.embed_tokens.weight [130, 8]",
                                 "model.layers.0.input_layernorm.weight [8]",
                                 "model.layers.0.self_attn.q_proj.weight [8, 8]",
                                 "model.layers.0.self_attn.k_proj.weight [4, 8]",
                                 "model.layers.0.self_attn.v_proj.weight [4, 8]",
                                 "model.layers.0.self_attn.o_proj.weight [8, 8]",
                                 "model.layers.0.post_attention_layernorm.weight [8]",
                                 "model.layers.0.mlp.gate_proj.weight [5, 8]",
                                 "model.layers.0.mlp.up_proj.weight [5, 8]",
                                 "model.layers.0.mlp.down_proj.weight [8, 5]",
                                 "model.norm.weight [8]", "lm_head.weight [130, 8]"});
}

TEST_CASE("BERT has these tensors", "[interchange][names]") {
  CHECK(described(weights_of<bert>()) ==
        std::vector<std::string>{"bert.embeddings.word_embeddings.weight [9, 4]",
                                 "bert.embeddings.position_embeddings.weight [5, 4]",
                                 "bert.embeddings.token_type_embeddings.weight [2, 4]",
                                 "bert.embeddings.LayerNorm.weight [4]",
                                 "bert.embeddings.LayerNorm.bias [4]",
                                 "bert.encoder.layer.0.attention.self.query.weight [4, 4]",
                                 "bert.encoder.layer.0.attention.self.key.weight [4, 4]",
                                 "bert.encoder.layer.0.attention.self.value.weight [4, 4]",
                                 "bert.encoder.layer.0.attention.self.query.bias [4]",
                                 "bert.encoder.layer.0.attention.self.key.bias [4]",
                                 "bert.encoder.layer.0.attention.self.value.bias [4]",
                                 "bert.encoder.layer.0.attention.output.dense.weight [4, 4]",
                                 "bert.encoder.layer.0.attention.output.dense.bias [4]",
                                 "bert.encoder.layer.0.attention.output.LayerNorm.weight [4]",
                                 "bert.encoder.layer.0.attention.output.LayerNorm.bias [4]",
                                 "bert.encoder.layer.0.intermediate.dense.weight [16, 4]",
                                 "bert.encoder.layer.0.intermediate.dense.bias [16]",
                                 "bert.encoder.layer.0.output.dense.weight [4, 16]",
                                 "bert.encoder.layer.0.output.dense.bias [4]",
                                 "bert.encoder.layer.0.output.LayerNorm.weight [4]",
                                 "bert.encoder.layer.0.output.LayerNorm.bias [4]",
                                 "cls.predictions.transform.dense.weight [4, 4]",
                                 "cls.predictions.transform.dense.bias [4]",
                                 "cls.predictions.transform.LayerNorm.weight [4]",
                                 "cls.predictions.transform.LayerNorm.bias [4]",
                                 "cls.predictions.bias [9]"});
}

TEST_CASE("a model of no family keeps our names", "[interchange][names]") {
  const Weights weights = weights_of<own>();
  const std::vector<std::string> lines = described(weights);
  CHECK(lines.size() == weights.table.size());
  CHECK(lines.front() == "embedding.token [9, 8]");
  CHECK(lines.at(4) == "blocks.0.attention.out.weight [8, 8]");
}

TEST_CASE("every element of a model is in exactly one place of its tensors",
          "[interchange][names]") {
  const auto check = [](const Weights& weights) {
    std::vector<int> times(weights.values.size(), 0);
    for (const HfTensor& tensor : hugging_face_tensors(weights.config, weights.table)) {
      if (tensor.parameter < 0) continue;
      const Parameter& parameter = weights.table[static_cast<std::size_t>(tensor.parameter)];
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        ++times[static_cast<std::size_t>(parameter.offset + tensor.row_begin * tensor.cols + i)];
      }
    }
    std::vector<int> expected(times.size(), 0);
    for (const Parameter& parameter : weights.table) {
      for (std::int64_t i = 0; i < parameter.elements(); ++i) {
        expected[static_cast<std::size_t>(parameter.offset + i)] = 1;
      }
    }
    CHECK(times == expected);
  };
  check(weights_of<gpt2>());
  check(weights_of<opt>());
  check(weights_of<llama>());
  check(weights_of<bert>());
  check(weights_of<own>());
}

TEST_CASE("weights come back bit by bit from a folder of every family", "[interchange]") {
  check_round_trip<gpt2>();
  check_round_trip<gpt2_bias_free>();
  check_round_trip<opt>();
  check_round_trip<opt_bias_free>();
  check_round_trip<llama>();
  check_round_trip<bert>();
  check_round_trip<own>();
}

TEST_CASE("a GPT-2 matrix is stored transposed, a Llama matrix as it is", "[interchange]") {
  const TemporaryFolder folder;
  Weights weights = weights_of<gpt2>();
  const auto parameter = std::ranges::find(weights.table, "blocks.0.ffn.up.weight",
                                           &Parameter::name);
  for (std::int64_t i = 0; i < parameter->elements(); ++i) {
    weights.values[static_cast<std::size_t>(parameter->offset + i)] = static_cast<float>(i);
  }
  weights.write(folder.path());
  const SafetensorsReader reader(folder / "model.safetensors");
  std::vector<float> values(64);
  read_values(std::span(values), reader.at("transformer.h.0.mlp.c_fc.weight"));
  for (int in = 0; in < 4; ++in) {
    for (int out = 0; out < 16; ++out) {
      CHECK(values[static_cast<std::size_t>(in * 16 + out)] == static_cast<float>(out * 4 + in));
    }
  }
}

TEST_CASE("other element types are written and read too", "[interchange]") {
  const TemporaryFolder folder;
  const Weights weights = weights_of<llama>(7);
  std::vector<bf16> halves(weights.values.size());
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = bf16(weights.values[i]);
  write_hugging_face(folder.path(), llama, weights.table, DType::bfloat16, halves.data());
  CHECK(mentions(read_file(folder / "config.json", MiB(1)), "\"dtype\": \"bfloat16\""));

  std::vector<bf16> same_type(halves.size(), bf16(Weights::mark));
  read_hugging_face(folder.path(), llama, weights.table, DType::bfloat16, same_type.data());
  CHECK(same_type == halves);
  std::vector<double> wider(halves.size(), static_cast<double>(Weights::mark));
  read_hugging_face(folder.path(), llama, weights.table, DType::float64, wider.data());
  for (std::size_t i = 0; i < wider.size(); ++i) {
    CHECK(wider[i] == static_cast<double>(static_cast<float>(halves[i])));
  }

  weights.write(folder.path(), {.facts = {}, .metadata = {}, .file_dtype = DType::bfloat16});
  read_hugging_face(folder.path(), llama, weights.table, DType::bfloat16, same_type.data());
  CHECK(same_type == halves);
  CHECK_THROWS_AS(write_hugging_face(folder.path(), llama, weights.table, DType::none, nullptr),
                  ConfigError);
}

TEST_CASE("config.json says what the model is, to readers of both versions",
          "[interchange][config]") {
  const TemporaryFolder folder;
  const HfFacts facts{.dropout = 0.1, .bos_token_id = 3, .eos_token_id = 4, .pad_token_id = {}};
  weights_of<llama>(1).write(folder.path(), {.facts = facts, .metadata = {{"step", "12"}}});
  const std::string text = read_file(folder / "config.json", MiB(1));
  for (const char* line :
       {"\"model_type\": \"llama\"", "\"rms_norm_eps\": 1e-05", "\"rope_theta\": 500000.0",
        "\"rope_scaling\": null", "\"attention_dropout\": 0.1", "\"head_dim\": 2",
        "\"num_key_value_heads\": 2", "\"vocab_size\": 130", "\"tie_word_embeddings\": false",
        "\"bos_token_id\": 3", "\"pad_token_id\": null", "\"dtype\": \"float32\"",
        "\"torch_dtype\": \"float32\"", "\"initializer_range\": 0.02"}) {
    INFO(line);
    CHECK(mentions(text, line));
  }
  const std::string generation = read_file(folder / "generation_config.json", MiB(1));
  CHECK(mentions(generation, "\"eos_token_id\": 4"));
  CHECK_FALSE(mentions(generation, "pad_token_id"));
  const SafetensorsReader reader(folder / "model.safetensors");
  CHECK(reader.metadata().at("format") == "pt");
  CHECK(reader.metadata().at("step") == "12");
}

TEST_CASE("a training run passes its facts one by one", "[interchange][config]") {
  const TemporaryFolder folder;
  const Weights weights = weights_of<gpt2>(1);
  write_hugging_face(folder.path(), gpt2, weights.table, DType::float32, weights.values.data(),
                     {{"fount_step", "5"}}, 0.25, 1, 2);
  const std::string text = read_file(folder / "config.json", MiB(1));
  CHECK(mentions(text, "\"attn_pdrop\": 0.25", "\"bos_token_id\": 1", "\"eos_token_id\": 2"));
  CHECK(SafetensorsReader(folder / "model.safetensors").metadata().at("fount_step") == "5");
}

TEST_CASE("a model with no dropout writes 0.0, for readers that are strict about types",
          "[interchange][config]") {
  const std::string text = dump_json(hugging_face_config(gpt2, DType::float32));
  CHECK(mentions(text, "\"resid_pdrop\": 0.0"));
  CHECK(mentions(text, "\"n_ctx\": 3"));
  CHECK(mentions(text, "\"n_inner\": null"));
  CHECK(mentions(dump_json(hugging_face_config(opt, DType::float32)), "\"layerdrop\": 0.0"));
}

TEST_CASE("every preset comes back from its config.json", "[interchange][config]") {
  for (const Preset& preset : presets::all) {
    INFO(preset.name);
    const Json json = hugging_face_config(preset.model, DType::float32);
    const ModelConfig read = model_config_from_hugging_face(
        parse_json(dump_json(json), "config.json"), "config.json");
    CHECK(config_differences(read, preset.model).empty());
    CHECK(read.init_std == preset.model.init_std);
  }
  const Json json = hugging_face_config(own, DType::float32);
  CHECK(with(with(model_config_from_hugging_face(json, "c"), &ModelConfig::intermediate_size, 0),
             &ModelConfig::num_kv_heads, 1) == own);
}

TEST_CASE("keys that a config.json leaves out have the defaults of transformers",
          "[interchange][config]") {
  const auto read = [](const std::string& text) {
    return model_config_from_hugging_face(parse_json(text, "c"), "c");
  };
  const ModelConfig small = read(R"({"model_type": "gpt2", "vocab_size": 50257, "n_embd": 768,
      "n_layer": 12, "n_head": 12, "n_positions": 1024})");
  CHECK(small == presets::gpt2_124m);
  const ModelConfig llama_read = read(R"({"model_type": "llama", "vocab_size": 9,
      "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
      "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}})");
  CHECK(llama_read.num_kv_heads == 2);
  CHECK(llama_read.norm_eps == 1e-6F);
  CHECK(llama_read.rope_theta == 500'000.0F);
  CHECK_FALSE(llama_read.tied_embeddings);
  CHECK_FALSE(llama_read.bias);
}

TEST_CASE("a config.json that asks for something we do not compute is refused",
          "[interchange][config]") {
  const auto refusal = [](ModelConfig config, const std::string& key, const Json& value) {
    Json json = hugging_face_config(config, DType::float32);
    json[key] = value;
    return message_of<FileError>([&] { model_config_from_hugging_face(json, "dir/config.json"); });
  };
  CHECK(mentions(refusal(llama, "rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}),
                 "'dir/config.json': found \"rope_scaling\": \"llama3\""));
  CHECK(mentions(refusal(llama, "hidden_act", "gelu"), "hidden_act"));
  CHECK(mentions(refusal(llama, "head_dim", 16), "\"head_dim\": 16, expected 2"));
  CHECK(mentions(refusal(llama, "mlp_bias", true), "mlp_bias"));
  CHECK(mentions(refusal(opt, "do_layer_norm_before", false), "do_layer_norm_before"));
  CHECK(mentions(refusal(opt, "word_embed_proj_dim", 3), "word_embed_proj_dim"));
  CHECK(mentions(refusal(gpt2, "scale_attn_by_inverse_layer_idx", true), "inverse_layer"));
  CHECK(mentions(refusal(gpt2, "activation_function", "tanh"), "activation_function"));
  CHECK(mentions(refusal(gpt2, "n_embd", "4"), "n_embd"));
  CHECK(mentions(refusal(gpt2, "n_embd", -4), "n_embd"));
  CHECK(mentions(refusal(gpt2, "tie_word_embeddings", 1), "tie_word_embeddings"));
  CHECK(mentions(refusal(bert, "position_embedding_type", "relative_key"), "relative_key"));
  CHECK(mentions(refusal(own, "mask", "full"), "causal, bidirectional, sliding_window"));
  CHECK(mentions(refusal(gpt2, "model_type", "mistral"),
                 "found \"model_type\": \"mistral\", expected gpt2, opt, llama, bert or fount"));
}

TEST_CASE("a checkpoint of another model is refused with every field that differs",
          "[interchange][config]") {
  const TemporaryFolder folder;
  weights_of<gpt2>(3).write(folder.path());
  constexpr ModelConfig wanted = with(with(gpt2, &ModelConfig::num_layers, 3),
                                      &ModelConfig::activation, Activation::relu);
  Weights other = weights_of<wanted>();
  const std::string message = message_of<ConfigError>([&] { other.read(folder.path()); });
  CHECK(mentions(message, "config.json': num_layers: checkpoint has 1, this trainer was built "
                          "for 3; activation: checkpoint has gelu_tanh, this trainer was built "
                          "for relu; use"));
  Weights foreign = weights_of<llama>();
  CHECK(mentions(message_of<ConfigError>([&] { foreign.read(folder.path()); }),
                 "model_type: checkpoint has gpt2, this trainer was built for llama"));
}

TEST_CASE("a file that calls itself fount is not read as another family",
          "[interchange][config]") {
  const TemporaryFolder folder;
  Weights weights = weights_of<gpt2>(3);
  weights.write(folder.path());
  const Json json = detail::fount_config(gpt2, {});
  write_file_atomically(folder / "config.json", dump_json(json));
  CHECK(mentions(message_of<ConfigError>([&] { weights.read(folder.path()); }),
                 "model_type: checkpoint has fount, this trainer was built for gpt2"));
}

TEST_CASE("names without the prefix of the base model are understood", "[interchange]") {
  const TemporaryFolder folder;
  const auto check = [&](const Weights& written, Weights read, const std::string& prefix) {
    written.write(folder.path());
    rewrite(folder / "bare.safetensors", folder / "model.safetensors",
            [&](const std::string& name) {
              return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
            });
    read.read(folder / "bare.safetensors");
    CHECK(read.values == written.values);
  };
  check(weights_of<gpt2>(1), weights_of<gpt2>(), "transformer.");
  check(weights_of<opt>(2), weights_of<opt>(), "model.");
  check(weights_of<llama>(3), weights_of<llama>(), "model.");
  check(weights_of<bert>(4), weights_of<bert>(), "bert.");
}

TEST_CASE("what old files hold besides the model is skipped", "[interchange]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "model.safetensors";
  const fs::path old = folder / "old.safetensors";
  Weights weights = weights_of<gpt2>(1);
  weights.write(folder.path());
  rewrite(old, file, same,
          {{"transformer.h.0.attn.bias", {1, 1, 3, 3}}, {"transformer.h.0.attn.masked_bias", {}}});
  weights.read(old);

  Weights masked = weights_of<bert>(2);
  masked.write(folder.path());
  rewrite(old, file, [](std::string name) {
    if (const auto at = name.find("LayerNorm.weight"); at != std::string::npos) {
      name.replace(at, std::string::npos, "LayerNorm.gamma");
    }
    if (const auto at = name.find("LayerNorm.bias"); at != std::string::npos) {
      name.replace(at, std::string::npos, "LayerNorm.beta");
    }
    return name;
  }, {{"bert.embeddings.position_ids", {1, 5}}, {"bert.pooler.dense.bias", {4}}});
  Weights read = weights_of<bert>();
  read.read(old);
  CHECK(read.values == masked.values);
}

TEST_CASE("a tied head may be repeated if it is equal", "[interchange]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "model.safetensors";
  const fs::path copy = folder / "copy.safetensors";
  Weights weights = weights_of<gpt2>(1);
  std::fill_n(weights.values.begin(), 5 * 4, 1.0F);
  weights.write(folder.path());
  rewrite(copy, file, same, {{"lm_head.weight", {5, 4}}});
  weights.read(copy);

  weights.values[3] = 2.0F;
  weights.write(folder.path());
  rewrite(copy, file, same, {{"lm_head.weight", {5, 4}}});
  CHECK(mentions(message_of<FileError>([&] { weights.read(copy); }),
                 "found tensor 'lm_head.weight' that differs from 'transformer.wte.weight'"));
}

TEST_CASE("a missing, foreign or misshapen tensor is named with its file", "[interchange]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "model.safetensors";
  const fs::path bad = folder / "bad.safetensors";
  Weights weights = weights_of<llama>(1);
  weights.write(folder.path());

  rewrite(bad, file, [](const std::string& name) {
    return name == "model.norm.weight" ? std::string() : name;
  });
  CHECK(mentions(message_of<FileError>([&] { weights.read(bad); }),
                 bad.string() + "': found 11 tensors, none of them 'model.norm.weight', expected a "
                                "tensor 'model.norm.weight' of shape [8]"));

  rewrite(bad, file, [](const std::string& name) {
    return name == "model.norm.weight" ? std::string() : name;
  }, {{"model.norm.weight", {7}}});
  CHECK(mentions(message_of<FileError>([&] { weights.read(bad); }),
                 bad.string() + "': found tensor 'model.norm.weight' of shape [7], expected shape "
                                "[8]"));

  rewrite(bad, file, same, {{"model.layers.1.input_layernorm.weight", {8}}});
  CHECK(mentions(message_of<FileError>([&] { weights.read(bad); }),
                 "found tensor 'model.layers.1.input_layernorm.weight' of shape [8], expected only "
                 "tensors of the compiled model"));

  // Under both spellings, one is superfluous.
  rewrite(bad, file, same, {{"norm.weight", {8}}});
  CHECK_THROWS_AS(weights.read(bad), FileError);
}

TEST_CASE("a bias that a bias-free GPT-2 cannot have is refused", "[interchange]") {
  const TemporaryFolder folder;
  const fs::path bad = folder / "bad.safetensors";
  Weights weights = weights_of<gpt2_bias_free>(1);
  weights.write(folder.path());
  rewrite(bad, folder / "model.safetensors", [](const std::string& name) {
    return name == "transformer.h.1.ln_2.bias" ? std::string() : name;
  }, {{"transformer.h.1.ln_2.bias", {4}}});
  CHECK(mentions(message_of<FileError>([&] { weights.read(bad); }),
                 "found values in tensor 'transformer.h.1.ln_2.bias', expected zeros"));
}

TEST_CASE("a folder without its files is refused", "[interchange]") {
  const TemporaryFolder folder;
  Weights weights = weights_of<gpt2>(1);
  CHECK(mentions(message_of<FileError>([&] { weights.read(folder.path()); }), "config.json"));
  weights.write(folder.path());
  fs::remove(folder / "model.safetensors");
  CHECK(mentions(message_of<FileError>([&] { weights.read(folder.path()); }), "model.safetensors"));
  CHECK_THROWS_AS(weights.read(folder / "nothing"), FileError);
}

TEST_CASE("shards are read through their index", "[interchange]") {
  const TemporaryFolder folder;
  const Weights written = weights_of<opt>(5);
  written.write(folder.path());
  const auto is_layer = [](const std::string& name) { return mentions(name, ".layers."); };
  const fs::path whole = folder / "model.safetensors";
  const std::string shards[] = {"model-00001-of-00002.safetensors",
                                "model-00002-of-00002.safetensors"};
  rewrite(folder.path() / shards[0], whole,
          [&](const std::string& name) { return is_layer(name) ? std::string() : name; });
  rewrite(folder.path() / shards[1], whole,
          [&](const std::string& name) { return is_layer(name) ? name : std::string(); });
  Json map = Json::object();
  for (const HfTensor& tensor : hugging_face_tensors(opt, written.table)) {
    map[tensor.name] = shards[is_layer(tensor.name) ? 1 : 0];
  }
  const fs::path index = folder / "model.safetensors.index.json";
  const auto write_index = [&] {
    write_file_atomically(index, dump_json({{"metadata", {{"total_size", 1}}},
                                            {"weight_map", map}}));
  };
  fs::remove(whole);
  write_index();
  Weights read = weights_of<opt>();
  read.read(folder.path());
  CHECK(read.values == written.values);

  SECTION("a shard elsewhere is refused") {
    map["model.decoder.layers.0.fc1.bias"] = "../" + shards[1];
    write_index();
    CHECK(mentions(message_of<FileError>([&] { read.read(folder.path()); }),
                   "tensor 'model.decoder.layers.0.fc1.bias' in shard \"../"));
  }
  SECTION("a tensor that is not where the index says is refused") {
    map["model.decoder.layers.0.fc1.bias"] = shards[0];
    write_index();
    const std::string message = message_of<FileError>([&] { read.read(folder.path()); });
    CHECK(mentions(message, shards[0]));
    CHECK(mentions(message, "none of them 'model.decoder.layers.0.fc1.bias'"));
  }
  SECTION("a tensor in two shards is refused") {
    rewrite(folder.path() / shards[1], folder.path() / shards[1], same,
            {{"model.decoder.embed_tokens.weight", {7, 6}}});
    CHECK(mentions(message_of<FileError>([&] { read.read(folder.path()); }),
                   "each tensor in one shard"));
  }
  SECTION("a missing shard is refused") {
    fs::remove(folder.path() / shards[1]);
    CHECK(mentions(message_of<FileError>([&] { read.read(folder.path()); }), shards[1]));
  }
}

TEST_CASE("the table of another model is refused", "[interchange][names]") {
  const Weights weights = weights_of<llama>();
  CHECK(mentions(message_of<ConfigError>([&] { hugging_face_tensors(gpt2, weights.table); }),
                 "'blocks.0.ffn.gate_up.weight' has no name in the gpt2 family"));
}
