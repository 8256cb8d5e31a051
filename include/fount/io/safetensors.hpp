// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors in a file: a reader that maps the file and trusts nothing in its header, and a writer
// that streams. What the names mean is the business of interchange/.
// https://github.com/huggingface/safetensors, format of 2022.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fount/core/dtype.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>

namespace fount {

static_assert(std::endian::native == std::endian::little, "files are little-endian, memory too");

/// Element types of the format that fill whole bytes, in its own order.
enum class TensorType : std::uint8_t {
  boolean, u8, i8, f8_e5m2, f8_e4m3, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz,
  i16, u16, f16, bf16, i32, u32, f32, c64, f64, i64, u64
};

struct TensorTypeFacts {
  std::string_view name;  // as the file spells it
  int bytes;
};

inline constexpr std::array<TensorTypeFacts, 19> tensor_types = {{
    {"BOOL", 1}, {"U8", 1}, {"I8", 1}, {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1},
    {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2}, {"BF16", 2},
    {"I32", 4}, {"U32", 4}, {"F32", 4}, {"C64", 8}, {"F64", 8}, {"I64", 8}, {"U64", 8}}};

constexpr const TensorTypeFacts& facts_of(TensorType type) {
  return tensor_types[static_cast<std::size_t>(type)];
}

/// The file's name for one of our element types; `none` has no counterpart.
constexpr std::optional<TensorType> tensor_type_of(DType dtype) {
  switch (dtype) {
    case DType::none: return std::nullopt;
    case DType::float16: return TensorType::f16;
    case DType::bfloat16: return TensorType::bf16;
    case DType::float32: return TensorType::f32;
    case DType::float64: return TensorType::f64;
  }
  return std::nullopt;
}

using TensorShape = std::vector<std::int64_t>;

/// "[2, 3]"; a scalar is "[]".
inline std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

/// Bytes of a tensor, or nothing if an extent is negative or the product overflows.
inline std::optional<Bytes> tensor_bytes(TensorType type, std::span<const std::int64_t> shape) {
  Bytes bytes = facts_of(type).bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

/// One tensor of a file, without its content.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::f32;
  TensorShape shape;
  Bytes begin = 0;  // relative to the end of the header
  Bytes end = 0;
};

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
void read_values(std::span<T> out, const StoredTensor& tensor);

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
      throw FileError::content(name_, std::to_string(tensors_.size()) + " tensors, none of them '" +
                               name + "'", "a tensor of that name",
                               "check that the file belongs to this model");
    }
    return {name_, *info, file_.bytes().subspan(data_start_ + static_cast<std::size_t>(info->begin),
                                                static_cast<std::size_t>(info->end - info->begin))};
  }
  /// As above, and the shape must be `shape`.
  StoredTensor at(const std::string& name, std::span<const std::int64_t> shape) const {
    const StoredTensor tensor = at(name);
    if (!std::ranges::equal(tensor.info.shape, shape)) {
      throw FileError::content(name_, "tensor '" + name + "' of shape " +
                               to_string(tensor.info.shape), "shape " + to_string(shape),
                               "check that the file belongs to this model");
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
      throw FileError::content(name_, "tensor '" + name + "' of dtype '" + spelled.substr(0, 40) +
                               "'", "a dtype that fills whole bytes, F32 or BF16 for example",
                               "convert the file first");
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
      damaged(std::to_string(data) + " bytes of data", std::to_string(expected) +
              " as the header says");
    }
  }

  MappedFile file_;
  std::string name_;
  std::size_t data_start_ = 0;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::string, std::string> metadata_;
};

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
      throw Error("'" + file_.path().string() + "': cannot declare tensor '" + name + "' of shape " +
                  to_string(shape) + "; names must differ, sizes must fit in 63 bits, and all " +
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
                  (due == nullptr ? "none at all"
                                  : std::to_string(due->end - position_) + " of '" + due->name + "'"));
    }
    file_.writer().write(bytes);
    position_ += size;
  }

  /// The next elements of tensor `name`, converted to its declared type (one of the four floats).
  template <Element T>
  void write_values(const std::string& name, std::span<const T> values);

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

namespace detail {

/// out[i] = in[i] for unaligned memory; through double where one side is double, else float.
template <class To, class From>
void convert_elements(std::byte* out, const std::byte* in, std::size_t count) {
  if constexpr (std::is_same_v<To, From>) {
    if (count > 0) std::memcpy(out, in, count * sizeof(To));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      From from;
      std::memcpy(&from, in + i * sizeof(From), sizeof(From));
      To to;
      if constexpr (Real<To>) {
        if constexpr (Real<From>) {
          to = static_cast<To>(from);
        } else {
          to = static_cast<To>(static_cast<float>(from));
        }
      } else {
        to = To(static_cast<float>(from));
      }
      std::memcpy(out + i * sizeof(To), &to, sizeof(To));
    }
  }
}

/// Calls `body` with a value of the element type; returns whether the type is one of the four.
template <class Body>
bool with_float_type(TensorType type, Body&& body) {
  switch (type) {
    case TensorType::f64: body(double{}); return true;
    case TensorType::f32: body(float{}); return true;
    case TensorType::f16: body(fp16{}); return true;
    case TensorType::bf16: body(bf16{}); return true;
    default: return false;
  }
}

}  // namespace detail

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
    throw FileError::content(tensor.file, "tensor '" + tensor.info.name + "' of dtype " +
                             std::string(facts.name), "F64, F32, F16 or BF16");
  }
}

template <Element T>
void SafetensorsWriter::write_values(const std::string& name, std::span<const T> values) {
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

}  // namespace fount
