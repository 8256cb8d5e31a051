// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads tensors from a file: maps it and trusts nothing in its header. What the names mean is the
// business of interchange/.
// https://github.com/huggingface/safetensors, format of 2022.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fount/core/dtype.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>
#include <fount/io/tensor_type.hpp>

namespace fount {

/// One tensor of an open file. The views live as long as the reader; data need not be aligned.
struct StoredTensor {
  std::string_view file;
  const TensorInfo& info;
  std::span<const std::byte> data;
};

/// Copies a floating-point tensor and converts it to T; equal types are copied bit by bit.
/// @param[out] out  as many elements as the tensor has
/// @throws FileError if the tensor is not F64, F32, F16 or BF16; ShapeError if the sizes differ
template <Element T>
void read_values(std::span<T> out, const StoredTensor& tensor) {
  const TensorTypeFacts& facts = facts_of(tensor.info.type);
  const std::size_t count = tensor.data.size() / static_cast<std::size_t>(facts.bytes);
  if (out.size() != count) {
    throw ShapeError("'" + std::string(tensor.file) + "': tensor '" + tensor.info.name + "' has " +
                     std::to_string(count) + " elements, room was made for " +
                     std::to_string(out.size()));
  }
  const bool known = detail::with_float_type(tensor.info.type, [&]<class From>(From) {
    detail::convert_elements<T, From>(reinterpret_cast<std::byte*>(out.data()), tensor.data.data(),
                                      count);
  });
  if (!known) {
    throw FileError::content(
        tensor.file, "tensor '" + tensor.info.name + "' of dtype " + std::string(facts.name),
        "F64, F32, F16 or BF16");
  }
}

/// A file mapped read-only, checked in full before anything is handed out.
class SafetensorsReader {
 public:
  /// @throws FileError naming file and tensor if any rule of the format is broken.
  explicit SafetensorsReader(const std::filesystem::path& path)
      : file_(path), name_(path.string()) {
    read_header();
  }

  const std::string& path() const { return name_; }
  /// All tensors in the order of their data.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The tensor of that name, or null.
  const TensorInfo* find(const std::string& name) const {
    const auto at = index_.find(name);
    return at == index_.end() ? nullptr : &tensors_[at->second];
  }
  /// @throws FileError if there is no such tensor.
  StoredTensor at(const std::string& name) const {
    const TensorInfo* info = find(name);
    if (info == nullptr) {
      throw FileError::content(
          name_, std::to_string(tensors_.size()) + " tensors, none of them '" + name + "'",
          "a tensor of that name", "check that the file belongs to this model");
    }
    return {name_, *info,
            file_.bytes().subspan(data_start_ + static_cast<std::size_t>(info->begin),
                                  static_cast<std::size_t>(info->end - info->begin))};
  }
  /// As above, and the shape must be `shape`.
  StoredTensor at(const std::string& name, std::span<const std::int64_t> shape) const {
    const StoredTensor tensor = at(name);
    if (!std::ranges::equal(tensor.info.shape, shape)) {
      throw FileError::content(
          name_, "tensor '" + name + "' of shape " + to_string(tensor.info.shape),
          "shape " + to_string(shape), "check that the file belongs to this model");
    }
    return tensor;
  }

 private:
  static constexpr std::uint64_t max_header = 100'000'000;  // the reference reader's limit

  [[noreturn]] void damaged(const std::string& found, const std::string& expected) const {
    throw FileError::content(name_, found, expected,
                             "the file is damaged or incomplete; copy or download it again");
  }

  void read_header() {
    const std::span<const std::byte> bytes = file_.bytes();
    if (bytes.size() < 8) damaged(std::to_string(bytes.size()) + " bytes", "at least 8");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    if (length > max_header || length > bytes.size() - 8) {
      damaged("a header of " + std::to_string(length) + " bytes in a file of " +
                  std::to_string(bytes.size()),
              "a header within the file and at most " + std::to_string(max_header) + " bytes");
    }
    data_start_ = 8 + static_cast<std::size_t>(length);
    const std::string_view header = file_.text().substr(8, static_cast<std::size_t>(length));
    if (header.empty() || header.front() != '{') damaged("a header without '{'", "a JSON object");
    const Json json = parse_json(header, name_);
    for (const auto& [name, entry] : json.items()) {
      if (name == "__metadata__") {
        read_metadata(entry);
      } else {
        tensors_.push_back(read_entry(name, entry));
      }
    }
    check_layout();
  }

  void read_metadata(const Json& entry) {
    if (!entry.is_object()) damaged("__metadata__ that is no object", "names with strings");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) damaged("__metadata__ '" + key + "' that is no string", "a string");
      metadata_[key] = value.get<std::string>();
    }
  }

  std::vector<std::int64_t> read_integers(const Json& entry, const char* key,
                                          const std::string& name) const {
    const auto at = entry.is_object() ? entry.find(key) : entry.end();
    if (!entry.is_object() || at == entry.end() || !at->is_array()) {
      damaged("tensor '" + name + "' without a list \"" + key + "\"", "a list of integers");
    }
    std::vector<std::int64_t> numbers;
    for (const Json& value : *at) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() >> 63U != 0) {
        damaged("tensor '" + name + "' with \"" + key + "\" holding " + value.dump().substr(0, 40),
                "integers from 0 to 2^63-1");
      }
      numbers.push_back(static_cast<std::int64_t>(value.get<std::uint64_t>()));
    }
    return numbers;
  }

  TensorInfo read_entry(const std::string& name, const Json& entry) const {
    TensorInfo info;
    info.name = name;
    info.shape = read_integers(entry, "shape", name);
    const auto offsets = read_integers(entry, "data_offsets", name);
    const auto dtype = entry.find("dtype");
    if (dtype == entry.end() || !dtype->is_string()) {
      damaged("tensor '" + name + "' without a dtype", "a dtype");
    }
    const auto spelled = dtype->get<std::string>();
    const auto facts = std::ranges::find(tensor_types, spelled, &TensorTypeFacts::name);
    if (facts == tensor_types.end()) {
      throw FileError::content(
          name_, "tensor '" + name + "' of dtype '" + spelled.substr(0, 40) + "'",
          "a dtype that fills whole bytes, F32 or BF16 for example", "convert the file first");
    }
    info.type = static_cast<TensorType>(facts - tensor_types.begin());
    const auto bytes = tensor_bytes(info.type, info.shape);
    if (offsets.size() != 2 || offsets[0] > offsets[1] || !bytes ||
        *bytes != offsets[1] - offsets[0]) {
      damaged("tensor '" + name + "' of dtype " + spelled + " and shape " + to_string(info.shape) +
                  " at offsets " + to_string(offsets),
              "two offsets as far apart as the tensor is large");
    }
    info.begin = offsets[0];
    info.end = offsets[1];
    return info;
  }

  /// Every byte of the data belongs to exactly one tensor.
  void check_layout() {
    std::ranges::sort(tensors_, [](const TensorInfo& a, const TensorInfo& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    Bytes expected = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorInfo& info = tensors_[i];
      if (info.begin != expected) {
        damaged("tensor '" + info.name + "' beginning at " + std::to_string(info.begin),
                "the end of the tensor before, " + std::to_string(expected));
      }
      expected = info.end;
      index_.emplace(info.name, i);
    }
    const auto data = static_cast<Bytes>(file_.bytes().size() - data_start_);
    if (data != expected) {
      damaged(std::to_string(data) + " bytes of data",
              std::to_string(expected) + " as the header says");
    }
  }

  MappedFile file_;
  std::string name_;
  std::size_t data_start_ = 0;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace fount
