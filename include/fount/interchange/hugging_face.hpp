// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models as Hugging Face folders: weights and configuration written so that transformers, vLLM and
// converters load them as they are, and read back, one file or shards. Which tensor is which is in
// hugging_face_names.hpp, config.json in hugging_face_config.hpp; the format in io/safetensors.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fount/interchange/hugging_face_config.hpp>
#include <fount/interchange/hugging_face_config_reader.hpp>
#include <fount/interchange/hugging_face_names.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>
#include <fount/io/safetensors.hpp>

namespace fount {

/// What a folder holds besides the weights and the model's configuration.
struct HfWriteOptions {
  HfFacts facts;
  std::map<std::string, std::string> metadata;  // added to that of model.safetensors
  DType file_dtype = DType::none;               // none: as the weights are
};

namespace detail {

/// Calls body(T{}) with the element type of `dtype`. @throws ConfigError for `none`
template <class Body>
void with_element_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float16: return body(fp16{});
    case DType::bfloat16: return body(bf16{});
    case DType::float32: return body(float{});
    case DType::float64: return body(double{});
    case DType::none: break;
  }
  throw ConfigError("weights of element type 'none': expected float16, bfloat16, float32, float64");
}

/// First element of what `tensor` holds, in a buffer laid out by the parameter table.
inline std::int64_t first_element(const HfTensor& tensor,
                                  const std::vector<Parameter>& parameters) {
  const Parameter& parameter = parameters[static_cast<std::size_t>(tensor.parameter)];
  return parameter.offset + tensor.row_begin * tensor.cols;
}

/// out (cols, rows) = the transpose of in (rows, cols), in squares that fit the cache.
template <class T>
void transpose(T* out, const T* in, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t side = 32;
  for (std::int64_t row = 0; row < rows; row += side) {
    for (std::int64_t col = 0; col < cols; col += side) {
      for (std::int64_t i = row; i < std::min(row + side, rows); ++i) {
        for (std::int64_t j = col; j < std::min(col + side, cols); ++j) {
          out[j * rows + i] = in[i * cols + j];
        }
      }
    }
  }
}

template <Element T>
void write_hf_weights(SafetensorsWriter& writer, const std::vector<HfTensor>& tensors,
                      const std::vector<Parameter>& parameters, const T* weights) {
  std::vector<T> turned;
  for (const HfTensor& tensor : tensors) {
    const auto count = static_cast<std::size_t>(tensor.elements());
    const T* values = nullptr;
    if (tensor.parameter >= 0) values = weights + first_element(tensor, parameters);
    if (values == nullptr) {
      turned.assign(count, T{});
      values = turned.data();
    } else if (tensor.transpose) {
      turned.resize(count);
      transpose(turned.data(), values, tensor.rows, tensor.cols);
      values = turned.data();
    }
    writer.write_values(tensor.name, std::span(values, count));
  }
}

}  // namespace detail

/// Writes model.safetensors, config.json and (for models that generate) generation_config.json.
/// Files appear whole or not at all; a model that no published family has gets our own names and
/// `model_type: fount`.
/// @param weights  the buffer that `parameters` describes, in elements of `dtype`
/// @throws FileError if the folder cannot be written
inline void write_hugging_face(const std::filesystem::path& folder, const ModelConfig& config,
                               const std::vector<Parameter>& parameters, DType dtype,
                               const void* weights, const HfWriteOptions& options = {}) {
  ensure_directory(folder);
  const DType stored = options.file_dtype == DType::none ? dtype : options.file_dtype;
  const auto type = tensor_type_of(stored);
  if (!type) throw ConfigError("write_hugging_face: weights of element type 'none'");
  const std::vector<HfTensor> tensors = hugging_face_tensors(config, parameters);
  SafetensorsWriter writer(folder / "model.safetensors");
  for (const auto& [key, value] : options.metadata) writer.set_metadata(key, value);
  for (const HfTensor& tensor : tensors) writer.declare(tensor.name, *type, tensor.shape);
  detail::with_element_type(dtype, [&]<class T>(T) {
    detail::write_hf_weights(writer, tensors, parameters, static_cast<const T*>(weights));
  });
  writer.finish();
  write_file_atomically(folder / "config.json",
                        dump_json(hugging_face_config(config, stored, options.facts)) + "\n");
  if (config.head == Head::language_model) {
    write_file_atomically(folder / "generation_config.json",
                          dump_json(hugging_face_generation_config(options.facts)) + "\n");
  }
}

/// The same for a training run, which adds metadata and knows its dropout and special tokens.
inline void write_hugging_face(const std::filesystem::path& folder, const ModelConfig& config,
                               const std::vector<Parameter>& parameters, DType dtype,
                               const void* weights,
                               const std::map<std::string, std::string>& metadata, double dropout,
                               std::optional<int> bos_token_id = std::nullopt,
                               std::optional<int> eos_token_id = std::nullopt) {
  HfWriteOptions options;
  options.metadata = metadata;
  options.facts.dropout = dropout;
  options.facts.bos_token_id = bos_token_id;
  options.facts.eos_token_id = eos_token_id;
  write_hugging_face(folder, config, parameters, dtype, weights, options);
}

namespace detail {

/// The tensors of one file, or of all shards that an index names, under the names they have there.
class HfFiles {
 public:
  /// @param path  a folder, a .safetensors file, or an index.json
  explicit HfFiles(const std::filesystem::path& path) {
    std::filesystem::path file = path;
    if (std::filesystem::is_directory(path)) {
      file = path / "model.safetensors";
      if (!std::filesystem::exists(file) &&
          std::filesystem::exists(path / "model.safetensors.index.json")) {
        file = path / "model.safetensors.index.json";
      }
    }
    where_ = file.string();
    if (file.extension() == ".json") {
      open_shards(file);
    } else {
      open(file);
    }
  }

  const std::string& where() const { return where_; }
  /// The file that holds the tensor, or null.
  const SafetensorsReader* find(const std::string& name) const {
    const auto at = readers_of_.find(name);
    return at == readers_of_.end() ? nullptr : at->second;
  }
  const std::map<std::string, const SafetensorsReader*>& tensors() const { return readers_of_; }

 private:
  const SafetensorsReader& open(const std::filesystem::path& file) {
    readers_.push_back(std::make_unique<SafetensorsReader>(file));
    const SafetensorsReader& reader = *readers_.back();
    for (const TensorInfo& info : reader.tensors()) {
      const auto [at, is_new] = readers_of_.emplace(info.name, &reader);
      if (!is_new) {
        throw FileError::content(reader.path(), "tensor '" + info.name + "', which '" +
                                 at->second->path() + "' holds too", "each tensor in one shard");
      }
    }
    return reader;
  }

  void open_shards(const std::filesystem::path& file) {
    const Json index = parse_json(read_file(file, MiB(256)), where_);
    const Json& map = json_member(index, "weight_map", where_);
    if (!map.is_object()) {
      throw FileError::content(where_, "a \"weight_map\" of type " + std::string(map.type_name()),
                               "an object: tensor names with names of shards");
    }
    std::map<std::string, const SafetensorsReader*> shards;
    for (const auto& [tensor, value] : map.items()) {
      const std::string shard = value.is_string() ? value.get<std::string>() : std::string();
      if (!is_plain_name(shard)) {
        throw FileError::content(where_, "tensor '" + tensor + "' in shard " +
                                 value.dump(-1, ' ', true, Json::error_handler_t::replace),
                                 "the plain name of a file in the same folder");
      }
      const SafetensorsReader*& reader = shards[shard];
      if (reader == nullptr) reader = &open(file.parent_path() / shard);
      reader->at(tensor);  // reports a tensor that is not where the index says
    }
  }

  std::string where_;
  std::vector<std::unique_ptr<SafetensorsReader>> readers_;
  std::map<std::string, const SafetensorsReader*> readers_of_;
};

/// The spellings under which a file may hold the tensor `name`: as it is, without the prefix of the
/// base model, and with the names of old TensorFlow checkpoints.
inline std::vector<std::string> hf_spellings(const std::string& name, Family family) {
  std::vector<std::string> spellings = {name};
  const std::string_view prefix = base_prefix(family);
  if (!prefix.empty() && name.starts_with(prefix)) spellings.push_back(name.substr(prefix.size()));
  const std::size_t plain = family == Family::bert ? spellings.size() : 0;
  for (std::size_t i = 0; i < plain; ++i) {
    const auto [stem, suffix] = split_name(spellings[i]);
    if (!stem.ends_with("LayerNorm")) continue;
    spellings.push_back(std::string(stem) + (suffix == ".weight" ? ".gamma" : ".beta"));
  }
  return spellings;
}

/// Takes tensors out of the files one by one and notices what is left over.
class HfLoader {
 public:
  HfLoader(const std::filesystem::path& path, const ModelConfig& config)
      : files_(path), config_(config), family_(family_of(config)) {}

  /// The tensor `name` under any of its spellings, of that shape.
  StoredTensor take(const std::string& name, std::span<const std::int64_t> shape) {
    if (const auto [reader, spelling] = find(name); reader != nullptr) {
      return reader->at(spelling, shape);
    }
    throw FileError::content(files_.where(), std::to_string(files_.tensors().size()) +
                             " tensors, none of them '" + name + "'",
                             "a tensor '" + name + "' of shape " + to_string(shape),
                             "check that the file belongs to this model");
  }

  /// Refuses tensors that nobody took, except what is known to be superfluous.
  void check_rest() {
    for (const HfAlias& alias : hugging_face_aliases(config_)) check_alias(alias);
    for (const auto& [name, reader] : files_.tensors()) {
      if (taken_.contains(name) || is_ignorable(family_, name)) continue;
      throw FileError::content(reader->path(), "tensor '" + name + "' of shape " +
                               to_string(reader->find(name)->shape),
                               "only tensors of the compiled model",
                               "check that the file belongs to this model");
    }
  }

 private:
  struct Found {
    const SafetensorsReader* reader = nullptr;
    std::string spelling;
  };
  Found find(const std::string& name) {
    for (const std::string& spelling : hf_spellings(name, family_)) {
      if (const SafetensorsReader* reader = files_.find(spelling)) {
        taken_.insert(spelling);
        return {.reader = reader, .spelling = spelling};
      }
    }
    return {};
  }

  void check_alias(const HfAlias& alias) {
    const Found one = find(std::string(alias.name));
    const Found other = find(std::string(alias.same_as));
    if (one.reader == nullptr || other.reader == nullptr) return;
    const StoredTensor copy = one.reader->at(one.spelling);
    const StoredTensor original = other.reader->at(other.spelling);
    if (copy.info.type != original.info.type || copy.info.shape != original.info.shape ||
        !std::ranges::equal(copy.data, original.data)) {
      throw FileError::content(copy.file, "tensor '" + copy.info.name + "' that differs from '" +
                               original.info.name + "'",
                               "equal tensors, since the compiled model's embeddings are tied",
                               "build the trainer with tied_embeddings = false");
    }
  }

  HfFiles files_;
  const ModelConfig& config_;
  Family family_;
  std::set<std::string> taken_;
};

template <Element T>
void read_hf_tensor(T* weights, const StoredTensor& stored, const HfTensor& tensor,
                    const std::vector<Parameter>& parameters, std::vector<T>& room) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  if (tensor.parameter >= 0 && !tensor.transpose) {
    read_values(std::span(weights + first_element(tensor, parameters), count), stored);
    return;
  }
  room.resize(count);
  read_values(std::span(room), stored);
  if (tensor.parameter >= 0) {
    transpose(weights + first_element(tensor, parameters), room.data(), tensor.cols, tensor.rows);
  } else if (std::ranges::any_of(room, [](T value) { return static_cast<float>(value) != 0.0F; })) {
    throw FileError::content(stored.file, "values in tensor '" + stored.info.name + "'",
                             "zeros, since the compiled model has no biases",
                             "build the trainer with bias = true");
  }
}

}  // namespace detail

/// Reads weights into the buffer that `parameters` describes; its padding is left alone.
/// @param path     a folder (its config.json must describe this model), a .safetensors file or a
///                 .safetensors.index.json; float16, bfloat16, float32 and float64 are converted
/// @param weights  the buffer, in elements of `dtype`; partly filled after an exception
/// @throws ConfigError if config.json differs from `config`; FileError naming file and tensor if
///         one is missing, has another shape, or does not belong to the model
inline void read_hugging_face(const std::filesystem::path& path, const ModelConfig& config,
                              const std::vector<Parameter>& parameters, DType dtype,
                              void* weights) {
  if (std::filesystem::is_directory(path)) check_hugging_face_config(path / "config.json", config);
  detail::HfLoader loader(path, config);
  const std::vector<HfTensor> tensors = hugging_face_tensors(config, parameters);
  detail::with_element_type(dtype, [&]<class T>(T) {
    std::vector<T> room;
    for (const HfTensor& tensor : tensors) {
      const StoredTensor stored = loader.take(tensor.name, tensor.shape);
      detail::read_hf_tensor(static_cast<T*>(weights), stored, tensor, parameters, room);
    }
  });
  loader.check_rest();
}

}  // namespace fount
