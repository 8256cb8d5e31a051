// SPDX-License-Identifier: Apache-2.0
// What a program says that was built without the optional libraries: this one is.
#include <fount/data/prepare.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

static_assert(!has_gzip && !has_zstd && !has_parquet);

TEST_CASE("compressed text is refused with the name of the package", "[bare]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::filesystem::path& input) {
    PrepareOptions options;
    options.input = input;
    options.output = folder / "out";
    return message_of<FileError>([&] { prepare(options); });
  };
  CHECK(mentions(refusal(folder.file("a.txt.gz", "\x1F\x8B\x08 and more")), "a.txt.gz",
                 "gzip-compressed", "built without zlib", "zlib1g-dev"));
  CHECK(mentions(refusal(folder.file("a.jsonl.zst", "\x28\xB5\x2F\xFD and more")), "a.jsonl.zst",
                 "zstd-compressed", "built without libzstd", "libzstd-dev"));
  CHECK(mentions(refusal(folder.file("a.parquet", "PAR1 and more")), "a.parquet", "a parquet file",
                 "built without Apache Arrow", "README"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
  CHECK(refusal(folder.file("a.txt", "plain text is read")).empty());
}
