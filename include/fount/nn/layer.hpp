// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every layer is made of: stateless types that *say* which parameters and buffers they need
// and compute on memory that somebody else owns. The layers themselves live beside this file.
//
// A layer type offers:
//   visit_parameters(visitor)               names, shapes, initialisers, in storage order
//   Saved<E>,   saved<E>(layout, shape)     what forward leaves for backward
//   Scratch<E>, scratch<E>(layout, shape)   what lives only during one call
//   forward(...), backward(...)
// `layout` is a Planner or a Committer (core/arena.hpp): the same text counts and hands out.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <fount/backend/cpu.hpp>
#include <fount/config/precision.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>

namespace fount {

/// Extents of one micro-batch.
struct BatchShape {
  int batch_size = 1;
  int seq_len = 1;
  constexpr std::int64_t tokens() const { return std::int64_t{batch_size} * seq_len; }
};

}  // namespace fount

namespace fount::nn {

enum class Initializer : std::uint8_t { normal, residual_normal, zeros, ones };

/// One parameter tensor: a matrix [rows, cols] stored with padded_rows, or a vector [cols] (rows is
/// 0) stored with at least padded_rows elements.
struct ParameterSpec {
  std::string_view name;
  std::int64_t rows = 0;  // 0: a vector
  std::int64_t cols = 0;
  std::int64_t padded_rows = 0;
  Initializer initializer = Initializer::zeros;
  bool decay = false;   // whether weight decay applies: matrices and embeddings only
  bool matmul = false;  // whether every token is multiplied by it: counts for FLOPs, and the gradient
                        // is a product too, which may overwrite

  /// Elements of the model: padding not counted.
  constexpr std::int64_t elements() const { return (rows == 0 ? 1 : rows) * cols; }
  /// Elements as stored: padded rows, and every tensor on a boundary of 32 elements.
  constexpr std::int64_t storage() const {
    const std::int64_t exact = rows == 0 ? std::max(cols, padded_rows) : padded_rows * cols;
    return (exact + 31) / 32 * 32;
  }
};

constexpr ParameterSpec matrix(std::string_view name, std::int64_t rows, std::int64_t cols,
                               Initializer initializer = Initializer::normal) {
  return {name, rows, cols, rows, initializer, true, true};
}
constexpr ParameterSpec vector(std::string_view name, std::int64_t cols, Initializer initializer) {
  return {name, 0, cols, 0, initializer, false, false};
}

/// Adds up a parameter table without storing it.
struct ParameterTotals {
  std::int64_t elements = 0;
  std::int64_t storage = 0;
  std::int64_t matmul_elements = 0;

  constexpr void enter(std::string_view, int = -1) {}
  constexpr void leave() {}
  constexpr void operator()(const ParameterSpec& spec) {
    elements += spec.elements();
    storage += spec.storage();
    matmul_elements += spec.matmul ? spec.elements() : 0;
  }
};

template <class Layer>
constexpr ParameterTotals parameter_totals() {
  ParameterTotals totals;
  Layer::visit_parameters(totals);
  return totals;
}

/// How far the parameters of a layer reach: where those of the next one start.
template <class Layer>
inline constexpr std::int64_t parameter_storage = parameter_totals<Layer>().storage;

inline namespace FOUNT_CPU_NAMESPACE {

/// The element types of a precision.
template <Precision P>
struct Elements {
  static constexpr Precision precision = P;
  using Weight = element_t<P.weight>;
  using Gradient = element_t<P.gradient>;
  using Moment = element_t<P.moment>;
  using Activation = element_t<P.activation>;
  /// Row statistics, rotary tables and losses: never 16-bit.
  using Statistic = std::conditional_t<P.activation == DType::float64, double, float>;
};

/// Keys and values of earlier tokens, for one layer, when generating.
template <class E>
struct KeyValueCache {
  typename E::Activation* keys = nullptr;    // (B, max_len, K*D)
  typename E::Activation* values = nullptr;  // (B, max_len, K*D)
  int max_len = 0;
};

/// What a call needs to know besides its tensors.
template <class E>
struct Context {
  const Cpu* backend = nullptr;
  BatchShape shape;
  const std::int32_t* documents = nullptr;  // (B, T) document ids, -1 is padding; or null
  const typename E::Statistic* rotary_table = nullptr;  // (max_seq_len, 2, D/2) cosines, sines

  float dropout_rate = 0.0F;  // 0 outside training
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t micro_batch = 0;
  int layer = -1;  // -1: not inside a block
  /// The first micro-batch of a step: gradients of the parameters whose ParameterSpec says matmul are
  /// overwritten, whatever they hold. All others are added to.
  bool overwrites_gradients = false;

  const KeyValueCache<E>* cache = nullptr;  // of this layer; null unless generating
  int past_len = 0;                         // tokens already in the cache

  const Cpu& cpu() const { return *backend; }

  /// The dropout of one use inside one layer (or outside, layer -1) of one micro-batch.
  Dropout dropout(std::uint32_t use) const {
    const auto site = (micro_batch << 12U) + static_cast<std::uint32_t>(layer + 1) * 4U + use;
    return {{seed, step, site, RandomPurpose::dropout}, dropout_rate};
  }
};

/// The residual stream between sublayers: its value is residual + delta, added by the next norm in
/// the pass that normalises it. A null delta means that nothing is left to add.
template <class E>
struct Stream {
  const typename E::Activation* residual = nullptr;  // (B, T, C)
  const typename E::Activation* delta = nullptr;     // (B, T, C) or null
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::nn
