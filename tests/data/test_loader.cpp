// SPDX-License-Identifier: Apache-2.0
#include <fount/data/loader.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

constexpr std::int32_t vocab_size = 10'000;

/// Shards of the given sizes whose tokens count 1000·k, 1000·k + 1, ... in shard k.
std::vector<std::filesystem::path> counting_shards(const TemporaryFolder& folder,
                                                   const std::vector<std::int32_t>& sizes) {
  std::vector<std::filesystem::path> paths;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    paths.push_back(folder / ("s_" + std::to_string(k) + ".bin"));
    ShardWriter writer(paths.back(), {vocab_size, 11, 0});
    std::vector<std::int32_t> ids(static_cast<std::size_t>(sizes[k]));
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(1000 * k));
    writer.write(ids);
    writer.finish();
  }
  return paths;
}
LoaderOptions options_for(std::int64_t seq_len) {
  return {.seq_len = seq_len,
          .vocab_size = vocab_size,
          .seed = 7,
          .shuffle = true,
          .tokenizer_hash = 0};
}
/// First token of each window of the epoch that begins at sample `begin`; checks each sample.
std::vector<std::int32_t> epoch_of(const TokenLoader& loader, std::int64_t begin) {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(loader.seq_len()));
  std::vector<std::int32_t> labels(inputs.size());
  bool in_order = true;
  for (std::int64_t i = 0; i < loader.windows_per_epoch(); ++i) {
    loader.fill(begin + i, inputs.data(), labels.data());
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      in_order &=
          inputs[t] == inputs[0] + static_cast<std::int32_t>(t) && labels[t] == inputs[t] + 1;
    }
    first.push_back(inputs[0]);
  }
  CHECK(in_order);
  return first;
}

}  // namespace

TEST_CASE("each window comes exactly once per epoch, from shards of awkward sizes",
          "[data][loader]") {
  for (const std::int32_t T : {1, 2, 8, 13}) {
    CAPTURE(T);
    const TemporaryFolder folder;
    const std::vector<std::int32_t> sizes = {0, 1, T, T + 1, T + 2, 65};
    const auto paths = counting_shards(folder, sizes);
    std::vector<std::int32_t> expected;  // the rule of the manual: floor((n-1)/T) windows
    std::int64_t leftover = 0;
    std::int64_t skipped = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::int32_t windows = sizes[k] > 0 ? (sizes[k] - 1) / T : 0;
      for (std::int32_t w = 0; w < windows; ++w) {
        expected.push_back(static_cast<std::int32_t>(1000 * k) + w * T);
      }
      leftover += windows > 0 ? sizes[k] - 1 - windows * T : sizes[k];
      skipped += windows == 0;
    }
    LoaderOptions options = options_for(T);
    const TokenLoader loader(paths, options);
    CHECK(loader.windows_per_epoch() == static_cast<std::int64_t>(expected.size()));
    CHECK(loader.tokens() == std::accumulate(sizes.begin(), sizes.end(), 0));
    CHECK(loader.leftover_tokens() == leftover);
    CHECK(loader.skipped_shards() == skipped);
    std::set<std::vector<std::int32_t>> orders;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int32_t> first = epoch_of(loader, epoch * loader.windows_per_epoch());
      orders.insert(first);
      std::ranges::sort(first);
      CHECK(first == expected);
    }
    CHECK(orders.size() == 3);  // each epoch has its own order
    options.shuffle = false;
    const TokenLoader plain(paths, options);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      CHECK(epoch_of(plain, epoch * plain.windows_per_epoch()) == expected);
    }
  }
}

TEST_CASE("three shards of 65 tokens have 24 windows of 8", "[data][loader]") {
  const TemporaryFolder folder;
  const TokenLoader loader(counting_shards(folder, {65, 65, 65}), options_for(8));
  CHECK(loader.windows_per_epoch() == 24);
  CHECK(loader.leftover_tokens() == 0);
}

TEST_CASE("a sample depends on its index and the seed, not on what was served before",
          "[data][loader]") {
  const TemporaryFolder folder;
  const auto paths = counting_shards(folder, {65, 65, 65});
  const TokenLoader one(paths, options_for(8));
  const TokenLoader two(paths, options_for(8));
  LoaderOptions other = options_for(8);
  other.seed = 8;
  const TokenLoader three(paths, other);
  int differ = 0;
  for (const std::int64_t sample : {70LL, 3LL, 25LL, 3LL, 1'000'000'000'000LL, 0LL}) {
    std::vector<std::int32_t> a(8), b(8), c(8), labels(8);
    one.fill(sample, a.data(), labels.data());
    two.fill(sample, b.data(), labels.data());
    three.fill(sample, c.data(), labels.data());
    CHECK(a == b);
    differ += a != c;
  }
  CHECK(differ > 0);
  // The order is part of every checkpoint: it must not change between versions.
  std::vector<std::int64_t> windows;
  for (std::int64_t sample = 0; sample < 8; ++sample) windows.push_back(one.window_of(sample));
  CHECK(windows == std::vector<std::int64_t>{0, 12, 11, 3, 21, 1, 15, 10});
}

TEST_CASE("ranks share the samples, each once in each of three epochs", "[data][loader]") {
  for (int world_size = 1; world_size <= 5; ++world_size) {
    for (const std::int32_t T : {1, 3, 8}) {
      CAPTURE(world_size, T);
      const TemporaryFolder folder;
      const auto paths = counting_shards(folder, {3, 8 * T + 5, 1, 29, T + 1});
      const TokenLoader loader(paths, options_for(T));
      const std::int64_t windows = loader.windows_per_epoch();
      std::map<std::int32_t, int> served;  // first token of the window: how often
      const auto serve = [&](std::int64_t sample) {
        std::vector<std::int32_t> inputs(static_cast<std::size_t>(T));
        std::vector<std::int32_t> labels(inputs.size());
        if (sample < 3 * windows) {  // the last step goes on into the fourth epoch
          loader.fill(sample, inputs.data(), labels.data());
          ++served[inputs[0]];
        }
      };
      constexpr std::int64_t batch = 2;
      std::int64_t taken = 0;
      while (taken < 3 * windows) {
        for (int rank = 0; rank < world_size; ++rank) {
          for (std::int64_t i = 0; i < batch; ++i) {
            serve(RankShare{rank, world_size}.sample(taken, i));
          }
        }
        taken = RankShare{0, world_size}.after(taken, batch);
      }
      CHECK(static_cast<std::int64_t>(served.size()) == windows);
      CHECK(std::ranges::all_of(served, [](const auto& entry) { return entry.second == 3; }));
    }
  }
}

TEST_CASE("a run goes on at every cut with any number of ranks", "[data][loader]") {
  const TemporaryFolder folder;
  const auto paths = counting_shards(folder, {27, 65, 18});
  const TokenLoader loader(paths, options_for(8));
  const std::int64_t windows = loader.windows_per_epoch();
  const auto window = [&](std::int64_t sample) { return loader.window_of(sample); };
  std::vector<std::int64_t> unbroken;
  for (std::int64_t sample = 0; sample < 3 * windows + 32; ++sample) {
    unbroken.push_back(window(sample));
  }
  // 4 ranks up to the cut, then 2, 8, 3 or 1, of one sample a step each.
  for (const int then : {2, 8, 3, 1}) {
    for (std::int64_t steps = 0; 4 * steps < 3 * windows; ++steps) {
      std::vector<std::int64_t> served;
      std::int64_t taken = 0;
      const auto step = [&](int world_size) {
        for (int rank = 0; rank < world_size; ++rank) {
          served.push_back(window(RankShare{rank, world_size}.sample(taken, 0)));
        }
        taken = RankShare{0, world_size}.after(taken, 1);
      };
      for (std::int64_t i = 0; i < steps; ++i) step(4);
      const TokenLoader resumed(paths, options_for(8));  // knows nothing but `taken`
      while (taken < 3 * windows) step(then);
      served.resize(static_cast<std::size_t>(3 * windows));
      CHECK(std::equal(served.begin(), served.end(), unbroken.begin()));
      CHECK(resumed.window_of(taken) == unbroken[static_cast<std::size_t>(taken)]);
    }
  }
}

TEST_CASE("windows overlap by a stride below their length", "[data][loader]") {
  const TemporaryFolder folder;
  const auto paths = counting_shards(folder, {8, 9, 10, 14, 26});
  LoaderOptions options = options_for(8);
  options.shuffle = false;
  options.stride = 3;
  const TokenLoader loader(paths, options);
  // floor((n - 1 - 8) / 3) + 1 windows of a shard of n > 8 tokens.
  CHECK(loader.windows_per_epoch() == 0 + 1 + 1 + 2 + 6);
  CHECK(epoch_of(loader, 0) ==
        std::vector<std::int32_t>{1000, 2000, 3000, 3003, 4000, 4003, 4006, 4009, 4012, 4015});
  CHECK(loader.leftover_tokens() == 8 + 0 + 1 + 2 + 2);
  CHECK(loader.list_hash() != TokenLoader(paths, options_for(8)).list_hash());
  for (const std::int64_t wrong : {-1, 9}) {
    options.stride = wrong;
    CHECK_THROWS_AS(TokenLoader(paths, options), ConfigError);
  }
  options.stride = 8;
  CHECK(TokenLoader(paths, options).list_hash() == TokenLoader(paths, options_for(8)).list_hash());
}

TEST_CASE("windows know their documents", "[data][loader]") {
  const TemporaryFolder folder;
  const auto path = folder / "s.bin";
  ShardWriter writer(path, {vocab_size, 11, 0});
  writer.write(std::vector<std::int32_t>{9, 1, 2, 9, 3, 9, 9, 4, 5, 6, 9, 1, 2});
  writer.finish();
  LoaderOptions options = options_for(6);
  options.shuffle = false;
  options.document_start = 9;
  TokenLoader loader(std::vector{path}, options);
  std::vector<std::int32_t> inputs(6), labels(6), documents(6);
  loader.fill(0, {inputs.data(), labels.data(), documents.data()});
  CHECK(documents == std::vector<std::int32_t>{0, 0, 0, 1, 1, 2});
  loader.fill(1, {inputs.data(), labels.data(), documents.data()});
  CHECK(documents == std::vector<std::int32_t>{0, 0, 0, 0, 1, 1});
}

TEST_CASE("a permutation reaches every place once and no place is preferred", "[data][loader]") {
  for (const std::uint64_t size : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 63U, 64U, 65U, 1000U, 4097U}) {
    const Permutation order(size, 3, 5);
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t to = order(i);
      REQUIRE(to < size);
      CHECK_FALSE(seen[to]);
      seen[to] = true;
    }
  }
  // Where element 0 and 1 of ten go over many epochs: 90 pairs, chi-squared with 89 degrees.
  constexpr std::uint32_t epochs = 18'000;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> counts;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const Permutation order(10, 1, epoch);
    ++counts[{order(0), order(1)}];
  }
  double chi = 0;
  for (const auto& [pair, count] : counts)
    chi += std::pow(count - epochs / 90.0, 2) / (epochs / 90.0);
  CHECK(counts.size() == 90);
  CHECK(chi < 150);  // exceeded by chance once in 20,000 tries; the seed is fixed
}

TEST_CASE("data that cannot fill one window are refused with both counts", "[data][loader]") {
  const TemporaryFolder folder;
  const auto paths = counting_shards(folder, {5, 8, 0});
  CHECK(mentions(message_of<FileError>([&] { TokenLoader loader(paths, options_for(8)); }),
                 "s_0.bin", "2 more", "13 tokens", "at least 9", "seq_len"));
  CHECK_THROWS_AS(TokenLoader({}, options_for(8)), FileError);
  CHECK_THROWS_AS(TokenLoader(paths, options_for(0)), ConfigError);
  LoaderOptions no_vocab = options_for(2);
  no_vocab.vocab_size = 0;
  CHECK_THROWS_AS(TokenLoader(paths, no_vocab), ConfigError);
}

TEST_CASE("data of another vocabulary or tokenizer are refused", "[data][loader]") {
  const TemporaryFolder folder;
  const auto paths = counting_shards(folder, {65});
  LoaderOptions options = options_for(8);
  options.vocab_size = vocab_size - 1;
  CHECK(mentions(message_of<FileError>([&] { TokenLoader loader(paths, options); }), "10000",
                 "9999"));
  options.vocab_size = vocab_size + 1;
  CHECK_NOTHROW(TokenLoader(paths, options));
  options.tokenizer_hash = 11;
  CHECK_NOTHROW(TokenLoader(paths, options));
  options.tokenizer_hash = 12;
  CHECK(mentions(message_of<FileError>([&] { TokenLoader loader(paths, options); }),
                 "000000000000000b", "000000000000000c"));
  // A raw file says nothing about itself: its ids are checked as they are served.
  const std::vector<std::filesystem::path> raw = {
      folder.file("raw.bin", std::string("\x01\0\x02\0\x10\x27\0\0", 8))};
  const TokenLoader loader(raw, options_for(1));
  std::int32_t input = 0;
  std::int32_t label = 0;
  int refused = 0;
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    try {
      loader.fill(sample, &input, &label);
    } catch (const FileError& e) {
      CHECK(mentions(e.what(), "raw.bin", "token id 10000 at token 2"));
      ++refused;
    }
  }
  CHECK(refused == 2);
}

TEST_CASE("the list of shards has a hash that sees names, sizes and order", "[data][loader]") {
  const TemporaryFolder folder;
  auto paths = counting_shards(folder, {65, 65, 66});
  const std::uint64_t hash = TokenLoader(paths, options_for(8)).list_hash();
  CHECK(TokenLoader(paths, options_for(4)).list_hash() == hash);
  std::swap(paths[0], paths[1]);
  CHECK(TokenLoader(paths, options_for(8)).list_hash() != hash);
  paths = counting_shards(folder, {65, 65, 67});
  CHECK(TokenLoader(paths, options_for(8)).list_hash() != hash);
  paths.pop_back();
  CHECK(TokenLoader(paths, options_for(8)).list_hash() != hash);
}
