// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exceptions of the library. A message says where, what was found, what was expected, and
// what to do about it; nothing here prints or ends the program.

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fount {

/// Base of every exception the library throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A tensor or batch has the wrong extents.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// An option, a configuration value, or a combination of them cannot be used.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A file or folder is missing, unreadable, damaged, or cannot be written.
class FileError : public Error {
 public:
  using Error::Error;

  /// A call to the operating system failed; `what_to_do` may be empty.
  static FileError system(std::string_view doing, std::string_view path, int error_number,
                          std::string_view what_to_do = {}) {
    std::string text = std::string(doing) + " '" + std::string(path) +
                       "': " + std::strerror(error_number);
    if (!what_to_do.empty()) text += "; " + std::string(what_to_do);
    return FileError(text);
  }

  /// The content of `path` is not what was expected there.
  static FileError content(std::string_view path, std::string_view found, std::string_view expected,
                           std::string_view what_to_do = {}) {
    std::string text("'");  // appended to: g++ 12 warns wrongly about chains of + here
    text.append(path).append("': found ").append(found).append(", expected ").append(expected);
    if (!what_to_do.empty()) text.append("; ").append(what_to_do);
    return FileError(text);
  }
};

/// The processor, memory or accelerator cannot do what was asked.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace fount
