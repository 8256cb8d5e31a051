// SPDX-License-Identifier: Apache-2.0
// A configuration without numbers names every field that is missing.
// expect: vocab_size must be at least 1
// expect: hidden_size must be at least 1
// expect: num_layers must be at least 1
// expect: num_heads must be at least 1
// expect: max_seq_len must be at least 1

#include <fount/config/checks.hpp>

template struct fount::CheckedConfig<fount::ModelConfig{}>;
