// SPDX-License-Identifier: Apache-2.0
// The main function of every test program, compiled once: Catch2 2 is in its headers and takes long.

#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
