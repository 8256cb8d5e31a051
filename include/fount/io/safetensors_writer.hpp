// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes tensors to a file, one after the other, without holding them.
// What the names mean is the business of interchange/.
// https://github.com/huggingface/safetensors, format of 2022.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fount/core/dtype.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/file_writer.hpp>
#include <fount/io/json.hpp>
#include <fount/io/tensor_type.hpp>

namespace fount {

/// Writes a file tensor by tensor without holding them: declare all, then write each in that
/// order, then finish(). The file appears under its name only when it is complete and durable.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(const std::filesystem::path& path) : file_(path) {}

  /// Adds a string to `__metadata__`, which always holds "format": "pt".
  void set_metadata(const std::string& key, const std::string& value) { metadata_[key] = value; }

  /// @throws Error if the name is taken or reserved, the size overflows, or writing has begun.
  void declare(const std::string& name, TensorType type, TensorShape shape) {
    const auto bytes = tensor_bytes(type, shape);
    Bytes end = 0;
    if (started_ || name == "__metadata__" || !bytes || !names_.insert(name).second ||
        __builtin_add_overflow(total(), *bytes, &end)) {
      throw Error("'" + file_.path().string() + "': cannot declare tensor '" + name +
                  "' of shape " + to_string(shape) +
                  "; names must differ, sizes must fit in 63 bits, and all " +
                  "tensors come before the first write");
    }
    tensors_.push_back({name, type, std::move(shape), total(), end});
  }

  /// The next bytes of tensor `name`; may be called again and again until it is complete.
  /// @throws Error if another tensor is due or this one would get too many bytes.
  void write(const std::string& name, std::span<const std::byte> bytes) {
    start();
    const TensorInfo* due = next();
    const auto size = static_cast<Bytes>(bytes.size());
    if (due == nullptr || due->name != name || size > due->end - position_) {
      throw Error("'" + file_.path().string() + "': " + std::to_string(size) +
                  " bytes for tensor '" + name + "', but due are " +
                  (due == nullptr
                       ? "none at all"
                       : std::to_string(due->end - position_) + " of '" + due->name + "'"));
    }
    file_.writer().write(bytes);
    position_ += size;
  }

  /// The next elements of tensor `name`, converted to its declared type (one of the four floats).
  template <Element T>
  void write_values(const std::string& name, std::span<const T> values) {
    start();
    const TensorInfo* due = next();
    if (due == nullptr) return write(name, std::as_bytes(values));  // reports what is wrong
    const auto element = static_cast<std::size_t>(facts_of(due->type).bytes);
    std::array<std::byte, 8192> buffer;
    const bool known = detail::with_float_type(due->type, [&]<class To>(To) {
      while (!values.empty()) {
        const std::size_t count = std::min(values.size(), buffer.size() / element);
        detail::convert_elements<To, T>(buffer.data(),
                                        reinterpret_cast<const std::byte*>(values.data()), count);
        write(name, std::span(buffer).first(count * element));
        values = values.subspan(count);
      }
    });
    if (!known) {
      throw Error("'" + file_.path().string() + "': tensor '" + due->name + "' is declared as " +
                  std::string(facts_of(due->type).name) + "; write its bytes");
    }
  }

  /// @throws Error if a tensor is incomplete; FileError if the disk refuses.
  void finish() {
    start();
    if (const TensorInfo* due = next(); due != nullptr) {
      throw Error("'" + file_.path().string() + "': tensor '" + due->name + "' lacks " +
                  std::to_string(due->end - position_) + " bytes");
    }
    file_.commit();
  }

 private:
  Bytes total() const { return tensors_.empty() ? 0 : tensors_.back().end; }

  /// The tensor that is not complete yet; empty ones are complete as they are.
  const TensorInfo* next() {
    while (current_ < tensors_.size() && position_ == tensors_[current_].end) ++current_;
    return current_ < tensors_.size() ? &tensors_[current_] : nullptr;
  }

  void start() {
    if (std::exchange(started_, true)) return;
    Json header = Json::object();
    header["__metadata__"] = {{"format", "pt"}};
    for (const auto& [key, value] : metadata_) header["__metadata__"][key] = value;
    Json::object_t::Container& members = header.get_ref<Json::object_t&>();
    for (const TensorInfo& info : tensors_) {
      members.emplace_back(info.name, Json{{"dtype", facts_of(info.type).name},
                                           {"shape", info.shape},
                                           {"data_offsets", {info.begin, info.end}}});
    }
    std::string text = dump_json(header, -1);
    text.append((64 - (8 + text.size()) % 64) % 64, ' ');  // the data starts on a cache line
    const std::uint64_t length = text.size();
    file_.writer().reserve(8 + static_cast<Bytes>(length) + total());
    file_.writer().write(&length, 8);
    file_.writer().write(text);
  }

  AtomicFile file_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorInfo> tensors_;
  std::unordered_set<std::string> names_;
  std::size_t current_ = 0;
  Bytes position_ = 0;
  bool started_ = false;
};

}  // namespace fount
