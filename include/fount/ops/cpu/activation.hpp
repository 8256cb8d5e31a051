// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of ops/activation.hpp on the processor: the choice of formula is made outside of them.
// SwiGLU goes by rows because its input is two halves of a row, the others by flat index.

#include <algorithm>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/core/math.hpp>
#include <fount/ops/activation.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

/// out[i] = value(i), every index on its own.
template <Element T, class Value>
void each_element(const Cpu& cpu, T* out, std::int64_t count, Value value) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    store_each(out, begin, end, value);
  });
}

template <Element T>
void swiglu_forward(const Cpu& cpu, T* out, const T* x, std::int64_t rows, std::int64_t size) {
  parallel_chunks(cpu, rows, rows_per_chunk(size), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* gate = x + row * 2 * size;
      const T* up = gate + size;
      store_each(out + row * size, 0, size,
                 [=](std::int64_t i) { return math::silu(value_of(gate[i])) * value_of(up[i]); });
    }
  });
}

template <Element T>
void swiglu_backward(const Cpu& cpu, T* d_x, const T* d_out, const T* x, std::int64_t rows,
                     std::int64_t size) {
  constexpr std::int64_t width = 64;
  parallel_chunks(cpu, rows, rows_per_chunk(size), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* gate = x + row * 2 * size;
      const T* up = gate + size;
      T* d_gate = d_x + row * 2 * size;
      T* d_up = d_gate + size;
      for (std::int64_t i = 0; i < size; i += width) {  // both halves from one sigmoid
        compute_t<T> gates[width], ups[width];
        const std::int64_t count = std::min(size - i, width);
        for (std::int64_t j = 0; j < count; ++j) {
          const auto d = value_of(d_out[row * size + i + j]);
          const auto g = value_of(gate[i + j]);
          gates[j] = d * value_of(up[i + j]) * math::silu_derivative(g);
          ups[j] = d * math::silu(g);
        }
        for (std::int64_t j = 0; j < count; ++j) d_gate[i + j] = static_cast<T>(gates[j]);
        for (std::int64_t j = 0; j < count; ++j) d_up[i + j] = static_cast<T>(ups[j]);
      }
    }
  });
}

}  // namespace detail

template <Element T>
void activation_forward(const Cpu& cpu, Activation activation, T* out, const T* x,
                        std::int64_t rows, std::int64_t size) {
  const std::int64_t n = rows * size;
  switch (activation) {
    case Activation::gelu_tanh:
      return detail::each_element(cpu, out, n, [=](auto i) { return math::gelu_tanh(value_of(x[i])); });
    case Activation::gelu_erf:
      return detail::each_element(cpu, out, n, [=](auto i) { return math::gelu_erf(value_of(x[i])); });
    case Activation::relu:
      return detail::each_element(cpu, out, n, [=](auto i) { return math::relu(value_of(x[i])); });
    case Activation::swiglu: return detail::swiglu_forward(cpu, out, x, rows, size);
  }
}

template <Element T>
void activation_backward(const Cpu& cpu, Activation activation, T* d_x, const T* d_out, const T* x,
                         std::int64_t rows, std::int64_t size) {
  const std::int64_t n = rows * size;
  switch (activation) {
    case Activation::gelu_tanh:
      return detail::each_element(
          cpu, d_x, n, [=](auto i) { return value_of(d_out[i]) * math::gelu_tanh_derivative(value_of(x[i])); });
    case Activation::gelu_erf:
      return detail::each_element(
          cpu, d_x, n, [=](auto i) { return value_of(d_out[i]) * math::gelu_erf_derivative(value_of(x[i])); });
    case Activation::relu:
      return detail::each_element(cpu, d_x, n,
                                  [=](auto i) { return value_of(d_out[i]) * math::relu_derivative(value_of(x[i])); });
    case Activation::swiglu: return detail::swiglu_backward(cpu, d_x, d_out, x, rows, size);
  }
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
