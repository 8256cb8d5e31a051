// SPDX-License-Identifier: Apache-2.0
#include <fount/io/safetensors.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// A file from its header text and its data.
std::string assemble(const std::string& header, const std::string& data) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}
std::string refusal(const TemporaryFolder& folder, const std::string& content) {
  const auto path = folder.file("x.safetensors", content);
  return message_of<FileError>([&] { SafetensorsReader reader(path); });
}
std::vector<float> floats(const StoredTensor& tensor, std::size_t count) {
  std::vector<float> values(count);
  read_values(std::span<float>(values), tensor);
  return values;
}
std::string small_file(const TemporaryFolder& folder) {
  SafetensorsWriter writer(folder / "small.safetensors");
  writer.set_metadata("step", "7");
  writer.declare("b", TensorType::f32, {2, 3});
  writer.declare("empty", TensorType::bf16, {0, 4});
  writer.declare("a", TensorType::u8, {5});
  writer.declare("scalar", TensorType::f64, {});
  const std::vector<float> b = {1, 2, 3, 4, 5, 6};
  writer.write_values<float>("b", b);
  const std::string bytes = "hello";
  writer.write("a", std::as_bytes(std::span(bytes.data(), 2)));
  writer.write("a", std::as_bytes(std::span(bytes.data() + 2, 3)));
  const double pi = 3.25;
  writer.write_values<double>("scalar", std::span(&pi, 1));
  writer.finish();
  return content_of(folder / "small.safetensors");
}

}  // namespace

TEST_CASE("safetensors come back as they were written", "[io][safetensors]") {
  const TemporaryFolder folder;
  const std::string content = small_file(folder);
  CHECK(folder.count() == 1);
  std::uint64_t header = 0;
  std::memcpy(&header, content.data(), 8);
  CHECK((8 + header) % 64 == 0);
  const SafetensorsReader reader(folder / "small.safetensors");
  CHECK(reader.tensors().size() == 4);
  CHECK(reader.metadata() == std::map<std::string, std::string>{{"format", "pt"}, {"step", "7"}});
  CHECK(floats(reader.at("b"), 6) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(reader.at("b").info.shape == TensorShape{2, 3});
  CHECK(reader.at("empty").data.empty());
  CHECK(reader.at("a").info.type == TensorType::u8);
  CHECK(std::memcmp(reader.at("a").data.data(), "hello", 5) == 0);
  CHECK(floats(reader.at("scalar"), 1)[0] == 3.25F);
  CHECK(reader.find("c") == nullptr);
  CHECK(mentions(message_of<FileError>([&] { reader.at("c"); }), "small.safetensors", "'c'"));
  const TensorShape wanted = {3, 2};
  CHECK(
      mentions(message_of<FileError>([&] { reader.at("b", wanted); }), "'b'", "[2, 3]", "[3, 2]"));
  std::vector<float> five(5);
  CHECK_THROWS_AS(read_values(std::span<float>(five), reader.at("b")), ShapeError);
  CHECK(
      mentions(message_of<FileError>([&] { read_values(std::span<float>(five), reader.at("a")); }),
               "'a'", "U8"));
}

TEST_CASE("every float type converts into every other", "[io][safetensors]") {
  const TemporaryFolder folder;
  const std::vector<double> values = {
      0.0,     -0.0, 1.0,  -2.5,  0.1,
      65504.0, 3e5,  1e-7, 1e300, std::numeric_limits<double>::infinity()};
  const std::pair<const char*, TensorType> types[] = {{"f64", TensorType::f64},
                                                      {"f32", TensorType::f32},
                                                      {"f16", TensorType::f16},
                                                      {"bf16", TensorType::bf16}};
  SafetensorsWriter writer(folder / "f");
  const auto count = static_cast<std::int64_t>(values.size());
  for (const auto& [name, type] : types) writer.declare(name, type, {count});
  for (const auto& [name, type] : types) writer.write_values<double>(name, values);
  writer.finish();
  const SafetensorsReader reader(folder / "f");
  std::vector<double> d(values.size());
  std::vector<bf16> b(values.size());
  read_values(std::span<double>(d), reader.at("f64"));
  CHECK(d == values);
  read_values(std::span<double>(d), reader.at("f32"));
  read_values(std::span<bf16>(b), reader.at("bf16"));
  const auto halves = floats(reader.at("f16"), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    CHECK(d[i] == static_cast<double>(value));
    CHECK(b[i] == bf16(value));
    CHECK(halves[i] == static_cast<float>(fp16(value)));
  }
}

TEST_CASE("a long tensor is converted piece by piece without loss", "[io][safetensors]") {
  const TemporaryFolder folder;
  std::vector<float> values(10'007);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.5F;
  SafetensorsWriter writer(folder / "f");
  writer.declare("w", TensorType::f64, {static_cast<std::int64_t>(values.size())});
  writer.write_values<float>("w", values);
  writer.finish();
  CHECK(floats(SafetensorsReader(folder / "f").at("w"), values.size()) == values);
}

TEST_CASE("a safetensors file cut anywhere is refused", "[io][safetensors]") {
  const TemporaryFolder folder;
  const std::string content = small_file(folder);
  for (std::size_t size = 0; size < content.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(refusal(folder, content.substr(0, size)).empty());
  }
  CHECK(refusal(folder, content).empty());
  CHECK(mentions(refusal(folder, content + "x"), "x.safetensors", "bytes of data"));
}

TEST_CASE("a safetensors header with any bit flipped is refused or reads in bounds",
          "[io][safetensors]") {
  const TemporaryFolder folder;
  const std::string content = small_file(folder);
  std::uint64_t header = 0;
  std::memcpy(&header, content.data(), 8);
  for (std::size_t at = 0; at < 8 + header; ++at) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    const auto path = folder.file("x.safetensors", damaged);
    try {
      const SafetensorsReader reader(path);
      unsigned sum = 0;
      for (const TensorInfo& info : reader.tensors()) {
        for (const std::byte b : reader.at(info.name).data) sum += std::to_integer<unsigned>(b);
      }
      CHECK(sum < 100'000U);
    } catch (const FileError&) {
      SUCCEED();
    }
  }
}

TEST_CASE("hostile safetensors headers are refused", "[io][safetensors]") {
  const TemporaryFolder folder;
  CHECK(mentions(refusal(folder, std::string(8, '\xFF')), "header"));
  CHECK(mentions(refusal(folder, std::string(4096, '\xFF')), "header"));
  CHECK(mentions(refusal(folder, assemble("", "")), "'{'"));
  CHECK(mentions(refusal(folder, assemble(" {}", "")), "'{'"));
  CHECK(mentions(refusal(folder, assemble("{}", "x")), "0 as the header says"));
  CHECK(refusal(folder, assemble("{}", "")).empty());
  std::string beyond = assemble("{}", "");  // a whole header, but its length says more
  beyond[0] = 3;
  CHECK(mentions(refusal(folder, beyond), "a header of 3 bytes in a file of 10"));
  CHECK(refusal(folder, assemble("{}   ", "")).empty());
  const std::string big = "{\"a\":" + std::string(100'000, '[');
  CHECK(mentions(refusal(folder, assemble(big, "")), "deeper"));

  const std::string data(16, 'd');
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& at) {
    return "\"t\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + at + "}";
  };
  CHECK(refusal(folder, assemble("{" + entry("\"F32\"", "[4]", "[0,16]") + "}", data)).empty());
  const std::string bad[] = {
      entry("\"F32\"", "[4]", "[16,0]"),  // reversed
      entry("\"F32\"", "[4]", "[0,15]"),  // not the size of the shape
      entry("\"F32\"", "[4]", "[0,32]"),
      entry("\"F32\"", "[8]", "[0,32]"),                      // beyond the file
      entry("\"F32\"", "[3]", "[4,16]"),                      // a hole at the start
      entry("\"F32\"", "[2]", "[0,8]"),                       // bytes left over
      entry("\"F32\"", "[8589934592,8589934592]", "[0,16]"),  // 2^66 elements wrap to 0
      entry("\"F32\"", "[4611686018427387904]", "[0,0]"),     // 2^64 bytes wrap to 0
      entry("\"F32\"", "[-4]", "[0,16]"),
      entry("\"F32\"", "[4.0]", "[0,16]"),
      entry("\"F32\"", "[18446744073709551615]", "[0,16]"),
      entry("\"F32\"", "4", "[0,16]"),
      entry("\"F32\"", "[\"4\"]", "[0,16]"),
      entry("\"F32\"", "[4]", "[0,16,16]"),
      entry("\"F32\"", "[4]", "[0]"),
      entry("\"F32\"", "[4]", "[0,18446744073709551632]"),
      entry("\"F31\"", "[4]", "[0,16]"),
      entry("\"f32\"", "[4]", "[0,16]"),
      entry("7", "[4]", "[0,16]"),
      "\"t\":{\"shape\":[4],\"data_offsets\":[0,16]}",
      "\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,16]}",
      "\"t\":{\"dtype\":\"F32\",\"shape\":[4]}",
      "\"t\":[]",
      "\"t\":null",
      "\"t\":7",
      entry("\"F32\"", "[4]", "[0,16]") + "," + entry("\"F32\"", "[4]", "[0,16]"),  // twice
      "\"__metadata__\":7," + entry("\"F32\"", "[4]", "[0,16]"),
      "\"__metadata__\":{\"a\":1}," + entry("\"F32\"", "[4]", "[0,16]"),
      "\"s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," +
          entry("\"F32\"", "[3]", "[4,16]"),  // overlap
      "\"s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}," +
          entry("\"F32\"", "[3]", "[4,16]"),  // a hole in the middle
  };
  for (const std::string& header : bad) {
    CAPTURE(header);
    CHECK(mentions(refusal(folder, assemble("{" + header + "}", data)), "x.safetensors"));
  }
  CHECK(mentions(refusal(folder, assemble("{" + bad[0] + "}", data)), "'t'"));
}

TEST_CASE("a safetensors writer insists on order and completeness", "[io][safetensors]") {
  const TemporaryFolder folder;
  const std::vector<float> two = {1, 2};
  {
    SafetensorsWriter writer(folder / "f");
    writer.declare("a", TensorType::f32, {2});
    writer.declare("b", TensorType::i32, {1});
    CHECK_THROWS_AS(writer.declare("a", TensorType::f32, {1}), Error);
    CHECK_THROWS_AS(writer.declare("__metadata__", TensorType::f32, {1}), Error);
    CHECK_THROWS_AS(writer.declare("n", TensorType::f32, {-1}), Error);
    CHECK_THROWS_AS(writer.declare("n", TensorType::f32, {1LL << 33, 1LL << 33}), Error);
    CHECK_THROWS_AS(writer.write_values<float>("b", two), Error);
    writer.write_values<float>("a", two);
    CHECK_THROWS_AS(writer.write_values<float>("a", two), Error);  // it is complete
    CHECK_THROWS_AS(writer.declare("c", TensorType::f32, {1}), Error);
    CHECK_THROWS_AS(writer.write_values<float>("b", two), Error);  // not a float type
    CHECK(mentions(message_of<Error>([&] { writer.finish(); }), "'b'", "4 bytes"));
  }
  CHECK(folder.count() == 0);
  SafetensorsWriter writer(folder / "nothing");
  writer.finish();
  CHECK(SafetensorsReader(folder / "nothing").tensors().empty());
}

TEST_CASE("names that are not UTF-8 are not written", "[io][safetensors]") {
  const TemporaryFolder folder;
  SafetensorsWriter writer(folder / "f");
  writer.declare("\xFF", TensorType::f32, {0});
  CHECK_THROWS_AS(writer.finish(), Error);
}
