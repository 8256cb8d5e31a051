// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program `fount`, called as a function.

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fount/app/tool_main.hpp>

namespace fount::test {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

/// @param arguments without the name of the program
inline Outcome run(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_tool(std::move(arguments), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace fount::test
