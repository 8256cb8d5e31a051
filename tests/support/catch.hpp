// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only door to the test framework: Catch2, version 2 as Debian 12 has it or version 3.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
