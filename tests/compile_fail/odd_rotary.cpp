// SPDX-License-Identifier: Apache-2.0
// expect: rotary positions need an even head_dim
#include <fount/config/checks.hpp>

constexpr fount::ModelConfig bad = {.vocab_size = 10, .hidden_size = 9, .num_layers = 1,
                                    .num_heads = 3, .max_seq_len = 8,
                                    .position = fount::Position::rotary};
template struct fount::CheckedConfig<bad>;
