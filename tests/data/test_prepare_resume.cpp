// SPDX-License-Identifier: Apache-2.0
// Preparations that are killed and started again: the same bytes as without the stop.
#include <fount/data/prepare.hpp>

#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/end_of_text_tokenizer.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const std::string& name : list_files(folder)) files[name] = content_of(folder / name);
  return files;
}
/// Runs a preparation in another process, which is killed at its `call`-th report of progress.
void run_killed(const PrepareOptions& options, int call) {
  const pid_t child = ::fork();
  if (child == 0) {
    int calls = 0;
    try {
      prepare(options, [&](double) {
        if (++calls == call) ::kill(::getpid(), SIGKILL);
      });
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}
int reports_of(const PrepareOptions& options) {
  int calls = 0;
  prepare(options, [&](double) { ++calls; });
  return calls;
}
bool has_staging(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / ".fount-prepare");
}
std::string story(int number) {
  return "Story " + std::to_string(number) + "\n" +
         std::string(static_cast<std::size_t>(number % 97) * 5, 'y') + " \xC3\xA9nd.\n\n";
}
std::string stories(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += story(i);
  return text;
}
std::string json_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i % 700 == 5 ? "{broken\n" : "{\"text\":" + dump_json(Json(story(i)), -1) + "}\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a killed preparation ends with the same bytes when it is started again",
          "[data][resume]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "mixed");
  folder.file("text.txt", stories(14'000));
  folder.file("long.txt", stories(20'000));  // some pieces of 1 MiB
  folder.file("mixed/1.jsonl", json_lines(2500));
  folder.file("mixed/2.txt", stories(2000));
  if (has_gzip) folder.file("mixed/3.jsonl.gz", gzip(json_lines(2500)));
  if (has_zstd) folder.file("mixed/4.txt.zst", zstd(stories(2000)));
  struct Case {
    const char* input;
    const char* tokenizer;
    PrepareDocuments documents;
  };
  using enum PrepareDocuments;
  for (const Case& one :
       {Case{"text.txt", "char", automatic}, Case{"long.txt", "end", PrepareDocuments::file},
        Case{"mixed", "end", blank_line}, Case{"mixed", "char", blank_line}}) {
    PrepareOptions options;
    options.input = folder / one.input;
    options.tokenizer = one.tokenizer;
    if (one.tokenizer == std::string("end")) {
      options.own_tokenizer = std::make_shared<EndOfTextTokenizer>();
    }
    options.documents = one.documents;
    options.shard_tokens = 100'003;
    options.journal_bytes = 100'000;
    options.overwrite = true;
    options.output = folder / "whole";
    const int reports = reports_of(options);
    REQUIRE(reports >= 5);
    const auto expected = files_of(folder / "whole");
    for (const int workers : {1, 2, 5}) {
      options.workers = workers;
      for (const int call : {2, reports / 2, reports}) {
        INFO(one.input << " " << one.tokenizer << ", " << workers << " workers, killed at report "
                       << call << " of " << reports);
        options.output = folder / "killed";
        std::filesystem::remove_all(options.output);
        run_killed(options, call);
        CHECK(has_staging(options.output));
        CHECK_FALSE(is_prepared(options.output));
        if (call == reports / 2 && workers == 2) run_killed(options, 2);  // and once more
        options.workers = workers % 3 + 1;  // another number goes on as well
        const PreparedData data = prepare(options);
        options.workers = workers;
        CHECK(files_of(options.output) == expected);
        CHECK_FALSE(has_staging(options.output));
        if (call == reports) {
          CHECK(data.resumed_bytes > 0);
          CHECK(data.resumed_bytes <= data.text_bytes);
        }
        if (one.input == std::string("mixed")) CHECK(data.broken.broken() > 0);
      }
    }
  }
}

TEST_CASE("other options, other files or a damaged journal start anew", "[data][resume]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", stories(4000));
  PrepareOptions options;
  options.input = input;
  options.output = folder / "whole";
  options.own_tokenizer = std::make_shared<EndOfTextTokenizer>();
  options.documents = PrepareDocuments::blank_line;
  options.shard_tokens = 200'003;
  options.journal_bytes = 100'000;
  const int reports = reports_of(options);
  const auto expected = files_of(options.output);
  options.output = folder / "out";
  const auto staging = options.output / ".fount-prepare";
  const auto restart = [&](PrepareOptions with) {
    with.overwrite = true;
    const PreparedData data = prepare(with);
    CHECK_FALSE(has_staging(with.output));
    const auto files = files_of(with.output);
    std::filesystem::remove_all(with.output);
    run_killed(options, reports - 1);
    return std::pair(data.resumed_bytes, files);
  };
  run_killed(options, reports - 1);
  CHECK(restart(options).first > 0);
  PrepareOptions others = options;
  others.val_fraction = 0.2;
  CHECK(restart(others).first == 0);
  others = options;
  others.own_tokenizer = std::make_shared<EndOfTextTokenizer>(357);
  CHECK(restart(others).first == 0);

  const std::string journal = content_of(staging / "journal.json");
  for (std::size_t size = 0; size < journal.size(); size += 61) {
    folder.file("out/.fount-prepare/journal.json", journal.substr(0, size));
    const auto [resumed, files] = restart(options);
    CHECK(resumed == 0);
    CHECK(files == expected);
    if (size > 300) size += 200;
  }
  std::string wrong = journal;  // more tokens than any disk holds
  wrong.replace(wrong.find("\"train_tokens\": ") + 16, 0, "9000000000000");
  folder.file("out/.fount-prepare/journal.json", wrong);
  CHECK(restart(options).first == 0);
  // A shard that is shorter than the journal says.
  std::filesystem::resize_file(staging / "tokens_train_000000.bin", 5000);
  auto result = restart(options);
  CHECK(result.first == 0);
  CHECK(result.second == expected);
  std::filesystem::remove(staging / "tokens_val_000000.bin");
  result = restart(options);
  CHECK(result.first == 0);
  CHECK(result.second == expected);
  // What was written behind the journal's last entry is cut off.
  std::filesystem::resize_file(staging / "tokens_val_000000.bin", 300'000);
  result = restart(options);
  CHECK(result.first > 0);
  CHECK(result.second == expected);

  folder.file("in.txt", stories(4001));
  result = restart(options);
  CHECK(result.first == 0);
  CHECK(result.second != expected);
}

TEST_CASE("a stop while files are moved into place is finished by the next run", "[data][resume]") {
  const TemporaryFolder folder;
  const auto input = folder.file("in.txt", stories(3000));
  PrepareOptions options;
  options.input = input;
  options.output = folder / "whole";
  options.tokenizer = "byte";
  options.shard_tokens = 100'003;
  options.journal_bytes = 100'000;
  const int reports = reports_of(options);
  const auto expected = files_of(options.output);
  options.output = folder / "out";
  const auto staging = options.output / ".fount-prepare";
  for (const int moved : {1, 2, 4}) {
    std::filesystem::remove_all(options.output);
    run_killed(options, reports);  // all is written, nothing moved
    // As if the stop had come a little later.
    std::filesystem::create_directory(staging / "publish");
    std::filesystem::copy_file(staging / "metadata.json", staging / "publish/metadata.json");
    int count = 0;
    for (const char* name :
         {"metadata.json", "tokenizer.json", "tokenizer_config.json", "tokens_train_000000.bin"}) {
      if (count++ < moved) std::filesystem::rename(staging / name, options.output / name);
    }
    if (moved < 4) CHECK_THROWS_AS(find_shards(options.output, Split::train), FileError);
    PrepareOptions others = options;  // something else is not done over it
    others.tokenizer = "char";
    CHECK(mentions(message_of<FileError>([&] { prepare(others); }), "--overwrite"));
    prepare(options);  // no --overwrite needed: these data are ours
    CHECK(files_of(options.output) == expected);
    CHECK_FALSE(has_staging(options.output));
  }
}

TEST_CASE("what was done before an error is kept, and said to be", "[data][resume]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  folder.file("in/1.jsonl", json_lines(7000));
  folder.file("in/2.jsonl", "{broken\n");
  PrepareOptions options;
  options.input = folder / "in";
  options.output = folder / "out";
  options.own_tokenizer = std::make_shared<EndOfTextTokenizer>();
  options.journal_bytes = 100'000;
  options.max_bad = 0;
  const std::string message = message_of<FileError>([&] { prepare(options); });
  CHECK(mentions(message, "broken documents", "--max-bad", "is kept in", ".fount-prepare"));
  CHECK(has_staging(options.output));
  options.max_bad = 0.5;  // does not change the result: the work is gone on with
  const PreparedData data = prepare(options);
  CHECK(data.resumed_bytes > 0);
  CHECK(data.broken.broken() == 11);
}

TEST_CASE("a preparation that cannot fit on the disk does not begin", "[data][resume]") {
  const TemporaryFolder folder;
  const Bytes free = free_disk_space(folder.path());
  CHECK(free > 0);
  CHECK_NOTHROW(require_disk_space(folder.path(), free, free, "the shards"));
  CHECK(mentions(
      message_of<FileError>([&] { require_disk_space("/out", GiB(3), GiB(2), "the shards"); }),
      "/out", "2.00 GiB", "3.00 GiB", "the shards", "free some space"));
  // A file that seems larger than any disk: sparse.
  folder.file("sparse.txt", "x");
  std::error_code error;
  std::filesystem::resize_file(folder / "sparse.txt", static_cast<std::uintmax_t>(4 * free), error);
  if (error) return;  // the file system takes no such file
  PrepareOptions options;
  options.input = folder / "sparse.txt";
  options.output = folder / "out";
  options.tokenizer = "byte";
  options.documents = PrepareDocuments::line;
  CHECK(mentions(message_of<FileError>([&] { prepare(options); }), "free disk space"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
}
