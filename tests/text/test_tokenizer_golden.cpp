// SPDX-License-Identifier: Apache-2.0
// Published vocabularies against vectors that tiktoken made. The files are large and not ours to
// hand on: the tests look for them, and say so where they are missing.
#include <fount/text/load_tokenizer.hpp>

#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

using namespace fount;
using namespace fount::test;

TEST_CASE("published vocabularies give tiktoken's ids", "[text][bpe][golden]") {
  const auto golden = test_data("tokenizer_golden.jsonl");
  if (golden.empty() || !unicode_here()) return;
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers;
  std::map<std::string, std::unique_ptr<Tokenizer>> converted;
  std::istringstream lines(content_of(golden));
  std::string line;
  int rows = 0;
  int with_specials = 0;
  while (std::getline(lines, line)) {
    const Json row = parse_json(line, "golden");
    const auto encoding = row["encoding"].get<std::string>();
    if (!tokenizers[encoding]) {
      tokenizers[encoding] =
          load_tokenizer(golden.parent_path() / row["ranks"].get<std::string>(), encoding);
      converted[encoding] = parse_tokenizer(tokenizers[encoding]->to_json(), encoding);
      CHECK(converted[encoding]->hash() == tokenizers[encoding]->hash());
    }
    const auto text = row["text"].get<std::string>();
    INFO(encoding << ": " << line);
    for (const auto& tokenizer : {tokenizers[encoding].get(), converted[encoding].get()}) {
      const auto ids = tokenizer->encode(text);
      CHECK(Json(ids) == row["ordinary"]);
      CHECK(tokenizer->decode(ids) == text);
      if (row.contains("special_allowed")) {
        CHECK(Json(tokenizer->encode(text, AllowedSpecial::all())) == row["special_allowed"]);
      }
    }
    ++rows;
    with_specials += row.contains("special_allowed");
  }
  CHECK(rows == 198);
  CHECK(with_specials == 7);
  CHECK(tokenizers.size() == 3);
  CHECK(tokenizers["cl100k_base"]->vocab_size() == 100277);
  CHECK(tokenizers["o200k_base"]->vocab_size() == 200019);
}

TEST_CASE("one run of a million bytes is encoded and comes back", "[text][bpe][golden]") {
  const auto ranks = test_data("cl100k_base.tiktoken");
  if (ranks.empty() || !unicode_here()) return;
  const auto tokenizer = load_tokenizer(ranks);
  for (const std::string unit : {"a", "^", " ", "\n", "\xE4\xB8\xAD", "\xFF"}) {
    std::string text;
    while (text.size() < std::size_t{1} << 20U) text += unit;
    const auto ids = tokenizer->encode(text);
    CHECK(ids.size() <= text.size());
    if (tokenizer->decode(ids) != text) FAIL_CHECK("lost " << unit);
  }
}
