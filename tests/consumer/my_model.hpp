// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model shape that only this project knows.

#include <fount/config/model_config.hpp>

inline constexpr fount::ModelConfig my_model = {.vocab_size = 128,
                                                .hidden_size = 32,
                                                .num_layers = 2,
                                                .num_heads = 2,
                                                .max_seq_len = 32,
                                                .norm = fount::Norm::rms_norm,
                                                .activation = fount::Activation::swiglu,
                                                .position = fount::Position::rotary};
