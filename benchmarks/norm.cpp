// SPDX-License-Identifier: Apache-2.0
// bench.ops.norm: LayerNorm and RMSNorm, forward with the residual sum in front and backward onto
// the residual stream, at GPT-2 124M's 1024 rows of 768. Bound: streaming the same activations.

#include <cstdint>
#include <string>
#include <vector>

#include <fount/ops/norm.hpp>

#include "harness/measure.hpp"

namespace {

using namespace fount;

constexpr std::int64_t rows = 1024;
constexpr std::int64_t hidden_size = 768;
constexpr std::int64_t size = rows * hidden_size;

enum class Kind : std::uint8_t { layer_norm, rms_norm };

/// What a norm reads besides activations: too little to count.
template <Element A>
struct Small {
  A* weight;
  A* bias;
  float *mean, *rstd, *d_weight, *d_bias, *scratch;

  template <class Cursor>
  static Small take(Cursor& cursor) {
    Small small{};
    small.weight = cursor.template take<A>(hidden_size);
    small.bias = cursor.template take<A>(hidden_size);
    small.mean = cursor.template take<float>(rows);
    small.rstd = cursor.template take<float>(rows);
    small.d_weight = cursor.template take<float>(hidden_size);
    small.d_bias = cursor.template take<float>(hidden_size);
    small.scratch = cursor.template take<float>(ops::layer_norm_scratch(rows, hidden_size));
    return small;
  }
};

template <Element A>
bench::StreamWork forward(const Cpu& cpu, Kind kind) {
  bench::StreamWork work;
  const std::size_t copies = bench::copies_beyond_caches(4 * size * Bytes{sizeof(A)});
  work.memory =
      bench::touched_memory(static_cast<Bytes>(copies) * 4 * size * Bytes{sizeof(A)} + MiB(1));
  Committer cursor(work.memory.data(), work.memory.size());
  const Small<A> small = Small<A>::take(cursor);
  bench::fill(small.weight, hidden_size, 1.0F);
  bench::fill(small.bias, hidden_size, 1.0F);
  std::vector<ops::NormForward<A>> calls;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    A* const residual = cursor.take<A>(size);
    A* const delta = cursor.take<A>(size);
    bench::fill(residual, size, 1.0F);
    bench::fill(delta, size, 1.0F);
    calls.push_back({.out = cursor.take<A>(size),
                     .sum = cursor.take<A>(size),
                     .mean = small.mean,
                     .rstd = small.rstd,
                     .residual = residual,
                     .delta = delta,
                     .weight = small.weight,
                     .bias = kind == Kind::layer_norm ? small.bias : nullptr,
                     .rows = rows,
                     .hidden_size = hidden_size});
    work.copies.push_back({bench::reads(residual, size), bench::reads(delta, size),
                           bench::writes(calls.back().sum, size),
                           bench::writes(calls.back().out, size)});
  }
  work.op = [&cpu, kind, calls](std::size_t copy) {
    kind == Kind::layer_norm ? ops::layer_norm_forward(cpu, calls[copy])
                             : ops::rms_norm_forward(cpu, calls[copy]);
  };
  return work;
}

template <Element A>
bench::StreamWork backward(const Cpu& cpu, Kind kind) {
  bench::StreamWork work;
  const std::size_t copies = bench::copies_beyond_caches(3 * size * Bytes{sizeof(A)});
  work.memory =
      bench::touched_memory(static_cast<Bytes>(copies) * 3 * size * Bytes{sizeof(A)} + MiB(1));
  Committer cursor(work.memory.data(), work.memory.size());
  const Small<A> small = Small<A>::take(cursor);
  bench::fill(small.weight, hidden_size, 1.0F);
  bench::fill(small.mean, rows, 0.01F);
  bench::fill(small.rstd, rows, 1.0F);
  std::vector<ops::NormBackward<A, A, float>> calls;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    A* const x = cursor.take<A>(size);
    A* const d_out = cursor.take<A>(size);
    bench::fill(x, size, 1.0F);
    bench::fill(d_out, size, 1e-3F);
    calls.push_back({.d_x = cursor.take<A>(size),
                     .d_weight = small.d_weight,
                     .d_bias = kind == Kind::layer_norm ? small.d_bias : nullptr,
                     .d_out = d_out,
                     .x = x,
                     .mean = small.mean,
                     .rstd = small.rstd,
                     .weight = small.weight,
                     .scratch = small.scratch,
                     .rows = rows,
                     .hidden_size = hidden_size,
                     .accumulate_d_x = true});
    work.copies.push_back(
        {bench::reads(d_out, size), bench::reads(x, size), bench::updates(calls.back().d_x, size)});
  }
  work.op = [&cpu, kind, calls](std::size_t copy) {
    kind == Kind::layer_norm ? ops::layer_norm_backward(cpu, calls[copy])
                             : ops::rms_norm_backward(cpu, calls[copy]);
  };
  return work;
}

template <Element A>
void register_dtype(const Cpu& cpu, const std::string& dtype) {
  for (const Kind kind : {Kind::layer_norm, Kind::rms_norm}) {
    const std::string name = kind == Kind::layer_norm ? "layer_norm/" : "rms_norm/";
    bench::register_stream(cpu, name + "forward/" + dtype,
                           [&cpu, kind] { return forward<A>(cpu, kind); });
    bench::register_stream(cpu, name + "backward/" + dtype,
                           [&cpu, kind] { return backward<A>(cpu, kind); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](const Cpu& cpu) {
    register_dtype<float>(cpu, "fp32");
    register_dtype<bf16>(cpu, "bf16");
  });
}
