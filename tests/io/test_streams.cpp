// SPDX-License-Identifier: Apache-2.0
#include <fount/io/open_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::string read_all(ByteStream& stream, std::size_t piece) {
  std::string text;
  std::string buffer(piece, '\0');
  while (const std::size_t size = stream.read(buffer.data(), piece)) text.append(buffer, 0, size);
  CHECK(stream.read(buffer.data(), piece) == 0);  // the end stays the end
  return text;
}
std::string read_all(const std::filesystem::path& path, std::size_t piece = 4099) {
  return read_all(*open_stream(path), piece);
}
std::string refusal(const std::filesystem::path& path) {
  return message_of<FileError>([&] { read_all(path); });
}
/// Text that compresses neither to nothing nor badly.
std::string some_text(std::size_t size) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < size) text += "word" + std::to_string(random() % 5000) + "\n";
  text.resize(size);
  return text;
}

using sizes = std::vector<std::size_t>;

struct Format {
  const char* ending;
  std::string (*pack)(std::string_view);
};
std::vector<Format> formats() {
  std::vector<Format> all;
  if (has_gzip) all.push_back({".gz", gzip});
  if (has_zstd) all.push_back({".zst", zstd});
  return all;
}

}  // namespace

TEST_CASE("a plain file is read as it is, in pieces of any size", "[io][streams]") {
  const TemporaryFolder folder;
  for (const std::size_t size : sizes({0, 1, 3, 4, 5, 65536, 100'003})) {
    const std::string text = some_text(size);
    const auto path = folder.file("plain.txt", text);
    for (const std::size_t piece : sizes({1, 7, 65536})) CHECK(read_all(path, piece) == text);
    const auto stream = open_stream(path);
    CHECK(stream->skip(3) == std::min<Bytes>(3, static_cast<Bytes>(size)));
    CHECK(read_all(*stream, 999) == text.substr(std::min<std::size_t>(3, size)));
    CHECK(stream->consumed() == static_cast<Bytes>(size));
    CHECK(open_stream(path)->skip(1'000'000) == static_cast<Bytes>(size));
  }
}

TEST_CASE("compressed files are unpacked, all members and frames of them", "[io][streams]") {
  const TemporaryFolder folder;
  for (const Format& format : formats()) {
    for (const std::size_t size : sizes({0, 1, 4098, 4099, 4100, 65536, 131'072, 1'000'003})) {
      const std::string text = some_text(size);
      const std::string packed = format.pack(text);
      const auto path = folder.file(std::string("a") + format.ending, packed);
      CHECK(read_all(path) == text);
      // Without the ending, the first bytes say it.
      CHECK(read_all(folder.file("a.bin", packed)) == text);
      const auto many = folder.file(std::string("b") + format.ending,
                                    packed + format.pack("") + format.pack("second\n") + packed);
      CHECK(read_all(many) == text + "second\n" + text);
      CHECK(read_all(many, 1'000'000) == text + "second\n" + text);
      const auto stream = open_stream(many);
      CHECK(stream->skip(static_cast<Bytes>(size) + 2) == static_cast<Bytes>(size) + 2);
      CHECK(read_all(*stream, 65536) == "cond\n" + text);
      CHECK(stream->consumed() == static_cast<Bytes>(content_of(many).size()));
    }
  }
}

TEST_CASE("a compressed file that was cut short is never taken for a whole one", "[io][streams]") {
  const TemporaryFolder folder;
  for (const Format& format : formats()) {
    const std::string packed = format.pack(some_text(3000));
    const std::string two = packed + packed;
    for (std::size_t size = 0; size < two.size(); ++size) {
      if (size == packed.size()) continue;
      const auto path = folder.file(std::string("cut") + format.ending, two.substr(0, size));
      const std::string message = refusal(path);
      INFO(format.ending << " cut at " << size << " of " << two.size() << ": " << message);
      CHECK(mentions(message, "cut"));
      if (size >= 4) CHECK(mentions(message, "at byte " + std::to_string(size)));
    }
  }
}

TEST_CASE("a damaged byte is found and its neighbourhood named", "[io][streams]") {
  const TemporaryFolder folder;
  for (const Format& format : formats()) {
    const std::string text = some_text(200'000);
    const std::string packed = format.pack(text);
    std::mt19937 random(3);
    int refused = 0;
    for (int trial = 0; trial < 60; ++trial) {
      std::string damaged = packed;
      const std::size_t at = 10 + random() % (packed.size() - 10);
      damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1U << (random() % 8)));
      const auto path = folder.file(std::string("bad") + format.ending, damaged);
      const std::string message = refusal(path);
      INFO(format.ending << " byte " << at << ": " << message);
      CHECK(
          mentions(message, "bad", "byte", format.ending == std::string(".gz") ? "gzip" : "zstd"));
      refused += message.empty() ? 0 : 1;
    }
    CHECK(refused == 60);
    const auto tail = folder.file(std::string("tail") + format.ending, packed + "rubbish");
    CHECK(mentions(refusal(tail), "tail", "at byte"));
  }
  if (has_gzip) {
    // Zeros behind the last member are padding.
    CHECK(read_all(folder.file("tape.gz", gzip("text") + std::string(512, '\0'))) == "text");
    CHECK(mentions(refusal(folder.file("t.gz", gzip("text") + std::string(70'000, '\0') + "x")),
                   "behind the last gzip member"));
  }
}

TEST_CASE("a name that promises compression must keep the promise", "[io][streams]") {
  const TemporaryFolder folder;
  CHECK(mentions(refusal(folder.file("a.gz", "plain text")), "a.gz", "expected gzip", "rename"));
  CHECK(mentions(refusal(folder.file("a.zst", "plain text")), "a.zst", "expected zstd"));
  CHECK(mentions(refusal(folder.file("e.gz", "")), "an empty file"));
  CHECK(mentions(refusal(folder / "none.txt"), "none.txt", "No such file"));
  std::filesystem::create_directory(folder / "d");
  CHECK(mentions(refusal(folder / "d"), "Is a directory"));
}

TEST_CASE("a pipe is read to its end, compressed or not", "[io][streams]") {
  const TemporaryFolder folder;
  std::vector<std::string> contents = {"", "x", some_text(200'000)};
  for (const Format& format : formats()) contents.push_back(format.pack(some_text(200'000)));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto pipe = folder / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::jthread writer([&] { folder.file("pipe", contents[i]); });
    CHECK(read_all(pipe) == (i < 3 ? contents[i] : contents[2]));
    writer.join();
    std::filesystem::remove(pipe);
  }
}

TEST_CASE("what is missing is named, with its package", "[io][streams]") {
  const std::string gzip =
      message_of<FileError>([] { fount::detail::refuse_compression("a.gz", Compression::gzip); });
  CHECK(mentions(gzip, "a.gz", "zlib1g-dev", "gunzip"));
  const std::string zstd =
      message_of<FileError>([] { fount::detail::refuse_compression("a.zst", Compression::zstd); });
  CHECK(mentions(zstd, "a.zst", "libzstd-dev", "unzstd"));
  CHECK(without_compression("a.json.gz") == "a.json");
  CHECK(without_compression("a.txt.zst") == "a.txt");
  CHECK(without_compression("gz") == "gz");
  if (!has_gzip || !has_zstd) std::cout << "skipped: gzip or zstd is not built in\n";
}
