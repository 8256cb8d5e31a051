// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run reads, opened by its options: prepared shards or text, the tokenizer, validation data.
// How they are trained on is in train/trainer.hpp.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/loader.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/data/text_stream.hpp>
#include <fount/io/files.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/load_tokenizer.hpp>
#include <fount/train/model.hpp>
#include <fount/train/options.hpp>

namespace fount {

class RunData {
 public:
  /// @throws ConfigError for options that the data or the model cannot meet, FileError for data
  ///         that cannot be read
  RunData(const TrainOptions& options, const TrainableModel& model, std::string model_name,
          std::FILE* out)
      : options_(options), model_(model), model_name_(std::move(model_name)), out_(out) {
    if (options_.tokenizer.empty()) {
      open_shards();
    } else {
      open_text();
    }
    open_validation();
    if (options_.document_mask && document_start < 0) {
      throw ConfigError(
          "document_mask is on, but the data have no end-of-text token that says where documents "
          "begin; prepare them with a tokenizer that has one (GPT-2's, or of `fount tokenizer "
          "train`), or leave the option out");
    }
  }
  RunData(const RunData&) = delete;
  RunData& operator=(const RunData&) = delete;

  std::unique_ptr<Tokenizer> tokenizer;    // null: the shards do not say
  std::filesystem::path tokenizer_folder;  // where its files are; empty: it was not read from there
  std::int32_t document_start = -1;        // the token that documents begin with; -1: none is known
  std::unique_ptr<SampleSource> train;
  std::unique_ptr<SampleSource> validation;  // null: none
  std::int64_t validation_all = 0;           // samples that validation spreads over
  std::vector<std::string> notes;            // for the head of the run

 private:
  LoaderOptions loader_options() const {
    LoaderOptions loading;
    loading.seq_len = model_.shape().seq_len;
    loading.vocab_size = model_.config().vocab_size;
    loading.seed = options_.seed;
    loading.document_start = document_start;
    return loading;
  }

  void take_tokenizer(std::unique_ptr<Tokenizer> loaded) {
    tokenizer = std::move(loaded);
    check_vocabulary(tokenizer->vocab_size(), model_.config().vocab_size);
    document_start = tokenizer->end_of_text().value_or(-1);
  }

  void open_shards() {
    const std::filesystem::path data = options_.data;
    if (options_.max_samples > 0 || options_.min_words > 0) {
      throw ConfigError("max_samples and min_words choose among the documents of text, and '" +
                        options_.data +
                        "' is read as prepared tokens; give them to `fount prepare`, "
                        "or read text with --tokenizer");
    }
    if (detail::is_text_name(data.filename().string())) {
      throw ConfigError("data '" + options_.data +
                        "' is text by its name; say what tokenizes it with "
                        "--tokenizer, or turn it into shards with `fount prepare`");
    }
    std::error_code error;
    if (std::filesystem::exists(data / "tokenizer.json", error)) {
      tokenizer_folder = data;
      take_tokenizer(load_tokenizer(data));
    }
    LoaderOptions loading = loader_options();
    loading.stride = options_.stride;
    train = std::make_unique<TokenLoader>(find_shards(data, Split::train), loading);
  }

  TextStreamOptions stream_options() const {
    TextStreamOptions stream;
    stream.seq_len = model_.shape().seq_len;
    stream.vocab_size = model_.config().vocab_size;
    stream.seed = options_.seed;
    stream.prefetch = options_.prefetch;
    stream.workers = options_.tokenizer_workers > 0 ? options_.tokenizer_workers
                                                    : std::min(model_.backend().threads(), 4);
    stream.documents = options_.documents;
    stream.text_field = options_.text_field;
    stream.min_words = options_.min_words;
    stream.max_bad = options_.max_bad;
    return stream;
  }

  void open_text() {
    if (options_.tokenizer == "char") {
      throw ConfigError(
          "tokenizer 'char' takes its vocabulary from a text that has been read whole; "
          "name the folder that `fount prepare --tokenizer char` wrote");
    }
    if (options_.tokenizer == "byte") {
      take_tokenizer(std::make_unique<ByteTokenizer>());
    } else {
      take_tokenizer(load_tokenizer(options_.tokenizer));
    }
    if (options_.stride > 0) {
      throw ConfigError(
          "stride overlaps sequences of prepared tokens; text is read in a row: prepare "
          "it, or leave the option out");
    }
    TextStreamOptions stream = stream_options();
    stream.counting = counting_lines(out_);
    stream.max_samples = options_.max_samples;
    train = std::make_unique<TextStream>(TextSources(options_.data).all(), *tokenizer, stream);
  }

  /// Tells every two seconds how far the counting of a text is, which an end in epochs or files
  /// needs.
  static std::function<void(double)> counting_lines(std::FILE* out) {
    if (out == nullptr) return {};
    return [out, next = std::chrono::steady_clock::now() +
                        std::chrono::seconds(2)](double part) mutable {
      if (std::chrono::steady_clock::now() < next) return;
      next = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      std::fprintf(out,
                   "counting the text's tokens, to know the last step (--steps or --tokens need "
                   "no counting): %.0f %%\n",
                   part * 100.0);
      std::fflush(out);
    };
  }

  /// Whether a path holds tokens, not text.
  static bool holds_shards(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return path.extension() == ".bin";
    return is_prepared(path) || !list_files(path, "*.bin").empty();
  }

  void open_validation() {
    const std::filesystem::path data = options_.data;
    const std::filesystem::path named = options_.val_data;
    std::error_code error;
    if (!named.empty() && !options_.tokenizer.empty() && !holds_shards(named)) {
      // Its first samples are those of every validation, and stay in memory.
      TextStreamOptions stream = stream_options();
      stream.shuffle = false;
      stream.prefetch = 1;
      stream.block_samples = options_.eval_batches * model_.shape().batch_size;
      if (stream.block_samples < 1) return;
      auto text = std::make_unique<TextStream>(TextSources(named).all(), *tokenizer, stream);
      validation_all = text->first_block();
      for (const std::string& note : text->take_notes()) notes.push_back("validation: " + note);
      validation = std::move(text);
      return;
    }
    std::vector<std::filesystem::path> shards;
    if (!named.empty()) {
      shards = find_shards(named, Split::validation);
    } else if (options_.tokenizer.empty() && std::filesystem::is_directory(data, error)) {
      try {
        shards = find_shards(data, Split::validation);
      } catch (const FileError&) {
      }
    }
    if (shards.empty()) {
      if (!options_.tokenizer.empty() || std::filesystem::is_directory(data, error)) {
        notes.push_back("no validation data in '" + options_.data +
                        "': the run has no validation loss");
      }
      return;
    }
    LoaderOptions in_order = loader_options();
    in_order.shuffle = false;
    auto loader = std::make_unique<TokenLoader>(shards, in_order);
    validation_all = loader->windows_per_epoch();
    validation = std::move(loader);
  }

  void check_vocabulary(std::int32_t found, std::int32_t model_size) {
    if (found > model_size) {
      throw ConfigError("the data's vocabulary has " + std::to_string(found) + " tokens, but " +
                        model_name_ + " was built for " + std::to_string(model_size) +
                        "; build a trainer that fits, in CMakeLists.txt:\n"
                        "    fount_add_trainer(NAME my-model HEADER my_model.hpp MODEL my_model)\n"
                        "  and in my_model.hpp:\n"
                        "    #include <fount/config/presets.hpp>\n"
                        "    constexpr fount::ModelConfig my_model = [] {\n"
                        "      fount::ModelConfig model = fount::presets::quickstart;\n"
                        "      model.vocab_size = " +
                        std::to_string(found) +
                        ";\n"
                        "      return model;\n"
                        "    }();");
    }
    if (found < model_size) {
      notes.push_back("the data uses " + std::to_string(found) + " of the model's " +
                      std::to_string(model_size) + " token ids; the others are never seen");
    }
  }

  const TrainOptions& options_;
  const TrainableModel& model_;
  std::string model_name_;
  std::FILE* out_;
};

}  // namespace fount
