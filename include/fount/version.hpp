// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only place the version is written: CMake, `--version`, and the package files read it here.

#define FOUNT_VERSION_MAJOR 0
#define FOUNT_VERSION_MINOR 1
#define FOUNT_VERSION_PATCH 0

namespace fount {
inline constexpr const char* version = "0.1.0";
}  // namespace fount
