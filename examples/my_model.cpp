// SPDX-License-Identifier: Apache-2.0
// A complete trainer for a model of your own: my-model train | generate | plan | benchmark.
#include <fount/fount.hpp>

constexpr fount::ModelConfig my_model = {
    .vocab_size = 256, .hidden_size = 128, .num_layers = 4, .num_heads = 4, .num_kv_heads = 2,
    .intermediate_size = 352, .max_seq_len = 256, .norm = fount::Norm::rms_norm,
    .activation = fount::Activation::swiglu, .position = fount::Position::rotary};

static_assert(fount::train_plan<my_model, fount::fp32>({.batch_size = 8}).total() < fount::GiB(1));

int main(int argc, char** argv) { return fount::model_main<my_model, fount::fp32>(argc, argv); }
