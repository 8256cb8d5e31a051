// SPDX-License-Identifier: Apache-2.0
#pragma once
// The main function of a trainer: the binary is the model. What the commands do is in
// app/run_model.hpp, which a program may compile once and apart (FOUNT_APP_COMPILED).

#include <fount/app/model_entry.hpp>
#include <fount/core/macros.hpp>

namespace fount {

/// Parses the command line and runs train, generate, plan, benchmark, ... for one model.
/// @return the exit status: 0 done, 1 failed or does not fit, 2 wrong usage, 130 interrupted
int run_model(const ModelEntry& entry, int argc, char** argv);

inline namespace FOUNT_CPU_NAMESPACE {

/// `int main(int argc, char** argv) { return fount::model_main<my_model, fount::fp32>(argc, argv); }`
/// @param name what the program calls itself; the name of a preset brings its recipe
template <ModelConfig C, Precision First = fp32, Precision... Rest>
int model_main(int argc, char** argv, std::string_view name = "my-model") {
  return run_model(model_entry<C, First, Rest...>(name), argc, argv);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount

#if !defined(FOUNT_APP_COMPILED)
#include <fount/app/run_model.hpp>
#endif
