// SPDX-License-Identifier: Apache-2.0
#include <fount/data/documents.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Texts = std::vector<std::string>;

DocumentOptions rule(DocumentRule documents) {
  DocumentOptions options;
  options.records.documents = documents;
  return options;
}
/// All documents, pieces joined; `|` where a piece ends and the document goes on.
Texts read(DocumentReader& reader, bool show_pieces = false) {
  Texts texts;
  while (const auto record = reader.next()) {
    if (record->begins) texts.emplace_back();
    texts.back() += record->text;
    if (show_pieces && !record->ends) texts.back() += '|';
  }
  return texts;
}
Texts read(const std::filesystem::path& path, const DocumentOptions& options = {}) {
  DocumentReader reader(TextSources(path).all(), options);
  return read(reader);
}
Texts names(const std::filesystem::path& input) {
  Texts texts;
  for (const TextSource& source : TextSources(input).all()) texts.push_back(source.name);
  return texts;
}
std::string refusal(const std::filesystem::path& input) {
  return message_of<FileError>([&] { TextSources{input}; });
}

}  // namespace

TEST_CASE("a folder's texts are found at any depth, in natural order", "[data][documents]") {
  const TemporaryFolder folder;
  for (const char* name : {"train/pos", "train/neg", "train/.hidden", "x2", "x10"}) {
    std::filesystem::create_directories(folder / name);
  }
  for (const char* name :
       {"train/pos/10_9.txt", "train/pos/2_7.txt", "train/neg/0_1.txt", "train/.hidden/a.txt",
        "x10/a.txt", "x2/a.txt", "c4-train.00010-of-00012.json.gz",
        "c4-train.00002-of-00012.json.gz", "b.jsonl", "b.jsonl.zst", "notes.md", "metadata.json",
        "tokenizer.json", ".a.txt", "z.txt.gz", "tokens_train_000000.bin"}) {
    folder.file(name, "");
  }
  CHECK(names(folder.path()) == Texts{"b.jsonl", "b.jsonl.zst", "c4-train.00002-of-00012.json.gz",
                                      "c4-train.00010-of-00012.json.gz", "train/neg/0_1.txt",
                                      "train/pos/2_7.txt", "train/pos/10_9.txt", "x2/a.txt",
                                      "x10/a.txt", "z.txt.gz"});
  CHECK(names(folder / "c4-*.json.gz").size() == 2);
  CHECK(names(folder / "train/pos/10_9.txt") == Texts{"10_9.txt"});
  CHECK(names("-") == Texts{"standard input"});
  const TextSources all(folder.path());
  CHECK(all.all().at(1).format == TextFormat::json_lines);
  CHECK(all.all().at(1).compressed());
  CHECK(all.all().at(9).format == TextFormat::text);
  CHECK(mentions(refusal(folder / "*.csv"), "no file matches"));
  CHECK(mentions(refusal(folder / "gone"), "gone", "No such file"));
  CHECK(mentions(refusal(folder.file("a.parquet.gz", "\x1F\x8B\x08")), "unpack it"));
  // Parquet in a folder: the lines of JSON beside it are the same documents; never left out
  // silently.
  std::filesystem::create_directories(folder / "rows");
  folder.file("rows/a.parquet", "PAR1");
  folder.file("rows/a.jsonl", "");
  CHECK(names(folder / "rows") == Texts{"a.jsonl"});
  if (!has_parquet) {
    folder.file("rows/b.parquet", "PAR1");
    CHECK(mentions(refusal(folder / "rows"), "b.parquet", "without Apache Arrow"));
  }
  std::filesystem::create_directories(folder / "empty");
  CHECK(mentions(refusal(folder / "empty"), "no .txt file"));
}

TEST_CASE("a plain file is one document, or one a line, or one between empty lines",
          "[data][documents]") {
  const TemporaryFolder folder;
  const auto read_text = [&](const std::string& text, DocumentRule documents) {
    return read(folder.file("a.txt", text), rule(documents));
  };
  using enum DocumentRule;
  const std::string mark = "\xEF\xBB\xBF";
  CHECK(read_text("a\r\n\r\nb", file) == Texts{"a\r\n\r\nb"});  // not a byte is changed
  CHECK(read_text(mark + "a\n", file) == Texts{"a\n"});
  CHECK(read_text("", file).empty());
  CHECK(read_text(mark, file).empty());
  CHECK(read_text("a\nb\r\n\n  \nc", line) == Texts{"a", "b", "c"});
  CHECK(read_text(mark + "a\n", line) == Texts{"a"});
  CHECK(read_text("a\rb\n", line) == Texts{"a\rb"});  // a lone CR ends no line
  CHECK(read_text("\n\n", line).empty());
  CHECK(read_text("a\nb\n\nc\n", blank_line) == Texts{"a\nb", "c"});
  CHECK(read_text("\n\na\n\n\n\nb", blank_line) == Texts{"a", "b"});
  CHECK(read_text("a\r\nb\r\n\r\n\r\nc\r\n", blank_line) == Texts{"a\r\nb", "c"});
  CHECK(read_text("a\n\r\nb\n", blank_line) == Texts{"a", "b"});
  CHECK(read_text(mark + "\n\na\n\n", blank_line) == Texts{"a"});
  CHECK(read_text("", blank_line).empty());
  CHECK(read_text("\n", blank_line).empty());
  CHECK(read_text("a", blank_line) == Texts{"a"});
}

TEST_CASE("lines of JSON are documents: strings, or objects with a text", "[data][documents]") {
  const TemporaryFolder folder;
  DocumentOptions options;
  const auto lines = [&](const std::string& text) {
    return read(folder.file("a.jsonl", text), options);
  };
  CHECK(lines("\"a string\"\n") == Texts{"a string"});
  CHECK(lines("{\"text\":\"a\",\"url\":\"b\"}\r\n\n{\"n\":[{\"text\":\"no\"}],\"text\":\"c\"}") ==
        Texts{"a", "c"});
  CHECK(lines("\xEF\xBB\xBF{\"text\":\"a\"}") == Texts{"a"});
  CHECK(lines("{\"text\":\"\\ud83d\\ude00 \\u00e9\\n\"}") == Texts{"\xF0\x9F\x98\x80 \xC3\xA9\n"});
  options.records.text_field = "body";
  CHECK(lines("{\"text\":\"a\",\"body\":\"b\"}") == Texts{"b"});
}

TEST_CASE("each kind of broken document is counted, reported with its place, and left out",
          "[data][documents]") {
  const TemporaryFolder folder;
  struct Case {
    std::string line;
    const char* reason;
  };
  std::string deep(100'000, '[');
  const std::vector<Case> cases = {
      {"{\"text\":\"\"}", "an empty text"},
      {"{\"content\":\"x\"}", "no \"text\""},
      {"{\"text\":7}", "\"text\" is a number"},
      {"{\"text\":null}", "\"text\" is null"},
      {"{\"text\":{\"text\":\"x\"}}", "\"text\" is an object"},
      {"{\"text\":[\"x\"]}", "\"text\" is an array"},
      {"{\"text\":\"a\",\"text\":\"b\"}", "\"text\" twice"},
      {"[\"text\"]", "an array"},
      {"7", "a number instead"},
      {"{\"text\":\"cut", "invalid JSON at byte"},
      {"{\"text\":\"a\"} tail", "invalid JSON at byte"},
      {"{\"text\":\"\\ud83d alone\"}", "invalid JSON at byte"},
      {"{\"text\":\"\\u0000\"}", "a NUL at byte 0"},
      {"{\"text\":\"ab\xFF\"}", "invalid JSON at byte"},
      {"{\"text\":\"x\",\"d\":" + deep, "nested deeper than 64"},
      {"{\"text\":\"" + std::string(5000, 'x') + "\"}", "a line of more than 4000 bytes"},
  };
  for (const Case& broken : cases) {
    INFO(broken.line.substr(0, 80));
    DocumentOptions options;
    if (broken.line.size() < 90'000) options.records.line_bytes = 4000;
    const auto path = folder.file("a.jsonl", "\"good\"\n" + broken.line + "\n\"good too\"\n");
    DocumentReader reader(TextSources(path).all(), options);
    CHECK((read(reader) == Texts{"good", "good too"}));
    CHECK(reader.broken().seen() == 3);
    REQUIRE(reader.broken().broken() == 1);
    CHECK(mentions(reader.broken().first().at(0), "a.jsonl, line 2 (byte 7)", broken.reason));
  }
  DocumentReader plain(
      TextSources(
          folder.file("b.txt", std::string("good\nNUL: \0.\nab\xFF\n\xED\xA0\x80\nend", 24)))
          .all(),
      rule(DocumentRule::line));
  CHECK(read(plain) == Texts{"good", "end"});
  CHECK(plain.broken().broken() == 3);
  CHECK(mentions(plain.broken().first().at(0), "line 2 (byte 5)", "a NUL at byte 5"));
  CHECK(mentions(plain.broken().first().at(1), "line 3", "not UTF-8 at byte 2"));
  DocumentOptions any = rule(DocumentRule::line);
  any.records.any_bytes = true;
  CHECK(read(folder / "b.txt", any).size() == 5);
}

TEST_CASE("a share of broken documents above the limit is an error", "[data][documents]") {
  TextRecord good;
  TextRecord bad;
  bad.broken = "why";
  const TextSource source{"f.jsonl", "f.jsonl"};
  BrokenDocuments counter;
  for (int i = 0; i < 990; ++i) counter.add(good, source);
  for (int i = 0; i < 10; ++i) counter.add(bad, source);
  CHECK_NOTHROW(counter.check(0.01, true));
  counter.add(bad, source);
  CHECK_NOTHROW(counter.check(0.01, false));
  CHECK(mentions(message_of<FileError>([&] { counter.check(0.01, true); }), "11 broken", "1,001",
                 "--max-bad", "f.jsonl, line 1", "why"));
  for (int i = 0; i < 989; ++i) counter.add(bad, source);
  CHECK(counter.first().size() == 10);
  CHECK_THROWS_AS(counter.check(0.01, false), FileError);
  CHECK_NOTHROW(counter.check(1.0, true));
}

TEST_CASE("long documents come in pieces that join to the whole", "[data][documents]") {
  const TemporaryFolder folder;
  std::string words;
  for (int i = 0; i < 400; ++i) words += i % 7 == 3 ? "line.\nNext " : "word \xC3\xA9t\xC3\xA9 ";
  const Texts contents = {words, std::string(500, 'x'), std::string(1000, ' ') + "end", [] {
                            std::string text;
                            for (int i = 0; i < 300; ++i) text += "\xE2\x82\xAC";
                            return text;
                          }()};
  for (const Texts::value_type& content : contents) {
    for (const DocumentRule documents : {DocumentRule::file, DocumentRule::blank_line}) {
      for (std::size_t limit = 16; limit < 120; ++limit) {
        DocumentOptions options = rule(documents);
        options.records.piece_bytes = limit;
        const auto path = folder.file("a.txt", content + "\n\nsecond");
        DocumentReader reader(TextSources(path).all(), options);
        Texts texts;
        while (const auto record = reader.next()) {
          if (record->begins) texts.emplace_back();
          texts.back() += record->text;
          CHECK(record->text.size() <= limit + 8);
          CHECK((record->ends || record->text.size() > limit / 2));
        }
        if (documents == DocumentRule::file) {
          CHECK(texts == Texts{content + "\n\nsecond"});
        } else {
          CHECK(texts == Texts{content, "second"});
        }
        CHECK(reader.broken().broken() == 0);  // no character was cut
      }
    }
  }
  // Where a pre-tokenizer cuts, too.
  DocumentOptions options = rule(DocumentRule::file);
  options.records.piece_bytes = 20;
  DocumentReader reader(
      TextSources(folder.file("b.txt", "one two three.\nfour five six seven")).all(), options);
  CHECK(read(reader, true) == Texts{"one two three.\n|four five six seven"});
}

TEST_CASE("blank lines end documents wherever a piece ends", "[data][documents]") {
  const TemporaryFolder folder;
  // The blank line passes over every place around the limit.
  for (const std::string blank : {"\n\n", "\r\n\r\n", "\n\n\n\n", "\n\r\n"}) {
    for (std::size_t size = 1; size < 140; ++size) {
      std::string text(size, 'x');
      if (size > 30) text[size - 17] = ' ';
      const auto path = folder.file("a.txt", text + blank + "y" + blank);
      DocumentOptions options = rule(DocumentRule::blank_line);
      options.records.piece_bytes = 32;
      INFO(size << " " << blank.size());
      CHECK(read(path, options) == Texts{text, "y"});
    }
  }
}

TEST_CASE("a long document with a broken piece ends there", "[data][documents]") {
  const TemporaryFolder folder;
  DocumentOptions options = rule(DocumentRule::blank_line);
  options.records.piece_bytes = 32;
  std::string text(200, 'x');
  text[100] = '\xFF';
  DocumentReader reader(TextSources(folder.file("a.txt", "a\n\n" + text + "\n\nb\n")).all(),
                        options);
  const Texts texts = read(reader);
  CHECK(texts.size() == 3);
  CHECK(texts.at(1).size() > 50);
  CHECK(texts.at(1).size() < 100);
  CHECK(texts.at(2) == "b");
  CHECK(reader.broken().broken() == 1);
  CHECK(reader.broken().seen() == 3);
  text[1] = '\xFF';  // in the first piece: nothing of it is left
  DocumentReader none(TextSources(folder.file("a.txt", "a\n\n" + text + "\n\nb\n")).all(), options);
  CHECK(read(none) == Texts{"a", "b"});
}

TEST_CASE("a reader goes on from any place it has told", "[data][documents]") {
  const TemporaryFolder folder;
  std::string plain;
  std::string json;
  for (int i = 0; i < 40; ++i) {
    plain += std::string(static_cast<std::size_t>(i * 3), 'x') + " word\nline\n\n";
    json += i % 5 == 1 ? "broken\n" : "{\"text\":\"" + std::to_string(i) + "\"}\n";
  }
  std::filesystem::create_directory(folder / "in");
  folder.file("in/1.txt", "\xEF\xBB\xBF" + plain);
  folder.file("in/2.txt", "");
  folder.file("in/3.jsonl", json);
  if (has_gzip) folder.file("in/4.txt.gz", gzip(plain) + gzip(plain));
  if (has_zstd) folder.file("in/5.jsonl.zst", zstd(json));
  const auto sources = TextSources(folder / "in").all();
  for (const DocumentRule documents :
       {DocumentRule::file, DocumentRule::blank_line, DocumentRule::line}) {
    DocumentOptions options = rule(documents);
    options.records.piece_bytes = 40;
    DocumentReader all(sources, options);
    std::vector<std::pair<TextPosition, std::string>> expected;
    std::vector<TextPosition> places = {all.position()};
    while (const auto record = all.next()) {
      expected.emplace_back(record->at, record->text);
      places.push_back(all.position());
    }
    REQUIRE(expected.size() > 50);
    DocumentReader again(sources, options);
    for (std::size_t i = 0; i < places.size(); ++i) {
      again.seek(places[i]);
      for (std::size_t j = i; j < std::min(i + 3, expected.size()); ++j) {
        const auto record = again.next();
        REQUIRE(record);
        CHECK(record->at == expected[j].first);
        CHECK(record->text == expected[j].second);
      }
    }
    CHECK_FALSE(again.next());
  }
  DocumentReader short_one(TextSources(folder.file("s.txt", "short")).all(), {});
  CHECK(mentions(message_of<FileError>([&] { short_one.seek({.source = 0, .offset = 6}); }),
                 "s.txt", "byte 6"));
}
