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

template <Real T>
void fill(const Cpu& cpu, T* x, T value, std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    std::fill(x + begin, x + end, value);
  });
}

template <Real T>
void zero(const Cpu& cpu, T* x, std::int64_t count) {
  fill(cpu, x, T(0), count);
}

template <Real T>
void accumulate(const Cpu& cpu, T* x, const T* y, std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) x[i] += y[i];
  });
}

template <Real T>
void add(const Cpu& cpu, T* out, const T* a, const T* b, std::int64_t count) {
  parallel_chunks(cpu, count, elementwise_chunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
  });
}

namespace detail {

inline constexpr int dropout_blocks = 16;  // random blocks, of four words each, made at a time

/// The words of blocks first, first + 1, ... The stream is a copy, so that no store can change it.
inline void random_words(std::uint32_t* __restrict words, const RandomStream stream,
                         std::uint64_t first) {
  for (std::uint32_t block = 0; block < dropout_blocks; ++block) {
    const auto four = stream.block(first + block);
    for (std::uint32_t word = 0; word < 4; ++word) words[4 * block + word] = four[word];
  }
}

/// One chunk of dropout; begin is a multiple of 4, where a block of random words starts.
template <Real T>
void dropout_chunk(T* out, const T* in, const Dropout& dropout, std::int64_t begin,
                   std::int64_t end) {
  const std::uint32_t threshold = dropout.threshold();
  const T scale = T(1.0F / (1.0F - dropout.rate));
  constexpr std::int64_t step = 4 * dropout_blocks;
  for (std::int64_t i = begin; i < end; i += step) {
    std::uint32_t words[step];
    random_words(words, dropout.stream, static_cast<std::uint64_t>(i) / 4);
    const std::int64_t count = std::min(end - i, step);
    for (std::int64_t j = 0; j < count; ++j) {
      out[i + j] = in[i + j] * (words[j] < threshold ? T(0) : scale);
    }
  }
}

}  // namespace detail

template <Real T>
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

template <Real T>
void dropout_backward(const Cpu& cpu, T* d_in, const T* d_out, const Dropout& dropout,
                      std::int64_t count) {
  dropout_forward(cpu, d_in, d_out, dropout, count);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
