// SPDX-License-Identifier: Apache-2.0
#pragma once
// A checkpoint is a Hugging Face model folder with a trainer/ folder inside: weights, config and
// tokenizer load elsewhere as they are, trainer/ holds what continuing needs. It is written beside
// its place and renamed into it.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/data/cursor_json.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/interchange/hugging_face.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/json.hpp>
#include <fount/io/paths.hpp>
#include <fount/io/safetensors.hpp>
#include <fount/train/loss_scale.hpp>
#include <fount/train/model.hpp>
#include <fount/version.hpp>

namespace fount {

/// Everything that changes during a run besides the model's buffers.
struct TrainerState {
  std::int64_t step = 0;      // updates applied
  std::int64_t attempts = 0;  // steps tried: applied and skipped; addresses the dropout masks
  std::int64_t samples = 0;   // windows served: the cursor of the loader
  std::int64_t tokens = 0;    // tokens trained on
  std::int64_t skipped = 0;   // steps left out because a gradient was not finite
  std::int64_t skipped_in_a_row = 0;
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = -1;
  LossScale loss_scale;  // 1 and unused unless the precision asks for one
  StreamCursor stream;   // where text that is read while training stands

  // What must be the same when a run goes on:
  std::string run_id;
  std::uint64_t seed = 0;
  std::uint64_t data_hash = 0;
  int seq_len = 0;
  Optimizer optimizer = Optimizer::adamw;
  std::string precision = "fp32";
};

namespace detail {

inline constexpr std::string_view checkpoint_prefix = "step-";

inline Json to_json(const TrainerState& state) {
  Json json;
  json["format"] = 1;
  json["fount_version"] = version;
  json["run_id"] = state.run_id;
  json["step"] = state.step;
  json["attempts"] = state.attempts;
  json["samples"] = state.samples;
  json["tokens"] = state.tokens;
  json["skipped"] = state.skipped;
  json["skipped_in_a_row"] = state.skipped_in_a_row;
  json["best_val_loss"] =
      std::isfinite(state.best_val_loss) ? Json(state.best_val_loss) : Json(nullptr);
  json["best_step"] = state.best_step;
  json["loss_scale"] = state.loss_scale.factor;
  json["steps_at_scale"] = state.loss_scale.steps_at_scale;
  json["stream"] = to_json(state.stream);
  json["seed"] = to_hex(state.seed);
  json["data_hash"] = to_hex(state.data_hash);
  json["seq_len"] = state.seq_len;
  json["optimizer"] = name_of(state.optimizer);
  json["precision"] = state.precision;
  return json;
}

inline TrainerState state_from_json(const Json& json, const std::string& where) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  json_integer(json, "format", where, 1, 1);
  TrainerState state;
  state.run_id = json_string(json, "run_id", where);
  state.step = json_integer(json, "step", where, 0, most);
  state.attempts = json_integer(json, "attempts", where, 0, most);
  state.samples = json_integer(json, "samples", where, 0, most);
  state.tokens = json_integer(json, "tokens", where, 0, most);
  state.skipped = json_integer(json, "skipped", where, 0, most);
  state.skipped_in_a_row = json_integer(json, "skipped_in_a_row", where, 0, most);
  if (const Json& best = json_member(json, "best_val_loss", where); best.is_number()) {
    state.best_val_loss = best.get<double>();
  }
  state.best_step = json_integer(json, "best_step", where, -1, most);
  const Json& scale = json_member(json, "loss_scale", where);
  state.loss_scale.factor = scale.is_number() ? scale.get<double>() : 0;
  if (!(state.loss_scale.factor >= 1 && state.loss_scale.factor <= LossScale::largest)) {
    throw FileError::content(where, "loss_scale = " + scale.dump().substr(0, 40),
                             "a number from 1 to 16777216", "use another checkpoint");
  }
  state.loss_scale.steps_at_scale = json_integer(json, "steps_at_scale", where, 0, most);
  // Checkpoints of earlier versions have none, and need none.
  if (json.contains("stream")) state.stream = cursor_from(json.at("stream"), where);
  state.seed = hash_member(json, "seed", where);
  state.data_hash = hash_member(json, "data_hash", where);
  state.seq_len =
      static_cast<int>(json_integer(json, "seq_len", where, 1, std::numeric_limits<int>::max()));
  const std::string optimizer = json_string(json, "optimizer", where);
  if (optimizer != "adamw" && optimizer != "sgd") {
    throw FileError::content(where, "optimizer \"" + optimizer.substr(0, 40) + "\"", "adamw or sgd",
                             "the checkpoint may come from a newer version");
  }
  state.optimizer = optimizer == "sgd" ? Optimizer::sgd : Optimizer::adamw;
  state.precision = json_string(json, "precision", where);
  return state;
}

/// A buffer of the optimizer and what its tensors are called in optimizer.safetensors.
struct NamedBuffer {
  std::string prefix;
  ParameterBuffer buffer;
};

/// Moments and master weights: everything that the next update reads besides weights and gradients.
inline std::vector<NamedBuffer> optimizer_buffers(TrainableModel& model) {
  std::vector<NamedBuffer> result;
  for (int index = 0; model.moments(index).data != nullptr; ++index) {
    result.push_back({"moment" + std::to_string(index + 1) + ".", model.moments(index)});
  }
  if (model.master_weights().data != nullptr) result.push_back({"master.", model.master_weights()});
  return result;
}

inline TensorShape parameter_shape(const Parameter& parameter) {
  return parameter.rows == 0 ? TensorShape{parameter.cols}
                             : TensorShape{parameter.rows, parameter.cols};
}

/// The bytes of one parameter inside a buffer, padding left out.
inline std::span<std::byte> slice(const ParameterBuffer& buffer, const Parameter& parameter) {
  const std::size_t size = size_of(buffer.dtype);
  return {buffer.data + static_cast<std::size_t>(parameter.offset) * size,
          static_cast<std::size_t>(parameter.elements()) * size};
}

inline void write_optimizer(const std::filesystem::path& path, TrainableModel& model) {
  SafetensorsWriter writer(path);
  const std::vector<NamedBuffer> buffers = optimizer_buffers(model);
  // The buffers of every precision are of an element type that the format has.
  for (const auto& [prefix, buffer] : buffers) {
    for (const Parameter& parameter : model.parameters()) {
      writer.declare(prefix + parameter.name, *tensor_type_of(buffer.dtype),
                     parameter_shape(parameter));
    }
  }
  for (const auto& [prefix, buffer] : buffers) {
    for (const Parameter& parameter : model.parameters()) {
      writer.write(prefix + parameter.name, slice(buffer, parameter));
    }
  }
  writer.finish();
}

inline void read_optimizer(const std::filesystem::path& path, TrainableModel& model) {
  const SafetensorsReader reader(path);
  for (const auto& [prefix, buffer] : optimizer_buffers(model)) {
    for (const Parameter& parameter : model.parameters()) {
      const std::string name = prefix + parameter.name;
      const StoredTensor tensor = reader.at(name);
      if (tensor.info.type != *tensor_type_of(buffer.dtype) ||
          tensor.info.shape != parameter_shape(parameter)) {
        throw FileError::content(path.string(),
                                 "tensor '" + name + "' of shape " + to_string(tensor.info.shape),
                                 "shape " + to_string(parameter_shape(parameter)) + " in " +
                                     std::string(name_of(buffer.dtype)),
                                 "the checkpoint belongs to another model or precision");
      }
      std::ranges::copy(tensor.data, slice(buffer, parameter).begin());
    }
  }
}

}  // namespace detail

/// The folder of the checkpoint of one step: "step-00000250".
inline std::string checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 8) digits.insert(0, 8 - digits.size(), '0');
  return std::string(detail::checkpoint_prefix) + digits;
}

/// The step in a checkpoint's name; nothing for any other name.
inline std::optional<std::int64_t> checkpoint_step(std::string_view name) {
  if (!name.starts_with(detail::checkpoint_prefix)) return std::nullopt;
  name.remove_prefix(detail::checkpoint_prefix.size());
  std::int64_t step = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc{} || rest != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

/// Writes `folder`/step-N, complete or not at all; a checkpoint of that step is replaced.
/// @param tokenizer_folder where tokenizer.json is copied from; empty or without one: left out
/// @return the checkpoint's path
inline std::filesystem::path save_checkpoint(const std::filesystem::path& folder,
                                             TrainableModel& model, const TrainerState& state,
                                             const std::filesystem::path& tokenizer_folder,
                                             double dropout) {
  namespace fs = std::filesystem;
  ensure_directory(folder);
  const std::string name = checkpoint_name(state.step);
  const fs::path temporary = folder / ("tmp-" + state.run_id + "-" + name);
  std::error_code error;
  fs::remove_all(temporary, error);  // what a killed process of this run left there
  {
    StagingFolder staging(temporary);
    const ParameterBuffer weights = model.weights();
    HfWriteOptions writing;
    writing.facts.dropout = dropout;
    writing.metadata["fount_step"] = std::to_string(state.step);
    write_hugging_face(staging.path(), model.config(), model.parameters(), weights.dtype,
                       weights.data, writing);
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
      if (tokenizer_folder.empty() || !fs::exists(tokenizer_folder / file, error)) continue;
      write_file_atomically(staging.path() / file, read_file(tokenizer_folder / file, MiB(256)));
    }
    ensure_directory(staging.path() / "trainer");
    detail::write_optimizer(staging.path() / "trainer" / "optimizer.safetensors", model);
    write_file_atomically(staging.path() / "trainer" / "state.json",
                          dump_json(detail::to_json(state)));
    const fs::path target = folder / name;
    const fs::path old = folder / ("tmp-" + state.run_id + "-replaced");
    fs::remove_all(old, error);
    const bool replaces = fs::exists(target, error);
    if (replaces) fs::rename(target, old, error);
    if (error) throw FileError::system("cannot move away", target.string(), error.value());
    staging.publish(target);
    if (replaces) fs::remove_all(old, error);
  }
  write_file_atomically(folder / "latest", name + "\n");
  return folder / name;
}

/// Reads counters and everything the optimizer needs; the model must be of the same shape.
/// @throws FileError naming file, tensor and what differs; ConfigError for another precision
inline TrainerState load_checkpoint(const std::filesystem::path& folder, TrainableModel& model) {
  const auto state_path = folder / "trainer" / "state.json";
  std::error_code error;
  if (!std::filesystem::exists(state_path, error)) {
    throw FileError("'" + folder.string() +
                    "' has no trainer/state.json: it holds weights but no training run; start a "
                    "new run from it with --init " +
                    folder.string());
  }
  check_hugging_face_config(folder / "config.json", model.config());
  const std::string text = read_file(state_path, MiB(16));
  const TrainerState state =
      detail::state_from_json(parse_json(text, state_path.string()), state_path.string());
  if (state.precision != name_of(model.precision())) {
    throw ConfigError("cannot resume: precision was " + state.precision + " and is now " +
                      std::string(name_of(model.precision())) +
                      "; use the same value, or start a new run with --init " + folder.string());
  }
  const ParameterBuffer weights = model.weights();
  read_hugging_face(folder, model.config(), model.parameters(), weights.dtype, weights.data);
  detail::read_optimizer(folder / "trainer" / "optimizer.safetensors", model);
  return state;
}

/// Checkpoint folders of a run, newest first; other names are not looked at.
inline std::vector<std::pair<std::int64_t, std::filesystem::path>> list_checkpoints(
    const std::filesystem::path& folder) {
  std::vector<std::pair<std::int64_t, std::filesystem::path>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const auto step = checkpoint_step(at->path().filename().string());
    if (step && at->is_directory(error)) found.emplace_back(*step, at->path());
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  return found;
}

/// Which of `steps` (newest first) retention removes: all but the newest `keep` and `best`.
inline std::vector<std::int64_t> steps_to_remove(std::span<const std::int64_t> steps, int keep,
                                                 std::int64_t best) {
  std::vector<std::int64_t> result;
  const auto kept = static_cast<std::size_t>(std::max(keep, 1));
  for (std::size_t i = kept; i < steps.size(); ++i) {
    if (steps[i] != best) result.push_back(steps[i]);
  }
  return result;
}

/// Removes what retention does not keep. @param keep 0 keeps everything
inline void prune_checkpoints(const std::filesystem::path& folder, int keep, std::int64_t best) {
  if (keep <= 0) return;
  std::vector<std::int64_t> steps;
  for (const auto& [step, path] : list_checkpoints(folder)) steps.push_back(step);
  for (const std::int64_t step : steps_to_remove(steps, keep, best)) {
    std::error_code error;
    std::filesystem::remove_all(folder / checkpoint_name(step), error);
  }
}

}  // namespace fount
