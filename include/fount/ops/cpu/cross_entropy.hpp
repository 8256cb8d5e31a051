// SPDX-License-Identifier: Apache-2.0
#pragma once
// The row loops of ops/cross_entropy.hpp on the processor. A row is read three times, from cache
// after the first: for its maximum, for the exponentials, for the gradient.

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fount/backend/chunks.hpp>
#include <fount/core/math.hpp>
#include <fount/ops/cross_entropy.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

inline constexpr std::int64_t softmax_block = 512;  // exponentials made, then summed, in L1

/// Sum over i of exp(value(i)), in blocks; the terms go to `kept` unless it is null.
template <Real T, class Value>
T sum_exponentials(std::int64_t count, T* kept, Value value) {
  T block[softmax_block];
  T sum = T(0);
  for (std::int64_t begin = 0; begin < count; begin += softmax_block) {
    const std::int64_t size = std::min(count - begin, softmax_block);
    for (std::int64_t i = 0; i < size; ++i) block[i] = math::exp(value(begin + i));
    sum += lane_sum<T>(size, [&](std::int64_t i) { return block[i]; });
    if (kept != nullptr) std::copy(block, block + size, kept + begin);
  }
  return sum;
}

/// One row without soft cap: exponentials replace the logits and are then scaled.
template <Real T>
T cross_entropy_row(T* row, std::int64_t label, const CrossEntropy<T>& p) {
  const T largest = lane_max(row, p.vocab_size, -std::numeric_limits<T>::infinity());
  const T of_label = row[label];
  const T sum = sum_exponentials(p.vocab_size, p.want_gradient ? row : nullptr,
                                 [=](std::int64_t i) { return row[i] - largest; });
  if (p.want_gradient) {
    const T scale = p.d_scale / sum;
    for (std::int64_t i = 0; i < p.vocab_size; ++i) row[i] *= scale;
    row[label] -= p.d_scale;
  }
  return math::log(sum) + (largest - of_label);
}

/// One row through the cap z = cap * t, t = tanh(raw / cap), dz/draw = 1 - t^2. The gradient needs
/// both t and exp(z), so the row keeps its raw logits and both are made again.
template <Real T>
T capped_cross_entropy_row(T* row, std::int64_t label, const CrossEntropy<T>& p) {
  const T cap = p.softcap;
  const T inverse = T(1) / cap;
  const T highest_raw = lane_max(row, p.vocab_size, -std::numeric_limits<T>::infinity());
  const T largest = cap * math::tanh(highest_raw * inverse);  // tanh is monotone
  const T t_label = math::tanh(row[label] * inverse);
  const T sum = sum_exponentials<T>(p.vocab_size, nullptr, [=](std::int64_t i) {
    return cap * math::tanh(row[i] * inverse) - largest;
  });
  if (p.want_gradient) {
    const T scale = p.d_scale / sum;
    store_each(row, 0, p.vocab_size, [=](std::int64_t i) {
      const T t = math::tanh(row[i] * inverse);
      return math::exp(cap * t - largest) * scale * (T(1) - t * t);
    });
    row[label] -= p.d_scale * (T(1) - t_label * t_label);
  }
  return math::log(sum) + (largest - cap * t_label);
}

}  // namespace detail

template <Real T>
void cross_entropy(const Cpu& cpu, const CrossEntropy<T>& p) {
  parallel_chunks(cpu, p.rows, rows_per_chunk(p.stride), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      T* row = p.logits + r * p.stride;
      const std::int64_t label = p.labels[r];
      if (label < 0) {
        p.loss[r] = T(0);
        if (p.want_gradient) std::fill(row, row + p.stride, T(0));
        continue;
      }
      p.loss[r] = p.softcap > T(0) ? detail::capped_cross_entropy_row(row, label, p)
                                   : detail::cross_entropy_row(row, label, p);
      if (p.want_gradient) std::fill(row + p.vocab_size, row + p.stride, T(0));
    }
  });
}

template <Real T>
double sum_rows(const T* x, std::int64_t rows) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(x[r]);
  return sum;
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
