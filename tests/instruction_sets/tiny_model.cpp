// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set, with FOUNT_TEST_SET as its name. What leaves this object
// are values and interfaces, which are the same in every instruction set.

#include "instruction_sets/tiny_model.hpp"

#include <fount/app/instruction_set.hpp>
#include <fount/monitor/machine.hpp>

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define QUOTED(a) #a
#define QUOTE(a) QUOTED(a)

namespace fount::test {
namespace {

// Products with edges on every side of every register tile.
constexpr ModelConfig tiny = {
    .vocab_size = 50, .hidden_size = 48, .num_layers = 2, .num_heads = 4, .num_kv_heads = 2,
    .intermediate_size = 56, .max_seq_len = 24, .norm = Norm::rms_norm,
    .activation = Activation::swiglu, .position = Position::rotary};

}  // namespace

TinyModel JOIN(tiny_model_, FOUNT_TEST_SET)() {
  return {QUOTE(FOUNT_CPU_NAMESPACE), compiled_instruction_set(),
          model_entry<tiny, fp64, fp32, bf16_mixed, bf16_lean>("tiny")};
}

FOUNT_COMPILED_FOR_ANY_PROCESSOR const char* JOIN(missing_for_, FOUNT_TEST_SET)() {
  return missing_instruction_set();
}

}  // namespace fount::test
