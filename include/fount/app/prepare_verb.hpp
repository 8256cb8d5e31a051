// SPDX-License-Identifier: Apache-2.0
#pragma once
// The verb `fount prepare`: its options, what it tells while it works, and its summary. The work is
// in data/prepare.hpp.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/app/tokenizer_train_verb.hpp>
#include <fount/app/tool_verb.hpp>
#include <fount/backend/threads.hpp>
#include <fount/core/units.hpp>
#include <fount/data/prepare.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/file_writer.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/text/load_tokenizer.hpp>

#include <CLI/CLI.hpp>

namespace fount::detail {

/// "fount prepare: 12 % of the text, 34.5 MB/s, 1,204 documents, 21,000,000 tokens, 3m 05s left".
/// @param seconds since the start; what an earlier run did is not counted as speed
inline std::string progress_line(const PrepareProgress& progress, double seconds,
                                 double first_part) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f %% of the text", progress.part * 100.0);
  std::string line = std::string("fount prepare: ") + text;
  if (!progress.encoding) return line + ", first pass";
  const auto bytes = static_cast<double>(progress.text_bytes - progress.resumed_bytes);
  std::snprintf(text, sizeof text, ", %.1f MB/s, ", seconds > 0 ? bytes / seconds / 1e6 : 0.0);
  line += text + with_commas(progress.documents) + " documents, " + with_commas(progress.tokens) +
          " tokens";
  const double done = progress.part - first_part;
  if (done > 0) line += ", " + format_duration(seconds * (1.0 - progress.part) / done) + " left";
  return line;
}

/// Tells on `err` how far a long preparation is, every two seconds.
inline Progress progress_lines(std::ostream& err) {
  using Clock = std::chrono::steady_clock;
  struct State {
    Clock::time_point next = Clock::now() + std::chrono::seconds(2);
    Clock::time_point start = Clock::now();  // of the pass that encodes
    double first_part = -1;
  };
  return [&err, state = State()](const PrepareProgress& progress) mutable {
    if (progress.encoding && state.first_part < 0) {
      state.start = Clock::now();
      state.first_part = progress.part;
    }
    if (Clock::now() < state.next) return;
    state.next = Clock::now() + std::chrono::seconds(2);
    const std::chrono::duration<double> seconds = Clock::now() - state.start;
    err << progress_line(progress, seconds.count(), std::max(state.first_part, 0.0)) << '\n';
  };
}

/// What other programs cut while they prepare, and the trainer cuts here.
struct PrepareWindows {
  std::int64_t max_length = 0;
  std::int64_t stride = 0;
};

inline void summarise(const ToolStreams& streams, const PreparedData& data,
                      const PrepareOptions& options, const PrepareWindows& windows) {
  std::ostream& out = streams.out;
  Bytes bytes = 0;
  for (const DatasetSource& source : data.sources) bytes += source.bytes;
  out << "text:       " << with_commas(bytes) << " bytes";
  if (data.sources.size() > 1)
    out << " in " << with_commas(static_cast<std::int64_t>(data.sources.size())) << " files";
  if (data.resumed_bytes > 0) {
    out << "; went on behind " << with_commas(data.resumed_bytes)
        << " bytes of text that an earlier run had done";
  }
  if (!data.one_text) {
    out << "\ndocuments:  " << with_commas(data.documents[0]) << " for training, "
        << with_commas(data.documents[1]) << " for validation, "
        << with_commas(data.broken.broken()) << " broken and left out";
    if (data.broken.too_short() > 0) {
      out << ", " << with_commas(data.broken.too_short()) << " too short";
    }
  }
  if (data.unknown_tokens > 0) {
    out << "\nunknown:    " << with_commas(data.unknown_tokens)
        << " words that the vocabulary cannot spell, or that are too long for it";
  }
  out << "\ntokenizer:  " << data.tokenizer << ", " << data.vocab_size << " tokens\n";
  for (const Split split : {Split::train, Split::validation}) {
    const auto shards = std::ranges::count(data.shards, split, &DatasetShard::split);
    out << (split == Split::train ? "train:      " : "validation: ")
        << with_commas(data.tokens(split)) << " tokens in " << shards
        << (shards == 1 ? " shard\n" : " shards\n");
  }
  const std::string folder = options.output.string();
  out << "written to: " << folder << "\nnext:       train a model whose vocab_size is at least "
      << data.vocab_size << ":\n            <trainer> train --data " << folder;
  if (windows.max_length > 0) out << " --seq-len " << windows.max_length;
  if (windows.stride > 0) out << " --stride " << windows.stride;
  out << '\n';
  if (data.broken.broken() > 0) {
    streams.err << "broken documents, the first " << data.broken.first().size() << ":\n";
    for (const std::string& line : data.broken.first()) streams.err << "  " << line << '\n';
  }
  if (!data.one_text && options.val_fraction > 0 && data.documents[1] == 0) {
    streams.err << "no document fell to validation; raise --val-fraction, or use more documents\n";
  }
}

inline void add_document_options(CLI::App& app, PrepareOptions& options) {
  static const std::map<std::string, PrepareDocuments> rules = {
      {"auto", PrepareDocuments::automatic},
      {"file", PrepareDocuments::file},
      {"blank-line", PrepareDocuments::blank_line},
      {"line", PrepareDocuments::line},
      {"json-lines", PrepareDocuments::json_lines}};
  app.add_option_function<std::string>(
         "--documents",
         [&options](const std::string& name) {
           if (const auto at = rules.find(name); at != rules.end()) {
             options.documents = at->second;
           } else {
             throw CLI::ValidationError("--documents",
                                        "'" + name +
                                            "' is not known; use auto, file, blank-line, line or " +
                                            "json-lines");
           }
         },
         "What a document is in plain text: file, blank-line (between empty lines) or line; "
         "json-lines takes every input for JSON; auto: plain text is one text, cut by position, or "
         "for several files and a tokenizer with <|endoftext|>, a file is a document")
      ->type_name("RULE");
  app.add_option("--text-field", options.text_field,
                 "Member of a JSON object, or column of a Parquet file, that holds the text")
      ->capture_default_str();
  app.add_option("--max-bad", options.max_bad,
                 "Share of broken documents that is left out; more of them is an error")
      ->capture_default_str();
  add_count(app, "--max-samples", options.max_samples, "Read so many documents and no more");
  add_count(app, "--min-words", options.min_words, "Leave out documents with fewer words");
  add_count(app, "--max-line-bytes", options.line_bytes, "Longer lines of JSON are broken (32MiB)");
}

/// Learns the tokenizer of a preparation from its texts. It is kept beside the output until the
/// shards are there: a preparation that was stopped does not learn it again.
inline std::shared_ptr<const Tokenizer> learn_for_preparation(const PrepareOptions& options,
                                                              std::int64_t vocab_size,
                                                              const std::filesystem::path& kept,
                                                              std::ostream& err) {
  TrainTokenizerOptions how;
  how.kind = options.tokenizer;
  how.vocab_size = vocab_size;
  how.text_field = options.text_field;
  how.max_bad = options.max_bad;
  how.threads = options.workers;
  how.documents = options.documents;
  how.input.push_back(options.input.string());
  for (const std::filesystem::path& input : options.more_inputs)
    how.input.push_back(input.string());
  check_train_options(how);
  Hash64 key;
  key.add(how.kind).add(static_cast<std::uint64_t>(vocab_size)).add(how.text_field);
  TextSources sources;
  for (const std::string& input : how.input) sources.add(input);
  for (const TextSource& source : sources.all()) {
    if (!source.regular) {
      throw ConfigError("--tokenizer " + how.kind + " reads the text twice, and '" +
                        source.path.string() + "' can be read once only; write it to a file first");
    }
    key.add(source.path.string()).add(static_cast<std::uint64_t>(source.file_bytes));
    key.add(static_cast<std::uint64_t>(source.changed));
  }
  const std::string mark = to_hex(key.value()) + "\n";
  std::error_code ignored;
  if (std::filesystem::exists(kept / "tokenizer.json", ignored) &&
      std::filesystem::exists(kept / "learned-from", ignored) &&
      read_file(kept / "learned-from", 64) == mark) {
    return load_tokenizer(kept);
  }
  TrainingTexts texts(how);
  TrainedTokenizer trained = learn_tokenizer(how, texts, err);
  err << "fount prepare: learned " << with_commas(trained.tokenizer->vocab_size())
      << " tokens from " << with_commas(texts.bytes()) << " bytes of text\n";
  ensure_directory(kept);
  trained.tokenizer->save(kept);
  write_file_atomically(kept / "learned-from", mark);
  return load_tokenizer(kept);
}

inline void run_prepare(PrepareOptions options, const PrepareWindows& windows,
                        const ToolStreams& streams) {
  const bool learns = options.tokenizer == "bpe" || options.tokenizer == "wordpiece";
  if (options.tokenizer == "tiktoken") {
    throw ConfigError(
        "--tokenizer tiktoken: name the file of ranks, such as cl100k_base.tiktoken; "
        "`fount fetch cl100k` says where it is");
  }
  std::filesystem::path kept = options.output;
  kept += ".tokenizer";
  if (learns) {
    if (options.max_vocab_size < 1) {
      throw ConfigError("--tokenizer " + options.tokenizer +
                        " learns a vocabulary; say how large: --vocab-size 32k");
    }
    if (!options.overwrite && is_prepared(options.output)) {
      throw FileError("'" + options.output.string() +
                      "' holds prepared data; choose another folder, or add --overwrite");
    }
    options.own_tokenizer =
        learn_for_preparation(options, options.max_vocab_size, kept, streams.err);
  }
  summarise(streams, prepare(options, progress_lines(streams.err)), options, windows);
  std::error_code ignored;
  if (learns) std::filesystem::remove_all(kept, ignored);
}

inline ToolVerb prepare_verb(CLI::App& program) {
  CLI::App* app = program.add_subcommand("prepare", "Turn text into token shards and a tokenizer");
  const auto options = std::make_shared<PrepareOptions>();
  const auto inputs = std::make_shared<std::vector<std::string>>();
  app->add_option(
         "--input,--input-dir", *inputs,
         "Texts: files, folders (every .txt, .jsonl, .json below, .gz or .zst or neither, and "
         ".parquet, in natural order), patterns such as 'c4/*.json.gz', or - for standard input")
      ->required();
  app->add_option("--output,--output-dir", options->output,
                  "Folder for shards, tokenizer and metadata")
      ->required();
  app->add_option("--tokenizer,--tokenizer-type", options->tokenizer,
                  "char: one token per character of the text (UTF-8); byte: 256 tokens, any text; "
                  "bpe or wordpiece: learned from the text, --vocab-size tokens; or the path of a "
                  "tokenizer.json, its folder, or a .tiktoken file")
      ->capture_default_str();
  add_document_options(*app, *options);
  app->add_option("--val-fraction", options->val_fraction,
                  "Part that becomes validation data: of one text, its end; of documents, those "
                  "that a hash of their text picks")
      ->capture_default_str();
  app->add_flag("--split-at-documents", options->split_at_documents,
                "Move the cut of one text to the next blank line");
  add_count(*app, "--shard-tokens", options->shard_tokens, "Tokens in a shard (default 100M)");
  const auto vocab_size = std::make_shared<std::int64_t>(0);
  add_count(*app, "--vocab-size", *vocab_size,
            "Of a tokenizer that is learned; else the model's: one with more tokens is refused");
  options->workers = available_threads();
  app->add_option("--workers,--num-workers", options->workers,
                  "Threads that encode; the result is the same for any number")
      ->capture_default_str();
  app->add_flag("--overwrite", options->overwrite, "Replace prepared data in the output folder");
  const auto windows = std::make_shared<PrepareWindows>();
  add_count(*app, "--max-length", windows->max_length,
            "Not used here: shards hold tokens in a row, and the trainer cuts them by --seq-len");
  add_count(*app, "--stride", windows->stride,
            "Not used here: the trainer has --stride, for windows that overlap");
  app->footer(
      "Examples:\n"
      "  fount prepare --input shakespeare.txt --output data/shakespeare\n"
      "  fount prepare --input books/ --tokenizer byte --output data/books\n"
      "  fount prepare --input 'c4/*.json.gz' --tokenizer gpt2/tokenizer.json --output data/c4\n"
      "  fount prepare --input texts/ --tokenizer bpe --vocab-size 32k --output data/texts\n"
      "  fount prepare --input aclImdb/train --documents file --output data/imdb\n"
      "  xzcat text.xz | fount prepare --input - --output data/text\n"
      "A preparation that was stopped goes on when it is started again.");
  return {app, [options, inputs, windows, vocab_size](const ToolStreams& streams) {
            options->input = inputs->front();
            options->more_inputs.assign(inputs->begin() + 1, inputs->end());
            options->max_vocab_size = static_cast<std::int32_t>(
                std::min<std::int64_t>(*vocab_size, std::numeric_limits<std::int32_t>::max()));
            run_prepare(*options, *windows, streams);
          }};
}

}  // namespace fount::detail
