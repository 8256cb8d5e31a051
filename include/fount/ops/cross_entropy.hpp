// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax and cross-entropy in one pass over logits, whose gradient replaces them: the loss of a
// chunk of rows, so that the logits of a whole batch never exist at once. Soft-capped logits
// cap * tanh(raw / cap) after Gemma 2, https://arxiv.org/abs/2408.00118.

#include <cstdint>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>

namespace fount::ops {

template <Real T>
struct CrossEntropy {
  T* logits = nullptr;                   // (rows, stride): in the raw logits, out their gradient
  T* loss = nullptr;                     // (rows), overwritten
  const std::int32_t* labels = nullptr;  // (rows), each in [0, vocab_size) or negative: ignored
  std::int64_t rows = 0;
  std::int64_t vocab_size = 0;
  std::int64_t stride = 0;     // padded vocabulary; columns from vocab_size on are never read
  T softcap = T(0);            // 0: none
  T d_scale = T(1);            // gradient of the total loss with respect to one row's
  bool want_gradient = false;  // without it the logits stay as they are
};

inline namespace FOUNT_CPU_NAMESPACE {

/// loss[r] = log(sum of exp(logits)) - logits[label], 0 for an ignored row; and, if wanted,
/// logits = (softmax - one-hot) * d_scale, through the soft cap, 0 for ignored rows and in the
/// padding. Logits may be large or -infinity; NaN and +infinity make the row's loss NaN.
template <Real T>
void cross_entropy(const Cpu& cpu, const CrossEntropy<T>& problem);

/// Sum in the order of the rows, in double.   @param[in] x (rows)
template <Real T>
double sum_rows(const T* x, std::int64_t rows);

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops

#include <fount/ops/cpu/cross_entropy.hpp>
