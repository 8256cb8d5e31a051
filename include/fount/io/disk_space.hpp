// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much a file system can still take, and the refusal to begin what will not fit.
// After POSIX.1-2017 (statvfs).

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>

#include <sys/statvfs.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/descriptor.hpp>

namespace fount {

/// Bytes that an ordinary user can still write below `folder`, which exists.
inline Bytes free_disk_space(const std::filesystem::path& folder) {
  struct statvfs status {};
  if (retry_interrupted([&] { return ::statvfs(folder.c_str(), &status); }) != 0) {
    throw file_failure("cannot read the free space of", folder, errno);
  }
  return static_cast<Bytes>(status.f_bavail) * static_cast<Bytes>(status.f_frsize);
}

/// @param what for the message, such as "the shards"
/// @throws FileError if `needed` bytes are more than the `free` ones
inline void require_disk_space(const std::filesystem::path& folder, Bytes needed, Bytes free,
                               std::string_view what) {
  if (needed <= free) return;
  throw FileError::content(folder.string(), format_bytes(free) + " of free disk space",
                           "about " + format_bytes(needed) + " for " + std::string(what),
                           "free some space there or choose another folder");
}

}  // namespace fount
