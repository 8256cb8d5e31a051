// SPDX-License-Identifier: Apache-2.0
#include <fount/data/shards.hpp>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::vector<std::int32_t> counting(std::int32_t count, std::int32_t first = 0) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}
std::vector<std::int32_t> all_of(const TokenShard& shard, std::int32_t vocab_size) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.count()));
  shard.copy(0, shard.count(), vocab_size, ids.data());
  return ids;
}
/// llm.c's layout by hand, to be independent of the writer.
std::string llmc(std::uint32_t magic, std::uint32_t version, std::uint32_t count,
                 const std::string& tokens) {
  std::string file(1024, '\0');
  const std::uint32_t words[] = {magic, version, count};
  std::memcpy(file.data(), words, sizeof words);
  return file + tokens;
}
std::string refusal(const TemporaryFolder& folder, const std::string& content) {
  const auto path = folder.file("x.bin", content);
  return message_of<FileError>([&] { TokenShard shard(path); });
}

}  // namespace

TEST_CASE("shards come back as they were written, narrow and wide", "[data][shards]") {
  const TemporaryFolder folder;
  for (const std::int32_t vocab_size : {1, 65, 65536, 65537, 200'019}) {
    CAPTURE(vocab_size);
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 10'000; ++i) ids.push_back((i * 7919) % vocab_size);
    ids.push_back(vocab_size - 1);
    ShardWriter writer(folder / "s.bin", {vocab_size, 0x1122334455667788ULL, 42});
    writer.write(std::span(ids).first(1));
    writer.write(std::span(ids).subspan(1));
    writer.finish();
    const TokenShard shard(folder / "s.bin");
    const std::int64_t width = vocab_size > 65536 ? 4 : 2;
    CHECK(shard.bytes() == 1024 + width * static_cast<std::int64_t>(ids.size()));
    CHECK(shard.origin().vocab_size == vocab_size);
    CHECK(shard.origin().tokenizer_hash == 0x1122334455667788ULL);
    CHECK(shard.origin().dataset_hash == 42);
    CHECK(all_of(shard, vocab_size) == ids);
    CHECK(shard.token(10'000) == static_cast<std::uint32_t>(vocab_size - 1));
  }
  CHECK(folder.count() == 1);
}

TEST_CASE("the header is llm.c's", "[data][shards]") {
  const TemporaryFolder folder;
  ShardWriter writer(folder / "s.bin", {50257, 1, 2});
  writer.write(counting(3, 50254));
  writer.finish();
  const std::string file = content_of(folder / "s.bin");
  std::uint32_t words[22];
  std::memcpy(words, file.data(), sizeof words);
  CHECK(words[0] == 20240520);
  CHECK(words[1] == 1);
  CHECK(words[2] == 3);
  CHECK(words[3] == 0);
  CHECK(file.substr(64, 4) == "FNT1");
  CHECK(words[17] == 50257);
  CHECK(file.size() == 1030);
  CHECK(file.substr(1024) == "\x4E\xC4\x4F\xC4\x50\xC4");
}

TEST_CASE("an id that does not fit is never written", "[data][shards]") {
  const TemporaryFolder folder;
  for (const std::int32_t bad : {-1, 100, 65536, 1 << 30}) {
    ShardWriter writer(folder / "s.bin", {100, 0, 0});
    writer.write(counting(5));
    const std::vector<std::int32_t> ids = {7, bad};
    CHECK(mentions(message_of<FileError>([&] { writer.write(ids); }), "s.bin",
                   "token id " + std::to_string(bad), "token 6", "100 tokens"));
  }
  CHECK(folder.count() == 0);
  ShardWriter wide(folder / "w.bin", {65537, 0, 0});  // 65536 needs more than 16 bits
  wide.write(std::vector<std::int32_t>{65536});
  wide.finish();
  CHECK(TokenShard(folder / "w.bin").token(0) == 65536);
  CHECK_THROWS_AS(ShardWriter(folder / "z.bin", {0, 0, 0}), Error);
}

TEST_CASE("an id beyond the vocabulary is found on reading", "[data][shards]") {
  const TemporaryFolder folder;
  const TokenShard shard(folder.file("raw.bin", std::string("\x01\0\x64\0\x02\0", 6)));
  std::vector<std::int32_t> ids(3);
  CHECK_NOTHROW(shard.copy(0, 3, 101, ids.data()));
  CHECK(mentions(message_of<FileError>([&] { shard.copy(0, 3, 100, ids.data()); }), "raw.bin",
                 "token id 100 at token 1", "100 tokens"));
  CHECK_NOTHROW(shard.copy(2, 1, 100, ids.data()));
  const std::string huge("\xFF\xFF\xFF\xFF", 4);
  const TokenShard wide(folder.file("wide.bin", llmc(20240801, 7, 1, huge)));
  CHECK(
      mentions(message_of<FileError>([&] { wide.copy(0, 1, 128'256, ids.data()); }), "4294967295"));
  for (const auto& [begin, count] :
       {std::pair{-1LL, 1LL}, {0LL, 4LL}, {4LL, 0LL}, {3LL, 1LL}, {0LL, -1LL}}) {
    CHECK_THROWS_AS(shard.copy(begin, count, 65536, ids.data()), ShapeError);
  }
}

TEST_CASE("shards of llm.c and nanoGPT are read without our words", "[data][shards]") {
  const TemporaryFolder folder;
  const std::string tokens("\x05\0\xFF\xFF", 4);
  const TokenShard narrow(folder.file("a.bin", llmc(20240520, 1, 2, tokens)));
  CHECK(all_of(narrow, 65536) == std::vector<std::int32_t>{5, 65535});
  CHECK(narrow.origin().vocab_size == 0);
  const TokenShard wide(folder.file("b.bin", llmc(20240801, 7, 1, std::string("\0\0\x01\0", 4))));
  CHECK(all_of(wide, 65537) == std::vector<std::int32_t>{65536});
  const TokenShard raw(folder.file("c.bin", tokens));
  CHECK(all_of(raw, 65536) == std::vector<std::int32_t>{5, 65535});
  CHECK(TokenShard(folder.file("d.bin", "")).count() == 0);
  CHECK(TokenShard(folder.file("e.bin", "ab")).count() == 1);
  CHECK(TokenShard(folder.file("f.bin", llmc(20240520, 1, 0, ""))).count() == 0);
}

TEST_CASE("damaged and foreign files are refused with found, expected and a fix",
          "[data][shards]") {
  const TemporaryFolder folder;
  const std::string tokens("\x05\0\xFF\xFF", 4);
  const std::string good = llmc(20240520, 1, 2, tokens);
  CHECK(refusal(folder, good).empty());
  for (std::size_t size = 4; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(mentions(refusal(folder, good.substr(0, size)), "x.bin", "found", "expected", "prepare"));
  }
  CHECK(mentions(refusal(folder, good + "x"), "1029 bytes", "1028"));
  CHECK(mentions(refusal(folder, llmc(20240520, 2, 2, tokens)), "version 2", "version 1"));
  CHECK(mentions(refusal(folder, llmc(20240801, 1, 1, tokens)), "version 1", "version 7"));
  CHECK(mentions(refusal(folder, llmc(20240520, 1, 0xFFFFFFFFU, tokens)), "2^31"));
  CHECK(mentions(refusal(folder, llmc(20240520, 1, 0x7FFFFFFFU, tokens)), "4294968318"));
  std::string marked = good;
  marked.replace(64, 4, "FNT1");
  CHECK(mentions(refusal(folder, marked), "vocabulary of 0"));
  marked.replace(68, 4, "\xFF\xFF\xFF\xFF");
  CHECK(mentions(refusal(folder, marked), "4294967295"));
  CHECK(mentions(refusal(folder, "abc"), "3 bytes", "even"));
  CHECK(mentions(refusal(folder, llmc(20240522, 1, 2, tokens)), "multiple-choice"));
  CHECK(mentions(refusal(folder, llmc(20240326, 3, 2, tokens)), "llm.c model"));
  CHECK(mentions(refusal(folder, llmc(0x88D83401U, 1, 2, tokens)), "swapped"));
  CHECK(mentions(refusal(folder, "PK\x03\x04...."), "zip"));
  CHECK(mentions(refusal(folder, "\x1F\x8B\x08\x01"), "gzip"));
  CHECK(mentions(refusal(folder, std::string("\x40\0\0\0\0\0\0\0{\"a\":1}", 16)), "safetensors"));
  // Nothing tells a file of 0xFF from raw ids, but no model has a vocabulary that holds them.
  const TokenShard garbage(folder.file("g.bin", std::string(4096, '\xFF')));
  std::int32_t id = 0;
  CHECK_THROWS_AS(garbage.copy(0, 1, 50257, &id), FileError);
  CHECK_THROWS_AS(TokenShard(folder.path()), FileError);
  CHECK_THROWS_AS(TokenShard(folder / "gone.bin"), FileError);
}

TEST_CASE("offsets beyond 2 GiB are reached", "[data][shards]") {
  const TemporaryFolder folder;
  const std::int64_t count = 1'300'000'000;  // 2.6 GB, almost all of it a hole
  const auto path =
      folder.file("big.bin", llmc(20240520, 1, static_cast<std::uint32_t>(count), ""));
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(1024 + 2 * count));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1024 + 2 * (count - 2));
    file.write("\x07\0\x09\0", 4);
    REQUIRE(file.good());
  }
  const TokenShard shard(path);
  std::vector<std::int32_t> ids(3);
  shard.copy(count - 3, 3, 10, ids.data());
  CHECK(ids == std::vector<std::int32_t>{0, 7, 9});
}
