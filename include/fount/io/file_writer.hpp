// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writing so that nothing half-written is ever found under its final name: a checked buffered
// writer, a file that appears by rename, a folder that appears by rename, and a lock on a folder.
// Reading is in io/files.hpp. Order of calls after Pillai et al. 2014, "All file systems are not
// created equal".

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/descriptor.hpp>

namespace fount {

enum class WriteMode { replace, create_new, append };

/// Buffered output to one file; every write, sync and close is checked. A writer that is destroyed
/// before close() drops what it still buffers: only close() promises that the bytes are there.
class FileWriter {
 public:
  /// @throws FileError if the file cannot be opened (create_new: if it exists or is a link).
  explicit FileWriter(std::filesystem::path path, WriteMode mode = WriteMode::replace)
      : path_(std::move(path)), descriptor_(open_file(path_, flags_of(mode))) {
    buffer_.reserve(capacity);
  }

  const std::filesystem::path& path() const { return path_; }
  /// Bytes handed to write() so far.
  Bytes written() const { return written_; }

  void write(const void* data, std::size_t size) {
    written_ += static_cast<Bytes>(size);
    if (buffer_.size() + size > capacity) flush();
    if (size >= capacity) {
      write_all(static_cast<const char*>(data), size);
    } else if (size > 0) {
      const char* begin = static_cast<const char*>(data);
      buffer_.insert(buffer_.end(), begin, begin + size);
    }
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  void write(std::span<const std::byte> bytes) { write(bytes.data(), bytes.size()); }

  /// Overwrites bytes that were written before; the end of the file stays where it is.
  void write_at(Bytes offset, std::span<const std::byte> bytes) {
    flush();
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto count = retry_interrupted([&] {
        return ::pwrite(descriptor_.get(), bytes.data() + done, bytes.size() - done,
                        static_cast<off_t>(offset) + static_cast<off_t>(done));
      });
      if (count <= 0) throw file_failure("cannot write", path_, count < 0 ? errno : EIO);
      done += static_cast<std::size_t>(count);
    }
  }

  /// Claims disk space for a file of `total` bytes, so that a full disk is found before the work
  /// is done. File systems without reservation are left alone.
  void reserve(Bytes total) {
#if defined(__linux__)
    if (total <= 0) return;
    const int result = retry_interrupted([&] {
      return ::fallocate(descriptor_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(total));
    });
    if (result != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      throw file_failure("cannot reserve " + format_bytes(total) + " for", path_, errno);
    }
#else
    (void)total;
#endif
  }

  /// Hands the buffer to the operating system.
  void flush() {
    write_all(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  /// Flushes and waits until the bytes are on the device.
  void sync() {
    flush();
    const int result = retry_interrupted([&] { return ::fsync(descriptor_.get()); });
    // Pipes and devices have nothing to make durable.
    if (result != 0 && errno != EINVAL && errno != ENOTSUP) {
      throw file_failure("cannot make durable", path_, errno);
    }
  }
  /// sync() and close; afterwards the content is on the device.
  void close() {
    if (!descriptor_) return;
    sync();
    if (const int error = descriptor_.close(); error != 0) {
      throw file_failure("cannot close", path_, error);
    }
  }

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 16U;

  static int flags_of(WriteMode mode) {
    switch (mode) {
      case WriteMode::replace: return O_WRONLY | O_CREAT | O_TRUNC;
      case WriteMode::create_new: return O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
      case WriteMode::append: return O_WRONLY | O_CREAT | O_APPEND;
    }
    return O_WRONLY;
  }
  void write_all(const char* data, std::size_t size) {
    while (size > 0) {
      const auto count = retry_interrupted([&] { return ::write(descriptor_.get(), data, size); });
      if (count <= 0) throw file_failure("cannot write", path_, count < 0 ? errno : EIO);
      data += count;
      size -= static_cast<std::size_t>(count);
    }
  }

  std::filesystem::path path_;
  Descriptor descriptor_;
  std::vector<char> buffer_;
  Bytes written_ = 0;
};

/// A file that is written beside its final name and appears there whole, on commit().
/// Without commit() the temporary file is removed and the old content, if any, stays.
class AtomicFile {
 public:
  /// @throws FileError if the folder cannot be written, or if `path` is a folder or a device.
  explicit AtomicFile(std::filesystem::path path)
      : path_(std::move(path)), writer_(open_beside(path_)) {}
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (!committed_) ::unlink(writer_.path().c_str());
  }

  FileWriter& writer() { return writer_; }
  const std::filesystem::path& path() const { return path_; }

  /// Makes the content durable, gives it its name, and makes the name durable.
  void commit() {
    writer_.close();
    if (::rename(writer_.path().c_str(), path_.c_str()) != 0) {
      throw file_failure("cannot rename a finished file to", path_, errno);
    }
    committed_ = true;
    sync_folder(path_.parent_path());
  }

 private:
  static FileWriter open_beside(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw FileError::content(path.string(), S_ISDIR(status.st_mode) ? "a folder" : "a device",
                               "a file or nothing", "choose another name");
    }
    for (int attempt = 0;; ++attempt) {
      std::filesystem::path temporary = path;
      temporary += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
      struct stat ignored {};
      const bool taken = ::lstat(temporary.c_str(), &ignored) == 0;
      if (taken && attempt < 1000) continue;
      try {
        return FileWriter(temporary, WriteMode::create_new);
      } catch (const FileError&) {
        // Another thread may have been quicker; anything else is reported.
        if (::lstat(temporary.c_str(), &ignored) != 0 || attempt >= 1000) throw;
      }
    }
  }

  std::filesystem::path path_;
  FileWriter writer_;
  bool committed_ = false;
};

/// Replaces `path` by `bytes` in one step: readers see the old content or the new, never a part.
inline void write_file_atomically(const std::filesystem::path& path,
                                  std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.writer().write(bytes);
  file.commit();
}
inline void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

/// A new folder to prepare files in. publish() makes it durable and renames it to its final name;
/// without that it is removed with everything in it.
class StagingFolder {
 public:
  /// @throws FileError if the folder exists already or cannot be made.
  explicit StagingFolder(std::filesystem::path path) : path_(std::move(path)) {
    if (::mkdir(path_.c_str(), 0755) != 0) {
      throw file_failure("cannot make the temporary folder", path_, errno);
    }
  }
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;
  ~StagingFolder() {
    if (published_) return;
    std::error_code ignored;  // a destructor has nobody to tell
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  /// The files in it must have been closed by their writers. `target` must not exist, or be an
  /// empty folder, on the same file system.
  void publish(const std::filesystem::path& target) {
    sync_folder(path_);
    if (::rename(path_.c_str(), target.c_str()) != 0) {
      throw file_failure("cannot rename a finished folder to", target, errno);
    }
    published_ = true;
    sync_folder(target.parent_path());
  }

 private:
  std::filesystem::path path_;
  bool published_ = false;
};

/// Keeps a second process out of a folder. The lock ends with the process, however it ends; file
/// systems without locks are left alone.
class FolderLock {
 public:
  /// @throws FileError if another process holds the folder.
  FolderLock(const std::filesystem::path& folder, std::string_view other_user)
      : descriptor_(open_file(folder, O_RDONLY | O_DIRECTORY)) {
    const int result =
        retry_interrupted([&] { return ::flock(descriptor_.get(), LOCK_EX | LOCK_NB); });
    if (result != 0 && errno == EWOULDBLOCK) {
      throw FileError("'" + folder.string() + "' is in use by " + std::string(other_user) +
                      "; wait for it or choose another folder");
    }
  }

 private:
  Descriptor descriptor_;
};

}  // namespace fount
