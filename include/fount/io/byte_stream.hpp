// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes that are read once, from the first to the last, in bounded memory: the interface, and the
// one for plain files, pipes and standard input. Compressed files: io/gzip.hpp, io/zstd.hpp; which
// of them a file needs: io/open_stream.hpp.
// After POSIX.1-2017.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/descriptor.hpp>

namespace fount {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Reads up to `size` bytes, `size` at least 1. @return how many; 0 at the end
  /// @throws FileError naming the file, and the byte offset of what is damaged
  virtual std::size_t read(char* to, std::size_t size) = 0;
  /// Bytes of the file itself that have been used; of a compressed file, compressed ones.
  virtual Bytes consumed() const = 0;
  /// Leaves out bytes. @return how many: fewer only at the end
  virtual Bytes skip(Bytes count) {
    char piece[16384];
    Bytes done = 0;
    while (done < count) {
      const auto want = std::min<Bytes>(count - done, sizeof piece);
      const std::size_t size = read(piece, static_cast<std::size_t>(want));
      if (size == 0) break;
      done += static_cast<Bytes>(size);
    }
    return done;
  }

 protected:
  ByteStream() = default;
  ByteStream(const ByteStream&) = default;
  ByteStream(ByteStream&&) = default;
  ByteStream& operator=(const ByteStream&) = default;
  ByteStream& operator=(ByteStream&&) = default;
};

/// A file as it is; "-" is standard input.
class FileStream final : public ByteStream {
 public:
  /// @throws FileError if it cannot be opened, or is a folder
  explicit FileStream(std::filesystem::path path) : path_(std::move(path)) {
    if (path_ == "-") {
      path_ = "standard input";
    } else {
      owned_ = open_file(path_, O_RDONLY);
      number_ = owned_.get();
    }
    struct stat status {};
    if (::fstat(number_, &status) != 0) throw file_failure("cannot read", path_, errno);
    if (S_ISDIR(status.st_mode)) throw file_failure("cannot read", path_, EISDIR);
    regular_ = S_ISREG(status.st_mode);
  }

  const std::filesystem::path& path() const { return path_; }

  /// The first bytes, at most 16, without using them; only before the first read.
  std::string_view peek(std::size_t size) {
    size = std::min(size, sizeof peeked_);
    while (peeked_size_ < size) {
      const std::size_t count = read_file(peeked_ + peeked_size_, size - peeked_size_);
      if (count == 0) break;
      peeked_size_ += count;
    }
    return {peeked_, peeked_size_};
  }

  std::size_t read(char* to, std::size_t size) override {
    std::size_t count = std::min(size, peeked_size_ - peeked_used_);
    if (count > 0) {
      std::memcpy(to, peeked_ + peeked_used_, count);
      peeked_used_ += count;
    } else {
      count = read_file(to, size);
    }
    consumed_ += static_cast<Bytes>(count);
    return count;
  }
  Bytes consumed() const override { return consumed_; }
  Bytes skip(Bytes count) override {
    if (!regular_ || peeked_used_ < peeked_size_) return ByteStream::skip(count);
    struct stat status {};
    if (::fstat(number_, &status) != 0) throw file_failure("cannot read", path_, errno);
    const Bytes jump = std::clamp<Bytes>(status.st_size - consumed_, 0, count);
    if (::lseek(number_, static_cast<off_t>(jump), SEEK_CUR) < 0) {
      throw file_failure("cannot read", path_, errno);
    }
    consumed_ += jump;
    return jump;
  }

 private:
  std::size_t read_file(char* to, std::size_t size) const {
    const auto count = retry_interrupted([&] { return ::read(number_, to, size); });
    if (count < 0) throw file_failure("cannot read", path_, errno);
    return static_cast<std::size_t>(count);
  }

  std::filesystem::path path_;
  Descriptor owned_;
  int number_ = 0;
  bool regular_ = false;
  char peeked_[16] = {};
  std::size_t peeked_size_ = 0;
  std::size_t peeked_used_ = 0;
  Bytes consumed_ = 0;
};

}  // namespace fount
