// SPDX-License-Identifier: Apache-2.0
// expect: a masked language model looks both ways
// expect: head is tied to the token embedding
#include <fount/config/checks.hpp>

constexpr fount::ModelConfig bad = {.vocab_size = 10, .hidden_size = 8, .num_layers = 1,
                                    .num_heads = 2, .max_seq_len = 8,
                                    .head = fount::Head::masked_language_model,
                                    .tied_embeddings = false};
template struct fount::CheckedConfig<bad>;
