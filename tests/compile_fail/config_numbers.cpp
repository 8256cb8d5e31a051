// SPDX-License-Identifier: Apache-2.0
// Numbers out of range, and sizes that no kernel serves.
// expect: intermediate_size must not be negative
// expect: head_dim .* must be at most 256
// expect: HeadDimIs<512>
// expect: position_offset and num_token_types must not be negative
// expect: norm_eps must be positive
// expect: rope_theta must be positive
// expect: attention_softcap and logit_softcap must not be negative

#include <fount/config/checks.hpp>

constexpr fount::ModelConfig model = {.vocab_size = 256,
                                      .hidden_size = 512,
                                      .num_layers = 1,
                                      .num_heads = 1,
                                      .intermediate_size = -1,
                                      .max_seq_len = 8,
                                      .position_offset = -2,
                                      .rope_theta = 0.0F,
                                      .norm_eps = 0.0F,
                                      .logit_softcap = -1.0F};

template struct fount::CheckedConfig<model>;
