// SPDX-License-Identifier: Apache-2.0
#include <fount/io/json.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

std::string refusal(std::string_view text) {
  return message_of<FileError>([&] { parse_json(text, "some/file.json"); });
}
std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

}  // namespace

TEST_CASE("JSON keeps its members in order and comes back as it was", "[io][json]") {
  const char* text = R"({"z":1,"a":[true,false,null,-3,2.5,"é\"\\\n"],"m":{"k":{}}})";
  const Json json = parse_json(text, "t");
  CHECK(dump_json(json, -1) == text);
  CHECK(parse_json(" 7 ", "t") == 7);
  CHECK(parse_json("[]", "t").empty());
  CHECK(parse_json(R"("\ud83d\ude00")", "t") == "😀");
}

TEST_CASE("broken JSON is refused with file and byte", "[io][json]") {
  for (const char* text : {"", " ", "{", "}", "[1,]", "{\"a\"}", "{\"a\":1,}", "nul", "1 2", "[1]x",
                           "\"\n\"", "{1:2}", "01", "[1e999]", "\"\\ud800\"", "'a'", "NaN"}) {
    CAPTURE(text);
    CHECK(mentions(refusal(text), "some/file.json", "byte"));
  }
  CHECK(mentions(refusal("[1, 2, x]"), "byte 8"));
}

TEST_CASE("nesting deeper than the cap is refused before anything is built", "[io][json]") {
  CHECK_NOTHROW(parse_json(nested(max_json_depth), "t"));
  CHECK(mentions(refusal(nested(max_json_depth + 1)), "deeper than 64", "byte 64"));
  CHECK(mentions(refusal(std::string(100'000, '[')), "deeper"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(mentions(refusal(objects), "deeper"));
  // Brackets inside strings are text.
  CHECK_NOTHROW(
      parse_json("[\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"]", "t"));
}

TEST_CASE("a name twice in one object is refused, in two objects it is not", "[io][json]") {
  CHECK(mentions(refusal(R"({"a":1,"b":2,"a":3})"), "\"a\" twice", "byte 16"));
  CHECK(mentions(refusal(R"({"x":[{"a":1,"\u0061":3}]})"), "\"a\" twice"));
  CHECK_NOTHROW(parse_json(R"({"a":{"a":1},"b":{"a":1}})", "t"));
}

TEST_CASE("text that is not UTF-8 is refused in both directions", "[io][json]") {
  for (const char* bytes : {"\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    CHECK(mentions(refusal("[\"" + std::string(bytes) + "\"]"), "byte"));
    CHECK_THROWS_AS(dump_json(Json(bytes)), Error);
  }
}

TEST_CASE("a large object is built in linear time", "[io][json]") {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i)
    text += "\"token" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  CHECK(parse_json(text, "t").size() == 100'000);  // quadratic building takes minutes
}

TEST_CASE("members of the wrong kind are refused by name", "[io][json]") {
  const Json json =
      parse_json(R"({"s":"x","n":7,"f":1.5,"big":18446744073709551615,"neg":-1})", "t");
  CHECK(json_string(json, "s", "t") == "x");
  CHECK(json_integer(json, "n", "t") == 7);
  CHECK(mentions(message_of<FileError>([&] { json_string(json, "n", "file"); }), "file", "\"n\""));
  CHECK(mentions(message_of<FileError>([&] { json_member(json, "gone", "file"); }), "no \"gone\""));
  for (const char* name : {"s", "f", "big", "neg", "gone"}) {
    CHECK_THROWS_AS(json_integer(json, name, "t"), FileError);
  }
  CHECK_THROWS_AS(json_integer(json, "n", "t", 8, 9), FileError);
  CHECK_THROWS_AS(json_member(Json(3), "x", "t"), FileError);
}
