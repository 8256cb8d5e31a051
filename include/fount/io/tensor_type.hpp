// SPDX-License-Identifier: Apache-2.0
#pragma once
// The element types of safetensors files, shapes, sizes, and conversion between the four floats.
// Reading and writing files is in io/safetensors_reader.hpp and io/safetensors_writer.hpp.
// https://github.com/huggingface/safetensors

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fount/core/dtype.hpp>
#include <fount/core/units.hpp>

namespace fount {

static_assert(std::endian::native == std::endian::little, "files are little-endian, memory too");

// clang-format off
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
// clang-format on

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

}  // namespace fount
