// SPDX-License-Identifier: Apache-2.0
// bench.ops.cross_entropy: the loss of a chunk of GPT-2's logits, 512 rows of 50257 words padded to
// 50304, with and without its gradient. Logits are float in every precision. Bound: streaming them.

#include <cstdint>
#include <string>
#include <vector>

#include <fount/ops/cross_entropy.hpp>

#include "harness/measure.hpp"

namespace {

using namespace fount;

constexpr std::int64_t rows = 512;  // what nn/heads.hpp makes of 1024 tokens
constexpr std::int64_t vocab_size = 50257;
constexpr std::int64_t padded_vocab_size = 50304;

bench::StreamWork make(const Cpu& cpu, bool want_gradient, float softcap) {
  bench::StreamWork work;
  constexpr std::int64_t size = rows * padded_vocab_size;
  const std::size_t copies = bench::copies_beyond_caches(size * Bytes{sizeof(float)});
  work.memory =
      bench::touched_memory(static_cast<Bytes>(copies) * size * Bytes{sizeof(float)} + MiB(1));
  Committer cursor(work.memory.data(), work.memory.size());
  auto* const labels = cursor.take<std::int32_t>(rows);
  auto* const loss = cursor.take<float>(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    labels[row] = static_cast<std::int32_t>(row * 97 % vocab_size);
  }
  std::vector<ops::CrossEntropy<float>> calls;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    auto* const logits = cursor.take<float>(size);
    bench::fill(logits, size, 4.0F);
    calls.push_back({.logits = logits,
                     .loss = loss,
                     .labels = labels,
                     .rows = rows,
                     .vocab_size = vocab_size,
                     .stride = padded_vocab_size,
                     .softcap = softcap,
                     .d_scale = 1.0F,
                     .want_gradient = want_gradient});
    work.copies.push_back(
        {want_gradient ? bench::updates(logits, size) : bench::reads(logits, size)});
  }
  work.op = [&cpu, calls](std::size_t copy) { ops::cross_entropy(cpu, calls[copy]); };
  return work;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](const Cpu& cpu) {
    for (const float softcap : {0.0F, 30.0F}) {
      for (const bool want_gradient : {false, true}) {
        bench::register_stream(
            cpu,
            std::string("cross_entropy/") + (want_gradient ? "loss_and_gradient" : "loss") +
                (softcap > 0 ? "/softcap:30" : "") + "/fp32",
            [&cpu, want_gradient, softcap] { return make(cpu, want_gradient, softcap); });
      }
    }
  });
}
