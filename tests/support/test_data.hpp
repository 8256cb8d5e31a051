// SPDX-License-Identifier: Apache-2.0
#pragma once
// Published files that some tests use as extras, where somebody has them.

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace fount::test {

/// The file `name`; empty, with a line on standard output, if there is none. FOUNT_TEST_DATA names
/// its folder, or the file itself.
inline std::filesystem::path test_data(const std::string& name) {
#if defined(FOUNT_SOURCE_DIR)
  const std::filesystem::path source = FOUNT_SOURCE_DIR;
#else
  const std::filesystem::path source = std::filesystem::path(__FILE__).parent_path() / "../..";
#endif
  const char* variable = std::getenv("FOUNT_TEST_DATA");
  std::filesystem::path path =
      variable != nullptr ? std::filesystem::path(variable) : source / "../shared/data";
  if (std::filesystem::is_directory(path)) path /= name;
  if (path.filename() == name && std::filesystem::exists(path)) return path;
  std::cout << "skipped: no " << name << "; name it or its folder in FOUNT_TEST_DATA\n";
  return {};
}

}  // namespace fount::test
