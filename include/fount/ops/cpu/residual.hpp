// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of ops/residual.hpp on the processor. Every element is on its own, so chunks only share
// work; the contracts are in the header above.

#include <algorithm>
#include <cstdint>

#include <fount/backend/chunks.hpp>
#include <fount/ops/residual.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {

template <Element T>
void fill(const Cpu& cpu, T* x, T value, std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    std::fill(x + begin, x + end, value);
  });
}

template <Element T>
void zero(const Cpu& cpu, T* x, std::int64_t count) {
  fill(cpu, x, T{}, count);
}

template <Element T>
void accumulate(const Cpu& cpu, T* x, const T* y, std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      x[i] = static_cast<T>(value_of(x[i]) + value_of(y[i]));
    }
  });
}

template <Element T>
void add(const Cpu& cpu, T* out, const T* a, const T* b, std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      out[i] = static_cast<T>(value_of(a[i]) + value_of(b[i]));
    }
  });
}

namespace detail {

inline constexpr int dropout_blocks = 16;  // random blocks, of four words each, made at a time

/// One chunk of dropout; begin is a multiple of 4, where a block of random words starts.
template <Element T>
void dropout_chunk(T* out, const T* in, const Dropout& dropout, std::int64_t begin,
                   std::int64_t end) {
  const std::uint32_t threshold = dropout.threshold();
  using F = compute_t<T>;
  const F scale = F(1.0F / (1.0F - dropout.rate));
  constexpr std::int64_t step = 4 * dropout_blocks;
  for (std::int64_t i = begin; i < end; i += step) {
    std::uint32_t words[step];
    random_words<dropout_blocks>(words, dropout.stream, static_cast<std::uint64_t>(i) / 4);
    const std::int64_t count = std::min(end - i, step);
    for (std::int64_t j = 0; j < count; ++j) {
      out[i + j] = static_cast<T>(value_of(in[i + j]) * (words[j] < threshold ? F(0) : scale));
    }
  }
}

}  // namespace detail

template <Element T>
void dropout_forward(const Cpu& cpu, T* out, const T* in, const Dropout& dropout,
                     std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [&](std::int64_t begin, std::int64_t end) {
    if (dropout.active()) {
      detail::dropout_chunk(out, in, dropout, begin, end);
    } else if (out != in) {
      std::copy(in + begin, in + end, out + begin);
    }
  });
}

template <Element T>
void dropout_backward(const Cpu& cpu, T* d_in, const T* d_out, const Dropout& dropout,
                      std::int64_t count) {
  dropout_forward(cpu, d_in, d_out, dropout, count);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
