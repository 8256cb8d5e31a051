// SPDX-License-Identifier: Apache-2.0
#pragma once
// An owned file descriptor, calls that survive signals, and the sentence for each way in which the
// operating system refuses. What is read or written through it: io/files.hpp, io/file_writer.hpp.
// After POSIX.1-2017.

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fount/core/error.hpp>

namespace fount {

/// What a user can do about an error number; empty where there is nothing better than its name.
inline std::string_view advice_for(int error_number) {
  switch (error_number) {
    case ENOSPC: return "free some space there or choose another folder";
    case EDQUOT: return "your quota there is used up; free some space or choose another folder";
    case EFBIG: return "the file system or `ulimit -f` does not allow a file of this size";
    case EACCES:
    case EPERM: return "check the permissions of the file and of its folder";
    case EROFS: return "the file system is mounted read-only; choose another folder";
    case ENOENT: return "check the spelling of the path";
    case ENOTDIR: return "a part of the path is a file, not a folder";
    case EISDIR: return "this is a folder; name a file";
    case EEXIST: return "it exists already; remove it or choose another name";
    case EMFILE:
    case ENFILE: return "too many files are open; raise `ulimit -n`";
    case EIO: return "the device reports an error; check it before trusting its content";
    default: return {};
  }
}

/// The error of a system call on `path`: what was being done, the cause, and what to do.
inline FileError file_failure(std::string_view doing, const std::filesystem::path& path,
                              int error_number) {
  return FileError::system(doing, path.string(), error_number, advice_for(error_number));
}

/// Calls again while a signal interrupts; returns what the call returned at last.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Owns one open descriptor; move-only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

  /// Closes; returns 0 or the error number. An interrupted close has closed (Linux).
  int close() noexcept {
    if (number_ < 0) return 0;
    const int result = ::close(std::exchange(number_, -1));
    return result == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int number_ = -1;
};

/// Opens `path`. @throws FileError naming it, the cause and what to do.
inline Descriptor open_file(const std::filesystem::path& path, int flags, mode_t mode = 0644) {
  const int number =
      retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
  if (number < 0) {
    const bool writes = (flags & (O_WRONLY | O_RDWR)) != 0;
    throw file_failure(writes ? "cannot open for writing" : "cannot open", path, errno);
  }
  return Descriptor(number);
}

/// Makes the names in a folder durable. File systems that cannot do it are left alone.
inline void sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.empty() ? "." : folder;
  const Descriptor descriptor = open_file(path, O_RDONLY | O_DIRECTORY);
  if (retry_interrupted([&] { return ::fsync(descriptor.get()); }) != 0 && errno != EINVAL) {
    throw file_failure("cannot make durable", path, errno);
  }
}

}  // namespace fount
