// SPDX-License-Identifier: Apache-2.0
#include <fount/io/hash.hpp>

#include "support/catch.hpp"

using namespace fount;

TEST_CASE("FNV-1a gives the published values", "[io][hash]") {
  CHECK(hash64("") == 0xcbf29ce484222325ULL);
  CHECK(hash64("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(hash64("foobar") == 0x85944171f73967e8ULL);
}

TEST_CASE("a hash does not see how its bytes were cut", "[io][hash]") {
  CHECK(Hash64().add("foo").add("").add("bar").value() == hash64("foobar"));
  CHECK(Hash64().add(std::uint64_t{0x61}).value() ==
        hash64(std::string_view("a\0\0\0\0\0\0\0", 8)));
}

TEST_CASE("hashes go through text and back", "[io][hash]") {
  CHECK(to_hex(0) == "0000000000000000");
  CHECK(to_hex(0x0123456789abcdefULL) == "0123456789abcdef");
  CHECK(from_hex("ffffffffffffffff") == ~std::uint64_t{0});
  CHECK_FALSE(from_hex("fffffffffffffff"));
  CHECK_FALSE(from_hex("fffffffffffffffff"));
  CHECK_FALSE(from_hex("-fffffffffffffff"));
  CHECK_FALSE(from_hex("0x00000000000000"));
}
