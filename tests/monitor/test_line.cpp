// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/line.hpp>

#include <clocale>
#include <cstdint>
#include <limits>
#include <string>

#include "support/catch.hpp"

using fount::Line;

TEST_CASE("a line aligns text and numbers in columns", "[monitor][line]") {
  Line line;
  line.left("ab", 4).right("cd", 4).integer(-7, 4).fixed(2.0 / 3.0, 2, 6).scientific(985e-6, 2, 9);
  CHECK(line.view() == "ab    cd  -7  0.67 9.85e-04");
  line.clear();
  CHECK(line.view().empty());
  CHECK(line.right("too wide", 3).view() == "too wide");
}

TEST_CASE("a line names what is not a number", "[monitor][line]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(Line().fixed(nan, 2, 5).view() == "  nan");
  CHECK(Line().fixed(infinity, 2).view() == "inf");
  CHECK(Line().scientific(-infinity, 1, 5).view() == " -inf");
}

TEST_CASE("a line takes the largest and smallest numbers", "[monitor][line]") {
  CHECK(Line().integer(std::numeric_limits<std::int64_t>::min()).view() == "-9223372036854775808");
  CHECK(Line().fixed(std::numeric_limits<double>::max(), 4).view() == "1.80e+308");
  CHECK(Line().fixed(-9.99e24, 1).size() <= 30);
  CHECK(Line().shortest(std::numeric_limits<double>::denorm_min()).view() == "5e-324");
  CHECK(Line().shortest(0.1).view() == "0.1");
}

TEST_CASE("a line that is too long is cut", "[monitor][line]") {
  Line line;
  line.text(std::string(1000, 'a')).text(std::string(1000, 'b')).repeat('c', 1000).integer(5);
  CHECK(line.view() == std::string(1000, 'a') + std::string(24, 'b'));
}

TEST_CASE("a line does not follow the program's locale", "[monitor][line]") {
  for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  const std::string text(Line().fixed(1234.5, 1).text(" ").shortest(0.25).view());
  std::setlocale(LC_ALL, "C");
  CHECK(text == "1234.5 0.25");
}
