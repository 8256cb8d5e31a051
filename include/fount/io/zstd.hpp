// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading Zstandard: all frames of a file, one after the other, with their checksums. The only door
// to libzstd; without it this header offers nothing but `has_zstd`.
// RFC 8878; the library is zstd.

#include <cstddef>
#include <cstdint>
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

#if FOUNT_HAS_ZSTD
#include <zstd.h>
#endif

namespace fount {

inline constexpr bool has_zstd = FOUNT_HAS_ZSTD != 0;

/// A frame, or a skippable frame in front of one.
constexpr bool is_zstd(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x28\xB5\x2F\xFD")) return true;
  return first_bytes.size() >= 4 && (static_cast<unsigned char>(first_bytes[0]) & 0xF0) == 0x50 &&
         first_bytes.substr(1, 3) == "\x2A\x4D\x18";
}

#if FOUNT_HAS_ZSTD
class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<FileStream> file)
      : file_(std::move(file)), state_(ZSTD_createDStream()) {
    if (!state_) throw std::bad_alloc();
  }

  std::size_t read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      // What the library still holds comes out without further input.
      if (input_.pos == input_.size && !holds_output_ && !refill()) {
        if (!inside_frame_ && frames_ > 0) return 0;
        damaged("the end of the file inside a zstd frame", "the file was cut short");
      }
      const std::size_t result = ZSTD_decompressStream(state_.get(), &out, &input_);
      if (ZSTD_isError(result) != 0) {
        damaged(std::string("damaged zstd data (") + ZSTD_getErrorName(result) + ")",
                "the file is damaged, or was written with a window beyond 128 MiB (--long)");
      }
      inside_frame_ = result != 0;
      if (!inside_frame_) ++frames_;
      holds_output_ = inside_frame_ && out.pos == out.size;
    }
    return out.pos;
  }
  Bytes consumed() const override {
    return file_->consumed() - static_cast<Bytes>(input_.size - input_.pos);
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* state) const { ZSTD_freeDStream(state); }
  };

  bool refill() {
    const std::size_t count = file_->read(buffer_.data(), buffer_.size());
    input_ = {buffer_.data(), count, 0};
    return count > 0;
  }
  [[noreturn]] void damaged(const std::string& found, const std::string& cause) const {
    throw FileError::content(file_->path().string(),
                             found + " at byte " + std::to_string(consumed()) + " of the file",
                             "whole zstd frames", cause + "; fetch it again");
  }

  std::unique_ptr<FileStream> file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 17U);
  ZSTD_inBuffer input_{nullptr, 0, 0};
  std::unique_ptr<ZSTD_DStream, Free> state_;
  std::int64_t frames_ = 0;
  bool inside_frame_ = false;
  bool holds_output_ = false;
};
#endif

}  // namespace fount
