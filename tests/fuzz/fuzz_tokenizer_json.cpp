// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json that is taken encodes and decodes, and is taken again as it is written.
#include <memory>
#include <string>
#include <vector>

#include <fount/text/load_tokenizer.hpp>

#include "fuzz/fuzz.hpp"

using namespace fount;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = test::as_text(data, size);
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = parse_tokenizer(text, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  const auto again = parse_tokenizer(tokenizer->to_json(), "written");
  test::must(again->hash() == tokenizer->hash(), "a tokenizer that is written comes back");
  for (const bool special : {false, true}) {
    try {
      const AllowedSpecial allowed = special ? AllowedSpecial::all() : AllowedSpecial::none();
      const std::vector<std::int32_t> ids = tokenizer->encode(text.substr(0, 512), allowed);
      for (const std::int32_t id : ids) {
        test::must(id >= 0 && id < tokenizer->vocab_size(), "ids are in the vocabulary");
      }
      const std::string back = tokenizer->decode(ids);
      test::must(tokenizer->kind() == "wordpiece" || back == text.substr(0, 512),
                 "decode(encode(x)) is x");
    } catch (const Error&) {
      // A vocabulary need not have every character or byte.
    }
  }
  return 0;
}
