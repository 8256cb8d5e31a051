// SPDX-License-Identifier: Apache-2.0
// bench.ops.activation: GELU (tanh) on GPT-2 124M's 1024 rows of 3072 and SwiGLU on 1024 rows of
// twice 2048, forward and backward. Bound: streaming the same activations.

#include <cstdint>
#include <string>
#include <vector>

#include <fount/ops/activation.hpp>

#include "harness/measure.hpp"

namespace {

using namespace fount;

constexpr std::int64_t rows = 1024;

struct Case {
  const char* name;
  Activation activation;
  std::int64_t width;   // of a row that comes out
  std::int64_t halves;  // of a row that goes in, each as wide
};

constexpr Case cases[] = {{"gelu_tanh", Activation::gelu_tanh, 3072, 1},
                          {"swiglu", Activation::swiglu, 2048, 2}};

/// Buffers of one copy: x and d_x (rows, halves * width), out and d_out (rows, width). Forward uses
/// x and out, backward the other three.
template <Element T>
bench::StreamWork make(const Cpu& cpu, const Case& c, bool is_backward) {
  bench::StreamWork work;
  const std::int64_t out_size = rows * c.width;
  const std::int64_t in_size = out_size * c.halves;
  const Bytes bytes = (out_size + in_size * (is_backward ? 2 : 1)) * Bytes{sizeof(T)};
  const std::size_t copies = bench::copies_beyond_caches(bytes);
  work.memory = bench::touched_memory(static_cast<Bytes>(copies) * bytes);
  Committer cursor(work.memory.data(), work.memory.size());
  struct Buffers {
    T *x, *out, *d_x;
  };
  std::vector<Buffers> buffers;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    Buffers b{cursor.take<T>(in_size), cursor.take<T>(out_size),
              is_backward ? cursor.take<T>(in_size) : nullptr};
    bench::fill(b.x, in_size, 3.0F);
    bench::fill(b.out, out_size, 1.0F);
    buffers.push_back(b);
    if (is_backward) {
      work.copies.push_back({bench::reads(b.out, out_size), bench::reads(b.x, in_size),
                             bench::writes(b.d_x, in_size)});
    } else {
      work.copies.push_back({bench::reads(b.x, in_size), bench::writes(b.out, out_size)});
    }
  }
  work.op = [&cpu, c, is_backward, buffers](std::size_t copy) {
    const auto [x, out, d_x] = buffers[copy];
    if (is_backward) {
      ops::activation_backward(cpu, c.activation, d_x, out, x, rows, c.width);
    } else {
      ops::activation_forward(cpu, c.activation, out, x, rows, c.width);
    }
  };
  return work;
}

template <Element T>
void register_dtype(const Cpu& cpu, const std::string& dtype) {
  for (const Case& c : cases) {
    for (const bool is_backward : {false, true}) {
      bench::register_stream(
          cpu, std::string(c.name) + (is_backward ? "/backward/" : "/forward/") + dtype,
          [&cpu, c, is_backward] { return make<T>(cpu, c, is_backward); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](const Cpu& cpu) {
    register_dtype<float>(cpu, "fp32");
    register_dtype<bf16>(cpu, "bf16");
  });
}
