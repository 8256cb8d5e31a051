// SPDX-License-Identifier: Apache-2.0
// Runs that read text while they train: bit for bit the same when they are stopped and gone on
// with, in the middle of files and in later epochs; horizons and checkpoints by other counts than
// steps.
#include <fount/train/horizon.hpp>
#include <fount/train/trainer.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <fount/data/prepare.hpp>

#include "support/catch.hpp"
#include "support/compress.hpp"
#include "support/small_bpe.hpp"
#include "support/temporary_folder.hpp"
#include "support/tiny_run.hpp"
#include "support/unicode.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// For the tokenizer below: 256 bytes, two merges, one special token.
constexpr ModelConfig text_model = [] {
  ModelConfig model = tiny_model;
  model.vocab_size = 259;
  return model;
}();

/// Saves a byte-level encoding with an end-of-text token.
std::filesystem::path save_tokenizer(const TemporaryFolder& folder) {
  BpeModel model = small_bpe({{"o", "n"}, {" ", "a"}});
  AddedToken end;
  end.content = "<|endoftext|>";
  end.id = 258;
  model.added.push_back(end);
  std::filesystem::create_directories(folder / "tokenizer");
  BpeTokenizer(model).save(folder / "tokenizer");
  return folder / "tokenizer";
}

std::string lines(int begin, int end) {
  std::string text;
  for (int k = begin; k < end; ++k) {
    text += "{\"text\": \"once upon a time number " + std::to_string(k * k) + "\"}\n";
  }
  return text;
}
/// Two files of 40 and 25 documents, compressed where zlib is there; one of 9 for validation.
void write_text(const TemporaryFolder& folder) {
  std::filesystem::create_directories(folder / "text");
#if FOUNT_HAS_ZLIB
  folder.file("text/1.json.gz", gzip(lines(0, 20)) + gzip(lines(20, 40)));
#else
  folder.file("text/1.jsonl", lines(0, 40));
#endif
  folder.file("text/2.jsonl", lines(40, 65));
  folder.file("val.jsonl", lines(65, 74));
}

TrainOptions text_options(const TemporaryFolder& folder, const std::string& output) {
  TrainOptions options = tiny_options(folder / "text", folder / output);
  options.tokenizer = save_tokenizer(folder).string();
  options.val_data = (folder / "val.jsonl").string();
  options.sample_tokens = 3;
  options.steps = 240;  // more than two epochs
  options.eval_interval = 60;
  options.batch_size = 3;
  return options;
}

}  // namespace

TEST_CASE("a run from text is the same when it is stopped in a file and gone on with",
          "[train][text]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  write_text(folder);
  TrainOptions options = text_options(folder, "whole");
  RunResult result;
  const auto whole = train_weights<text_model>(options, &result);
  CHECK(result.last_loss < result.first_loss);
  CHECK(result.last_val_loss < result.first_val_loss);
  CHECK(std::filesystem::exists(folder / "whole/checkpoints/step-00000240/tokenizer.json"));
  options.tokenizer_workers = 3;
  options.prefetch = 1;
  options.output = (folder / "other").string();
  CHECK(train_weights<text_model>(options) == whole);
  for (const std::int64_t cut : {1, 37, 100, 101, 239}) {
    CAPTURE(cut);
    options.output = (folder / ("cut" + std::to_string(cut))).string();
    options.resume.clear();
    options.stop_after = cut;
    train_weights<text_model>(options);
    options.resume = "latest";
    options.stop_after = 0;
    CHECK(train_weights<text_model>(options) == whole);
  }
}

TEST_CASE("a run from text refuses to go on with other text", "[train][text]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  write_text(folder);
  TrainOptions options = text_options(folder, "run");
  options.stop_after = 5;
  train_weights<text_model>(options);
  options.resume = "latest";
  options.min_words = 3;
  CHECK(mentions(message_of<ConfigError>([&] { train_weights<text_model>(options); }),
                 "training text, or how it is read"));
  options.min_words = 0;
  folder.file("text/3.jsonl", lines(0, 3));
  CHECK(mentions(message_of<ConfigError>([&] { train_weights<text_model>(options); }),
                 "training text, or how it is read"));
}

TEST_CASE("damaged text ends a run, and what was learned before is saved", "[train][text]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  write_text(folder);
  TrainOptions options = text_options(folder, "run");
  // More than a block of samples is whole: a thousand.
  folder.file("text/2.jsonl", lines(0, 300) + "{\"text\": \n{]\n");
  options.max_bad = 0;
  options.steps = 1000;
  options.eval_interval = 0;
  const std::string message = message_of<FileError>([&] { train_weights<text_model>(options); });
  CHECK(mentions(message, "2.jsonl", "line 301", "--max-bad"));
  const auto kept = list_checkpoints(folder / "run/checkpoints");
  REQUIRE(kept.size() == 1);
  CHECK(kept.front().first > 300);
  // Tolerated, it is told and left out.
  options.max_bad = 0.1;
  options.overwrite = true;
  CHECK_NOTHROW(train_weights<text_model>(options));
  CHECK(mentions(content_of(folder / "run/train.log"), "2.jsonl, line 301"));
}

TEST_CASE("a run ends after its tokens, epochs or files", "[train][horizon]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");  // 9 windows of 8 tokens in 2 shards
  TrainOptions options = tiny_options(folder / "data", folder / "run");
  options.overwrite = true;
  const auto steps_with = [&](auto change) {
    TrainOptions changed = options;
    change(changed);
    RunResult result;
    train_weights(changed, &result);
    return result.step;
  };
  CHECK(steps_with([](auto& o) { o.tokens = 16; }) == 1);
  CHECK(steps_with([](auto& o) { o.tokens = 17; }) == 2);
  CHECK(steps_with([](auto& o) { o.epochs = 1; }) == 5);  // ceil(9 / 2)
  CHECK(steps_with([](auto& o) { o.epochs = 2; }) == 9);
  CHECK(steps_with([](auto& o) { o.files = 1; }) == 3);  // half of 9, and 2 a step
  CHECK(steps_with([](auto& o) { o.files = 3; }) == 7);
  CHECK(mentions(message_of<ConfigError>([&] {
                   steps_with([](auto& o) {
                     o.files = 3;
                     o.epochs = 1;
                   });
                 }),
                 "files 3", "epochs 1"));
}

TEST_CASE("the horizon of text is counted in its documents", "[train][horizon]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  write_text(folder);
  TrainOptions options = text_options(folder, "run");
  options.epochs = 2;
  RunResult result;
  train_weights<text_model>(options, &result);
  TextStreamOptions stream;
  stream.seq_len = 8;
  stream.vocab_size = 259;
  const auto tokenizer = load_tokenizer(options.tokenizer);
  const std::int64_t windows =
      TextStream(TextSources(folder / "text").all(), *tokenizer, stream).count_samples(2);
  CHECK(result.step == (2 * windows + 2) / 3);
}

TEST_CASE("checkpoints come by tokens, epochs and files", "[train][horizon]") {
  const TemporaryFolder folder;
  write_tiny_data(folder / "data");
  const auto saved = [&](auto change) {
    TrainOptions options = tiny_options(folder / "data", folder / "run");
    options.overwrite = true;
    options.keep = 0;
    options.steps = 10;  // 20 windows, 160 tokens
    change(options);
    train_weights(options);
    std::vector<std::int64_t> steps;
    for (const auto& [step, path] : list_checkpoints(folder / "run/checkpoints")) {
      steps.insert(steps.begin(), step);
    }
    return steps;
  };
  using Steps = std::vector<std::int64_t>;
  CHECK(saved([](auto&) {}) == Steps{10});
  CHECK(saved([](auto& o) { o.checkpoint_tokens = 48; }) == Steps{3, 6, 9, 10});
  CHECK(saved([](auto& o) { o.checkpoint_tokens = 40; }) == Steps{3, 5, 8, 10});
  CHECK(saved([](auto& o) { o.checkpoint_epochs = 1; }) == Steps{5, 9, 10});
  CHECK(saved([](auto& o) { o.checkpoint_files = 1; }) == Steps{3, 5, 7, 9, 10});
  CHECK(saved([](auto& o) {
          o.checkpoint_files = 3;
          o.checkpoint_interval = 4;
        }) == Steps{4, 7, 8, 10});
}

TEST_CASE("passing a multiple is noticed once", "[train][horizon]") {
  static_assert(!passed_multiple(0, 5, 0));
  static_assert(passed_multiple(4, 5, 5));
  static_assert(!passed_multiple(5, 9, 5));
  static_assert(passed_multiple(9, 21, 5));
  SUCCEED();
}

TEST_CASE("masked documents do not see each other", "[train][text]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  write_text(folder);
  TrainOptions options = text_options(folder, "open");
  options.steps = 20;
  const auto open = train_weights<text_model>(options);
  options.output = (folder / "masked").string();
  options.document_mask = true;
  const auto masked = train_weights<text_model>(options);
  CHECK(masked != open);
  // The mask is that of the shards, too.
  PrepareOptions prepared;
  prepared.input = folder / "text";
  prepared.tokenizer = options.tokenizer;
  prepared.output = folder / "shards";
  prepare(prepared);
  TrainOptions shards = options;
  shards.data = (folder / "shards").string();
  shards.tokenizer.clear();
  shards.val_data.clear();
  shards.output = (folder / "masked shards").string();
  const auto masked_shards = train_weights<text_model>(shards);
  shards.document_mask = false;
  shards.output = (folder / "open shards").string();
  CHECK(train_weights<text_model>(shards) != masked_shards);
  // Data that do not say where documents begin cannot be masked.
  write_tiny_data(folder / "tiny");
  TrainOptions tiny = tiny_options(folder / "tiny", folder / "none");
  tiny.document_mask = true;
  CHECK(mentions(message_of<ConfigError>([&] { train_weights(tiny); }), "end-of-text"));
}

TEST_CASE("runs that cannot read their text say why before they begin", "[train][text]") {
  if (!unicode_here()) return;
  const TemporaryFolder folder;
  write_text(folder);
  const auto refused = [&](auto change) {
    TrainOptions options = text_options(folder, "run");
    change(options);
    return message_of<Error>([&] { train_weights<text_model>(options); });
  };
  CHECK(mentions(refused([](auto& o) { o.tokenizer = "char"; }), "fount prepare --tokenizer char"));
  CHECK(mentions(refused([](auto& o) { o.tokenizer = "no-such-folder"; }), "no-such-folder"));
  CHECK(mentions(refused([](auto& o) { o.data = "no-such-text"; }), "no-such-text"));
  CHECK(mentions(refused([](auto& o) { o.max_bad = 7; }), "max_bad"));
  CHECK(mentions(refused([](auto& o) { o.stride = 4; }), "stride"));
  CHECK(mentions(refused([&](auto& o) {
                   o.tokenizer.clear();
                   o.data = (folder / "val.jsonl").string();
                 }),
                 "val.jsonl", "--tokenizer"));
  CHECK(mentions(refused([&](auto& o) {
                   o.tokenizer.clear();
                   o.data = (folder / "text").string();
                 }),
                 "no shards", "tokenizer"));
  CHECK(mentions(refused([](auto& o) {
                   o.tokenizer.clear();
                   o.max_samples = 5;
                 }),
                 "max_samples", "--tokenizer"));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
}
