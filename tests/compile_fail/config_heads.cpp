// SPDX-License-Identifier: Apache-2.0
// All violations of one configuration are reported at once, each with the values that were found.
// expect: hidden_size must be a multiple of num_heads
// expect: HiddenSizeAndNumHeadsAre<100, 12>
// expect: num_heads must be a multiple of num_kv_heads
// expect: NumHeadsAndKvHeadsAre<12, 5>
// expect: max_seq_len must be at least 1
// expect: window must be positive with Mask::sliding_window

#include <fount/config/checks.hpp>

constexpr fount::ModelConfig model = {.vocab_size = 256,
                                      .hidden_size = 100,
                                      .num_layers = 2,
                                      .num_heads = 12,
                                      .num_kv_heads = 5,
                                      .max_seq_len = 0,
                                      .mask = fount::Mask::sliding_window};

template struct fount::CheckedConfig<model>;
