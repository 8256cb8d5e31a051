// SPDX-License-Identifier: Apache-2.0
// The models against Hugging Face transformers: logits, loss and every gradient of the fixtures in
// tests/reference, in double and in float. The weights come in through the reader of Hugging Face
// folders, so its mapping is proved here too.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <fount/interchange/hugging_face.hpp>
#include <fount/train/training_model.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fount;

constexpr ModelConfig gpt2_config = {.vocab_size = 29, .hidden_size = 12, .num_layers = 2,
                                     .num_heads = 3, .max_seq_len = 16, .bias = true};

constexpr ModelConfig gpt2_untied_config = {
    .vocab_size = 29, .hidden_size = 8, .num_layers = 2, .num_heads = 2, .intermediate_size = 20,
    .max_seq_len = 16, .activation = Activation::gelu_erf, .bias = true, .tied_embeddings = false};

constexpr ModelConfig opt_config = {
    .vocab_size = 29, .hidden_size = 12, .num_layers = 2, .num_heads = 3, .intermediate_size = 24,
    .max_seq_len = 16, .activation = Activation::relu, .bias = true, .position_offset = 2};

constexpr ModelConfig llama_config = {
    .vocab_size = 29, .hidden_size = 24, .num_layers = 2, .num_heads = 6, .num_kv_heads = 2,
    .intermediate_size = 20, .max_seq_len = 16, .norm = Norm::rms_norm,
    .activation = Activation::swiglu, .position = Position::rotary, .tied_embeddings = false};

constexpr ModelConfig llama_tied_config = {
    .vocab_size = 29, .hidden_size = 16, .num_layers = 2, .num_heads = 4, .num_kv_heads = 1,
    .intermediate_size = 20, .max_seq_len = 16, .norm = Norm::rms_norm,
    .activation = Activation::swiglu, .position = Position::rotary, .bias = true,
    .rope_theta = 500'000.0F};

constexpr ModelConfig bert_config = {
    .vocab_size = 29, .hidden_size = 12, .num_layers = 2, .num_heads = 3, .intermediate_size = 24,
    .max_seq_len = 16, .activation = Activation::gelu_erf, .mask = Mask::bidirectional,
    .norm_placement = NormPlacement::post, .head = Head::masked_language_model, .bias = true,
    .num_token_types = 2, .norm_eps = 1e-12F};

SafetensorsReader open_fixture(const std::string& name) {
  return SafetensorsReader(std::filesystem::path(FOUNT_SOURCE_DIR) / "tests/reference/fixtures" /
                           (name + ".safetensors"));
}

std::vector<double> doubles(const SafetensorsReader& file, const std::string& name) {
  const StoredTensor tensor = file.at(name);
  std::vector<double> values(tensor.data.size() / sizeof(double));
  read_values(std::span(values), tensor);
  return values;
}

/// Copies an I32 tensor; the number of elements must be `count`.
void copy_ids(std::int32_t* out, const SafetensorsReader& file, const std::string& name,
              std::int64_t count) {
  const StoredTensor tensor = file.at(name);
  REQUIRE(tensor.info.type == TensorType::i32);
  REQUIRE(tensor.data.size() == static_cast<std::size_t>(count) * sizeof(std::int32_t));
  std::memcpy(out, tensor.data.data(), tensor.data.size());
}

/// The fixture's weights and its config as the folder that save_pretrained would write.
void write_folder(const std::filesystem::path& folder, const SafetensorsReader& file) {
  SafetensorsWriter writer(folder / "model.safetensors");
  const std::string prefix = "weight.";
  std::vector<std::string> names;
  for (const TensorInfo& info : file.tensors()) {
    if (!info.name.starts_with(prefix)) continue;
    names.push_back(info.name.substr(prefix.size()));
    writer.declare(names.back(), info.type, info.shape);
  }
  for (const std::string& name : names) writer.write(name, file.at(prefix + name).data);
  writer.finish();
  write_file_atomically(folder / "config.json", file.metadata().at("config"));
}

double norm(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// ||a - b|| / max(||b||, floor)
double relative_error(const std::vector<double>& a, const std::vector<double>& b, double floor) {
  REQUIRE(a.size() == b.size());
  std::vector<double> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm(difference) / std::max(norm(b), floor);
}

/// A tensor in Hugging Face's layout out of our gradients.
template <class T>
std::vector<double> in_their_layout(const HfTensor& tensor, const std::vector<Parameter>& table,
                                    const T* gradients) {
  const T* const ours = gradients + table[static_cast<std::size_t>(tensor.parameter)].offset;
  std::vector<double> theirs(static_cast<std::size_t>(tensor.elements()));
  for (std::int64_t row = 0; row < tensor.rows; ++row) {
    for (std::int64_t col = 0; col < tensor.cols; ++col) {
      const std::int64_t at = tensor.transpose ? col * tensor.rows + row : row * tensor.cols + col;
      theirs[static_cast<std::size_t>(at)] =
          static_cast<double>(ours[(tensor.row_begin + row) * tensor.cols + col]);
    }
  }
  return theirs;
}

template <ModelConfig C, Precision P>
class Comparison {
 public:
  Comparison(const std::string& fixture, double tolerance)
      : file_(open_fixture(fixture)),
        tolerance_(tolerance),
        model_({.batch_size = 2, .seq_len = 7}) {
    test::TemporaryFolder folder;
    write_folder(folder.path(), file_);
    read_hugging_face(folder.path(), C, model_.parameters(), model_.weights().dtype,
                      model_.weights().data);
    copy_ids(model_.inputs(), file_, "input_ids", tokens);
    copy_ids(model_.labels(), file_, "labels", tokens);
    if (file_.find("documents") != nullptr) {
      copy_ids(model_.documents(), file_, "documents", tokens);
      model_.use_documents(true);
      is_token_.clear();
      for (int i = 0; i < tokens; ++i) is_token_.push_back(model_.documents()[i] >= 0);
    }
  }

  void run() {
    compare_logits();
    compare_loss();
    compare_gradients();
  }

 private:
  using T = element_t<P.activation>;
  static constexpr int tokens = 2 * 7;

  void compare_logits() {
    std::vector<T> logits(static_cast<std::size_t>(tokens) * C.padded_vocab_size());
    model_.logits(logits.data());
    const std::vector<double> reference = doubles(file_, "logits");
    std::vector<double> found(reference.size());
    for (std::size_t row = 0; row < tokens; ++row) {
      for (std::size_t v = 0; is_token_[row] && v < C.vocab_size; ++v) {
        found[row * C.vocab_size + v] =
            static_cast<double>(logits[row * C.padded_vocab_size() + v]);
      }
    }
    CHECK(relative_error(found, reference, 0.0) <= tolerance_);
  }

  void compare_loss() {
    const double reference = doubles(file_, "loss").at(0);
    const auto valid = std::count_if(model_.labels(), model_.labels() + tokens,
                                     [](std::int32_t label) { return label >= 0; });
    REQUIRE(valid > 0);
    model_.zero_gradients();
    const double sum = model_.forward({.loss_scale = 1.0 / static_cast<double>(valid)});
    CHECK(std::abs(sum / static_cast<double>(valid) - reference) <= tolerance_ * reference);
    CHECK(std::abs(model_.evaluate() - sum) <= tolerance_ * sum);
    // The evaluation used the same buffers: backward must follow a forward.
    model_.zero_gradients();
    model_.forward({.loss_scale = 1.0 / static_cast<double>(valid)});
    model_.backward();
  }

  void compare_gradients() {
    const std::vector<HfTensor> tensors = hugging_face_tensors(C, model_.parameters());
    double largest = 0.0;
    for (const HfTensor& tensor : tensors) {
      largest = std::max(largest, norm(doubles(file_, "grad." + tensor.name)));
    }
    const auto* const gradients = reinterpret_cast<const T*>(model_.gradients().data);
    for (const HfTensor& tensor : tensors) {
      const std::vector<double> reference = doubles(file_, "grad." + tensor.name);
      const auto found = in_their_layout(tensor, model_.parameters(), gradients);
      INFO(tensor.name);
      CHECK(relative_error(found, reference, 1e-3 * largest) <= tolerance_);
    }
    std::size_t stored = 0;
    for (const TensorInfo& info : file_.tensors()) stored += info.name.starts_with("grad.");
    CHECK(stored == tensors.size());
  }

  SafetensorsReader file_;
  double tolerance_;
  TrainingModel<C, P> model_;
  std::vector<bool> is_token_ = std::vector<bool>(tokens, true);
};

template <ModelConfig C>
void compare_with_reference(const std::string& fixture) {
  const SafetensorsReader file = open_fixture(fixture);
  const Json config = parse_json(file.metadata().at("config"), file.path());
  CHECK(model_config_from_hugging_face(config, file.path()) == C);
  Comparison<C, fp64>(fixture, 1e-10).run();
  Comparison<C, fp32>(fixture, 1e-5).run();
}

}  // namespace

TEST_CASE("GPT-2 agrees with transformers", "[models][reference]") {
  compare_with_reference<gpt2_config>("gpt2");
}

TEST_CASE("GPT-2 with its own head and the erf GELU agrees with transformers",
          "[models][reference]") {
  compare_with_reference<gpt2_untied_config>("gpt2_untied_gelu");
}

TEST_CASE("OPT agrees with transformers", "[models][reference]") {
  compare_with_reference<opt_config>("opt");
}

TEST_CASE("Llama with grouped queries agrees with transformers", "[models][reference]") {
  compare_with_reference<llama_config>("llama");
}

TEST_CASE("Llama with one key-value head, biases and tied embeddings agrees with transformers",
          "[models][reference]") {
  compare_with_reference<llama_tied_config>("llama_tied");
}

TEST_CASE("BERT agrees with transformers on every position that is no padding",
          "[models][reference]") {
  compare_with_reference<bert_config>("bert");
}
