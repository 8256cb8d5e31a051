// SPDX-License-Identifier: Apache-2.0
#include <fount/app/tokenizer_verbs.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/run_tool.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// A folder with a small tokenizer: ids of bytes, "hi" 256, "<|end|>" 300.
struct SmallTokenizer {
  SmallTokenizer() {
    BpeModel model = small_bpe({{"h", "i"}});
    model.added = {{.content = "<|end|>", .id = 300}};
    BpeTokenizer(model).save(folder.path());
    options.tokenizer = folder.path().string();
    options.threads = 2;
  }
  std::string encode(const std::string& text) const {
    std::istringstream in(text);
    std::ostringstream out;
    detail::encode_input(options, in, out);
    return out.str();
  }
  std::string decode(const std::string& text) const {
    std::istringstream in(text);
    std::ostringstream out;
    std::ostringstream err;
    detail::decode_input(options, in, out, err);
    return out.str() + err.str();
  }
  template <class Call>
  std::string refusal(Call call) const {
    return message_of<Error>(call);
  }

  TemporaryFolder folder;
  detail::TokenizerOptions options;
};

}  // namespace

TEST_CASE("plain text becomes ids and comes back", "[app][tokenizer]") {
  if (!unicode_here()) return;
  const SmallTokenizer tokenizer;
  CHECK(tokenizer.encode("hi a\n") == "256 32 97 10\n");
  CHECK(tokenizer.encode("") == "\n");
  CHECK(tokenizer.encode("\xFF") == "255\n");
  CHECK(tokenizer.decode("256 32\n97\t10 ") == "hi a\n");
  CHECK(tokenizer.decode("255") == "\xFF");
  CHECK(tokenizer.decode("").empty());
  for (const char* bad : {"1 x", "-1", "1,2", "99999999999", "1.5"}) {
    CHECK(mentions(tokenizer.refusal([&] { tokenizer.decode(bad); }), "standard input", "--jsonl"));
  }
  CHECK(mentions(tokenizer.refusal([&] { tokenizer.decode("301"); }), "301"));
}

TEST_CASE("JSON lines become lines of ids and come back", "[app][tokenizer]") {
  if (!unicode_here()) return;
  SmallTokenizer tokenizer;
  tokenizer.options.jsonl = true;
  CHECK(tokenizer.encode("\"hi\"\n{\"id\": 1, \"text\": \"a\\nhi\"}\n\"\"") ==
        "[256]\n[97,10,256]\n[]\n");
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode("[256]\n[97,10,256]\n[]\n") == "\"hi\"\n\"a\\nhi\"\n\"\"\n");
  CHECK(mentions(tokenizer.decode("[255]\n"), "\"\xEF\xBF\xBD\"\n", "1 line was"));
  // More lines than one block, in order, whoever encodes them.
  std::string lines;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    const auto size = static_cast<std::size_t>(i % 2000);
    lines += "\"" + std::string(size, 'h') + "i\"\n";
    expected += "[";
    for (std::size_t k = 1; k < size; ++k) expected += "104,";
    expected += size == 0 ? "105]\n" : "256]\n";
  }
  REQUIRE(lines.size() > std::size_t{1} << 22U);
  CHECK(tokenizer.encode(lines) == expected);
  tokenizer.options.threads = 1;
  CHECK(tokenizer.encode(lines) == expected);
}

TEST_CASE("a bad line is named, and those before it are written", "[app][tokenizer]") {
  if (!unicode_here()) return;
  SmallTokenizer tokenizer;
  tokenizer.options.jsonl = true;
  const auto refused = [&](const std::string& text) {
    return tokenizer.refusal([&] { tokenizer.encode(text); });
  };
  CHECK(mentions(refused("\"a\"\n{\"x\": 1}\n"), "line 2", "\"text\""));
  CHECK(mentions(refused("\"a\"\n\n\"b\"\n"), "line 2"));
  CHECK(mentions(refused("\"a\n"), "line 1"));
  CHECK(mentions(refused("\"\xFF\"\n"), "line 1"));
  CHECK(mentions(refused("7\n"), "line 1", "number", "a string"));
  CHECK(mentions(refused("{\"text\": 7}\n"), "line 1", "number"));
  CHECK(mentions(refused(std::string(100, '[') + "\n"), "line 1", "deeper"));
  for (const char* bad : {"7", "[-1]", "[1.5]", "[\"a\"]", "{\"a\": 1}", "[4294967296]", "null"}) {
    CAPTURE(bad);
    CHECK(mentions(tokenizer.refusal([&] { tokenizer.decode(std::string("[97]\n") + bad); }),
                   "line 2", "array of token ids"));
  }
  CHECK(mentions(tokenizer.refusal([&] { tokenizer.decode("[97]\n[301]\n"); }), "line 2", "301"));
  std::istringstream in("\"a\"\nx\n");
  std::ostringstream out;
  CHECK_THROWS_AS(detail::encode_input(tokenizer.options, in, out), FileError);
  CHECK(out.str() == "[97]\n");
}

TEST_CASE("special tokens are allowed by name", "[app][tokenizer]") {
  if (!unicode_here()) return;
  SmallTokenizer tokenizer;
  CHECK(tokenizer.encode("<|end|>") == "60 124 101 110 100 124 62\n");
  for (const char* allowed : {"all", "<|end|>", "<|end|>,<|end|>"}) {
    tokenizer.options.allow_special = allowed;
    CHECK(tokenizer.encode("hi<|end|>") == "256 300\n");
  }
  tokenizer.options.allow_special = "<|end|>,<|x|>";
  CHECK(mentions(tokenizer.refusal([&] { tokenizer.encode(""); }), "'<|x|>'", "<|end|>"));
}

TEST_CASE("fount tokenizer inspect shows what a tokenizer is", "[app][tokenizer]") {
  if (!unicode_here()) return;
  const SmallTokenizer tokenizer;
  const Outcome done = run({"tokenizer", "inspect", "--tokenizer", tokenizer.options.tokenizer});
  CHECK(done.code == 0);
  CHECK(mentions(done.out, "bpe", "301 ids", "257 tokens", "gpt2", "300 \"<|end|>\"", "not used",
                 "0 \"\\u0000\"", to_hex(load_tokenizer(tokenizer.options.tokenizer)->hash())));
  CHECK(detail::readable_token("\xC3") == "bytes C3");
  CHECK(detail::readable_token("\xC3\xA9") == "\"\xC3\xA9\"");
}

TEST_CASE("verbs below fount tokenizer explain themselves", "[app][tokenizer]") {
  const Outcome help = run({"tokenizer", "encode", "--help"});
  CHECK(help.code == 0);
  CHECK(mentions(help.out, "--allow-special", "--jsonl", "Examples:", "cl100k_base.tiktoken"));
  CHECK(mentions(run({"tokenizer", "--help"}).out, "encode", "decode", "inspect"));
  const Outcome none = run({"tokenizer"});
  CHECK(none.code == 2);
  const Outcome verb = run({"tokenizer", "encod"});
  CHECK(verb.code == 2);
  CHECK(mentions(verb.err, "unknown verb 'encod'", "encode"));
  const Outcome option = run({"tokenizer", "decode", "--tokeniser", "x"});
  CHECK(option.code == 2);
  CHECK(mentions(option.err, "fount tokenizer decode", "--tokenizer"));
  CHECK(run({"tokenizer", "inspect", "--tokenizer", "/nowhere"}).code == 1);
  CHECK(run({"tokenizer", "inspect", "--tokenizer", "x", "--encoding", "gpt5"}).code != 0);
  CHECK(run({"tokenizer", "encode", "--tokenizer", "x", "--threads", "0"}).code == 2);
}
