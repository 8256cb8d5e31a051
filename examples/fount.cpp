// SPDX-License-Identifier: Apache-2.0
// The program `fount`: prepares data and does all else that needs no model.

#include <fount/app/tool_main.hpp>

int main(int argc, char** argv) { return fount::tool_main(argc, argv); }
