// SPDX-License-Identifier: Apache-2.0
#include <fount/data/dataset.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::vector<std::string> names(const std::filesystem::path& data, Split split) {
  std::vector<std::string> found;
  for (const auto& path : find_shards(data, split)) found.push_back(path.filename().string());
  return found;
}
void write_shard(const std::filesystem::path& path, std::uint64_t dataset_hash,
                 std::int32_t count) {
  ShardWriter writer(path, {300, 1, dataset_hash});
  writer.write(std::vector<std::int32_t>(static_cast<std::size_t>(count), 7));
  writer.finish();
}
DatasetMetadata example(const TemporaryFolder& folder) {
  DatasetMetadata data;
  data.tokenizer = "byte";
  data.vocab_size = 300;
  data.tokenizer_hash = 1;
  data.dataset_hash = 77;
  data.shards = {{"t_2.bin", Split::train, 3, 1030, 0},
                 {"t_10.bin", Split::train, 4, 1032, 0},
                 {"v.bin", Split::validation, 5, 1034, 0}};
  data.sources = {{"a \"quoted\" name.txt", 12}};
  for (const DatasetShard& shard : data.shards) {
    write_shard(folder / shard.file, 77, static_cast<std::int32_t>(shard.tokens));
  }
  write_file_atomically(folder / "metadata.json", to_json(data, "0.0.0"));
  return data;
}

}  // namespace

TEST_CASE("metadata come back as they were written", "[data][dataset]") {
  const TemporaryFolder folder;
  const DatasetMetadata data = example(folder);
  const DatasetMetadata back = read_metadata(folder.path());
  CHECK(to_json(back, "0.0.0") == to_json(data, "0.0.0"));
  CHECK(back.tokens(Split::train) == 7);
  CHECK(back.tokens(Split::validation) == 5);
  CHECK(back.sources.at(0).name == data.sources.at(0).name);
}

TEST_CASE("tokens that changed after they were written are found", "[data][dataset]") {
  const TemporaryFolder folder;
  DatasetMetadata data = example(folder);
  CHECK(verify_shards(folder.path()) == 0);  // no hash is remembered: nothing is claimed
  for (DatasetShard& shard : data.shards) {
    shard.hash = hash_of_tokens(folder / shard.file);
  }
  write_file_atomically(folder / "metadata.json", to_json(data, "0.0.0"));
  CHECK(read_metadata(folder.path()).shards.at(1).hash == data.shards.at(1).hash);
  CHECK(verify_shards(folder.path()) == 3);

  // One bit of the last token: sizes and headers are as before.
  std::string bytes = read_file(folder / "t_10.bin", 4096);
  bytes.at(bytes.size() - 2) ^= 1;
  folder.file("t_10.bin", bytes);
  CHECK(names(folder.path(), Split::train).size() == 2);
  CHECK(mentions(message_of<FileError>([&] { verify_shards(folder.path()); }), "t_10.bin",
                 to_hex(data.shards.at(1).hash), "--overwrite"));

  // Folders of the time before hashes were remembered.
  std::string json = to_json(data, "0.0.0");
  for (std::size_t at; (at = json.find(",\n      \"hash\"")) != std::string::npos;) {
    json.erase(at, json.find('\n', at + 2) - at);
  }
  REQUIRE(json.find("\"hash\"") == std::string::npos);
  write_file_atomically(folder / "metadata.json", json);
  CHECK(read_metadata(folder.path()).shards.at(1).hash == 0);
  CHECK(verify_shards(folder.path()) == 0);
}

TEST_CASE("a prepared folder gives the shards that it lists, in that order", "[data][dataset]") {
  const TemporaryFolder folder;
  example(folder);
  folder.file("stray_train_000000.bin", "ab");  // not listed: not part of it
  CHECK(names(folder.path(), Split::train) == std::vector<std::string>{"t_2.bin", "t_10.bin"});
  CHECK(names(folder.path(), Split::validation) == std::vector<std::string>{"v.bin"});
}

TEST_CASE("a shard that is not the listed one is refused", "[data][dataset]") {
  const TemporaryFolder folder;
  example(folder);
  const auto refusal = [&] {
    return message_of<FileError>([&] { find_shards(folder.path(), Split::train); });
  };
  write_shard(folder / "t_10.bin", 78, 4);  // of another preparation
  CHECK(mentions(refusal(), "t_10.bin", "000000000000004e", "000000000000004d", "--overwrite"));
  write_shard(folder / "t_10.bin", 77, 5);
  CHECK(mentions(refusal(), "t_10.bin", "1034 bytes", "1032"));
  std::filesystem::remove(folder / "t_10.bin");
  CHECK(mentions(refusal(), "t_10.bin", "no such file"));
  CHECK_NOTHROW(find_shards(folder.path(), Split::validation));
}

TEST_CASE("folders of llm.c and nanoGPT are understood by their names", "[data][dataset]") {
  const TemporaryFolder folder;
  for (const char* name :
       {"fineweb_train_000010.bin", "fineweb_train_000002.bin", "fineweb_val_000000.bin",
        "notes.txt", "other.bin", "training.bin", "fineweb_train_000001.txt"}) {
    folder.file(name, "ab");
  }
  CHECK(names(folder.path(), Split::train) ==
        std::vector<std::string>{"fineweb_train_000002.bin", "fineweb_train_000010.bin"});
  CHECK(names(folder.path(), Split::validation) ==
        std::vector<std::string>{"fineweb_val_000000.bin"});
  const TemporaryFolder nano;
  nano.file("train.bin", "ab");
  nano.file("val.bin", "ab");
  CHECK(names(nano.path(), Split::train) == std::vector<std::string>{"train.bin"});
  CHECK(names(nano.path(), Split::validation) == std::vector<std::string>{"val.bin"});
  const TemporaryFolder tiny;
  tiny.file("train_set_val.bin", "ab");  // the last word that names a split decides
  tiny.file("TinyStories_train.bin", "ab");
  CHECK(names(tiny.path(), Split::train) == std::vector<std::string>{"TinyStories_train.bin"});
  CHECK(names(tiny.path(), Split::validation) == std::vector<std::string>{"train_set_val.bin"});
}

TEST_CASE("a file or a pattern names shards directly", "[data][dataset]") {
  const TemporaryFolder folder;
  const auto file = folder.file("whatever", "ab");
  folder.file("a_train_2.bin", "ab");
  folder.file("a_train_10.bin", "ab");
  CHECK(names(file, Split::validation) == std::vector<std::string>{"whatever"});
  CHECK(names(folder / "*_train_*.bin", Split::train) ==
        std::vector<std::string>{"a_train_2.bin", "a_train_10.bin"});
}

TEST_CASE("folders without shards of the split are refused with what would do", "[data][dataset]") {
  const TemporaryFolder folder;
  folder.file("train.bin", "ab");
  CHECK(mentions(message_of<FileError>([&] { find_shards(folder.path(), Split::validation); }),
                 folder.path().string(), "'val'", "val.bin", "prepare"));
  CHECK_THROWS_AS(find_shards(folder / "*.none", Split::train), FileError);
  const TemporaryFolder empty;
  CHECK_THROWS_AS(find_shards(empty.path(), Split::train), FileError);
}

TEST_CASE("metadata that are damaged or lead out of the folder are refused", "[data][dataset]") {
  const TemporaryFolder folder;
  example(folder);
  const std::string good = content_of(folder / "metadata.json");
  const auto refusal = [&](const std::string& text) {
    folder.file("metadata.json", text);
    return message_of<FileError>([&] { find_shards(folder.path(), Split::train); });
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  CHECK(refusal(good).empty());
  CHECK_FALSE(refusal("").empty());
  CHECK_FALSE(refusal("[]").empty());
  CHECK_FALSE(refusal(std::string(100, '\xFF')).empty());
  CHECK(mentions(refusal(replaced("t_2.bin", "../t_2.bin")), "plain file names"));
  CHECK(mentions(refusal(replaced("t_2.bin", "/etc/passwd")), "plain file names"));
  CHECK(mentions(refusal(replaced("\"train\"", "\"test\"")), "\"test\""));
  CHECK(mentions(refusal(replaced("fount-tokens", "other")), "fount-tokens"));
  CHECK(mentions(refusal(replaced("\"format_version\": 1", "\"format_version\": 2")),
                 "format_version"));
  CHECK(mentions(refusal(replaced("\"vocab_size\": 300", "\"vocab_size\": 4294967295")),
                 "vocab_size"));
  CHECK(mentions(refusal(replaced("000000000000004d", "4d")), "hexadecimal"));
  CHECK(mentions(refusal(replaced("\"tokens\": 3", "\"tokens\": -3")), "tokens"));
  for (std::size_t size = 0; size + 2 < good.size(); size += 7) {
    CHECK_FALSE(refusal(good.substr(0, size)).empty());
  }
}
