// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program `fount`, called as a function. It is compiled once, in run_tool.cpp: it takes a
// minute.

#include <iosfwd>
#include <string>
#include <vector>

namespace fount::test {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

/// @param arguments without the name of the program
Outcome run(std::vector<std::string> arguments);
/// The same, with streams of the caller. @return the exit code
int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace fount::test
