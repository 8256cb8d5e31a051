// SPDX-License-Identifier: Apache-2.0
// Rotary positions rotate pairs: an odd head size is refused.
// expect: rotary positions need an even head_dim
// expect: RotaryHeadDimIs<.*, 5>

#include <fount/config/checks.hpp>

constexpr fount::ModelConfig model = {.vocab_size = 256,
                                      .hidden_size = 20,
                                      .num_layers = 1,
                                      .num_heads = 4,
                                      .max_seq_len = 8,
                                      .position = fount::Position::rotary};

template struct fount::CheckedConfig<model>;
