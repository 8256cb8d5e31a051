// SPDX-License-Identifier: Apache-2.0
// bench.optim.adamw: one update of all 124,439,808 parameters of GPT-2 124M, in each precision.
// Bound: streaming weights, gradients, moments and, where there are any, master weights.

#include <cstdint>
#include <string>

#include <fount/optim/adamw.hpp>

#include "harness/measure.hpp"

namespace {

using namespace fount;

constexpr std::int64_t count = 124'439'808;

template <Element W, Element G, Element M>
bench::StreamWork make(const Cpu& cpu, bool has_master, bool stochastic) {
  bench::StreamWork work;
  const Bytes master_bytes = has_master ? Bytes{sizeof(float)} : 0;
  work.memory = bench::touched_memory(
      count * (Bytes{sizeof(W)} + Bytes{sizeof(G)} + 2 * Bytes{sizeof(M)} + master_bytes) + MiB(1));
  Committer cursor(work.memory.data(), work.memory.size());
  W* const weight = cursor.take<W>(count);
  G* const gradient = cursor.take<G>(count);
  M* const m = cursor.take<M>(count);
  M* const v = cursor.take<M>(count);
  float* const master = has_master ? cursor.take<float>(count) : nullptr;
  bench::fill(weight, count, 0.02F);
  bench::fill(gradient, count, 1e-3F);
  if (has_master) bench::fill(master, count, 0.02F);
  work.copies = {
      {bench::reads(gradient, count), bench::updates(m, count), bench::updates(v, count)}};
  if (has_master) {  // the weights are then only a rounded copy
    work.copies[0].push_back(bench::updates(master, count));
    work.copies[0].push_back(bench::writes(weight, count));
  } else {
    work.copies[0].push_back(bench::updates(weight, count));
  }
  const optim::Segment<W, G, M> segment{.weight = weight,
                                        .gradient = gradient,
                                        .moments = {m, v},
                                        .count = count,
                                        .master = master,
                                        .stochastic = stochastic};
  work.op = [&cpu, segment](std::size_t) {
    optim::AdamW{}.apply(cpu, segment, {.lr = 1e-5, .weight_decay = 0.1, .step = 100});
  };
  return work;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](const Cpu& cpu) {
    bench::register_stream(cpu, "adamw/fp32",
                           [&cpu] { return make<float, float, float>(cpu, false, false); });
    bench::register_stream(cpu, "adamw/bf16_mixed",
                           [&cpu] { return make<bf16, float, float>(cpu, true, false); });
    bench::register_stream(cpu, "adamw/bf16_grad16",
                           [&cpu] { return make<bf16, bf16, float>(cpu, true, false); });
    bench::register_stream(cpu, "adamw/bf16_lean",
                           [&cpu] { return make<bf16, bf16, bf16>(cpu, false, true); });
  });
}
