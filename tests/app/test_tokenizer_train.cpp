// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <fount/io/gzip.hpp>
#include <fount/io/json.hpp>
#include <fount/text/load_tokenizer.hpp>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/run_tool.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

Outcome train(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"tokenizer", "train"});
  return run(std::move(arguments));
}

std::string some_words() {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "The hugs and pugs of " + std::to_string(i % 17) + " buns, h\u00FCgs!\n";
  }
  return text;
}

}  // namespace

TEST_CASE("fount tokenizer train learns a bpe vocabulary", "[app][tool]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  const std::string input = folder.file("in.txt", some_words()).string();
  const std::string output = (folder / "new/tokenizer").string();
  const Outcome done = train({"--input", input, "--output", output, "--vocab_size", "280",
                              "--special", "<|user|>", "--splitter", "cl100k", "--threads", "2"});
  CHECK(done.err.empty());
  CHECK(done.code == 0);
  CHECK(mentions(done.out, "280 tokens of kind bpe", "bytes per token", output));
  const auto tokenizer = load_tokenizer(output);
  CHECK(tokenizer->vocab_size() == 280);
  CHECK(tokenizer->find_special("<|user|>") == 1);
  CHECK(tokenizer->end_of_text() == 0);
  CHECK(tokenizer->decode(tokenizer->encode(some_words())) == some_words());
  CHECK(mentions(tokenizer->to_json(), "{1,3}"));

  // Nothing is overwritten unasked; the result does not depend on threads, or on how often.
  const std::string first = content_of(folder / "new/tokenizer/tokenizer.json");
  const Outcome again = train({"--input", input, "--output", output, "--vocab-size", "280"});
  CHECK(again.code == 1);
  CHECK(mentions(again.err, "fount tokenizer train: error:", "exists", "--overwrite"));
  CHECK(train({"--input", input, "--output", output, "--vocab-size=280", "--special", "<|user|>",
               "--splitter", "cl100k", "--threads", "1", "--overwrite"})
            .code == 0);
  CHECK(content_of(folder / "new/tokenizer/tokenizer.json") == first);
}

TEST_CASE("fount tokenizer train learns a WordPiece vocabulary", "[app][tool]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  folder.file("a.txt", some_words());
  folder.file("b.txt", "More words.\n");
  const std::string output = (folder / "wp").string();
  const Outcome done = train({"--input", folder.path().string(), "--output", output, "--kind",
                              "wordpiece", "--vocab-size", "100k"});
  CHECK(done.code == 0);
  CHECK(mentions(done.out, "of kind wordpiece", "no other pair occurs 2 times", "0.000 %"));
  const auto tokenizer = load_tokenizer(output);
  CHECK(tokenizer->find_special("[MASK]") == 4);
  CHECK(tokenizer->decode(tokenizer->encode("THE H\u00FCgs!")) == "the hugs!");
  std::filesystem::remove(folder / "wp/tokenizer.json");
  CHECK(load_tokenizer(output)->hash() == tokenizer->hash());  // from vocab.txt

  const std::string cased = (folder / "cased").string();
  CHECK(train({"--input", (folder / "a.txt").string(), (folder / "b.txt").string(), "--output",
               cased, "--kind", "wordpiece", "--vocab-size", "50", "--cased"})
            .code == 0);
  CHECK(mentions(load_tokenizer(cased)->to_json(), "\u00FC", "\"lowercase\": false"));
  // With the three most frequent characters alone, others are unknown.
  const std::string few = (folder / "few").string();
  CHECK(train({"--input", (folder / "a.txt").string(), "--output", few, "--kind", "wordpiece",
               "--vocab-size", "50", "--limit-alphabet", "3"})
            .code == 0);
  CHECK(load_tokenizer(few)->encode("!") == std::vector<std::int32_t>{1});
  CHECK(load_tokenizer(few)->encode("s") != std::vector<std::int32_t>{1});
  CHECK(tokenizer->encode("!") != std::vector<std::int32_t>{1});
  CHECK(mentions(train({"--input", (folder / "b.txt").string(), "--output", (folder / "s").string(),
                        "--kind", "wordpiece", "--vocab-size", "3"})
                     .out,
                 "alone are that many"));
}

TEST_CASE("fount tokenizer train reads JSON lines as it reads texts", "[app][tool]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "texts");
  std::string lines;
  for (int i = 0; i < 3; ++i) {
    const std::string text = some_words() + "only in " + std::to_string(i);
    folder.file("texts/" + std::to_string(i) + ".txt", text);
    lines += dump_json(Json{{"body", text}}, -1) + "\n";
  }
  const auto learn = [&](const std::string& input, const std::string& output) {
    const Outcome done =
        train({"--input", (folder / input).string(), "--output", (folder / output).string(),
               "--vocab-size", "280", "--text-field", "body", "--max-bad", "0.3"});
    INFO(done.err);
    CHECK(done.code == 0);
    return done.out;
  };
  learn("texts", "from-texts");
  const std::string expected = content_of(folder / "from-texts/tokenizer.json");
  folder.file("lines.jsonl", lines);
  CHECK_FALSE(mentions(learn("lines.jsonl", "from-lines"), "left out"));
  CHECK(content_of(folder / "from-lines/tokenizer.json") == expected);
  if (has_gzip) {
    folder.file("lines.json.gz", gzip(lines));
    learn("lines.json.gz", "from-gzip");
    CHECK(content_of(folder / "from-gzip/tokenizer.json") == expected);
  }
  // A broken line is told, and above the share an error.
  folder.file("broken.jsonl", lines + "{\n");
  CHECK(mentions(learn("broken.jsonl", "from-broken"), "1 broken documents", "line 4"));
  CHECK(content_of(folder / "from-broken/tokenizer.json") == expected);
  const Outcome refused =
      train({"--input", (folder / "broken.jsonl").string(), "--output", (folder / "no").string(),
             "--vocab-size", "280", "--text-field", "body"});
  CHECK(refused.code == 1);
  CHECK(mentions(refused.err, "1 broken documents among 4", "--max-bad", "line 4"));
}

TEST_CASE("fount tokenizer train says what is wrong", "[app][tool]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  const std::string input = folder.file("in.txt", some_words()).string();
  const std::string output = (folder / "out").string();
  const auto refused = [&](int code, std::vector<std::string> more) {
    more.insert(more.begin(), {"--output", output});
    const Outcome outcome = train(std::move(more));
    CHECK(outcome.code == code);
    CHECK_FALSE(std::filesystem::exists(output));
    return outcome.err;
  };
  CHECK(mentions(refused(2, {"--input", input}), "--vocab-size"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "-1"}), "--vocab-size"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "0"}), "--vocab-size is 0"));
  CHECK(
      mentions(refused(2, {"--input", input, "--vocab-size", "1k", "--kind", "unigram"}), "kind"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "1k", "--splitter", "gpt3"}), "gpt3",
                 "cl100k"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "1k", "--cased"}), "wordpiece"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "1k", "--limit-alphabet", "9"}),
                 "--limit-alphabet", "wordpiece"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "1k", "--kind", "wordpiece",
                             "--splitter", "gpt2"}),
                 "--splitter"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-size", "1k", "--kind", "wordpiece",
                             "--cased", "--lowercase"}),
                 "exclude"));
  CHECK(mentions(refused(2, {"--input", input, "--vocab-sice", "1k"}), "--vocab-size"));
  CHECK(mentions(refused(1, {"--input", (folder / "absent").string(), "--vocab-size", "1k"}),
                 "absent"));
  const std::string empty = folder.file("empty", "").string();
  CHECK(mentions(refused(1, {"--input", empty, "--vocab-size", "1k"}), "no text"));
  const std::string latin = folder.file("latin", some_words() + "\xE9").string();
  CHECK(mentions(refused(1, {"--input", input, latin, "--vocab-size", "1k", "--kind", "wordpiece"}),
                 "latin", "offset " + std::to_string(some_words().size()), "iconv"));
  CHECK(train({"--input", latin, "--output", output, "--vocab-size", "300"}).code == 0);
}
