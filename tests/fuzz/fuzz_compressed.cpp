// SPDX-License-Identifier: Apache-2.0
// Files that say they are gzip or zstd: their bytes or an error, the same in pieces of any size.
#include <algorithm>
#include <string>

#include <fount/io/open_stream.hpp>

#include "fuzz/fuzz.hpp"

using namespace fount;

namespace {

struct Unpacked {
  std::string bytes;
  bool damaged = false;
};

Unpacked read_in_pieces(const test::MemoryFile& file, std::size_t piece) {
  constexpr std::size_t most = std::size_t{1} << 20U;  // bombs are cut short
  Unpacked result;
  try {
    const auto stream = open_stream(file.path());
    std::string buffer(piece, '\0');
    while (result.bytes.size() < most) {
      const std::size_t count =
          stream->read(buffer.data(), std::min(piece, most - result.bytes.size()));
      if (count == 0) break;
      result.bytes.append(buffer, 0, count);
    }
  } catch (const Error&) {
    result.damaged = true;
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const test::MemoryFile file(test::as_text(data, size));
  const Unpacked large = read_in_pieces(file, std::size_t{1} << 16U);
  const Unpacked small = read_in_pieces(file, 1 + size % 97);
  test::must(large.damaged == small.damaged, "damage is seen in pieces of any size");
  // How many bytes come before the damage is seen depends on the pieces.
  const bool agree = small.bytes.starts_with(large.bytes) || large.bytes.starts_with(small.bytes);
  test::must(large.damaged ? agree : small.bytes == large.bytes, "pieces make up the whole");
  return 0;
}
