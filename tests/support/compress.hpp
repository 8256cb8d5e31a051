// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compressed bytes for tests of what reads them; empty where the library is missing.

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fount/core/macros.hpp>

#if FOUNT_HAS_ZLIB
#include <zlib.h>
#endif
#if FOUNT_HAS_ZSTD
#include <zstd.h>
#endif

namespace fount::test {

/// One gzip member.
inline std::string gzip(std::string_view text) {
  std::string packed;
#if FOUNT_HAS_ZLIB
  z_stream state{};
  if (::deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  packed.resize(::deflateBound(&state, static_cast<uLong>(text.size())) + 64);
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  const int result = ::deflate(&state, Z_FINISH);
  packed.resize(packed.size() - state.avail_out);
  ::deflateEnd(&state);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
#else
  (void)text;
#endif
  return packed;
}

/// One zstd frame, with a checksum.
inline std::string zstd(std::string_view text) {
  std::string packed;
#if FOUNT_HAS_ZSTD
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compressBound(text.size()));
  const std::size_t size =
      ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size) != 0) throw std::runtime_error("ZSTD_compress2");
  packed.resize(size);
#else
  (void)text;
#endif
  return packed;
}

}  // namespace fount::test
