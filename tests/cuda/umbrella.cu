// SPDX-License-Identifier: Apache-2.0
// nvcc's host pass over the umbrella header, with a model and its plans instantiated and a kernel
// that takes its numbers from a configuration. Where nvcc is installed, a test compiles this.

#include <fount/fount.hpp>

constexpr fount::ModelConfig model = {
    .vocab_size = 256, .hidden_size = 64, .num_layers = 2, .num_heads = 4, .max_seq_len = 32};

using Decoder = fount::Transformer<model>;
static_assert(Decoder::num_parameters() > 0);
static_assert(fount::train_plan<model, fount::bf16_mixed>({.batch_size = 2}).total() <
              fount::MiB(64));

template <int HeadDim>
__global__ void store(int* out) {
  *out = HeadDim;
}
template __global__ void store<model.head_dim()>(int*);

// A kernel for the CPU by name: its lambdas have failed in the front end where the same kernel within a
// model passed.
using Tile = fount::ops::detail::NativeTile<float>;
template void fount::ops::detail::multiply_covering_tile<Tile, false, float, float>(
    const fount::ops::detail::TileTask<float, float, float>&);

fount::MemoryPlan planned() { return fount::generate_plan<model, fount::fp32>(); }
fount::ModelEntry entry() { return fount::model_entry<model, fount::fp32>("model"); }
