// SPDX-License-Identifier: Apache-2.0
#include <fount/data/prepare.hpp>

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fount/data/loader.hpp>
#include <fount/text/load_tokenizer.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// The text of one split, read back through shards and tokenizer.
std::string text_of(const std::filesystem::path& folder, Split split) {
  const auto tokenizer = load_tokenizer(folder);
  std::string text;
  for (const auto& path : find_shards(folder, split)) {
    const TokenShard shard(path);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.count()));
    shard.copy(0, shard.count(), tokenizer->vocab_size(), ids.data());
    text += tokenizer->decode(ids);
  }
  return text;
}
PrepareOptions options_for(const std::filesystem::path& input,
                           const std::filesystem::path& output) {
  PrepareOptions options;
  options.input = input;
  options.output = output;
  return options;
}
std::string refusal(const PrepareOptions& options) {
  return message_of<Error>([&] { prepare(options); });
}

}  // namespace

TEST_CASE("prepared text comes back whole, cut by nanoGPT's rule", "[data][prepare]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1003; ++i) text += "ab\xC3\xA9\n";  // 4012 characters in 5015 bytes
  const auto input = folder.file("in.txt", text);
  PrepareOptions options = options_for(input, folder / "out");
  options.shard_tokens = 1000;
  const DatasetMetadata data = prepare(options);
  CHECK(data.vocab_size == 4);
  CHECK(data.tokens(Split::train) == 3610);  // int(4012 * 0.9)
  CHECK(data.tokens(Split::validation) == 402);
  CHECK(data.shards.size() == 5);
  CHECK(data.shards.at(3).file == "tokens_train_000003.bin");
  CHECK(data.shards.at(3).tokens == 610);
  CHECK(text_of(folder / "out", Split::train) + text_of(folder / "out", Split::validation) == text);
  CHECK(to_json(read_metadata(folder / "out"), version) == to_json(data, version));
  for (const auto& path : find_shards(folder / "out", Split::train)) {
    CHECK(TokenShard(path).origin().tokenizer_hash == load_tokenizer(folder / "out")->hash());
  }
  options.tokenizer = "byte";
  options.output = folder / "bytes";
  const DatasetMetadata bytes = prepare(options);
  CHECK(bytes.vocab_size == 256);
  // int(5015 * 0.9) = 4513 lies inside a character, between its two bytes: moved behind it.
  CHECK(bytes.tokens(Split::train) == 4514);
  CHECK(text_of(folder / "bytes", Split::train) + text_of(folder / "bytes", Split::validation) ==
        text);
}

TEST_CASE("equal input gives equal files", "[data][prepare]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", "some text, a little longer\nthan nothing\n");
  prepare(options_for(input, folder / "a"));
  prepare(options_for(input, folder / "b"));
  const auto files = list_files(folder / "a");
  CHECK(files == list_files(folder / "b"));
  CHECK(files.size() == 5);
  for (const std::string& name : files) {
    CHECK(content_of(folder / "a" / name) == content_of(folder / "b" / name));
  }
}

TEST_CASE("a folder's text files are joined in natural order", "[data][prepare]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  folder.file("in/part_10.txt", "third\n");
  folder.file("in/part_2.txt", "second\n");
  folder.file("in/part_1.txt", "");
  folder.file("in/part_1b.txt", "first\n");
  folder.file("in/readme.md", "not text of ours");
  PrepareOptions options = options_for(folder / "in", folder / "out");
  options.val_fraction = 0;
  const DatasetMetadata data = prepare(options);
  CHECK(text_of(folder / "out", Split::train) == "first\nsecond\nthird\n");
  CHECK(data.sources.size() == 4);
  CHECK(data.sources.at(3).name == "part_10.txt");
  CHECK_THROWS_AS(find_shards(folder / "out", Split::validation), FileError);
}

TEST_CASE("the cut can be moved to the next document", "[data][prepare]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "story " + std::to_string(i) + "\nsecond line\n\n";
  const auto input = folder.file("in.txt", text);
  PrepareOptions options = options_for(input, folder / "out");
  options.split_at_documents = true;
  for (int percent = 1; percent < 90; ++percent) {
    options.val_fraction = 0.01 * percent;
    options.overwrite = true;
    if (percent < 5) continue;  // the cut would lie in the last story
    prepare(options);
    const std::string train = text_of(folder / "out", Split::train);
    const std::string validation = text_of(folder / "out", Split::validation);
    CHECK(train + validation == text);
    CHECK(train.ends_with("second line\n\n"));
    CHECK(validation.starts_with("story "));
    CHECK(train.size() >= static_cast<std::size_t>(static_cast<double>(text.size()) *
                                                   (1.0 - options.val_fraction)));
  }
  const auto single = folder.file("single.txt", "no blank line\nat all\n");
  PrepareOptions bad = options_for(single, folder / "bad");
  bad.split_at_documents = true;
  CHECK(mentions(refusal(bad), "single.txt", "blank line", "--split-at-documents"));
  CHECK_FALSE(std::filesystem::exists(folder / "bad"));
}

TEST_CASE("documents begin behind blank lines and at file starts", "[data][prepare]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  folder.file("in/1.txt", "a\n\n\nb\nc");  // documents at 0 and 4
  folder.file("in/2.txt", "d\n\n");        // at 7
  const TextSources texts(folder / "in");
  const std::size_t expected[] = {0, 4, 4, 4, 4, 7, 7, 7, 10, 10, 10};
  for (std::size_t at = 0; at <= 10; ++at) {
    CAPTURE(at);
    CHECK(next_document(texts, at) == expected[at]);
  }
}

TEST_CASE("inputs that cannot be prepared leave nothing behind", "[data][prepare]") {
  const TemporaryFolder folder;
  CHECK(
      mentions(refusal(options_for(folder.file("e.txt", ""), folder / "out")), "e.txt", "no text"));
  CHECK(mentions(refusal(options_for(folder / "gone.txt", folder / "out")), "gone.txt",
                 "No such file"));
  CHECK(mentions(refusal(options_for(folder.file("b.txt",
                                                 "ab\xFF"
                                                 "cd"),
                                     folder / "out")),
                 "b.txt", "offset 2", "byte tokenizer"));
  std::filesystem::create_directory(folder / "empty");
  CHECK(mentions(refusal(options_for(folder / "empty", folder / "out")), "no .txt file"));
  const auto input = folder.file("in.txt", "text");
  PrepareOptions options = options_for(input, folder / "out");
  options.val_fraction = 1.0;
  CHECK(mentions(refusal(options), "val-fraction"));
  options.val_fraction = std::nan("");
  CHECK(mentions(refusal(options), "val-fraction"));
  options.val_fraction = 0.1;
  options.shard_tokens = 0;
  CHECK(mentions(refusal(options), "shard-tokens"));
  options.shard_tokens = 10;
  options.tokenizer = "bpe";
  CHECK(mentions(refusal(options), "bpe", "char or byte"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
  CHECK(mentions(refusal(options_for(input, input)), "in.txt"));  // the output is a file
}

TEST_CASE("prepared data are replaced on demand only, other files stay", "[data][prepare]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", "the first text, long enough for three shards");
  PrepareOptions options = options_for(input, folder.path());  // beside the text, as nanoGPT does
  options.shard_tokens = 15;
  CHECK(prepare(options).shards.size() == 4);
  CHECK(mentions(refusal(options), "--overwrite"));
  folder.file("in.txt", "the second");
  folder.file("tokens_train_notes.bin", "of the user");
  options.overwrite = true;
  prepare(options);
  CHECK(text_of(folder.path(), Split::train) == "the secon");
  CHECK(content_of(folder / "in.txt") == "the second");
  CHECK(content_of(folder / "tokens_train_notes.bin") == "of the user");
  CHECK(folder.count() == 7);  // 2 shards, 3 files about them, 2 of the user: no stale shard
  folder.file("metadata.json", "{ damaged");
  CHECK_NOTHROW(prepare(options));
}

TEST_CASE("a killed preparation does not stop the next one, a running one does",
          "[data][prepare]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", "some text");
  std::filesystem::create_directories(folder / "out" / ".fount-prepare");
  folder.file("out/.fount-prepare/tokens_train_000000.bin", "left over");
  {
    const FolderLock lock(folder / "out", "a test");
    CHECK(mentions(refusal(options_for(input, folder / "out")), "another `fount prepare`"));
  }
  CHECK_NOTHROW(prepare(options_for(input, folder / "out")));
  CHECK_FALSE(std::filesystem::exists(folder / "out" / ".fount-prepare"));
}

TEST_CASE("a refusing disk leaves the old data and no half of the new", "[data][prepare]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", "old text");
  prepare(options_for(input, folder / "out"));
  folder.file("in.txt", std::string(100'000, 'n'));
  for (const bool existing : {true, false}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{20'000, 20'000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      PrepareOptions options = options_for(input, folder / (existing ? "out" : "new"));
      options.overwrite = true;
      ::_exit(mentions(refusal(options), "cannot write", "ulimit") ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  CHECK(text_of(folder / "out", Split::train) == "old tex");
  CHECK(list_files(folder / "out").size() == 5);
  CHECK_FALSE(std::filesystem::exists(folder / "out" / ".fount-prepare"));
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_CASE("progress rises to the whole", "[data][prepare]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", std::string(5'000'000, 'x'));
  double last = 0;
  int calls = 0;
  prepare(options_for(input, folder / "out"), [&](double part) {
    CHECK(part >= last);
    last = part;
    ++calls;
  });
  CHECK(last == 1.0);
  CHECK(calls >= 5);
}

TEST_CASE("tiny Shakespeare has nanoGPT's figures", "[data][prepare]") {
  const auto text = test_data("tinyshakespeare.txt");
  if (text.empty()) return;
  const TemporaryFolder folder;
  const DatasetMetadata data = prepare(options_for(text, folder / "out"));
  CHECK(data.vocab_size == 65);
  CHECK(data.tokens(Split::train) == 1'003'854);
  CHECK(data.tokens(Split::validation) == 111'540);
  const TokenLoader loader(find_shards(folder / "out", Split::train),
                           {.seq_len = 256,
                            .vocab_size = 65,
                            .seed = 1,
                            .shuffle = true,
                            .tokenizer_hash = data.tokenizer_hash});
  CHECK(loader.windows_per_epoch() == 3921);
  CHECK(text_of(folder / "out", Split::train) + text_of(folder / "out", Split::validation) ==
        content_of(text));
}
