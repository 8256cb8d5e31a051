// SPDX-License-Identifier: Apache-2.0
// Streams of samples from text, against a plain reading of the same documents: every sample once an
// epoch, for any number of ranks; every place to go on from; damaged text.
#include <fount/data/text_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/end_of_text_tokenizer.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Sample = std::vector<std::int32_t>;  // seq_len inputs and the last label

const EndOfTextTokenizer tokenizer;

TextStreamOptions options_for(std::int64_t seq_len) {
  TextStreamOptions options;
  options.seq_len = seq_len;
  options.vocab_size = tokenizer.vocab_size();
  options.seed = 5;
  options.block_samples = 7;
  options.prefetch = 2;
  options.workers = 2;
  return options;
}

Sample sample_of(TextStream& stream, std::int64_t seq_len, std::int64_t index) {
  Sample inputs(static_cast<std::size_t>(seq_len));
  Sample labels(inputs.size());
  stream.fill(index, {inputs.data(), labels.data(), nullptr});
  CHECK(std::equal(inputs.begin() + 1, inputs.end(), labels.begin()));
  inputs.push_back(labels.back());
  return inputs;
}
std::vector<Sample> samples_of(TextStream& stream, std::int64_t seq_len, std::int64_t begin,
                               std::int64_t count) {
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    samples.push_back(sample_of(stream, seq_len, begin + i));
  }
  return samples;
}

/// The tokens of documents in a row, written down plainly.
Sample tokens_of(const std::vector<std::string>& documents) {
  Sample ids;
  for (const std::string& text : documents) {
    ids.push_back(EndOfTextTokenizer::end);
    tokenizer.encode(text, ids);
  }
  return ids;
}
std::vector<Sample> cut(const Sample& ids, std::int64_t seq_len) {
  std::vector<Sample> samples;
  for (std::int64_t at = 0; at + seq_len < static_cast<std::int64_t>(ids.size()); at += seq_len) {
    samples.emplace_back(ids.begin() + at, ids.begin() + at + seq_len + 1);
  }
  return samples;
}

std::string words(int number, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "w" + std::to_string(number * 100 + i) + " ";
  return text;
}
/// Lines of JSON of the documents `begin` to `end`-1; document k has 1 + k % 9 words.
std::string json_lines(int begin, int end) {
  std::string text;
  for (int k = begin; k < end; ++k) text += "{\"text\": \"" + words(k, 1 + k % 9) + "\"}\n";
  return text;
}
std::vector<std::string> documents_of(int begin, int end) {
  std::vector<std::string> documents;
  for (int k = begin; k < end; ++k) documents.push_back(words(k, 1 + k % 9));
  return documents;
}

/// Three files of 40, 1 and 30 documents; the first compressed in two members where zlib is there.
std::vector<TextSource> three_files(const TemporaryFolder& folder) {
#if FOUNT_HAS_ZLIB
  folder.file("a.json.gz", gzip(json_lines(0, 25)) + gzip(json_lines(25, 40)));
#else
  folder.file("a.json", json_lines(0, 40));
#endif
  folder.file("b.jsonl", json_lines(40, 41));
  folder.file("c.jsonl", json_lines(41, 71));
  return TextSources(folder.path()).all();
}

}  // namespace

TEST_CASE("a stream in the order of its files is the row of their documents", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  for (const std::int64_t T : {1, 7, 16, 64}) {
    CAPTURE(T);
    const auto expected = cut(tokens_of(documents_of(0, 71)), T);
    for (const std::int64_t block : {1, 5, 1000}) {
      TextStreamOptions options = options_for(T);
      options.shuffle = false;
      options.block_samples = block;
      TextStream stream(files, tokenizer, options);
      const auto count = static_cast<std::int64_t>(expected.size());
      for (const std::int64_t epoch : {0, 1, 2}) {
        CHECK(samples_of(stream, T, epoch * count, count) == expected);
      }
      CHECK(stream.count_samples(stream.num_files()) == count);
    }
  }
}

TEST_CASE("each epoch has every sample once, in an order of its own", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  constexpr std::int64_t T = 16;
  TextStream stream(files, tokenizer, options_for(T));
  const std::int64_t count = stream.count_samples(3);
  std::set<std::vector<Sample>> orders;
  std::set<int> orders_of_files;
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    const auto got = samples_of(stream, T, epoch * count, count);
    // One of the six orders of the files gives these samples.
    std::vector<std::vector<std::string>> parts = {documents_of(0, 40), documents_of(40, 41),
                                                   documents_of(41, 71)};
    std::sort(parts.begin(), parts.end());
    int found = 0;
    int order = 0;
    do {
      ++order;
      std::vector<std::string> row;
      for (const auto& part : parts) row.insert(row.end(), part.begin(), part.end());
      auto expected = cut(tokens_of(row), T);
      REQUIRE(static_cast<std::int64_t>(expected.size()) == count);
      auto sorted = got;
      std::ranges::sort(expected);
      std::ranges::sort(sorted);
      found += expected == sorted;
      if (expected == sorted) orders_of_files.insert(order);
      CHECK(got != expected);
    } while (std::next_permutation(parts.begin(), parts.end()));
    CHECK(found == 1);
    orders.insert(got);
  }
  CHECK(orders.size() == 6);
  CHECK(orders_of_files.size() >= 3);
  TextStreamOptions other = options_for(T);
  other.seed = 6;
  TextStream another(files, tokenizer, other);
  CHECK(samples_of(another, T, 0, count) != samples_of(stream, T, 0, count));
}

TEST_CASE("neither threads nor blocks ready ahead change a sample", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  TextStream first(files, tokenizer, options_for(9));
  const auto expected = samples_of(first, 9, 0, 300);
  for (const int workers : {1, 5}) {
    TextStreamOptions options = options_for(9);
    options.workers = workers;
    options.prefetch = workers;
    TextStream stream(files, tokenizer, options);
    CHECK(samples_of(stream, 9, 0, 300) == expected);
    CHECK(samples_of(stream, 9, 3, 1) == std::vector<Sample>{expected[3]});  // back to the start
  }
}

TEST_CASE("a stream goes on from every sample, in every epoch", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  constexpr std::int64_t T = 16;
  TextStream unbroken(files, tokenizer, options_for(T));
  const std::int64_t count = unbroken.count_samples(3);
  const std::int64_t all = 3 * count;
  const auto expected = samples_of(unbroken, T, 0, all);
  TextStream stopped(files, tokenizer, options_for(T));
  for (std::int64_t stop = 0; stop < all; ++stop) {
    if (stop > 0) sample_of(stopped, T, stop - 1);
    const StreamCursor cursor = stopped.cursor();
    CHECK(cursor.first_sample <= stop);
    CHECK(stop - cursor.first_sample <= 7);  // no more than a block is read again
    TextStream resumed(files, tokenizer, options_for(T));
    resumed.seek(cursor);
    const std::int64_t next = std::min<std::int64_t>(all - stop, 20);
    CAPTURE(stop);
    CHECK(samples_of(resumed, T, stop, next) ==
          std::vector<Sample>(expected.begin() + stop, expected.begin() + stop + next));
  }
}

TEST_CASE("a place that the text does not have is refused", "[data][stream]") {
  const TemporaryFolder folder;
  TextStream stream(three_files(folder), tokenizer, options_for(16));
  StreamCursor cursor;
  cursor.at.source = 3;
  CHECK(mentions(message_of<FileError>([&] { stream.seek(cursor); }), "file 4", "there are 3"));
}

TEST_CASE("long documents are gone on with in their middle", "[data][stream]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 700'000; ++i) text += "word" + std::to_string(i) + " ";
  folder.file("long.txt", text);
  const auto files = TextSources(folder / "long.txt").all();
  TextStreamOptions options = options_for(500);
  options.block_samples = 100;
  TextStream unbroken(files, tokenizer, options);
  const std::int64_t count = unbroken.count_samples(1);
  CHECK(count == static_cast<std::int64_t>(text.size() / 500));
  const auto expected = samples_of(unbroken, 500, 0, 2 * count);
  for (const std::int64_t stop : {0L, 99L, 100L, 601L, 1000L, count - 1, count, count + 777}) {
    TextStream stopped(files, tokenizer, options);
    sample_of(stopped, 500, stop);
    TextStream resumed(files, tokenizer, options);
    resumed.seek(stopped.cursor());
    CHECK(sample_of(resumed, 500, stop + 1) == expected[static_cast<std::size_t>(stop) + 1]);
  }
}

TEST_CASE("ranks share a stream, each sample once, and their number may change", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  constexpr std::int64_t T = 16;
  TextStream whole(files, tokenizer, options_for(T));
  const std::int64_t epoch = whole.count_samples(3);
  const auto expected = samples_of(whole, T, 0, 3 * epoch + 64);
  // Steps of 2 samples a rank; from 4 ranks to 2, to 8, and on.
  std::int64_t taken = 0;
  std::vector<Sample> served(expected.size());
  for (const int world_size : {4, 2, 8, 1, 3, 5}) {
    std::int64_t after = taken;
    for (int rank = 0; rank < world_size; ++rank) {
      const RankShare share{rank, world_size};
      TextStream stream(files, tokenizer, options_for(T));
      after = taken;
      for (int step = 0; step < 5 && share.after(after, 2) <= 3 * epoch + 64; ++step) {
        for (std::int64_t i = 0; i < 2; ++i) {
          const std::int64_t sample = share.sample(after, i);
          CHECK(served[static_cast<std::size_t>(sample)].empty());
          served[static_cast<std::size_t>(sample)] = sample_of(stream, T, sample);
        }
        after = share.after(after, 2);
      }
    }
    taken = after;
  }
  CHECK(taken > epoch);
  for (std::int64_t i = 0; i < taken; ++i) {
    CHECK(served[static_cast<std::size_t>(i)] == expected[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("rows say where documents begin", "[data][stream]") {
  const TemporaryFolder folder;
  folder.file("a.jsonl", "\"abc\"\n\"de\"\n\"f\"\n\"ghijkl\"\n");
  TextStreamOptions options = options_for(8);
  options.shuffle = false;
  TextStream stream(TextSources(folder.path()).all(), tokenizer, options);
  Sample inputs(8);
  Sample labels(8);
  Sample documents(8, -9);
  stream.fill(0, {inputs.data(), labels.data(), documents.data()});
  // The end-of-text token stands in front of its document.
  CHECK(documents == Sample{0, 0, 0, 0, 1, 1, 1, 2});
}

TEST_CASE("documents can be fewer: the first ones, and those with words enough", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  TextStreamOptions options = options_for(4);
  options.max_samples = 41;
  options.shuffle = false;
  TextStream first(files, tokenizer, options);
  const auto expected = cut(tokens_of(documents_of(0, 41)), 4);
  const auto count = static_cast<std::int64_t>(expected.size());
  CHECK(first.count_samples(3) == count);
  for (const std::int64_t epoch : {0, 1}) {
    CHECK(samples_of(first, 4, epoch * count, count) == expected);
  }
  options.shuffle = true;  // the same documents in every epoch
  TextStream shuffled(files, tokenizer, options);
  auto second_epoch = samples_of(shuffled, 4, count, count);
  auto sorted = expected;
  std::ranges::sort(sorted);
  std::ranges::sort(second_epoch);
  CHECK(second_epoch == sorted);

  options.max_samples = 0;
  options.min_words = 5;
  options.shuffle = false;
  TextStream longer(files, tokenizer, options);
  std::vector<std::string> kept;
  for (int k = 0; k < 71; ++k) {
    if (1 + k % 9 >= 5) kept.push_back(words(k, 1 + k % 9));
  }
  const auto of_kept = cut(tokens_of(kept), 4);
  const auto kept_count = static_cast<std::int64_t>(of_kept.size());
  CHECK(longer.count_samples(3) == kept_count);
  CHECK(samples_of(longer, 4, kept_count, kept_count) == of_kept);
}

TEST_CASE("progress counts epochs and files", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  TextStreamOptions options = options_for(16);
  options.shuffle = false;
  std::vector<double> heard;
  options.counting = [&](double part) { heard.push_back(part); };
  TextStream stream(files, tokenizer, options);
  const std::int64_t count = stream.count_samples(3);
  REQUIRE_FALSE(heard.empty());
  CHECK(std::ranges::is_sorted(heard));
  CHECK(heard.back() == 1.0);
  std::int64_t files_before = 0;
  for (std::int64_t sample = 0; sample < 2 * count; ++sample) {
    sample_of(stream, 16, sample);
    const DataProgress progress = stream.progress(sample + 1);
    CHECK(progress.epoch == (sample + 1) / count);
    CHECK(progress.files >= files_before);
    CHECK(progress.files / 3 == progress.epoch);
    files_before = progress.files;
  }
  CHECK(files_before == 6);
  CHECK(stream.count_samples(1) ==
        static_cast<std::int64_t>(cut(tokens_of(documents_of(0, 40)), 16).size()));
  CHECK(stream.count_samples(7) == 2 * count + stream.count_samples(1));
}

TEST_CASE("a broken line is left out and told once, too many end the stream", "[data][stream]") {
  const TemporaryFolder folder;
  folder.file("a.jsonl", json_lines(0, 3) + "{\"text\": \n{\"content\": 1}\n" + json_lines(3, 6));
  const auto files = TextSources(folder.path()).all();
  TextStreamOptions options = options_for(8);
  options.shuffle = false;
  options.max_bad = 0.5;
  TextStream stream(files, tokenizer, options);
  const auto expected = cut(tokens_of(documents_of(0, 6)), 8);
  const auto count = static_cast<std::int64_t>(expected.size());
  CHECK(samples_of(stream, 8, 0, count) == expected);
  const auto notes = stream.take_notes();
  REQUIRE(notes.size() == 2);
  CHECK(mentions(notes[0], "a.jsonl", "line 4"));
  CHECK(mentions(notes[1], "a.jsonl", "line 5", "text"));
  CHECK(stream.take_notes().empty());

  options.max_bad = 0.01;
  TextStream strict(files, tokenizer, options);
  CHECK(mentions(message_of<FileError>([&] { samples_of(strict, 8, 0, count + 1); }),
                 "2 broken documents among 8", "line 4", "--max-bad"));
}

TEST_CASE("damaged and missing text ends a stream behind what is whole", "[data][stream]") {
  const TemporaryFolder folder;
  const auto check = [&](const std::vector<TextSource>& files, std::string_view says) {
    TextStreamOptions options = options_for(4);
    options.shuffle = false;
    options.block_samples = 2;
    TextStream stream(files, tokenizer, options);
    const auto expected = cut(tokens_of(documents_of(0, 20)), 4);
    // Most of the first file is served before the error of the second.
    const auto safe = static_cast<std::int64_t>(expected.size()) - 8;
    CHECK(samples_of(stream, 4, 0, safe) ==
          std::vector<Sample>(expected.begin(), expected.begin() + safe));
    const std::string message = message_of<FileError>([&] { samples_of(stream, 4, safe, 1000); });
    CHECK(mentions(message, std::string(says)));
    // And again, instead of waiting for ever.
    CHECK(message_of<FileError>([&] { samples_of(stream, 4, safe, 1000); }) == message);
  };
#if FOUNT_HAS_ZLIB
  {
    folder.file("a.jsonl", json_lines(0, 20));
    const std::string packed = gzip(json_lines(20, 60));
    const auto path = folder.file("b.json.gz", packed.substr(0, packed.size() / 2));
    check(TextSources(folder.path()).all(), path.string());
    std::filesystem::remove(path);
  }
#endif
  folder.file("a.jsonl", json_lines(0, 20));
  const auto gone = folder.file("b.jsonl", json_lines(20, 30));
  const auto files = TextSources(folder.path()).all();
  std::filesystem::remove(gone);
  check(files, gone.string());
}

TEST_CASE("streams that cannot work are refused", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  const auto refused = [&](auto change) {
    TextStreamOptions options = options_for(16);
    change(options);
    return message_of<ConfigError>([&] { TextStream stream(files, tokenizer, options); });
  };
  CHECK(mentions(refused([](auto& o) { o.seq_len = 0; }), "seq_len is 0"));
  CHECK(mentions(refused([](auto& o) { o.workers = 0; }), "workers is 0"));
  CHECK(mentions(refused([](auto& o) { o.prefetch = 0; }), "prefetch is 0"));
  CHECK(mentions(refused([](auto& o) { o.block_samples = 0; }), "block_samples is 0"));
  CHECK(mentions(refused([](auto& o) { o.max_bad = 2; }), "max_bad"));
  CHECK(mentions(refused([](auto& o) { o.vocab_size = 355; }), "356", "355"));
  CHECK_THROWS_AS(TextStream({}, tokenizer, options_for(16)), FileError);
  TextStream too_long(files, tokenizer, options_for(100'000));
  CHECK(mentions(message_of<FileError>([&] { sample_of(too_long, 100'000, 0); }), "100,001",
                 "seq_len"));
  CHECK_THROWS_AS(too_long.count_samples(3), FileError);
}

TEST_CASE("streams have a hash of all that their samples depend on", "[data][stream]") {
  const TemporaryFolder folder;
  const auto files = three_files(folder);
  const std::uint64_t hash = TextStream(files, tokenizer, options_for(16)).list_hash();
  TextStreamOptions same = options_for(16);
  same.workers = 7;
  same.prefetch = 9;
  CHECK(TextStream(files, tokenizer, same).list_hash() == hash);
  const auto differs = [&](auto change) {
    TextStreamOptions options = options_for(16);
    change(options);
    return TextStream(files, tokenizer, options).list_hash() != hash;
  };
  CHECK(differs([](auto& o) { o.min_words = 2; }));
  CHECK(differs([](auto& o) { o.max_samples = 2; }));
  CHECK(differs([](auto& o) { o.text_field = "body"; }));
  CHECK(differs([](auto& o) { o.block_samples = 8; }));
  CHECK(differs([](auto& o) { o.shuffle = false; }));
  CHECK(TextStream({files[0], files[2]}, tokenizer, options_for(16)).list_hash() != hash);
}
