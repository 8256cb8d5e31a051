// SPDX-License-Identifier: Apache-2.0
#pragma once
// A verb below `fount tokenizer`, as app/tokenizer_verbs.hpp puts them together.

#include <functional>
#include <ostream>

#include <CLI/CLI.hpp>

namespace fount::detail {

/// Its options, and what to do once they are read.
struct TokenizerVerb {
  CLI::App* app;
  std::function<void(std::ostream& out, std::ostream& err)> run;
};

}  // namespace fount::detail
