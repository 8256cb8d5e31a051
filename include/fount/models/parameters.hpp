// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameter table of a model at run time: one row a tensor, in storage order. Initialisation,
// optimizer, checkpoint and interchange all walk this one table.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>
#include <fount/nn/layer.hpp>

namespace fount {

struct Parameter {
  std::string name;   // "blocks.3.attention.qkv.weight"
  std::string local;  // the same without the block: "attention.qkv.weight"
  int layer = -1;     // the block it belongs to; -1: none
  std::int64_t rows = 0;  // 0: a vector
  std::int64_t cols = 0;
  std::int64_t offset = 0;   // first element in the buffer of weights, gradients or moments
  std::int64_t storage = 0;  // elements up to the next tensor, padding included
  nn::Initializer initializer = nn::Initializer::zeros;
  bool decay = false;
  bool matmul = false;  // its gradient is a product, which the first micro-batch of a step overwrites

  /// Elements without padding; they are the first ones of the storage.
  std::int64_t elements() const { return (rows == 0 ? 1 : rows) * cols; }
};

namespace detail {

struct ParameterLister {
  std::vector<Parameter> list;
  std::string prefix;
  std::string local_prefix;
  int layer = -1;
  std::int64_t offset = 0;
  std::vector<std::pair<std::size_t, std::size_t>> marks;

  void enter(std::string_view name, int block = -1) {
    marks.emplace_back(prefix.size(), local_prefix.size());
    prefix.append(name).append(".");
    if (block >= 0) {
      layer = block;
      prefix.append(std::to_string(block)).append(".");
    } else {
      local_prefix.append(name).append(".");
    }
  }
  void leave() {
    prefix.resize(marks.back().first);
    local_prefix.resize(marks.back().second);
    marks.pop_back();
    if (prefix.empty()) layer = -1;
  }
  void operator()(const nn::ParameterSpec& spec) {
    list.push_back({prefix + std::string(spec.name), local_prefix + std::string(spec.name), layer,
                    spec.rows, spec.cols, offset, spec.storage(), spec.initializer, spec.decay,
                    spec.matmul});
    offset += spec.storage();
  }
};

}  // namespace detail

/// The table of `Model` (a Transformer, or any layer).
template <class Model>
std::vector<Parameter> parameter_table() {
  detail::ParameterLister lister;
  Model::visit_parameters(lister);
  return std::move(lister.list);
}

inline namespace FOUNT_CPU_NAMESPACE {

/// Fills one tensor: normal(0, std), with the projections into the residual stream scaled down by
/// sqrt(2 L) (Radford et al. 2019), zeros or ones. Padding stays zero.
/// @param tensor_index the row of the table: the site of the random numbers
template <Element T>
void initialize(T* values, const Parameter& parameter, std::uint32_t tensor_index,
                std::uint64_t seed, double std_dev, int num_layers) {
  const RandomStream random{seed, 0, tensor_index, RandomPurpose::initialise};
  if (parameter.initializer == nn::Initializer::residual_normal) {
    std_dev /= std::sqrt(2.0 * num_layers);
  }
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    double value = parameter.initializer == nn::Initializer::ones ? 1.0 : 0.0;
    if (parameter.initializer == nn::Initializer::normal ||
        parameter.initializer == nn::Initializer::residual_normal) {
      value = std_dev * random.normal(static_cast<std::uint64_t>(i));
    }
    if constexpr (Real<T>) {
      values[i] = static_cast<T>(value);
    } else {
      values[i] = static_cast<T>(static_cast<float>(value));
    }
  }
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
