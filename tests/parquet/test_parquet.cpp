// SPDX-License-Identifier: Apache-2.0
#include <fount/io/parquet.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fount/data/documents.hpp>
#include <fount/data/prepare.hpp>
#include <fount/io/files.hpp>
#include <fount/io/open_stream.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/write_parquet.hpp"

using namespace fount;
using namespace fount::test;

#if FOUNT_HAS_PARQUET

namespace {

std::string read_all(const std::filesystem::path& path, std::size_t piece,
                     std::string_view column = "text") {
  const auto stream = open_stream(path, column);
  std::string text;
  std::string buffer(piece, '\0');
  while (const std::size_t size = stream->read(buffer.data(), piece)) text.append(buffer, 0, size);
  CHECK(stream->read(buffer.data(), piece) == 0);  // the end stays the end
  CHECK(stream->consumed() == static_cast<Bytes>(std::filesystem::file_size(path)));
  return text;
}
std::string refusal(const std::filesystem::path& path, std::string_view column = "text") {
  return message_of<FileError>([&] { read_all(path, 4096, column); });
}
std::vector<std::string> documents(const std::filesystem::path& path,
                                   std::int64_t* broken = nullptr, std::string* first = nullptr) {
  DocumentReader reader(TextSources(path).all(), {});
  std::vector<std::string> texts;
  while (const auto record = reader.next()) {
    if (record->begins) texts.emplace_back();
    texts.back() += record->text;
  }
  if (broken != nullptr) *broken = reader.broken().broken();
  if (first != nullptr && !reader.broken().first().empty()) *first = reader.broken().first()[0];
  return texts;
}
Rows numbered(int count) {
  Rows rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back("row " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 37), 'x'));
  }
  return rows;
}

}  // namespace

TEST_CASE("a column of text comes as lines of JSON, whatever holds it", "[parquet]") {
  const TemporaryFolder folder;
  const auto path = folder / "a.parquet";
  const Rows rows = {"plain", "", "two\nlines \"quoted\" \\ \t\x01", "\xF0\x9F\x98\x80 \xC3\xA9"};
  const std::string lines =
      "\"plain\"\n\"\"\n\"two\\u000alines \\\"quoted\\\" \\\\ \\u0009\\u0001\"\n"
      "\"\xF0\x9F\x98\x80 \xC3\xA9\"\n";
  const auto others = text_array<arrow::StringBuilder>(numbered(4));
  for (const auto& array :
       {text_array<arrow::StringBuilder>(rows), text_array<arrow::LargeStringBuilder>(rows),
        text_array<arrow::BinaryBuilder>(rows), text_array<arrow::LargeBinaryBuilder>(rows),
        text_array<arrow::StringViewBuilder>(rows)}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      INFO(array->type()->ToString() << ", " << piece);
      write_parquet(path, {{"url", others}, {"text", array}, {"more", others}});
      CHECK(read_all(path, piece) == lines);
    }
  }
  CHECK(read_all(path, 99, "url") == "\"row 0\"\n\"row 1x\"\n\"row 2xx\"\n\"row 3xxx\"\n");
  for (const auto packed : {parquet::Compression::UNCOMPRESSED, parquet::Compression::ZSTD,
                            parquet::Compression::GZIP}) {
    write_parquet(path, {{"text", text_array<arrow::StringBuilder>(rows)}}, 3, packed);
    CHECK(read_all(path, 4096) == lines);
  }
}

TEST_CASE("rows are documents; what is missing or broken is counted with its row", "[parquet]") {
  const TemporaryFolder folder;
  const auto path = folder / "a.parquet";
  for (const int count : {0, 1, 63, 64, 65, 1009}) {
    for (const std::int64_t group : {1, 97, 2000}) {
      if (count == 1009 && group == 1) continue;  // a thousand row groups take long
      write_parquet(path, {{"text", text_array<arrow::StringBuilder>(numbered(count))}}, group);
      const auto texts = documents(path);
      REQUIRE(texts.size() == static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) {
        CHECK(texts[static_cast<std::size_t>(i)] == *numbered(count)[static_cast<std::size_t>(i)]);
      }
    }
  }
  Rows rows = numbered(300);
  rows[4].reset();
  rows[5] = "";
  rows[6] = "a\xFF";
  rows[7] = std::string("a\0b", 3);
  rows[299] = std::string(700'000, 'y');  // longer than a piece: lines are taken whole
  write_parquet(path, {{"text", text_array<arrow::BinaryBuilder>(rows)}});
  std::int64_t broken = 0;
  std::string first;
  const auto texts = documents(path, &broken, &first);
  CHECK(broken == 4);
  CHECK(mentions(first, "a.parquet, line 5"));
  REQUIRE(texts.size() == 296);
  CHECK(texts[4] == *rows[8]);
  CHECK(texts.back() == *rows[299]);
}

TEST_CASE("reading goes on from any row", "[parquet]") {
  const TemporaryFolder folder;
  write_parquet(folder / "a.parquet", {{"text", text_array<arrow::StringBuilder>(numbered(131))}},
                50);
  write_parquet(folder / "b.parquet", {{"text", text_array<arrow::StringBuilder>(numbered(3))}});
  const TextSources sources(folder.path());  // a folder: Parquet files are texts
  REQUIRE(sources.all().size() == 2);
  DocumentReader reader(sources.all(), {});
  std::vector<std::string> all;
  std::vector<TextPosition> places = {reader.position()};
  while (const auto record = reader.next()) {
    all.push_back(record->text);
    places.push_back(reader.position());
  }
  REQUIRE(all.size() == 134);
  for (std::size_t at = 0; at < places.size(); at += 11) {
    DocumentReader again(sources.all(), {});
    again.seek(places[at]);
    for (std::size_t i = at; i < all.size(); ++i) {
      const auto record = again.next();
      REQUIRE(record);
      CHECK(record->text == all[i]);
    }
    CHECK_FALSE(again.next());
  }
}

TEST_CASE("a data set from Parquet is that from lines of JSON", "[parquet]") {
  const TemporaryFolder folder;
  const Rows rows = numbered(500);
  std::string lines;
  for (const auto& row : rows) lines += "{\"body\": \"" + *row + "\"}\n";
  write_parquet(folder / "in.parquet", {{"body", text_array<arrow::StringBuilder>(rows)}}, 77);
  const auto prepared = [&](const std::filesystem::path& input, const char* output) {
    PrepareOptions options;
    options.input = input;
    options.output = folder / output;
    options.tokenizer = "byte";
    options.text_field = "body";
    options.workers = 2;
    const PreparedData data = prepare(options);
    CHECK(data.documents[0] + data.documents[1] == 500);
    return read_file(options.output / "tokens_train_000000.bin", MiB(1)) +
           read_file(options.output / "tokens_val_000000.bin", MiB(1));
  };
  CHECK(prepared(folder / "in.parquet", "a") == prepared(folder.file("in.jsonl", lines), "b"));
}

TEST_CASE("other files, columns and types are refused with what would do", "[parquet]") {
  const TemporaryFolder folder;
  const auto path = folder / "a.parquet";
  arrow::Int64Builder numbers;
  must(numbers.AppendValues({1, 2, 3}));
  write_parquet(path, {{"id", numbers.Finish().ValueOrDie()},
                       {"content", text_array<arrow::StringBuilder>(numbered(3))}});
  CHECK(mentions(refusal(path), "a.parquet", "the columns id, content", "--text-field"));
  CHECK(mentions(refusal(path, "id"), "'id' of int64", "a column of strings", "--text-field"));
  CHECK(refusal(path, "content").empty());
  CHECK(mentions(refusal(folder.file("b.parquet", "")), "b.parquet", "fetch it again"));
  CHECK(mentions(refusal(folder.file("b.parquet", "{\"text\": 1}\n")), "b.parquet"));
  CHECK(mentions(refusal(folder / "gone.parquet"), "gone.parquet"));

  // Cut short, and one bit changed anywhere: never silently fewer or other rows.
  write_parquet(path, {{"text", text_array<arrow::StringBuilder>(numbered(200))}}, 70);
  const std::string whole = read_file(path, MiB(1));
  const std::string lines = read_all(path, 4096);
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 23) {
    INFO(size << " bytes of " << whole.size());
    CHECK(mentions(refusal(folder.file("cut.parquet", whole.substr(0, size))), "cut.parquet"));
  }
  int noticed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ (at % 2 == 0 ? 0x10 : 0x01));
    const auto damaged = folder.file("other.parquet", other);
    try {
      const auto stream = open_stream(damaged);
      std::string found(lines.size() + 1, '\0');
      std::size_t size = 0;
      while (const std::size_t count = stream->read(found.data() + size, found.size() - size)) {
        size += count;
        if (size == found.size()) break;
      }
      found.resize(size);
      INFO("byte " << at << " of " << whole.size());
      CHECK(found == lines);
    } catch (const FileError&) {
      ++noticed;
    }
  }
  CHECK(noticed > 0);
}

#else

TEST_CASE("Parquet files", "[parquet]") {
  std::cout << "skipped: built without Apache Arrow; tests/bare has the refusal\n";
}

#endif
