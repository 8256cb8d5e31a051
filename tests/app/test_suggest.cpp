// SPDX-License-Identifier: Apache-2.0
#include <fount/app/suggest.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace fount;

TEST_CASE("edit distance counts single changes", "[app][suggest]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("sitting", "kitten") == 3);
  CHECK(edit_distance("flaw", "lawn") == 2);
}

TEST_CASE("the nearest name is suggested, a far one is not", "[app][suggest]") {
  const std::vector<std::string> known = {"--batch-size", "--learning-rate", "--lr", "--seed"};
  CHECK(nearest_name("--batch-sise", known) == "--batch-size");
  CHECK(nearest_name("--batchsize", known) == "--batch-size");
  CHECK(nearest_name("--learning", known) == "--learning-rate");
  CHECK(nearest_name("--lrr", known) == "--lr");
  CHECK_FALSE(nearest_name("--wandb-project", known));
  CHECK_FALSE(nearest_name("x", known));
  CHECK_FALSE(nearest_name("x", {}));
  CHECK_FALSE(nearest_name("ab", std::vector<std::string>{"xy"}));
  CHECK(suggestion("--sede", known) == "; did you mean '--seed'?");
  CHECK(suggestion("--nothing-like-it", known).empty());
}
