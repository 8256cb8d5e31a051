// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading gzip: all members of a file, one after the other, each with its checksum and length. The
// only door to zlib; without it this header offers nothing but `has_gzip`.
// RFC 1952; the library is zlib.

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/units.hpp>
#include <fount/io/byte_stream.hpp>

#if FOUNT_HAS_ZLIB
#include <zlib.h>
#endif

namespace fount {

inline constexpr bool has_gzip = FOUNT_HAS_ZLIB != 0;

constexpr bool is_gzip(std::string_view first_bytes) {
  return first_bytes.starts_with("\x1F\x8B\x08");
}

#if FOUNT_HAS_ZLIB
class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<FileStream> file) : file_(std::move(file)) {
    if (::inflateInit2(&state_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { ::inflateEnd(&state_); }

  std::size_t read(char* to, std::size_t size) override {
    state_.next_out = reinterpret_cast<Bytef*>(to);
    state_.avail_out = static_cast<uInt>(size);
    while (state_.avail_out == size) {
      if (state_.avail_in == 0 && !refill()) {
        if (between_members_ && members_ > 0) return 0;
        damaged("the end of the file inside a gzip member", "the file was cut short");
      }
      if (between_members_) {
        if (!begin_member()) return 0;
      }
      step();
    }
    return size - state_.avail_out;
  }
  Bytes consumed() const override { return file_->consumed() - state_.avail_in; }

 private:
  static constexpr int gzip_only = 15 + 16;  // zlib's window of 32 KiB, and no other header

  bool refill() {
    const std::size_t count = file_->read(buffer_.data(), buffer_.size());
    state_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    state_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }
  /// Zeros may fill up the last block of a tape or disk: they end the data, as gzip has it.
  bool begin_member() {
    while (members_ > 0 && state_.avail_in > 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
      padded_ = true;
      if (state_.avail_in == 0) refill();
    }
    if (padded_ && state_.avail_in == 0) return false;
    if (padded_ || (members_ > 0 && *state_.next_in != 0x1F)) {
      damaged("something behind the last gzip member", "the file is damaged");
    }
    between_members_ = false;
    return true;
  }
  void step() {
    const int result = ::inflate(&state_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      ++members_;
      between_members_ = true;
      ::inflateReset(&state_);
      return;
    }
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    // Z_BUF_ERROR: it only wants more input.
    if (result != Z_OK && result != Z_BUF_ERROR) {
      const std::string reason = state_.msg != nullptr ? state_.msg : "a preset dictionary";
      damaged("damaged gzip data (" + reason + ")", "the file is damaged");
    }
  }
  [[noreturn]] void damaged(const std::string& found, const std::string& cause) const {
    throw FileError::content(file_->path().string(),
                             found + " at byte " + std::to_string(consumed()) + " of the file",
                             "whole gzip members", cause + "; fetch it again");
  }

  std::unique_ptr<FileStream> file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16U);
  z_stream state_{};
  bool between_members_ = true;
  bool padded_ = false;
  Bytes members_ = 0;
};
#endif

}  // namespace fount
