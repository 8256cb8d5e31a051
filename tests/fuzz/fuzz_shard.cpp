// SPDX-License-Identifier: Apache-2.0
// A token shard that is taken has the tokens that it says, all of them in the file.
#include <algorithm>
#include <string>
#include <vector>

#include <fount/data/loader.hpp>
#include <fount/data/shards.hpp>

#include "fuzz/fuzz.hpp"

using namespace fount;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const test::MemoryFile file(test::as_text(data, size));
  try {
    const TokenShard shard(file.path());
    test::must(shard.count() <= static_cast<std::int64_t>(size) / 2, "tokens are in the file");
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.count()));
    const auto limit = static_cast<std::int32_t>(max_shard_tokens);
    if (!ids.empty()) {
      shard.copy(shard.count() - 1, 1, limit, ids.data());
      shard.copy(0, shard.count(), limit, ids.data());
    }
    LoaderOptions options;
    options.seq_len = 3;
    options.vocab_size = 1000;
    options.document_start = 1;
    TokenLoader loader(std::vector{file.path()}, options);
    std::int32_t inputs[3];
    std::int32_t labels[3];
    std::int32_t documents[3];
    for (std::int64_t i = 0; i < std::min<std::int64_t>(loader.windows_per_epoch(), 50); ++i) {
      loader.fill(i, {inputs, labels, documents});
      for (const std::int32_t id : inputs) test::must(id >= 0 && id < 1000, "ids are checked");
    }
  } catch (const Error&) {
  }
  return 0;
}
