// SPDX-License-Identifier: Apache-2.0
#include <fount/text/load_tokenizer.hpp>

#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::string refusal(const Json& json) {
  return message_of<FileError>([&] { parse_tokenizer(dump_json(json), "tokenizer.json"); });
}

}  // namespace

TEST_CASE("character ids follow the order of the code points", "[text][tokenizer]") {
  const auto tokenizer = CharacterTokenizer::of_text(
      "b\xC3\xA9"
      "a\nb\xF0\x9F\x98\x80");
  CHECK(tokenizer.vocab_size() == 5);
  CHECK(tokenizer.kind() == "char");
  CHECK(tokenizer.encode("\n") == std::vector<std::int32_t>{0});
  CHECK(tokenizer.encode("ab\xC3\xA9\xF0\x9F\x98\x80") == std::vector<std::int32_t>{1, 2, 3, 4});
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.token(3) == "\xC3\xA9");
  const std::string text = "b\xF0\x9F\x98\x80\n\n\xC3\xA9";
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
}

TEST_CASE("a character outside the vocabulary is named with its place", "[text][tokenizer]") {
  const auto tokenizer = CharacterTokenizer::of_text("abc");
  const std::string text = message_of<Error>([&] { tokenizer.encode("ab\xC3\xA9"); });
  CHECK(mentions(text, "'\xC3\xA9' (U+00E9)", "byte 2", "3 characters"));
  CHECK(mentions(message_of<Error>([&] { tokenizer.encode("\xF4\x8F\xBF\xBF"); }), "U+10FFFF"));
  CHECK(mentions(message_of<Error>([&] { tokenizer.encode("a\xFF"); }), "not UTF-8", "byte 1"));
  CHECK(mentions(message_of<FileError>([] { CharacterTokenizer::of_text("ab\x80"); }), "offset 2"));
  for (const std::int32_t id : {-1, 3, 1 << 30}) CHECK_THROWS_AS(tokenizer.token(id), Error);
  CHECK_THROWS_AS(CharacterTokenizer({U'a', U'a'}), Error);
}

TEST_CASE("the byte alphabet is GPT-2's", "[text][tokenizer]") {
  constexpr auto alphabet = byte_alphabet();
  CHECK(alphabet[' '] == 0x120);
  CHECK(alphabet['\n'] == 0x10A);
  CHECK(alphabet['!'] == '!');
  CHECK(alphabet[0] == 0x100);
  CHECK(alphabet[173] == 0x143);
  CHECK(alphabet[255] == 255);
  CHECK(std::set<char32_t>(alphabet.begin(), alphabet.end()).size() == 256);
}

TEST_CASE("bytes of any kind survive the byte tokenizer", "[text][tokenizer]") {
  const ByteTokenizer tokenizer;
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto ids = tokenizer.encode(all);
  for (std::int32_t byte = 0; byte < 256; ++byte)
    CHECK(ids[static_cast<std::size_t>(byte)] == byte);
  CHECK(tokenizer.decode(ids) == all);
  CHECK(tokenizer.encode(std::string_view("a\0b", 3)) == std::vector<std::int32_t>{97, 0, 98});
  CHECK_THROWS_AS(tokenizer.token(256), Error);
}

TEST_CASE("decoding token by token never shows half a character", "[text][tokenizer]") {
  const ByteTokenizer tokenizer;
  StreamingDecoder decoder(tokenizer);
  std::string text;
  for (const std::int32_t id : tokenizer.encode("\xF0\x9F\x98\x80")) {
    CHECK(text.empty());
    text += decoder.push(id);
  }
  CHECK(text == "\xF0\x9F\x98\x80");
  CHECK(decoder.push(0xC3).empty());
  CHECK(decoder.finish() == "\xEF\xBF\xBD");
}

TEST_CASE("tokenizers come back from their folder", "[text][tokenizer]") {
  const TemporaryFolder folder;
  const auto characters =
      CharacterTokenizer::of_text("\"\\\n\t {}\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x01");
  characters.save(folder.path(), 64);
  const auto loaded = load_tokenizer(folder.path());
  CHECK(loaded->kind() == "char");
  CHECK(loaded->to_json() == characters.to_json());
  CHECK(loaded->hash() == characters.hash());
  CHECK(mentions(content_of(folder / "tokenizer_config.json"), "PreTrainedTokenizerFast",
                 "\"model_max_length\": 64"));
  CHECK_NOTHROW(parse_json(content_of(folder / "tokenizer_config.json"), "t"));

  const ByteTokenizer bytes;
  bytes.save(folder.path());
  const auto again = load_tokenizer(folder / "tokenizer.json");
  CHECK(again->kind() == "byte");
  CHECK(again->to_json() == bytes.to_json());
  CHECK(again->hash() != characters.hash());
  CHECK_FALSE(mentions(content_of(folder / "tokenizer_config.json"), "model_max_length"));

  CHECK(mentions(message_of<FileError>([&] { load_tokenizer(folder / "absent"); }), "absent"));
}

TEST_CASE("a byte tokenizer with another order of ids is read as it is", "[text][tokenizer]") {
  std::array<char, 256> reversed{};
  for (int id = 0; id < 256; ++id)
    reversed[static_cast<std::size_t>(id)] = static_cast<char>(255 - id);
  const ByteTokenizer tokenizer(reversed);
  const auto loaded = parse_tokenizer(tokenizer.to_json(), "t");
  CHECK(loaded->encode("a") == std::vector<std::int32_t>{255 - 'a'});
  CHECK(loaded->decode(loaded->encode("xyz")) == "xyz");
  CHECK(loaded->hash() == tokenizer.hash());
  CHECK(loaded->hash() != ByteTokenizer().hash());
}

TEST_CASE("the hash of a tokenizer sees tokens, not the layout of the file", "[text][tokenizer]") {
  const auto tokenizer = CharacterTokenizer::of_text("abc");
  const std::string one_line = dump_json(parse_json(tokenizer.to_json(), "t"), -1);
  CHECK(parse_tokenizer(one_line, "t")->hash() == tokenizer.hash());
  CHECK(CharacterTokenizer::of_text("abd").hash() != tokenizer.hash());
  CHECK(CharacterTokenizer::of_text("ab").hash() != tokenizer.hash());
}

TEST_CASE("tokenizers that cannot be reproduced are refused by name", "[text][tokenizer]") {
  const Json good = parse_json(CharacterTokenizer::of_text("abc").to_json(), "t");
  CHECK(refusal(good).empty());
  const auto changed = [&](auto change) {
    Json json = good;
    change(json);
    return refusal(json);
  };
  CHECK(mentions(changed([](Json& j) { j["model"]["type"] = "WordLevel"; }), "WordLevel",
                 "char or byte"));
  CHECK(mentions(changed([](Json& j) { j["model"]["type"] = "WordPiece"; }), "unk_token"));
  CHECK(mentions(changed([](Json& j) { j["model"]["type"] = "Unigram"; }), "Unigram"));
  CHECK(mentions(changed([](Json& j) { j["model"]["merges"] = {{"a", "b"}}; }), "1 merges"));
  CHECK(mentions(changed([](Json& j) { j["model"]["unk_token"] = "a"; }), "unk_token"));
  CHECK(mentions(changed([](Json& j) { j["model"]["byte_fallback"] = true; }), "byte_fallback"));
  CHECK(
      mentions(changed([](Json& j) { j["model"]["continuing_subword_prefix"] = "##"; }), "prefix"));
  CHECK(changed([](Json& j) { j["model"]["continuing_subword_prefix"] = ""; }).empty());
  CHECK(mentions(changed([](Json& j) { j["added_tokens"] = {{{"id", 3}}}; }), "added"));
  CHECK(mentions(changed([](Json& j) { j["normalizer"] = {{"type", "NFC"}}; }), "NFC"));
  CHECK(mentions(changed([](Json& j) {
                   j["pre_tokenizer"] = {{"type", "Whitespace"}};
                 }),
                 "Whitespace"));
  CHECK(mentions(changed([](Json& j) {
                   j["post_processor"] = {{"type", "TemplateProcessing"}};
                 }),
                 "TemplateProcessing"));
  CHECK(mentions(changed([](Json& j) { j["decoder"] = nullptr; }), "decoder"));
  CHECK(
      mentions(changed([](Json& j) { j["model"]["vocab"]["ab"] = 3; }), "more than one character"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"][""] = 3; }), "character"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = 1; }), "once"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = 4294967295U; }), "once"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = -1; }), "once"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"]["a"] = "0"; }), "once"));
  CHECK(mentions(changed([](Json& j) { j["model"]["vocab"] = Json::object(); }), "vocabulary"));
  CHECK(mentions(changed([](Json& j) { j["model"].erase("vocab"); }), "\"vocab\""));
  CHECK(mentions(changed([](Json& j) { j.erase("model"); }), "\"model\""));
  CHECK(mentions(refusal(Json::array()), "model"));
  Json bytes = parse_json(ByteTokenizer().to_json(), "t");
  bytes["pre_tokenizer"]["add_prefix_space"] = true;
  CHECK(mentions(refusal(bytes), "adds a space"));
  bytes["pre_tokenizer"]["add_prefix_space"] = false;
  bytes["model"]["vocab"] = {{"a", 0}, {"b", 1}};
  CHECK(mentions(refusal(bytes), "byte vocabulary of 2 tokens"));
}

TEST_CASE("a tokenizer file cut anywhere is refused", "[text][tokenizer]") {
  const std::string text = CharacterTokenizer::of_text("ab").to_json();
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CHECK_THROWS_AS(parse_tokenizer(std::string_view(text).substr(0, size), "t"), FileError);
  }
}
