// SPDX-License-Identifier: Apache-2.0
#include <fount/text/load_tokenizer.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Ids = std::vector<std::int32_t>;

BpeModel small_model() {
  BpeModel model = small_bpe({{"a", "b"}, {"ab", "c"}, {" ", "a"}, {"\xC3", "\xA9"}});
  model.added = {{.content = "<|endoftext|>", .id = 260}};
  return model;
}
Json json_of(const BpeModel& model) { return parse_json(bpe_tokenizer_json(model), "t"); }
std::string refusal(const Json& json) {
  return message_of<FileError>([&] { parse_tokenizer(dump_json(json), "tokenizer.json"); });
}
std::string base64(const std::string& bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (unsigned i = 0; i < 4; ++i) {
      text += at + i > bytes.size() ? '=' : digits[bits >> (18U - 6U * i) & 63U];
    }
  }
  return text;
}
/// A rank file of the tokens of a model.
std::string ranks_of(const BpeModel& model) {
  std::string text;
  for (std::size_t id = 0; id < model.tokens.size(); ++id) {
    text += base64(model.tokens[id]) + " " + std::to_string(id) + "\n";
  }
  return text;
}
const TiktokenEncoding any_ranks{"test", "", SplitRule::cl100k, 0, {{"<|end|>", 400}}};

}  // namespace

TEST_CASE("a byte-pair encoding comes back from its tokenizer.json", "[text][bpe][files]") {
  if (!unicode_here()) return;
  SmallRandom random(23);
  for (const KnownSplit& known : known_splits) {
    for (const bool by_id : {false, true}) {
      const TemporaryFolder folder;
      BpeModel model = small_model();
      model.split = known.rule;
      model.merge_by_id = by_id;
      if (by_id) model.merges.clear();
      const BpeTokenizer tokenizer(model);
      tokenizer.save(folder.path(), 128);
      const auto loaded = load_tokenizer(folder.path());
      CHECK(loaded->kind() == "bpe");
      CHECK(loaded->vocab_size() == 261);
      CHECK(loaded->hash() == tokenizer.hash());
      CHECK(loaded->to_json() == tokenizer.to_json());
      CHECK(loaded->end_of_text() == 260);
      for (int i = 0; i < 50; ++i) {
        const std::string text = random.text(awkward_parts(), 20) + " abc<|endoftext|>";
        CHECK(loaded->encode(text) == tokenizer.encode(text));
        CHECK(loaded->encode(text, AllowedSpecial::all()).back() == 260);
      }
      CHECK(mentions(content_of(folder / "tokenizer_config.json"),
                     "\"eos_token\": \"<|endoftext|>\"", "\"bos_token\": \"<|endoftext|>\""));
      CHECK_NOTHROW(parse_json(content_of(folder / "tokenizer_config.json"), "t"));
    }
  }
}

TEST_CASE("special tokens behind a gap of ids keep them", "[text][bpe][files]") {
  if (!unicode_here()) return;
  BpeModel model = small_model();
  model.added = {{.content = "<|end|>", .id = 300}, {.content = "<|b e|>", .id = 270}};
  const Json json = json_of(model);
  CHECK(json["added_tokens"][0]["id"] == 270);  // in the order of the ids
  CHECK(json["model"]["vocab"].value("<|b e|>", 0) ==
        270);  // else a reader would count on from 260
  const auto loaded = parse_tokenizer(dump_json(json), "t");
  CHECK(loaded->vocab_size() == 301);
  CHECK(loaded->encode("<|b e|>", AllowedSpecial::all()) == Ids{270});
  CHECK(loaded->token(280).empty());
  CHECK(loaded->to_json() == BpeTokenizer(model).to_json());
  CHECK_FALSE(json_of(small_model())["model"]["vocab"].contains("<|endoftext|>"));
}

TEST_CASE("older and other spellings of the same tokenizer are read", "[text][bpe][files]") {
  if (!unicode_here()) return;
  const Json good = json_of(small_model());
  const auto ids = [](const Json& json) {
    return parse_tokenizer(dump_json(json), "t")->encode("abc ab \xC3\xA9 1234 I'LL");
  };
  const Ids expected = ids(good);
  Json json = good;
  for (Json& merge : json["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  CHECK(ids(json) == expected);
  json["model"].erase("type");
  json["model"].erase("ignore_merges");
  json["model"]["unk_token"] = "<|endoftext|>";
  json["pre_tokenizer"].erase("use_regex");
  json["model"]["vocab"]["<|endoftext|>"] = 260;
  CHECK(ids(json) == expected);

  BpeModel model = small_model();
  model.split = SplitRule::cl100k;
  Json split = json_of(model);
  const Ids in_threes = ids(split);
  split["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
  split["pre_tokenizer"]["pretokenizers"][0]["invert"] = true;
  CHECK(ids(split) == in_threes);
  split["post_processor"] = {{"type", "TemplateProcessing"}, {"single", Json::array()}};
  CHECK(ids(split) == in_threes);  // encoding adds nothing
  const auto kept = parse_tokenizer(dump_json(split), "t");
  CHECK(parse_json(kept->to_json(), "t")["post_processor"] == split["post_processor"]);
}

TEST_CASE("words added to a vocabulary are read with their pass", "[text][bpe][files]") {
  if (!unicode_here()) return;
  BpeModel model = small_model();
  model.added.push_back({.content = "  ", .id = 261, .special = false, .normalized = true});
  const auto loaded = parse_tokenizer(bpe_tokenizer_json(model), "t");
  CHECK(loaded->encode("ab  ab") == Ids{256, 261, 256});
  CHECK(loaded->to_json() == bpe_tokenizer_json(model));
}

TEST_CASE("byte-pair encodings that cannot be reproduced are refused by name",
          "[text][bpe][files]") {
  if (!unicode_here()) return;
  BpeModel model = small_model();
  model.split = SplitRule::cl100k;
  const Json good = json_of(model);
  CHECK(refusal(good).empty());
  const auto changed = [&](auto change) {
    Json json = good;
    change(json);
    return refusal(json);
  };
  const auto split = [](Json& j) -> Json& { return j["pre_tokenizer"]["pretokenizers"][0]; };
  CHECK(mentions(changed([&](Json& j) { split(j)["pattern"]["Regex"] = "\\w+"; }), "\\\\w+",
                 "gpt2, gpt2_digits, cl100k, nanochat, qwen2, o200k"));
  CHECK(mentions(changed([&](Json& j) { split(j)["behavior"] = "Removed"; }), "Removed"));
  CHECK(mentions(changed([&](Json& j) { split(j)["type"] = "Metaspace"; }), "Metaspace"));
  CHECK(mentions(changed([&](Json& j) { j["pre_tokenizer"] = nullptr; }), "null"));
  CHECK(mentions(
      changed([&](Json& j) { j["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true; }),
      "adds a space"));
  CHECK(mentions(changed([](Json& j) { j["normalizer"] = {{"type", "NFC"}}; }), "NFC"));
  CHECK(mentions(changed([](Json& j) { j["truncation"] = {{"max_length", 8}}; }), "truncation"));
  CHECK(mentions(changed([](Json& j) { j["post_processor"] = {{"type", "Strange"}}; }), "Strange"));
  CHECK(mentions(changed([](Json& j) { j["model"]["dropout"] = 0.1; }), "dropout"));
  CHECK(mentions(changed([](Json& j) { j["model"]["byte_fallback"] = true; }), "byte_fallback"));
  CHECK(mentions(changed([](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }), "suffix"));
  CHECK(mentions(changed([](Json& j) { j["model"]["ignore_merges"] = 1; }), "ignore_merges"));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"][0]["lstrip"] = true; }), "lstrip"));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"][0].erase("id"); }), "\"id\""));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"][0]["id"] = 97; }), "97"));
  CHECK(
      mentions(changed([](Json& j) { j["model"]["vocab"]["<|endoftext|>"] = 270; }), "270", "260"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = 98; }), "the id 98"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = -1; }), "-1"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = 4294967295U; }), "4294967295"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a b"] = 261; }), "a b", "alphabet"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"][""] = 261; }), "without bytes"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"].erase("b"); }), "\"b\""));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"].erase("!"); }), "the byte 33"));
  CHECK(mentions(changed([](Json& j) {
                   j["model"]["merges"][0] = {"a", "c"};
                 }),
                 "merge 0", "\"ac\""));
  CHECK(mentions(changed([](Json& j) { j["model"]["merges"][0] = "ab"; }), "merge 0"));
  CHECK(mentions(changed([](Json& j) { j["model"]["merges"][0] = 7; }), "merge 0"));
  CHECK(mentions(changed([](Json& j) { j["model"]["merges"][1] = j["model"]["merges"][0]; }),
                 "merge 1", "once"));
}

TEST_CASE("rank files are read", "[text][bpe][files]") {
  if (!unicode_here()) return;
  const BpeModel model = small_model();
  const BpeModel read = read_tiktoken_model(ranks_of(model), "t", any_ranks);
  CHECK(read.tokens == model.tokens);
  CHECK(read.merge_by_id);
  CHECK(read.split == SplitRule::cl100k);
  const BpeTokenizer tokenizer(read);
  CHECK(tokenizer.vocab_size() == 401);
  CHECK(tokenizer.encode("abc<|end|>", AllowedSpecial::all()) == Ids{257, 400});
  std::string cut = ranks_of(model);
  cut.pop_back();  // the last line end may be missing
  CHECK(read_tiktoken_model(cut, "t", any_ranks).tokens == model.tokens);
}

TEST_CASE("damaged rank files are refused with the line", "[text][bpe][files]") {
  const auto refused = [](const std::string& text, const TiktokenEncoding& encoding = any_ranks) {
    return message_of<FileError>([&] { read_tiktoken_model(text, "f.tiktoken", encoding); });
  };
  const std::string good = "YQ== 0\nYWI= 1\nYWJj 2\n";
  CHECK(refused(good).empty());
  CHECK(mentions(refused("YQ== 0\nYWI=\n"), "f.tiktoken", "line 2", "no space"));
  CHECK(mentions(refused("YQ== 0\n\nYWI= 1\n"), "line 2"));
  CHECK(mentions(refused("YQ== 0\nYWI= 2\n"), "line 2", "rank 2", "rank 1"));
  CHECK(mentions(refused("YQ== 0\r\n"), "carriage return"));
  CHECK(mentions(refused("YQ== 0 \n"), "not a number"));
  CHECK(mentions(refused("YQ== -1\n"), "not a number"));
  CHECK(mentions(refused("YQ== 99999999999999999999\n"), "not a number"));
  for (const char* token :
       {"YQ=", "YQ", "Y===", "YQ=a", "=YQ=", "Y Q=", "YR==", "YWJ=", "Y\xC3==", ""}) {
    CAPTURE(token);
    CHECK(mentions(refused(std::string(token) + " 0\n"), "line 1"));
  }
  CHECK(mentions(refused(""), "0 ranks"));
  CHECK(mentions(refused(good, tiktoken_encoding("cl100k_base")), "3 ranks", "100256"));
  for (std::size_t size = 1; size + 2 < good.size(); ++size) {
    const std::string text = refused(good.substr(0, size));
    const bool at_line = size == 6 || size == 7 || size == 13 || size == 14;
    if (text.empty() != at_line) FAIL_CHECK("cut at " << size << ": " << text);
  }
}

TEST_CASE("published encodings have their special tokens", "[text][bpe][files]") {
  CHECK(tiktoken_encoding("gpt2").special.at(0).id == 50256);
  CHECK(tiktoken_encoding("cl100k_base").special.back().id == 100276);
  CHECK(tiktoken_encoding("o200k_base").ranks == 199998);
  const TiktokenEncoding llama = tiktoken_encoding("llama3");
  CHECK(llama.special.size() == 256);
  CHECK(llama.special.at(6).content == "<|start_header_id|>");
  CHECK(llama.special.at(9).content == "<|eot_id|>");
  CHECK(llama.special.at(10).content == "<|reserved_special_token_5|>");
  CHECK(llama.special.back().content == "<|reserved_special_token_250|>");
  CHECK(mentions(message_of<ConfigError>([] { tiktoken_encoding("gpt3"); }), "gpt3", "o200k_base"));
}

TEST_CASE("tokenizers are found by the names of their files", "[text][bpe][files]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  const auto path = folder.file("small.tiktoken", ranks_of(small_model()));
  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(path); }), "small.tiktoken",
                 "cl100k_base", "name the encoding"));
  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(folder.path()); }), "small.tiktoken"));
  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(path, "o200k_base"); }), "260 ranks"));
  CHECK(mentions(message_of<ConfigError>([&] { load_tokenizer(path, "x"); }), "'x'"));
  folder.file("other.tiktoken", "");
  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(folder.path()); }), "2 rank files"));
  BpeTokenizer(small_model()).save(folder.path());
  CHECK(load_tokenizer(folder.path())->vocab_size() == 261);
  CHECK(load_tokenizer(folder / "tokenizer.json")->vocab_size() == 261);
}

TEST_CASE("GPT-2's pair of files is read", "[text][bpe][files]") {
  if (!unicode_here()) return;
  BpeModel model = small_model();
  Json encoder = json_of(model)["model"]["vocab"];
  encoder["<|endoftext|>"] = 260;
  const std::string merges = "#version: 0.2\na b\nab c\n\xC4\xA0 a\n\xC3\x83 \xC2\xA9\n";
  const auto load = [](const Json& vocabulary, const std::string& list, bool new_names = false) {
    const TemporaryFolder folder;
    folder.file(new_names ? "vocab.json" : "encoder.json", dump_json(vocabulary));
    const auto path = folder.file(new_names ? "merges.txt" : "vocab.bpe", list);
    load_tokenizer(path);
    return load_tokenizer(folder.path());
  };
  const auto refused = [&](const Json& vocabulary, const std::string& list) {
    return message_of<FileError>([&] { load(vocabulary, list); });
  };
  CHECK(load(encoder, merges)->to_json() == bpe_tokenizer_json(model));
  CHECK(load(encoder, merges.substr(0, merges.size() - 1), true)->hash() ==
        BpeTokenizer(model).hash());
  CHECK(mentions(refused(encoder, merges + "a x\n"), "vocab.bpe", "line 6", "\"ax\""));
  CHECK(mentions(refused(encoder, merges + "a b c\n"), "line 6"));
  CHECK(mentions(refused(encoder, merges + "\n"), "line 6"));
  CHECK(mentions(refused(encoder, merges + "a b\r\n"), "line 6"));
  CHECK(mentions(refused(encoder, "#version: 0.2\na b\n"), "1 merges", "4, as"));
  CHECK(mentions(refused(Json::array(), merges), "encoder.json", "vocabulary"));
  const TemporaryFolder folder;
  const auto alone = folder.file("vocab.bpe", merges);
  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(alone); }), "encoder.json"));
}
