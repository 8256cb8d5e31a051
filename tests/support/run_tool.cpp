// SPDX-License-Identifier: Apache-2.0
#include "support/run_tool.hpp"

#include <sstream>
#include <utility>

#include <fount/app/tool_main.hpp>

namespace fount::test {

Outcome run(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_tool(std::move(arguments), out, err);
  return {code, out.str(), err.str()};
}

int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  return run_tool(std::move(arguments), out, err);
}

}  // namespace fount::test
