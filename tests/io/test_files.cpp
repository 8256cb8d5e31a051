// SPDX-License-Identifier: Apache-2.0
#include <fount/io/files.hpp>

#include <csignal>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

bool sorted_as(std::vector<std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (natural_less(names[i], names[j]) != (i < j)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("natural order counts as people do and is a strict order", "[io][files]") {
  CHECK(sorted_as({"", "_1", "_2", "_10", "a", "a0", "a1", "a1b", "a2", "a10", "a10x", "b"}));
  CHECK(sorted_as({"shard_000009.bin", "shard_10.bin", "shard_000011.bin"}));
  CHECK(sorted_as({"a01", "a1"}));  // equal numbers: some fixed order
  CHECK(sorted_as({"99999999999999999999999999999998", "99999999999999999999999999999999"}));
  CHECK(sorted_as({"a", "\xC3\xA9"}));  // bytes beyond ASCII come last
}

TEST_CASE("patterns match whole names", "[io][files]") {
  CHECK(matches_pattern("abc", "abc"));
  CHECK(matches_pattern("", ""));
  CHECK(matches_pattern("", "*"));
  CHECK(matches_pattern("x_train_01.bin", "*_train_*.bin"));
  CHECK(matches_pattern("aab", "*ab"));
  CHECK(matches_pattern("mississippi", "m*iss*?pi"));
  CHECK_FALSE(matches_pattern("x_train_.bin2", "*_train_*.bin"));
  CHECK_FALSE(matches_pattern("", "?"));
  CHECK_FALSE(matches_pattern("abc", "ab"));
  CHECK_FALSE(matches_pattern(std::string(5000, 'a'), "*a*a*a*a*a*a*b"));  // no blow-up
}

TEST_CASE("only plain names stay in their folder", "[io][files]") {
  CHECK(is_plain_name("model.safetensors"));
  CHECK(is_plain_name("..x"));
  for (const char* name : {"", ".", "..", "../x", "/etc/passwd", "a/b", "a/"}) {
    CHECK_FALSE(is_plain_name(name));
  }
  CHECK_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

TEST_CASE("files are listed in natural order, folders and dangling links are not", "[io][files]") {
  const TemporaryFolder folder;
  for (const char* name : {"s_10.bin", "s_2.bin", "s_1.bin", "other.txt"}) folder.file(name, "x");
  std::filesystem::create_directory(folder / "s_3.bin");
  std::filesystem::create_symlink("nowhere", folder / "s_4.bin");
  std::filesystem::create_symlink("s_1.bin", folder / "s_5.bin");
  CHECK(list_files(folder.path(), "*.bin") ==
        std::vector<std::string>{"s_1.bin", "s_2.bin", "s_5.bin", "s_10.bin"});
  CHECK(expand_pattern(folder / "s_?.bin").size() == 3);
  CHECK(expand_pattern(folder / "no-pattern").size() == 1);
  CHECK_THROWS_AS(expand_pattern(folder / "*.json"), FileError);
  CHECK(mentions(message_of<FileError>([] { expand_pattern("a*/b"); }), "file name only"));
  CHECK(mentions(message_of<FileError>([&] { list_files(folder / "absent"); }), "absent",
                 "check the spelling"));
}

TEST_CASE("a file is read whole, up to its cap", "[io][files]") {
  const TemporaryFolder folder;
  const std::string content(200'000, 'q');
  const auto path = folder.file("f", content);
  CHECK(read_file(path, 200'000) == content);
  CHECK(read_file(folder.file("empty", ""), 0).empty());
  CHECK(mentions(message_of<FileError>([&] { read_file(path, 199'999); }), path.string(),
                 "more than"));
  CHECK(mentions(message_of<FileError>([&] { read_file(folder / "gone", 1); }), "gone",
                 "No such file"));
  CHECK_THROWS_AS(read_file(folder.path(), 1), FileError);
  CHECK_THROWS_AS(read_file("/dev/zero", 1'000'000), FileError);  // endless, but capped
}

TEST_CASE("a mapped file shows its bytes and moves", "[io][files]") {
  const TemporaryFolder folder;
  MappedFile file(folder.file("f", "hello"));
  CHECK(file.text() == "hello");
  MappedFile moved(std::move(file));
  CHECK(moved.text() == "hello");
  file = std::move(moved);
  CHECK(file.text() == "hello");
  CHECK(MappedFile(folder.file("empty", "")).bytes().empty());
  CHECK_THROWS_AS(MappedFile(folder.path()), FileError);
  CHECK_THROWS_AS(MappedFile("/dev/null"), FileError);
  CHECK_THROWS_AS(MappedFile(folder / "gone"), FileError);
}

TEST_CASE("a writer keeps every byte across its buffer", "[io][files]") {
  const TemporaryFolder folder;
  std::string expected;
  FileWriter writer(folder / "f");
  for (const std::size_t size : {0U, 1U, 65535U, 1U, 65536U, 70000U, 3U, 200000U, 7U}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    writer.write(piece);
    expected += piece;
  }
  const std::string patch = "PATCH";
  writer.write_at(65533, std::as_bytes(std::span(patch.data(), patch.size())));
  expected.replace(65533, 5, patch);
  writer.write("end");
  expected += "end";
  CHECK(writer.written() == static_cast<Bytes>(expected.size()));
  writer.close();
  CHECK(content_of(folder / "f") == expected);
  FileWriter more(folder / "f", WriteMode::append);
  more.write("!");
  more.close();
  more.close();  // nothing left to do
  CHECK(content_of(folder / "f") == expected + "!");
  CHECK_THROWS_AS(FileWriter(folder / "f", WriteMode::create_new), FileError);
}

TEST_CASE("a full device is an error that says what to do", "[io][files]") {
  FileWriter writer("/dev/full");
  writer.write("small");  // stays in the buffer
  const std::string text = message_of<FileError>([&] { writer.close(); });
  CHECK(mentions(text, "/dev/full", "No space left on device", "free some space"));
  FileWriter large("/dev/full");
  CHECK_THROWS_AS(large.write(std::string(100'000, 'x')), FileError);
}

TEST_CASE("a file size limit is an error and leaves no temporary file", "[io][files]") {
  const TemporaryFolder folder;
  folder.file("f", "old");
  const pid_t child = ::fork();
  if (child == 0) {  // the limit must not touch the tests
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      write_file_atomically(folder / "f", std::string(5000, 'x'));
    } catch (const FileError& e) {
      status = mentions(e.what(), "ulimit -f") ? 0 : 2;
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(content_of(folder / "f") == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("an atomic file appears whole or not at all", "[io][files]") {
  const TemporaryFolder folder;
  folder.file("f", "old");
  {
    AtomicFile dropped(folder / "f");
    dropped.writer().write("half");
    dropped.writer().flush();
    AtomicFile second(folder / "f");  // a second one beside it
    CHECK(folder.count() == 3);
  }
  CHECK(content_of(folder / "f") == "old");
  CHECK(folder.count() == 1);
  write_file_atomically(folder / "f", "new");
  CHECK(content_of(folder / "f") == "new");
  CHECK(folder.count() == 1);
  CHECK_THROWS_AS(AtomicFile("/dev/full"), FileError);  // a device is never replaced
  CHECK_THROWS_AS(AtomicFile(folder.path()), FileError);
  CHECK_THROWS_AS(write_file_atomically(folder / "gone" / "f", "x"), FileError);
}

TEST_CASE("an atomic file never writes through a link that waits at its temporary name",
          "[io][files]") {
  const TemporaryFolder folder;
  const auto victim = folder.file("victim", "precious");
  std::filesystem::create_symlink(victim, folder / ("f.tmp-" + std::to_string(::getpid()) + "-0"));
  write_file_atomically(folder / "f", "new");
  CHECK(content_of(victim) == "precious");
  CHECK(content_of(folder / "f") == "new");
}

TEST_CASE("a staging folder is published whole or removed", "[io][files]") {
  const TemporaryFolder folder;
  {
    StagingFolder staging(folder / "tmp");
    CHECK_THROWS_AS(StagingFolder(folder / "tmp"), FileError);
    write_file_atomically(staging.path() / "f", "x");
  }
  CHECK(folder.count() == 0);
  StagingFolder staging(folder / "tmp");
  write_file_atomically(staging.path() / "f", "x");
  staging.publish(folder / "step-1");
  CHECK(content_of(folder / "step-1" / "f") == "x");
  StagingFolder again(folder / "tmp");
  CHECK_THROWS_AS(again.publish(folder / "step-1"), FileError);  // never over a full folder
}

TEST_CASE("a locked folder refuses a second owner until the first is gone", "[io][files]") {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path(), "a run");
    CHECK(mentions(message_of<FileError>([&] { FolderLock(folder.path(), "a run"); }),
                   "in use by a run"));
  }
  CHECK_NOTHROW(FolderLock(folder.path(), "a run"));
}

TEST_CASE("folders are made with those above them", "[io][files]") {
  const TemporaryFolder folder;
  CHECK(ensure_directory(folder / "a" / "b"));
  CHECK_FALSE(ensure_directory(folder / "a" / "b"));
  folder.file("f", "x");
  CHECK_THROWS_AS(ensure_directory(folder / "f"), FileError);
  CHECK_THROWS_AS(ensure_directory(folder / "f" / "g"), FileError);
}
