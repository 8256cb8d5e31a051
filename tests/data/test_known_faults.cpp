// SPDX-License-Identifier: Apache-2.0
// Faults that users of other programs reported when they prepared text, each in its smallest form,
// and what happens here instead. The first line of a case names the report.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fount/data/documents.hpp>
#include <fount/data/loader.hpp>
#include <fount/data/prepare.hpp>
#include <fount/text/bpe_trainer.hpp>
#include <fount/text/load_tokenizer.hpp>
#include <fount/text/wordpiece.hpp>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Ids = std::vector<std::int32_t>;

std::filesystem::path shard(const TemporaryFolder& folder, const std::string& name,
                            std::int32_t tokens, std::int32_t vocab_size = 1000) {
  ShardWriter writer(folder / name, {vocab_size, 0, 0});
  Ids ids(static_cast<std::size_t>(tokens));
  std::iota(ids.begin(), ids.end(), 0);
  writer.write(ids);
  writer.finish();
  return folder / name;
}
LoaderOptions windows_of(std::int64_t seq_len, std::int32_t vocab_size = 1000) {
  LoaderOptions options;
  options.seq_len = seq_len;
  options.vocab_size = vocab_size;
  return options;
}
std::vector<std::string> documents(const std::filesystem::path& path,
                                   BrokenDocuments* broken = nullptr) {
  DocumentReader reader(TextSources(path).all(), {});
  std::vector<std::string> texts;
  while (auto record = reader.next()) texts.push_back(std::move(record->text));
  if (broken != nullptr) *broken = reader.broken();
  return texts;
}
/// GPT-2's tokenizer where its ranks are; else nothing, and a line says so.
std::unique_ptr<Tokenizer> gpt2() {
  const auto ranks = unicode_here() ? test_data("r50k_base.tiktoken") : std::filesystem::path();
  return ranks.empty() ? nullptr : load_tokenizer(ranks);
}

}  // namespace

TEST_CASE("C1 ids of 16 bits wrap: the width follows the vocabulary", "[data][faults]") {
  // karpathy/llm.c#736
  const TemporaryFolder folder;
  ShardWriter wide(folder / "wide.bin", {65537, 0, 0});
  wide.write(Ids{65536});
  wide.finish();
  CHECK(TokenShard(folder / "wide.bin").token(0) == 65536);
  ShardWriter narrow(folder / "narrow.bin", {65536, 0, 0});
  CHECK(mentions(message_of<FileError>([&] { narrow.write(Ids{65536}); }), "65536"));
}

TEST_CASE("C2 ids beyond the vocabulary are taken modulo: they are named", "[data][faults]") {
  // mlfoundations/open_lm#77
  const TemporaryFolder folder;
  const auto path = folder.file("raw.bin", std::string("\x01\0\x64\0\x02\0\x03\0", 8));
  TokenLoader loader(std::vector{path}, windows_of(3, 100));
  std::int32_t inputs[3];
  std::int32_t labels[3];
  CHECK(mentions(message_of<FileError>([&] { loader.fill(0, inputs, labels); }), "raw.bin",
                 "token id 100 at token 1", "100 tokens"));
}

TEST_CASE("C3 short shards abort or waste their tail: the rule is exact", "[data][faults]") {
  // karpathy/build-nanogpt#109, karpathy/llm.c#321
  constexpr std::int32_t T = 8;
  for (const auto& [tokens, windows] :
       {std::pair{T + 1, 1}, {T + 2, 1}, {2 * T, 1}, {2 * T + 1, 2}}) {
    const TemporaryFolder folder;
    const TokenLoader loader(std::vector{shard(folder, "s.bin", tokens)}, windows_of(T));
    CHECK(loader.windows_per_epoch() == windows);
    CHECK(loader.leftover_tokens() == tokens - 1 - windows * T);
  }
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  for (const std::int32_t tokens : {0, 1, T}) {
    paths.push_back(shard(folder, std::to_string(tokens) + ".bin", tokens));
  }
  CHECK(mentions(message_of<FileError>([&] { TokenLoader(paths, windows_of(T)); }), "seq_len"));
  paths.push_back(shard(folder, "long.bin", T + 1));
  CHECK(TokenLoader(paths, windows_of(T)).skipped_shards() == 3);
}

TEST_CASE("C4 offsets of 32 bits fail beyond 2 GiB: they have 64", "[data][faults]") {
  // llm.c, dataloader.h
  const TemporaryFolder folder;
  constexpr std::int64_t tokens = 1'200'000'000;  // 2.4 GB, almost all of it a hole
  const auto path = shard(folder, "s.bin", 0);
  std::filesystem::resize_file(path, 1024 + 2 * static_cast<std::uintmax_t>(tokens));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto count = static_cast<std::uint32_t>(tokens);
  file.seekp(8);
  file.write(reinterpret_cast<const char*>(&count), 4);
  file.seekp(1024 + 2 * (270'000LL * 4096 + 1));
  file.write("\x07\0", 2);
  file.close();
  LoaderOptions options = windows_of(4096);
  options.shuffle = false;
  TokenLoader loader(std::vector{path}, options);
  Ids inputs(4096);
  Ids labels(4096);
  loader.fill(270'000, inputs.data(), labels.data());
  CHECK(inputs[1] == 7);
  CHECK(labels[0] == 7);
}

TEST_CASE("C5 the last window of each file is dropped: 24 of 24 are served", "[data][faults]") {
  // LLM.Q, dataloader.cpp
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  for (const char* name : {"1.bin", "2.bin", "3.bin"}) paths.push_back(shard(folder, name, 65));
  const TokenLoader loader(paths, windows_of(8));
  CHECK(loader.windows_per_epoch() == 24);
  std::vector<std::int64_t> windows;
  for (std::int64_t sample = 0; sample < 24; ++sample) windows.push_back(loader.window_of(sample));
  std::ranges::sort(windows);
  for (std::int64_t i = 0; i < 24; ++i) CHECK(windows[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("C6 shard 10 comes before shard 2: numbers count", "[data][faults]") {
  // OpenNMT/OpenNMT-py#1755
  const TemporaryFolder folder;
  for (const char* name : {"s_train_1.bin", "s_train_10.bin", "s_train_2.bin"}) {
    shard(folder, name, 20);
  }
  const auto paths = find_shards(folder.path(), Split::train);
  REQUIRE(paths.size() == 3);
  CHECK(paths[1].filename() == "s_train_2.bin");
  CHECK(paths[2].filename() == "s_train_10.bin");
  const std::uint64_t hash = TokenLoader(paths, windows_of(8)).list_hash();
  const std::vector swapped = {paths[0], paths[2], paths[1]};
  CHECK(TokenLoader(swapped, windows_of(8)).list_hash() != hash);
}

#if FOUNT_HAS_ZLIB
TEST_CASE("C7 only the first gzip member is read: all are", "[data][faults]") {
  // madler/zlib#984
  const TemporaryFolder folder;
  const auto path = folder.file("a.txt.gz", gzip("one ") + gzip("two ") + gzip("") + gzip("three"));
  CHECK(documents(path) == std::vector<std::string>{"one two three"});
}

TEST_CASE("C8 a gzip file cut short passes: file and byte are named", "[data][faults]") {
  // duckdb/duckdb#25905
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * i);
  const std::string packed = gzip(text);
  for (const std::size_t size : {std::size_t{100}, packed.size() - 9, packed.size() - 1}) {
    const auto path = folder.file("a.txt.gz", packed.substr(0, size));
    CHECK(mentions(message_of<FileError>([&] { documents(path); }), "a.txt.gz",
                   std::to_string(size)));
  }
  std::string flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // the check sum
  CHECK(mentions(message_of<FileError>([&] { documents(folder.file("b.txt.gz", flipped)); }),
                 "b.txt.gz"));
}
#endif

TEST_CASE("C9 one empty document ends the whole job: it is left out and told", "[data][faults]") {
  // NVIDIA/Megatron-LM#62, epfLLM/Megatron-LLM#94
  const TemporaryFolder folder;
  const auto path =
      folder.file("a.jsonl", "{\"text\":\"\"}\n{\"content\":\"x\"}\n{\"text\":\"good\"}\n");
  BrokenDocuments broken;
  CHECK(documents(path, &broken) == std::vector<std::string>{"good"});
  CHECK(broken.broken() == 2);
  CHECK(mentions(broken.first()[0], "a.jsonl, line 1", "empty"));
  CHECK(mentions(broken.first()[1], "a.jsonl, line 2", "\"text\""));
  CHECK_THROWS_AS(broken.check(0.01, true), FileError);
  CHECK_NOTHROW(broken.check(0.7, true));
}

TEST_CASE("C10 deep nesting overflows the stack: it is refused", "[data][faults]") {
  // nlohmann/json#577
  const TemporaryFolder folder;
  const std::string deep(100'000, '[');
  BrokenDocuments broken;
  CHECK(documents(folder.file("a.jsonl", deep + "\n\"good\"\n"), &broken) ==
        std::vector<std::string>{"good"});
  CHECK(broken.broken() == 1);
  CHECK_THROWS_AS(parse_tokenizer(deep, "deep"), FileError);
  CHECK_THROWS_AS(parse_tokenizer("{\"a\":" + deep, "deep"), FileError);
}

TEST_CASE("C11 line ends of CR alone: no byte of a document changes", "[data][faults]") {
  // karpathy/char-rnn#171
  const TemporaryFolder folder;
  CHECK(documents(folder.file("a.txt", "a\rb\rc")) == std::vector<std::string>{"a\rb\rc"});
}

TEST_CASE("C12 and C13 line ends and NUL are lost: every byte comes back", "[data][faults]") {
  // google/sentencepiece#101, #804, #331
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(small_bpe({{"a", "s"}}));
  for (const std::string& text :
       {std::string("asdf\nasdf\n"), std::string("a\0b", 3), std::string("\r\n\t \xFF\x80", 6)}) {
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  if (const auto known = gpt2()) CHECK(known->encode(std::string("a\0b", 3)) == Ids{64, 188, 65});
}

TEST_CASE("C14 the spelling of a control token in a text becomes the token: only where allowed",
          "[data][faults]") {
  // google-deepmind/gemma#770
  if (!unicode_here()) return;
  BpeModel model = small_bpe();
  AddedToken end;
  end.content = "<|endoftext|>";
  end.id = 256;
  model.added.push_back(end);
  const BpeTokenizer tokenizer(model);
  CHECK(tokenizer.encode("<|endoftext|>").size() == 13);
  CHECK(tokenizer.encode("<|endoftext|>", AllowedSpecial::names({"<|endoftext|>"})) == Ids{256});
  if (const auto known = gpt2()) {
    CHECK(known->encode("<|endoftext|>") == Ids{27, 91, 437, 1659, 5239, 91, 29});
    CHECK(known->encode("<|endoftext|>", AllowedSpecial::all()) == Ids{50256});
  }
}

TEST_CASE("C15 one long run is quadratic: it is not", "[data][faults]") {
  // openai/tiktoken#195
  if (!unicode_here()) return;
  const BpeTokenizer tokenizer(small_bpe({{"a", "a"}, {"aa", "aa"}, {"^", "^"}, {"^^", "^^"}}));
  // By a rule whose time grows with the square, each of these takes ten minutes.
  for (const char c : {'a', '^', ' ', '\n'}) {
    const std::string text(std::size_t{1} << 20U, c);
    if (tokenizer.decode(tokenizer.encode(text)) != text) FAIL_CHECK("lost " << c);
  }
}

TEST_CASE("C16 an unknown rule of splitting is replaced silently: it is refused",
          "[data][faults]") {
  // ggml-org/llama.cpp#3502
  if (!unicode_here()) return;
  std::string json = BpeTokenizer(small_bpe({{"a", "b"}}, SplitRule::cl100k)).to_json();
  const std::size_t at = json.find("{1,3}");
  REQUIRE(at != std::string::npos);
  json.replace(at, 5, "{1,4}");
  CHECK(mentions(message_of<FileError>([&] { parse_tokenizer(json, "x.json"); }), "x.json",
                 "cl100k"));
}

TEST_CASE("C17 the first word gets a space, or lacks one: as the file says", "[data][faults]") {
  // ggml-org/llama.cpp#167
  if (const auto known = gpt2()) {
    CHECK(known->encode("Hello world") == Ids{15496, 995});
    CHECK(known->encode(" Hello world") == Ids{18435, 995});
  }
  // A file that asks for a space in front is refused by name, not read as if it did not.
  if (!unicode_here()) return;
  std::string json = BpeTokenizer(small_bpe({{"a", "b"}})).to_json();
  const std::string off = "\"add_prefix_space\": false";
  const std::size_t at = json.find(off);
  REQUIRE(at != std::string::npos);
  json.replace(at, off.size(), "\"add_prefix_space\": true");
  CHECK(mentions(message_of<FileError>([&] { parse_tokenizer(json, "x.json"); }), "x.json",
                 "prefix"));
}

TEST_CASE("C18 token by token a character falls apart: it is held until it is whole",
          "[data][faults]") {
  // NVIDIA/Megatron-LM#4126
  if (!unicode_here()) return;
  const BpeTokenizer bytes(small_bpe());
  StreamingDecoder decoder(bytes);
  std::string seen;
  for (const std::int32_t id : bytes.encode("\U0001F600!")) seen += decoder.push(id) + "|";
  CHECK(seen == "|||\U0001F600|!|");
  if (const auto known = gpt2()) {
    const Ids ids = known->encode("\U0001F600");
    CHECK(ids == Ids{47249, 222});
    StreamingDecoder two(*known);
    CHECK(two.push(47249).empty());
    CHECK(two.push(222) == "\U0001F600");
  }
}

TEST_CASE("C19 equal counts give another vocabulary each time: ties have a rule",
          "[data][faults]") {
  // karpathy/minbpe#90, huggingface/tokenizers#1794
  BpeTrainerOptions options;
  options.vocab_size = 260;
  options.min_frequency = 0;
  options.special_tokens.clear();
  std::vector<BpeModel> models;
  for (const bool swapped : {false, true}) {
    WordCounter words;
    words.add(swapped ? "aaabbbccccdddd" : "bbbaaaddddcccc");
    words.add(swapped ? "bbbaaaddddcccc" : "aaabbbccccdddd");
    models.push_back(train_bpe(words, options));
  }
  CHECK(models[0].tokens == models[1].tokens);
  CHECK(models[0].merges == models[1].merges);
  const std::vector<std::string> learned(models[0].tokens.end() - 4, models[0].tokens.end());
  CHECK(learned == std::vector<std::string>{"cc", "dd", "aa", "bb"});
}

TEST_CASE("C20 a word over 100 characters is one [UNK] that nobody hears of: it is counted",
          "[data][faults]") {
  // huggingface/transformers#17551
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  WordPieceModel model;
  model.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "##hello"};
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    model.special.push_back(
        {.content = name, .id = static_cast<std::int32_t>(model.special.size())});
  }
  std::string shorter;
  for (int i = 0; i < 20; ++i) shorter += "hello";
  const std::string longer = shorter + "hello";
  const WordPieceTokenizer tokenizer(model);
  CHECK(tokenizer.encode(shorter).size() == 20);
  CHECK(tokenizer.encode(longer) == Ids{1});
  PrepareOptions options;
  options.input = folder.file("a.jsonl", "\"" + shorter + "\"\n\"" + longer + " hello\"\n");
  options.output = folder / "out";
  options.own_tokenizer = std::make_shared<const WordPieceTokenizer>(tokenizer);
  CHECK(prepare(options).unknown_tokens == 1);
}

TEST_CASE("C21 a size from a file drives allocation: it is held against the file",
          "[data][faults]") {
  // 1bit-MONSTER/1bit-MONSTER#1281
  const TemporaryFolder folder;
  const auto path = shard(folder, "s.bin", 20);
  for (const int word : {2, 17}) {  // tokens, vocabulary
    std::string bytes = content_of(path);
    std::memset(bytes.data() + 4 * word, 0xFF, 4);
    const auto damaged = folder.file("d.bin", bytes);
    CHECK(mentions(message_of<FileError>([&] { TokenShard{damaged}; }), "d.bin", "4294967295"));
  }
}
