// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading files: whole into memory with a cap, or mapped. Includes the writers and the path rules,
// so that this one header is enough for files; formats are in their own headers.
// After POSIX.1-2017.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/descriptor.hpp>
#include <fount/io/file_writer.hpp>
#include <fount/io/paths.hpp>

namespace fount {

/// Reads an open descriptor to its end. `name` is for messages only.
/// @throws FileError on a read error, or if there are more than `max_bytes`.
inline std::string read_descriptor(int descriptor, const std::filesystem::path& name,
                                   Bytes max_bytes) {
  struct stat status {};
  std::string text;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    text.reserve(static_cast<std::size_t>(std::clamp<Bytes>(status.st_size, 0, max_bytes)));
  }
  constexpr std::size_t piece = std::size_t{1} << 16U;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + piece);
    const auto count =
        retry_interrupted([&] { return ::read(descriptor, text.data() + size, piece); });
    if (count < 0) throw file_failure("cannot read", name, errno);
    text.resize(size + static_cast<std::size_t>(count));
    if (static_cast<Bytes>(text.size()) > max_bytes) {
      throw FileError::content(name.string(), "more than " + format_bytes(max_bytes),
                               "at most that for a file of this kind");
    }
    if (count == 0) return text;
  }
}

/// The whole content of a file. @throws FileError if it cannot be read or exceeds `max_bytes`.
inline std::string read_file(const std::filesystem::path& path, Bytes max_bytes) {
  const Descriptor descriptor = open_file(path, O_RDONLY);
  return read_descriptor(descriptor.get(), path, max_bytes);
}

/// A regular file mapped read-only; move-only. The file must not be cut while it is mapped.
class MappedFile {
 public:
  MappedFile() = default;

  /// @throws FileError if the file cannot be opened or mapped, or is not a regular file.
  explicit MappedFile(std::filesystem::path path) : path_(std::move(path)) {
    const Descriptor descriptor = open_file(path_, O_RDONLY);
    struct stat status {};
    if (::fstat(descriptor.get(), &status) != 0) throw file_failure("cannot read", path_, errno);
    if (!S_ISREG(status.st_mode)) {
      throw FileError::content(path_.string(), S_ISDIR(status.st_mode) ? "a folder" : "a device",
                               "a regular file");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;  // an empty mapping is an error, an empty file is not
    void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
    if (memory == MAP_FAILED) throw file_failure("cannot map", path_, errno);
    data_ = static_cast<const std::byte*>(memory);
  }
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace fount
