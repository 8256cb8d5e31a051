// SPDX-License-Identifier: Apache-2.0
// What every file must have: a licence line, an include guard, a sentence on what it holds; and the
// places that repeat a fact (the version, the list of folders) must agree.

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <fount/version.hpp>

#include "repository/sources.hpp"
#include "support/catch.hpp"

namespace {

const std::filesystem::path root = FOUNT_SOURCE_DIR;

bool has_licence_line(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size() && i < 2; ++i) {
    if (lines[i].find("SPDX-License-Identifier: Apache-2.0") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every source file names its licence in the first lines", "[repository][files]") {
  const std::vector<std::string> extensions = {".hpp", ".cuh", ".cpp", ".cu", ".sh", ".cmake"};
  for (const char* folder : {"include", "tests", "examples", "benchmarks", "cmake"}) {
    for (const auto& file : sources::files(root, folder, extensions)) {
      INFO(file.path);
      CHECK(has_licence_line(sources::lines(file.text)));
    }
  }
}

TEST_CASE("every header is guarded and says what it holds", "[repository][files]") {
  for (const auto& file : sources::files(root, "include", {".hpp", ".cuh"})) {
    const auto lines = sources::lines(file.text);
    INFO(file.path);
    REQUIRE(lines.size() > 3);
    CHECK(lines[0].starts_with("// SPDX-License-Identifier: Apache-2.0"));
    CHECK(lines[1] == "#pragma once");
    CHECK(lines[2].starts_with("// "));
  }
}

TEST_CASE("no file leaves work undone in a comment", "[repository][files]") {
  // Spelled apart, so that this file does not find itself.
  const std::regex mark(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X)\\b");
  for (const char* folder : {"include", "tests", "examples", "benchmarks", "cmake"}) {
    for (const auto& file : sources::files(root, folder, {".hpp", ".cuh", ".cpp", ".cu", ".sh"})) {
      INFO(file.path);
      CHECK_FALSE(std::regex_search(file.text, mark));
    }
  }
}

TEST_CASE("the version is the same as text and as numbers", "[repository][files]") {
  CHECK(std::string(fount::version) == std::to_string(FOUNT_VERSION_MAJOR) + "." +
                                           std::to_string(FOUNT_VERSION_MINOR) + "." +
                                           std::to_string(FOUNT_VERSION_PATCH));
}

TEST_CASE("the README has a line on every folder of the library", "[repository][files]") {
  if (!std::filesystem::exists(root / "README.md")) return;
  const std::string readme = sources::read(root / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator(root / "include" / "fount")) {
    if (!entry.is_directory() || std::filesystem::is_empty(entry.path())) continue;
    const std::string folder = entry.path().filename().string();
    INFO("folder " << folder);
    CHECK(std::regex_search(readme, std::regex("\\b" + folder + "/")));
  }
}
