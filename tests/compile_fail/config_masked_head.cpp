// SPDX-License-Identifier: Apache-2.0
// A masked language model needs the bidirectional mask and the tied head.
// expect: a masked language model looks both ways
// expect: the masked language model's head is tied

#include <fount/config/checks.hpp>

constexpr fount::ModelConfig model = {.vocab_size = 256,
                                      .hidden_size = 16,
                                      .num_layers = 1,
                                      .num_heads = 2,
                                      .max_seq_len = 8,
                                      .head = fount::Head::masked_language_model,
                                      .tied_embeddings = false};

template struct fount::CheckedConfig<model>;
