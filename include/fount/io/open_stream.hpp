// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens a file for reading from front to back, compressed or not: its first bytes decide, since a
// pipe has no name. A name that promises compression must keep the promise. Parquet files come as
// lines of JSON.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>
#include <fount/io/byte_stream.hpp>
#include <fount/io/gzip.hpp>
#include <fount/io/parquet.hpp>
#include <fount/io/zstd.hpp>

namespace fount {

enum class Compression { none, gzip, zstd };

constexpr std::string_view name_of(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::gzip: return "gzip";
    case Compression::zstd: return "zstd";
  }
  return "";
}

/// What the ending of a file name promises.
constexpr Compression compression_of(std::string_view name) {
  if (name.ends_with(".gz")) return Compression::gzip;
  if (name.ends_with(".zst") || name.ends_with(".zstd")) return Compression::zstd;
  return Compression::none;
}

/// The name without .gz, .zst or .zstd.
constexpr std::string_view without_compression(std::string_view name) {
  return compression_of(name) == Compression::none ? name : name.substr(0, name.rfind('.'));
}

namespace detail {

[[noreturn]] inline void refuse_compression(const std::filesystem::path& path,
                                            Compression compression) {
  const bool gzip = compression == Compression::gzip;
  const std::string name(name_of(compression));
  throw FileError::content(
      path.string(), name + "-compressed data",
      std::string("plain text: this program was built without ") + (gzip ? "zlib" : "libzstd"),
      std::string("apt-get install ") + (gzip ? "zlib1g-dev" : "libzstd-dev") +
          " and build again, or unpack the file first (" + (gzip ? "gunzip" : "unzstd") + ")");
}

[[noreturn]] inline void refuse_parquet(const std::filesystem::path& path) {
  throw FileError::content(path.string(), "a parquet file",
                           "text or JSON lines: this program was built without Apache Arrow",
                           "convert it first, or build with Arrow; the README has both under 'your "
                           "own text'");
}

}  // namespace detail

/// The bytes of a file, unpacked; "-" is standard input.
/// @param column  of a Parquet file, what becomes the lines
/// @throws FileError if it cannot be opened, is not what its name says, or needs a library that
///         this program was built without
inline std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path,
                                               std::string_view column = "text") {
  if (is_parquet_name(path.string())) {
#if FOUNT_HAS_PARQUET
    return std::make_unique<ParquetStream>(path, column);
#else
    (void)column;
    detail::refuse_parquet(path);
#endif
  }
  auto file = std::make_unique<FileStream>(path);
  const std::string_view first = file->peek(4);
  const Compression found = is_gzip(first)   ? Compression::gzip
                            : is_zstd(first) ? Compression::zstd
                                             : Compression::none;
  const Compression promised = compression_of(path.string());
  if (promised != Compression::none && promised != found) {
    throw FileError::content(path.string(),
                             first.empty() ? "an empty file" : "data that do not begin as such",
                             std::string(name_of(promised)) + "-compressed data",
                             "fetch it again, or rename it if it is not compressed");
  }
#if FOUNT_HAS_ZLIB
  if (found == Compression::gzip) return std::make_unique<GzipStream>(std::move(file));
#endif
#if FOUNT_HAS_ZSTD
  if (found == Compression::zstd) return std::make_unique<ZstdStream>(std::move(file));
#endif
  if (found != Compression::none) detail::refuse_compression(file->path(), found);
  return file;
}

}  // namespace fount
