// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of tiny_model.cpp, which is compiled once for each instruction set SET of sets.inc
// (written by CMake): a tiny model, and what the processor lacks for it.

#include <string_view>

#include <fount/app/model_entry.hpp>

namespace fount::test {

struct TinyModel {
  std::string_view cpu_namespace;    // FOUNT_CPU_NAMESPACE of the object
  std::string_view instruction_set;  // in words
  ModelEntry entry;                  // computes in fp64, fp32, bf16_mixed, bf16_lean, in this order
};

// missing_for_SET: null where the processor runs tiny_model_SET.
#define SET(set)                \
  TinyModel tiny_model_##set(); \
  const char* missing_for_##set();
#include "sets.inc"
#undef SET

}  // namespace fount::test
