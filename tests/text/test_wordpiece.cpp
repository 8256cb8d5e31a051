// SPDX-License-Identifier: Apache-2.0
#include <fount/text/wordpiece.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/json.hpp>
#include <fount/text/load_tokenizer.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Ids = std::vector<std::int32_t>;

WordPieceModel small_model() {
  WordPieceModel model;
  model.tokens = {"[PAD]",    "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff",  "##able",
                  "##a",      "the",   "##s",   ".",     ",",      "'",  "\u4E2D", "cafe",
                  "##\u00E9", "t",     "do",    "not",   "#",      "##", "a"};
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    model.special.push_back(
        {.content = name, .id = static_cast<std::int32_t>(model.special.size())});
  }
  return model;
}

std::string refusal(const Json& json) {
  return message_of<FileError>([&] { parse_tokenizer(dump_json(json), "tokenizer.json"); });
}

}  // namespace

TEST_CASE("words are spelled with the longest pieces from the left", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer(small_model());
  CHECK(tokenizer.kind() == "wordpiece");
  CHECK(tokenizer.vocab_size() == 23);
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.encode("unaffable") == Ids{5, 6, 7});
  CHECK(tokenizer.encode("UNA the.") == Ids{5, 8, 9, 11});
  CHECK(tokenizer.encode("Caf\u00E9\u4E2D\u4E2D") == Ids{15, 14, 14});
  CHECK(tokenizer.encode("thes, 't#") == Ids{9, 10, 12, 13, 17, 20});
  CHECK(tokenizer.encode("##") == Ids{20, 20});
  // What cannot be spelled to its end is unknown as a whole: not "un" and something.
  CHECK(tokenizer.encode("unx a xa unaffx") == Ids{1, 22, 1, 1});
  CHECK(tokenizer.unknown_token() == 1);
}

TEST_CASE("accents stay where the model is cased", "[text][wordpiece]") {
  if (!unicode_here()) return;
  WordPieceModel model = small_model();
  model.text.lowercase = false;
  const WordPieceTokenizer tokenizer(model);
  CHECK(tokenizer.encode("cafe\u00E9 Cafe") == Ids{15, 16, 1});
  CHECK(tokenizer.hash() != WordPieceTokenizer(small_model()).hash());
}

TEST_CASE("words over the limit of characters are unknown", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer(small_model());
  const auto word = [](std::size_t n) { return std::string(n, 'a'); };
  CHECK(tokenizer.encode(word(100)).size() == 100);
  CHECK(tokenizer.encode(word(101)) == Ids{1});
  WordPieceModel model = small_model();
  model.max_word_characters = 3;
  model.text.lowercase = false;  // characters count, not bytes
  const std::string accents = "\u00E9\u00E9";
  CHECK(WordPieceTokenizer(model).encode("a" + accents) == Ids{22, 16, 16});
  CHECK(WordPieceTokenizer(model).encode("aa" + accents) == Ids{1});
}

TEST_CASE("special tokens are recognised only where they are allowed", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer(small_model());
  CHECK(tokenizer.encode("[MASK] the") == Ids{1, 1, 1, 9});
  CHECK(tokenizer.encode("[MASK]the [SEP]", AllowedSpecial::all()) == Ids{4, 9, 3});
  CHECK(tokenizer.encode("[MASK]the[SEP]", AllowedSpecial::names({"[SEP]"})) == Ids{1, 1, 1, 9, 3});
  CHECK_THROWS_AS(tokenizer.encode("x", AllowedSpecial::names({"[X]"})), Error);
  CHECK(tokenizer.find_special("[CLS]") == 2);
  CHECK(tokenizer.end_of_text() == 3);
}

TEST_CASE("a text may be cut where no id changes", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer(small_model());
  const std::string text = "unaffable the\nun [MA SK] thes";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::size_t cut = tokenizer.next_cut(text, at);
    CHECK(cut >= at);
    Ids both = tokenizer.encode(text.substr(0, cut));
    tokenizer.encode(text.substr(cut), both);
    CHECK(both == tokenizer.encode(text));
  }
}

TEST_CASE("decoding joins pieces and puts punctuation to the word", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const WordPieceTokenizer tokenizer(small_model());
  CHECK(tokenizer.decode(Ids{5, 6, 7, 9, 10, 11, 12}) == "unaffable thes.,");
  CHECK(tokenizer.decode(Ids{7, 9}) == "##able the");
  CHECK(tokenizer.decode(Ids{2, 9, 3}) == "[CLS] the [SEP]");
  CHECK(tokenizer.decode(Ids{9, 13, 10}) == "the 's");
  CHECK(tokenizer.decode(Ids{}).empty());
  CHECK_THROWS_AS(tokenizer.decode(Ids{23}), Error);
  StreamingDecoder stream(tokenizer);
  std::string text;
  for (const std::int32_t id : {9, 5, 7, 11}) text += stream.push(id);
  CHECK(text + stream.finish() == "the unable.");

  WordPieceModel model = small_model();
  model.cleanup = false;
  CHECK(WordPieceTokenizer(model).decode(Ids{9, 11}) == "the .");
}

TEST_CASE("vocabularies that cannot work are refused", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const auto refused = [](auto change) {
    WordPieceModel model = small_model();
    change(model);
    return message_of<Error>([&] { WordPieceTokenizer{model}; });
  };
  CHECK(mentions(refused([](auto& m) { m.tokens[9] = "a"; }), "id 22", "'a'", "twice"));
  CHECK(mentions(refused([](auto& m) { m.tokens[9] = ""; }), "id 9", "empty"));
  CHECK(mentions(refused([](auto& m) { m.unknown = "[unk]"; }), "lacks '[unk]'"));
  CHECK(mentions(refused([](auto& m) { m.special[0].id = 7; }), "'[PAD]' with id 7"));
}

TEST_CASE("WordPiece tokenizers are saved and loaded as they are", "[text][wordpiece]") {
  if (!unicode_here()) return;
  WordPieceModel model = small_model();
  model.text.strip_accents = false;
  model.cleanup = false;
  model.max_word_characters = 50;
  const WordPieceTokenizer tokenizer(model);
  const TemporaryFolder folder;
  tokenizer.save(folder.path(), 512);
  const auto loaded = load_tokenizer(folder.path());
  CHECK(loaded->to_json() == tokenizer.to_json());
  CHECK(loaded->hash() == tokenizer.hash());
  const std::string text = "Unaffable caf\u00E9, " + std::string(51, 'a') + " [MASK]";
  CHECK(loaded->encode(text, AllowedSpecial::all()) ==
        tokenizer.encode(text, AllowedSpecial::all()));
  CHECK(mentions(content_of(folder / "tokenizer_config.json"), "\"unk_token\": \"[UNK]\"",
                 "\"mask_token\": \"[MASK]\"", "\"pad_token\"", "\"cls_token\"", "\"sep_token\"",
                 "PreTrainedTokenizerFast", "512"));
  CHECK_NOTHROW(parse_json(content_of(folder / "tokenizer_config.json"), "t"));

  model.special.clear();
  const Json json = parse_json(WordPieceTokenizer(model).to_json(), "t");
  CHECK(json["post_processor"].is_null());
  CHECK(json["added_tokens"].empty());
}

TEST_CASE("vocab.txt is read with the options beside it", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  const std::string text = wordpiece_vocabulary_text(small_model());
  CHECK(text.starts_with("[PAD]\n[UNK]\n"));
  folder.file("vocab.txt", text);
  const auto uncased = load_tokenizer(folder.path());
  CHECK(uncased->vocab_size() == 23);
  CHECK(uncased->encode("CAF\u00C9") == Ids{15});
  CHECK(uncased->special_tokens().size() == 5);
  folder.file("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": null})");
  CHECK(load_tokenizer(folder / "vocab.txt")->encode("CAFE cafe\u00E9") == Ids{1, 15, 16});
  folder.file("tokenizer_config.json", R"({"do_lower_case": "no"})");
  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(folder.path()); }), "do_lower_case",
                 "true or false"));
  std::filesystem::remove(folder / "tokenizer_config.json");

  const auto refused = [&](std::string_view content) {
    folder.file("vocab.txt", content);
    return message_of<FileError>([&] { load_tokenizer(folder.path()); });
  };
  CHECK(refused("[UNK]\r\na\r\n").empty());
  CHECK(refused("[UNK]").empty());
  CHECK(mentions(refused(""), "vocab.txt", "no token"));
  CHECK(mentions(refused("[UNK]\n\na\n"), "line 2 empty"));
  CHECK(mentions(refused("[UNK]\n\xFF\n"), "line 2", "UTF-8"));
  CHECK(mentions(refused("[UNK]\na\na\n"), "vocab.txt", "twice"));
  CHECK(mentions(refused("a\nb\n"), "vocab.txt", "[UNK]"));
}

TEST_CASE("WordPiece files that cannot be reproduced are refused by name", "[text][wordpiece]") {
  if (!unicode_here()) return;
  const Json good = parse_json(WordPieceTokenizer(small_model()).to_json(), "t");
  const auto changed = [&](auto change) {
    Json json = good;
    change(json);
    return refusal(json);
  };
  CHECK(refusal(good).empty());
  CHECK(changed([](Json& j) { j["normalizer"] = nullptr; }).empty());
  CHECK(changed([](Json& j) { j["decoder"] = nullptr; }).empty());
  CHECK(changed([](Json& j) { j["post_processor"] = nullptr; }).empty());
  CHECK(changed([](Json& j) {
          j["post_processor"] = {
              {"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
        }).empty());
  CHECK(changed([](Json& j) {
          j["post_processor"] =
              Json::parse(nlohmann::json::parse(j["post_processor"].dump()).dump());
        }).empty());  // another order of the members
  CHECK(mentions(changed([](Json& j) { j["post_processor"]["single"].erase(0); }),
                 "TemplateProcessing"));
  CHECK(mentions(changed([](Json& j) { j["normalizer"] = {{"type", "NFC"}}; }), "NFC"));
  CHECK(mentions(changed([](Json& j) { j["normalizer"]["lowercase"] = 1; }), "lowercase"));
  CHECK(mentions(changed([](Json& j) {
                   j["pre_tokenizer"] = {{"type", "Whitespace"}};
                 }),
                 "Whitespace"));
  CHECK(mentions(changed([](Json& j) { j["pre_tokenizer"] = nullptr; }), "null"));
  CHECK(mentions(changed([](Json& j) { j["decoder"]["prefix"] = "@@"; }), "@@"));
  CHECK(mentions(changed([](Json& j) { j["decoder"] = {{"type", "Fuse"}}; }), "Fuse"));
  CHECK(mentions(changed([](Json& j) { j["model"]["unk_token"] = "x"; }), "lacks 'x'"));
  CHECK(mentions(changed([](Json& j) { j["model"].erase("unk_token"); }), "unk_token"));
  CHECK(mentions(changed([](Json& j) { j["model"]["continuing_subword_prefix"] = ""; }), "prefix"));
  CHECK(
      mentions(changed([](Json& j) { j["model"]["max_input_chars_per_word"] = 0; }), "max_input"));
  CHECK(mentions(changed([](Json& j) { j["model"]["max_input_chars_per_word"] = 1e9; }),
                 "max_input"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = 4294967295U; }),
                 "each of the ids"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = 0; }), "each of the ids"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"][""] = 23; }), "with a name"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"] = Json::object(); }), "no vocabulary"));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"][0]["special"] = false; }), "not special"));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"][0]["lstrip"] = true; }), "lstrip"));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"][0]["id"] = 99; }), "[PAD]", "99"));
  CHECK(mentions(changed([](Json& j) { j["added_tokens"] = "x"; }), "added_tokens"));
}

TEST_CASE("a WordPiece file cut anywhere is refused", "[text][wordpiece]") {
  if (!unicode_here()) return;
  WordPieceModel model;
  model.tokens = {"[UNK]", "a", "##b"};
  const std::string text = WordPieceTokenizer(model).to_json();
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CHECK_THROWS_AS(parse_tokenizer(std::string_view(text).substr(0, size), "t"), FileError);
  }
}
