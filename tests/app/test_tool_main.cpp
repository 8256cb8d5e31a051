// SPDX-License-Identifier: Apache-2.0
#include <fount/app/prepare_verb.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/run_tool.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

TEST_CASE("fount prepare writes data and tells how to go on", "[app][tool]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", std::string(1000, 'a') + std::string(1000, 'b'));
  const std::string output = (folder / "out").string();
  const Outcome done = run({"prepare", "--input", input.string(), "--output", output,
                            "--val_fraction", "0.25", "--shard_tokens=1k"});
  CHECK(done.code == 0);
  CHECK(done.err.empty());
  CHECK(mentions(done.out, "2,000 bytes", "char, 2 tokens", "1,500 tokens in 2 shards",
                 "500 tokens in 1 shard\n", output, "--data "));
  const Outcome again = run({"prepare", "--input", input.string(), "--output", output});
  CHECK(again.code == 1);
  CHECK(mentions(again.err, "fount prepare: error: ", "--overwrite"));
  CHECK(run({"prepare", "--input", input.string(), "--output", output, "--overwrite"}).code == 0);
  CHECK(
      run({"prepare", "--input=" + input.string(), "--output=" + output + "_b", "--tokenizer=byte"})
          .code == 0);
  CHECK(std::filesystem::exists(output + "_b/metadata.json"));  // values keep their underscores
}

TEST_CASE("fount prepare takes documents, several inputs and the spellings of other programs",
          "[app][tool]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "{\"body\": \"number " + std::to_string(i) + "\"}\n";
  const std::string first = folder.file("1.jsonl", lines).string();
  const std::string second = folder.file("2.txt", "plain\ntext\n").string();
  const std::string output = (folder / "out").string();
  const Outcome done = run({"prepare", "--input_dir", first, second, "--output_dir", output,
                            "--tokenizer_type", "byte", "--num_workers", "3", "--vocab_size", "256",
                            "--text-field=body", "--documents", "line", "--val-fraction", "0"});
  CHECK(done.err.empty());
  CHECK(done.code == 0);
  CHECK(mentions(done.out, "in 2 files", "202 for training, 0 for validation, 0 broken",
                 "byte, 256 tokens"));
  const Outcome wrong = run({"prepare", "--input", first, "--output", output, "--overwrite"});
  CHECK(wrong.code == 1);
  CHECK(mentions(wrong.err, "200 broken documents among 200", "no \"text\"", "1.jsonl, line 1"));
  const Outcome some = run({"prepare", "--input", first, second, "--documents=json-lines",
                            "--text-field", "body", "--max-bad", "0.02", "--output", output + "2"});
  CHECK(some.code == 0);
  CHECK(mentions(some.err, "the first 2:", "2.txt, line 2", "invalid JSON"));
  const auto usage = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"prepare", "--input", first, "--output", output + "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(mentions(usage({"--tokenizer", "tiktoken"}), "cl100k_base.tiktoken", "fount fetch"));
  CHECK(mentions(usage({"--documents", "page"}), "'page'", "blank-line"));
  CHECK(mentions(usage({"--vocab_size", "10", "--text-field", "body"}), "vocab-size", "10"));
  CHECK(mentions(usage({"--workers", "0"}), "workers"));
  CHECK(mentions(usage({"--max-bad", "2"}), "max-bad"));
  CHECK(mentions(usage({"--max-line-bytes", "3"}), "max-line-bytes"));
}

TEST_CASE("fount prepare learns a tokenizer, as other programs' commands have it", "[app][tool]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 400; ++i) {
    lines += "{\"text\": \"the hugs and the pugs number " + std::to_string(i % 23) + "\"}\n";
  }
  folder.file("in.jsonl", lines);
  const std::string output = (folder / "processed").string();
  for (const char* kind : {"bpe", "wordpiece"}) {
    CAPTURE(kind);
    const std::vector<std::string> command = {
        "prepare",      "--input_dir",   folder.path().string(),
        "--output_dir", output,          "--tokenizer_type",
        kind,           "--vocab_size",  "300",
        "--max_length", "128",           "--stride",
        "64",           "--num_workers", "2"};
    const Outcome done = run(command);
    CHECK(mentions(done.err, "learned", "tokens from"));
    CHECK(done.code == 0);
    CHECK(mentions(done.out, "--data " + output + " --seq-len 128 --stride 64", kind));
    // The folder has the tokenizer, and nothing else is left.
    CHECK(folder.count() == 2);
    const auto learned = load_tokenizer(output);
    CHECK(learned->kind() == kind);
    CHECK(learned->vocab_size() <= 300);
    CHECK(read_metadata(output).tokenizer_hash == learned->hash());
    const Outcome by_hand =
        run({"tokenizer", "train", "--input", (folder / "in.jsonl").string(), "--output",
             output + "-t", "--kind", kind, "--vocab-size", "300", "--overwrite"});
    CHECK(by_hand.code == 0);
    CHECK(load_tokenizer(output + "-t")->hash() == learned->hash());
    std::filesystem::remove_all(output + "-t");
    CHECK(run(command).code == 1);  // prepared data are not replaced unasked
    std::filesystem::remove_all(output);
  }
  // What an earlier run has learned is not learned again; what it learned from other text is.
  const auto prepare_again = [&](const std::string& vocab_size) {
    return run({"prepare", "--input", (folder / "in.jsonl").string(), "--output", output,
                "--tokenizer", "bpe", "--vocab-size", vocab_size, "--overwrite", "--max-bad", "0"});
  };
  folder.file("in.jsonl", lines + "{\n");
  CHECK(prepare_again("280").code == 1);  // learning stops at the broken line
  CHECK_FALSE(std::filesystem::exists(output + ".tokenizer"));
  folder.file("in.jsonl", lines);
  std::filesystem::create_directories(output);
  CHECK(mentions(prepare_again("280").err, "learned 280"));
  CHECK(mentions(prepare_again("290").err, "learned 290"));
}

TEST_CASE("fount data inspect shows counts, vocabulary and first tokens", "[app][tool]") {
  const TemporaryFolder folder;
  const std::string input = folder.file("in.txt", "Once upon a time.\nThe end.\n").string();
  const std::string output = (folder / "data").string();
  CHECK(run({"prepare", "--input", input, "--tokenizer", "byte", "--output", output}).code == 0);
  const Outcome shown = run({"data", "inspect", output, "--tokens", "7", "--all"});
  CHECK(shown.err.empty());
  CHECK(shown.code == 0);
  CHECK(mentions(shown.out, "from 1 file", "byte, 256 tokens", "24 tokens in 1 shard",
                 "79 110 99 101 32 117 112", "\"Once up\"", "validation:  3 tokens",
                 "largest id 117", "verified:    2 of 2 shards\n"));
  const std::string shard = output + "/tokens_train_000000.bin";
  std::string bytes = read_file(shard, 4096);
  bytes.at(bytes.size() - 2) ^= 1;
  folder.file("data/tokens_train_000000.bin", bytes);
  CHECK(run({"data", "inspect", output}).code == 0);  // looks at the first tokens only
  const Outcome damaged = run({"data", "inspect", output, "--all"});
  CHECK(damaged.code == 1);
  CHECK(mentions(damaged.err, shard, "as metadata.json lists"));
  // Shards of others, by folder or pattern, with and without a tokenizer.
  std::filesystem::remove(folder / "data/metadata.json");
  CHECK(mentions(run({"data", "inspect", "--data", output}).out, "byte, 256 tokens",
                 "24 tokens in 1 shard"));
  std::filesystem::remove(folder / "data/tokenizer.json");
  const Outcome plain = run({"data", "inspect", output + "/*_val_*.bin"});
  CHECK(mentions(plain.out, "shards:      3 tokens in 1 shard", "first: 100 46 10"));
  CHECK_FALSE(mentions(plain.out, "\"d."));
  CHECK(run({"data", "inspect", input}).code == 1);
  CHECK(mentions(run({"data", "inspect", folder.path().string()}).err, "no shards"));
  CHECK(mentions(run({"data", "inspct"}).err, "did you mean 'inspect'?"));
  CHECK(run({"data", "inspect"}).code == 2);
  // Empty shards show nothing, and that is no error.
  folder.file("data/empty_val_1.bin", "");
  CHECK(mentions(run({"data", "inspect", output + "/empty_val_1.bin"}).out, "0 tokens"));
}

TEST_CASE("fount fetch lists known data and prints commands", "[app][tool]") {
  const Outcome list = run({"fetch"});
  CHECK(list.code == 0);
  CHECK(mentions(list.out, "tinyshakespeare", "1.06 MiB", "public domain", "1,024 x", "ODC-BY"));
  const Outcome two = run({"fetch", "c4", "--files", "2", "--output", "my folder"});
  CHECK(two.code == 0);
  CHECK(mentions(two.out, "mkdir -p 'my folder'",
                 "'https://huggingface.co/datasets/allenai/c4/resolve/main/en/"
                 "c4-train.00000-of-01024.json.gz'",
                 "--output 'my folder/c4-train.00001-of-01024.json.gz'", "licence: ODC-BY",
                 "fount prepare --input 'my folder/*.json.gz'", "2 of 1,024 files"));
  CHECK_FALSE(mentions(two.out, "00002"));
  CHECK(mentions(run({"fetch", "fineweb-tokens"}).out, "fineweb_train_000001.bin"));
  CHECK_FALSE(mentions(run({"fetch", "fineweb-tokens"}).out, "DIR"));
  CHECK(mentions(run({"fetch", "tinystorys"}).err, "did you mean 'tinystories'?"));
  CHECK(run({"fetch", "c4", "--output", "a'b"}).code == 2);
}

TEST_CASE("the line about progress has speed, counts and what is left", "[app][tool]") {
  PrepareProgress progress;
  progress.part = 0.1;
  CHECK(fount::detail::progress_line(progress, 3, 0) ==
        "fount prepare: 10 % of the text, first pass");
  progress.part = 0.6;
  progress.encoding = true;
  progress.text_bytes = 80'000'000;
  progress.resumed_bytes = 20'000'000;
  progress.documents = 1204;
  progress.tokens = 21'000'000;
  CHECK(fount::detail::progress_line(progress, 30, 0.2) ==
        "fount prepare: 60 % of the text, 2.0 MB/s, 1,204 documents, 21,000,000 tokens, 30s left");
  CHECK_FALSE(mentions(fount::detail::progress_line(progress, 0, 0.6), "left"));
}

TEST_CASE("fount stories writes as much as asked for, the same each time", "[app][tool]") {
  const TemporaryFolder folder;
  const std::string file = (folder / "s.txt").string();
  const Outcome done = run({"stories", "--output", file, "--bytes", "20k", "--seed", "3"});
  CHECK(done.code == 0);
  CHECK(mentions(done.out, file, "fount prepare --input " + file, "--split-at-documents"));
  const std::string text = content_of(file);
  CHECK(text.size() >= 20'000);
  CHECK(text.size() < 30'000);
  const Outcome printed = run({"stories", "--output", "-", "--bytes", "20000", "--seed", "3"});
  CHECK(printed.out == text);
  CHECK(run({"stories", "--output", "-", "--bytes", "20000", "--seed", "4"}).out != text);
  const Outcome prepared = run(
      {"prepare", "--input", file, "--split-at-documents", "--output", (folder / "data").string()});
  CHECK(prepared.code == 0);
  CHECK(folder.count() == 2);
}

TEST_CASE("a disk that refuses ends fount with 1 and a reason", "[app][tool]") {
  const Outcome full = run({"stories", "--output", "/dev/full", "--bytes", "100k"});
  CHECK(full.code == 1);
  CHECK(mentions(full.err, "fount stories: error: ", "/dev/full", "No space left on device"));
  CHECK(run({"stories", "--output", "/nowhere/at/all.txt", "--bytes", "1"}).code == 1);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  std::ostringstream err;
  CHECK(run({"stories", "--output", "-", "--bytes", "1"}, broken, err) == 1);
  CHECK(mentions(err.str(), "standard output"));
}

TEST_CASE("what cannot be understood ends fount with 2 and a hint", "[app][tool]") {
  const auto usage = [](std::vector<std::string> arguments) {
    const Outcome outcome = run(std::move(arguments));
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(mentions(usage({}), "prepare", "stories"));
  CHECK(mentions(usage({"prepar"}), "unknown verb 'prepar'", "did you mean 'prepare'?"));
  CHECK(mentions(usage({"--verison"}), "did you mean '--version'?"));
  CHECK(mentions(usage({"prepare", "--inptu", "x"}), "'--inptu'", "did you mean '--input'?",
                 "fount prepare --help"));
  CHECK(mentions(usage({"prepare", "--zebra=3"}), "unknown option '--zebra'"));
  CHECK(mentions(usage({"prepare"}), "--input", "required"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "c"}), "c"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "--tokenizer", "bpe"}), "bpe"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "--val-fraction", "x"}),
                 "--val-fraction"));
  CHECK(mentions(usage({"prepare", "--input", "a", "--output", "b", "--val-fraction", "7"}),
                 "val-fraction"));
  CHECK(mentions(usage({"stories", "--output", "-", "--bytes", "many"}), "'many' is not a count"));
  CHECK(mentions(usage({"stories", "--output", "-", "--bytes", "-5"}), "-5"));
  CHECK(mentions(usage({"stories", "--output", "-", "--bytes", "5", "--bytes", "6"}), "--bytes"));
}

TEST_CASE("help and version are answers, not errors", "[app][tool]") {
  const Outcome help = run({"--help"});
  CHECK(help.code == 0);
  CHECK(mentions(help.out, "prepare", "stories"));
  const Outcome verb = run({"prepare", "--help"});
  CHECK(verb.code == 0);
  CHECK(mentions(verb.out, "--val-fraction", "Examples:", "--split-at-documents"));
  CHECK(run({"--version"}).out == std::string("fount ") + version + "\n");
}
