// SPDX-License-Identifier: Apache-2.0
// A .tiktoken file that is taken encodes and decodes.
#include <string>
#include <vector>

#include <fount/text/bpe.hpp>
#include <fount/text/tiktoken.hpp>

#include "fuzz/fuzz.hpp"

using namespace fount;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::vector<TiktokenEncoding> encodings = tiktoken_encodings();
  TiktokenEncoding encoding = encodings[data[0] % encodings.size()];
  encoding.ranks = 0;  // small files are quicker to search
  const std::string_view text = test::as_text(data + 1, size - 1);
  try {
    const BpeTokenizer tokenizer(read_tiktoken_model(text, "fuzz", encoding));
    const std::string_view part = text.substr(0, 512);
    const std::vector<std::int32_t> ids = tokenizer.encode(part);
    test::must(tokenizer.decode(ids) == part, "decode(encode(x)) is x");
  } catch (const Error&) {
  }
  return 0;
}
