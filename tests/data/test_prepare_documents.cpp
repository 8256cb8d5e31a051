// SPDX-License-Identifier: Apache-2.0
// Preparations of documents: what is in the shards, read by the rules of llm.c and not by our own
// reader; which side each document is on; what is left out.
#include <fount/data/prepare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/end_of_text_tokenizer.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// The tokens of a shard as llm.c reads it: 256 words, of which three count; then as many tokens as
/// the third says, and nothing behind them.
std::vector<std::uint32_t> llmc_tokens(const std::filesystem::path& path) {
  const std::string bytes = content_of(path);
  REQUIRE(bytes.size() >= 1024);
  std::int32_t header[256];
  std::memcpy(header, bytes.data(), sizeof header);
  const bool wide = header[0] == 20240801;
  if (!wide) CHECK(header[0] == 20240520);
  CHECK(header[1] == (wide ? 7 : 1));
  const auto count = static_cast<std::size_t>(header[2]);
  const std::size_t width = wide ? 4 : 2;
  REQUIRE(bytes.size() == 1024 + count * width);
  std::vector<std::uint32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&tokens[i], bytes.data() + 1024 + i * width, width);
  }
  return tokens;
}
/// All shards of one split in a row: tokens_train_000000.bin and so on, none left out.
std::vector<std::uint32_t> llmc_split(const std::filesystem::path& folder, std::string_view split) {
  std::vector<std::uint32_t> all;
  for (int i = 0;; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "tokens_%s_%06d.bin", std::string(split).c_str(), i);
    if (!std::filesystem::exists(folder / name)) return all;
    const auto tokens = llmc_tokens(folder / name);
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
}
/// Cuts before each end-of-text token: llm.c's documents.
std::vector<std::string> documents(const std::vector<std::uint32_t>& tokens,
                                   std::int32_t vocab_size = 356) {
  std::vector<std::string> texts;
  REQUIRE((tokens.empty() || tokens[0] == EndOfTextTokenizer::end));  // a split begins with it
  for (const std::uint32_t token : tokens) {
    if (token == EndOfTextTokenizer::end) {
      texts.emplace_back();
    } else {
      texts.back() += static_cast<char>(token - static_cast<std::uint32_t>(vocab_size - 256));
    }
  }
  return texts;
}
std::string json_line(const std::string& text) {
  return "{\"text\":" + dump_json(Json(text), -1) + ",\"url\":\"http://example.org\"}\n";
}
std::string story(int number) {
  return "Story " + std::to_string(number) + " says \"x\"\n" +
         std::string(static_cast<std::size_t>(number % 97) * 7, 'y') + " \xC3\xA9nd.";
}
PrepareOptions options_for(const std::filesystem::path& input, const std::filesystem::path& output,
                           std::int32_t vocab_size = 356) {
  PrepareOptions options;
  options.input = input;
  options.output = output;
  options.own_tokenizer = std::make_shared<EndOfTextTokenizer>(vocab_size);
  return options;
}
std::string refusal(const PrepareOptions& options) {
  return message_of<Error>([&] { prepare(options); });
}
std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const std::string& name : list_files(folder)) files[name] = content_of(folder / name);
  return files;
}

}  // namespace

TEST_CASE("documents come back by llm.c's rules, each whole on one side", "[data][prepare]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  std::vector<std::string> expected;
  std::string lines[3];
  for (int i = 0; i < 3000; ++i) {
    expected.push_back(story(i));
    lines[i / 1000] += json_line(story(i));
  }
  folder.file("in/c4-train.00002-of-00010.json", lines[0]);
  if (has_gzip) {
    folder.file("in/c4-train.00009-of-00010.json.gz", gzip(lines[1]));
  } else {
    folder.file("in/c4-train.00009-of-00010.json", lines[1]);
  }
  folder.file("in/c4-train.00010-of-00010.json", lines[2]);
  for (const std::int32_t vocab_size : {356, 70'000}) {
    PrepareOptions options = options_for(folder / "in", folder / "out", vocab_size);
    options.overwrite = true;
    options.shard_tokens = 100'003;
    options.workers = 3;
    const PreparedData data = prepare(options);
    CHECK(data.shards.size() > 8);
    const auto train = documents(llmc_split(folder / "out", "train"), vocab_size);
    const auto validation = documents(llmc_split(folder / "out", "val"), vocab_size);
    CHECK(static_cast<std::int64_t>(train.size()) == data.documents[0]);
    CHECK(static_cast<std::int64_t>(validation.size()) == data.documents[1]);
    CHECK(train.size() + validation.size() == 3000);
    CHECK(validation.size() > 240);
    CHECK(validation.size() < 360);  // 300 and three standard deviations
    // In the order of the files, none lost, none on both sides.
    std::size_t i = 0;
    std::size_t j = 0;
    for (const std::string& text : expected) {
      if (i < train.size() && train[i] == text) {
        ++i;
      } else if (j < validation.size() && validation[j] == text) {
        ++j;
      }
    }
    CHECK(i == train.size());
    CHECK(j == validation.size());
    CHECK(data.text_bytes > 0);
    CHECK(data.broken.broken() == 0);
    CHECK(find_shards(folder / "out", Split::train).size() > 4);  // and our reader takes them
  }
}

TEST_CASE("equal documents are on the same side, wherever they stand", "[data][prepare]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  std::string forward;
  std::string backward;
  for (int i = 0; i < 400; ++i) {
    forward += json_line(story(i));
    backward += json_line(story(399 - i));
  }
  folder.file("in/1.jsonl", forward);
  folder.file("in/2.jsonl", backward);
  PrepareOptions options = options_for(folder / "in", folder / "out");
  options.val_fraction = 0.5;
  const PreparedData data = prepare(options);
  std::map<std::string, int> counts;
  const auto train = documents(llmc_split(folder / "out", "train"));
  const auto validation = documents(llmc_split(folder / "out", "val"));
  const std::set<std::string> sides[] = {{train.begin(), train.end()},
                                         {validation.begin(), validation.end()}};
  std::vector<std::string> both;
  std::ranges::set_intersection(sides[0], sides[1], std::back_inserter(both));
  CHECK(both.empty());
  CHECK(sides[0].size() + sides[1].size() == 400);
  CHECK(train.size() == 2 * sides[0].size());
  CHECK(data.documents[1] > 300);
  CHECK(data.documents[1] < 500);
}

TEST_CASE("IMDB's layout and other folders of text are documents for such a tokenizer",
          "[data][prepare]") {
  const TemporaryFolder folder;
  for (const char* name : {"aclImdb/train/pos", "aclImdb/train/neg"}) {
    std::filesystem::create_directories(folder / name);
  }
  std::vector<std::string> expected;
  for (const char* side : {"neg", "pos"}) {
    for (int i = 0; i < 12; ++i) {
      expected.push_back(std::string(side) + " review " + std::to_string(i) + "<br />\r\n\r\nend");
      folder.file("aclImdb/train/" + std::string(side) + "/" + std::to_string(i) + "_7.txt",
                  expected.back());
    }
  }
  PrepareOptions options = options_for(folder / "aclImdb/train", folder / "out");
  options.val_fraction = 0;
  const PreparedData data = prepare(options);
  CHECK_FALSE(data.one_text);
  CHECK(documents(llmc_split(folder / "out", "train")) == expected);
  CHECK(data.sources.at(11).name == "neg/11_7.txt");
  CHECK(data.sources.at(12).name == "pos/0_7.txt");
  // Several inputs are read in the order in which they are named.
  options.input = folder / "aclImdb/train/pos";
  options.more_inputs = {folder / "aclImdb/train/neg"};
  options.output = folder / "out2";
  prepare(options);
  CHECK(documents(llmc_split(folder / "out2", "train")).at(0).starts_with("pos review 0"));
  options.split_at_documents = true;
  CHECK(mentions(refusal(options), "split-at-documents"));
}

TEST_CASE("one plain text is cut by position, with the token at the start of both parts",
          "[data][prepare]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "l\xC3\xADne " + std::to_string(i) + "\n";
  const auto path = folder.file("in.txt", text);
  PrepareOptions options = options_for(path, folder / "out");
  const PreparedData data = prepare(options);
  CHECK(data.one_text);
  const auto train = documents(llmc_split(folder / "out", "train"));
  const auto validation = documents(llmc_split(folder / "out", "val"));
  REQUIRE(train.size() == 1);
  REQUIRE(validation.size() == 1);
  CHECK(train[0] + validation[0] == text);
  CHECK(train[0].size() - text.size() * 9 / 10 <= 1);
  options.documents = PrepareDocuments::line;
  options.output = folder / "lines";
  const PreparedData lines = prepare(options);
  CHECK(lines.documents[0] + lines.documents[1] == 2000);
  // What is no text has a place.
  options = options_for(folder.file("bad.txt", text + "\xFF" + text), folder / "bad");
  CHECK(mentions(refusal(options), "bad.txt", "offset " + std::to_string(text.size()), "UTF-8"));
  options.input = folder.file("nul.txt", std::string("a\0b", 3));
  CHECK(mentions(refusal(options), "nul.txt", "a NUL at offset 1"));
}

TEST_CASE("vocabularies without an end-of-text token put an empty line there", "[data][prepare]") {
  const TemporaryFolder folder;
  const auto path = folder.file("in.jsonl", json_line("one") + json_line("two") + "\"three\"\n");
  for (const char* tokenizer : {"char", "byte"}) {
    PrepareOptions options;
    options.input = path;
    options.output = folder / tokenizer;
    options.tokenizer = tokenizer;
    options.val_fraction = 0;
    const PreparedData data = prepare(options);
    const TokenShard shard(find_shards(folder / tokenizer, Split::train).at(0));
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.count()));
    shard.copy(0, shard.count(), data.vocab_size, ids.data());
    CHECK(load_tokenizer(folder / tokenizer)->decode(ids) == "one\n\ntwo\n\nthree\n\n");
  }
  PrepareOptions options;  // blank lines come back as they were
  options.input = folder.file("in.txt", "a\nb\n\n\nc\n\nd");
  options.output = folder / "out";
  options.documents = PrepareDocuments::blank_line;
  options.val_fraction = 0;
  CHECK(prepare(options).tokens(Split::train) == 11);
}

TEST_CASE("broken documents are left out, and too many of them are an error", "[data][prepare]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    lines += i % 150 == 7   ? "{\"text\":\"cut\n"
             : i % 150 == 9 ? "{\"text\":\"\"}\n"
                            : json_line(story(i));
  }
  PrepareOptions options = options_for(folder.file("in.jsonl", lines), folder / "out");
  options.max_bad = 0.02;
  const PreparedData data = prepare(options);
  CHECK(data.broken.broken() == 4);
  CHECK(data.broken.seen() == 300);
  CHECK(mentions(data.broken.first().at(0), "in.jsonl, line 8", "invalid JSON"));
  CHECK(data.documents[0] + data.documents[1] == 296);
  options.max_bad = 0.01;
  options.output = folder / "refused";
  const std::string message = refusal(options);
  CHECK(mentions(message, "4 broken documents among 300", "1.000 %", "--max-bad", "line 8",
                 "line 160"));
  CHECK_FALSE(std::filesystem::exists(folder / "refused"));
  options.max_bad = -0.5;
  CHECK(mentions(refusal(options), "max-bad"));
  options = options_for(folder.file("none.jsonl", "\n\n"), folder / "none");
  CHECK(mentions(refusal(options), "none.jsonl", "no document"));
  options = options_for(
      folder.file("big.jsonl", json_line(std::string(5000, 'x')) + json_line("a")), folder / "big");
  options.line_bytes = 4000;
  CHECK(mentions(refusal(options), "a line of more than 4000 bytes"));
  options = options_for(folder / "in.jsonl", folder / "small");
  options.max_vocab_size = 300;
  CHECK(mentions(refusal(options), "356 tokens", "300"));
}

TEST_CASE("a damaged compressed file stops a preparation and is named", "[data][prepare]") {
  if (!has_gzip) return;
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += json_line(story(i));
  const std::string packed = gzip(lines);
  folder.file("a.jsonl.gz", packed.substr(0, packed.size() / 2));
  CHECK(mentions(refusal(options_for(folder / "a.jsonl.gz", folder / "out")), "a.jsonl.gz",
                 "byte " + std::to_string(packed.size() / 2), "cut short"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_CASE("the files are the same for any number of workers", "[data][prepare]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 6000; ++i) lines += i % 500 == 3 ? "broken\n" : json_line(story(i));
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += story(i % 50) + "\n\n";
  folder.file("in.jsonl", lines);
  folder.file("in.txt", text);
  struct Case {
    const char* name;
    const char* input;
    const char* tokenizer;
    PrepareDocuments documents;
  };
  using enum PrepareDocuments;
  for (const Case& one : {Case{"jsonl", "in.jsonl", "end", automatic},
                          Case{"paragraphs", "in.txt", "end", blank_line},
                          Case{"long", "in.txt", "end", PrepareDocuments::file},
                          Case{"text", "in.txt", "char", automatic},
                          Case{"char jsonl", "in.jsonl", "char", automatic},
                          Case{"bytes", "in.txt", "byte", automatic}}) {
    std::map<std::string, std::string> first;
    for (const int workers : {1, 2, 5}) {
      PrepareOptions options = options_for(folder / one.input, folder / "out");
      if (one.tokenizer != std::string("end")) options.own_tokenizer = nullptr;
      options.tokenizer = one.tokenizer;
      options.documents = one.documents;
      options.overwrite = true;
      options.shard_tokens = 500'009;
      options.workers = workers;
      prepare(options);
      INFO(one.name << " with " << workers << " workers");
      if (first.empty()) first = files_of(folder / "out");
      CHECK(first.size() > 4);
      CHECK(files_of(folder / "out") == first);
    }
  }
  PrepareOptions options = options_for(folder / "in.txt", folder / "no");
  options.workers = 0;
  CHECK(mentions(refusal(options), "workers"));
}
