// SPDX-License-Identifier: Apache-2.0
#pragma once
// `fount tokenizer train`: from texts to the folder of a tokenizer. The work is in
// data/documents.hpp, text/bpe_trainer.hpp and text/wordpiece_trainer.hpp.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/app/tool_verb.hpp>
#include <fount/backend/threads.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/documents.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/file_writer.hpp>
#include <fount/text/bert_text.hpp>
#include <fount/text/bpe.hpp>
#include <fount/text/bpe_trainer.hpp>
#include <fount/text/split.hpp>
#include <fount/text/utf8.hpp>
#include <fount/text/word_counter.hpp>
#include <fount/text/wordpiece.hpp>
#include <fount/text/wordpiece_trainer.hpp>

#include <CLI/CLI.hpp>

namespace fount {

struct TrainTokenizerOptions {
  std::vector<std::string> input;
  std::string output;
  std::string kind = "bpe";
  std::int64_t vocab_size = 0;
  std::int64_t min_frequency = 2;
  std::int64_t max_token_length = 0;  // bpe only; 0: no limit
  std::int64_t limit_alphabet = -1;   // wordpiece only; 0: no limit, -1: 1000
  std::string splitter;               // bpe only; empty: gpt2
  bool cased = false;                 // wordpiece only
  bool lowercase = false;             // wordpiece only: says the default
  std::vector<std::string> special;   // more of them
  std::string text_field = "text";    // of JSON lines
  PrepareDocuments documents = PrepareDocuments::automatic;  // json_lines: whatever the names
  double max_bad = 0.01;  // the share of broken documents that is left out silently
  int threads = 0;        // 0: all
  bool overwrite = false;
};

namespace detail {

/// The documents of the inputs, some at a time: memory holds a batch, whatever the inputs hold.
class TrainingTexts {
 public:
  explicit TrainingTexts(const TrainTokenizerOptions& options)
      : max_bad_(options.max_bad), reader_(open(options)) {
    for (const TextSource& source : reader_.sources()) file_bytes_ += source.file_bytes;
  }

  /// Reads the next documents. @return false at the end
  /// @throws FileError if a file is damaged, or too many documents are broken
  bool next_batch() {
    records_.clear();
    texts_.clear();
    Bytes size = 0;
    while (size < batch_bytes) {
      std::optional<TextRecord> record = reader_.next();
      if (!record) break;
      size += static_cast<Bytes>(record->text.size());
      records_.push_back(std::move(*record));
    }
    reader_.broken().check(max_bad_, records_.empty());
    for (const TextRecord& record : records_) texts_.push_back(record.text);
    if (bytes_ == 0 && !texts_.empty()) sample_ = texts_.front().substr(0, sample_bytes);
    bytes_ += size;
    return !records_.empty();
  }
  const std::vector<std::string_view>& batch() const { return texts_; }

  const std::vector<TextSource>& sources() const { return reader_.sources(); }
  const BrokenDocuments& broken() const { return reader_.broken(); }
  /// Of text so far.
  Bytes bytes() const { return bytes_; }
  /// The part of the files that has been read; 0 where pipes do not tell.
  double part() const {
    if (file_bytes_ == 0) return 0;
    return std::min(1.0,
                    static_cast<double>(reader_.consumed()) / static_cast<double>(file_bytes_));
  }
  /// How the first text begins.
  const std::string& sample() const { return sample_; }

  /// The source, and the byte in it, of what a text of this batch has at `offset`; of JSON the
  /// line.
  std::pair<std::string, std::string> place(std::string_view part, std::size_t offset) const {
    for (const TextRecord& record : records_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(record.text.data());
      const auto at = reinterpret_cast<std::uintptr_t>(part.data());
      if (at < begin || at >= begin + record.text.size()) continue;
      const std::string& name = sources()[static_cast<std::size_t>(record.at.source)].name;
      if (record.format == TextFormat::json_lines) {
        return {name, "in line " + std::to_string(record.at.line)};
      }
      return {name, "at offset " + std::to_string(static_cast<std::size_t>(record.at.offset) + at -
                                                  begin + offset)};
    }
    return {"text", "at offset " + std::to_string(offset)};
  }

 private:
  static constexpr Bytes batch_bytes = MiB(64);
  static constexpr std::size_t sample_bytes = std::size_t{1} << 20U;

  static DocumentReader open(const TrainTokenizerOptions& options) {
    TextSources sources;
    for (const std::string& input : options.input) sources.add(input);
    DocumentOptions how;
    apply_documents(options.documents, sources.all(), how.records);
    how.records.documents = DocumentRule::file;  // where plain documents end changes no word
    how.records.text_field = options.text_field;
    how.records.any_bytes = true;  // the tokenizer to be decides
    how.records.piece_bytes = std::size_t{4} << 20U;
    how.records.as_it_is = std::ranges::find(sources.all(), TextFormat::json_lines,
                                             &TextSource::format) == sources.all().end();
    return DocumentReader(std::move(sources).all(), std::move(how));
  }

  double max_bad_;
  DocumentReader reader_;
  Bytes file_bytes_ = 0;
  Bytes bytes_ = 0;
  std::vector<TextRecord> records_;
  std::vector<std::string_view> texts_;
  std::string sample_;
};

/// Counts the words of all texts. @throws FileError if there is no text
template <class Split>
WordCounter count_all_words(TrainingTexts& texts, const Split& split, int threads,
                            const std::function<void(double)>& progress) {
  WordCounter words;
  while (texts.next_batch()) {
    words.merge(count_words(texts.batch(), split, threads));
    if (texts.part() > 0) progress(texts.part());
  }
  if (texts.bytes() == 0) {
    throw FileError::content(texts.sources().front().path.string(), "no text at all",
                             "text to learn from", "name another file");
  }
  return words;
}

/// Tells on `err`, every two seconds, how far a phase is and how long it may still take.
inline std::function<void(double)> phase_progress(std::ostream& err, std::string phase) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  return [&err, phase = std::move(phase), start,
          next = start + std::chrono::seconds(2)](double part) mutable {
    if (Clock::now() < next) return;
    next = Clock::now() + std::chrono::seconds(2);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    err << "fount tokenizer train: " << phase << ": " << static_cast<int>(part * 100.0) << " %";
    if (part > 0.01) err << ", about " << format_duration(seconds / part - seconds) << " left";
    err << '\n';
  };
}

/// Counts BERT's words. @throws FileError naming file and byte where a text is not UTF-8
inline WordCounter count_bert_words(TrainingTexts& texts, const BertTextOptions& how, int threads,
                                    const std::function<void(double)>& progress) {
  const auto split = [&](std::string_view part, const auto& emit) {
    for (std::size_t at = 0; at < part.size();) {
      const int length = decode_utf8(part, at).length;
      if (length == 0) {
        const auto [name, where] = texts.place(part, at);
        throw FileError::content(
            name, "bytes that are not UTF-8 " + where, "text in UTF-8",
            "convert it (iconv), or train a tokenizer of kind bpe, which takes any bytes");
      }
      at += static_cast<std::size_t>(length);
    }
    BertWords(how).for_each(part, emit);
  };
  return count_all_words(texts, split, threads, progress);
}

struct TrainedTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::int64_t distinct_words = 0;
  std::string vocabulary;  // vocab.txt, for wordpiece
};

inline TrainedTokenizer train_bpe_tokenizer(const TrainTokenizerOptions& options,
                                            TrainingTexts& texts, int threads, std::ostream& err) {
  const auto rule = split_rule(options.splitter.empty() ? "gpt2" : options.splitter);
  if (!rule) {
    throw ConfigError("unknown splitter '" + options.splitter + "'; known: " + split_rule_names());
  }
  const auto split = [&](std::string_view part, const auto& emit) {
    for_each_piece(*rule, part, [&](std::size_t begin, std::size_t end) {
      emit(part.substr(begin, end - begin));
    });
  };
  const WordCounter words =
      count_all_words(texts, split, threads, phase_progress(err, "counting words"));
  BpeTrainerOptions how;
  how.vocab_size = options.vocab_size;
  how.min_frequency = options.min_frequency;
  how.max_token_length = options.max_token_length;
  how.special_tokens.insert(how.special_tokens.end(), options.special.begin(),
                            options.special.end());
  BpeModel model = train_bpe(words, how, phase_progress(err, "merging pairs"));
  model.split = *rule;
  return {std::make_unique<BpeTokenizer>(std::move(model)), words.distinct(), {}};
}

inline TrainedTokenizer train_wordpiece_tokenizer(const TrainTokenizerOptions& options,
                                                  TrainingTexts& texts, int threads,
                                                  std::ostream& err) {
  BertTextOptions text;
  text.lowercase = !options.cased;
  const WordCounter words =
      count_bert_words(texts, text, threads, phase_progress(err, "counting words"));
  WordPieceTrainerOptions how;
  how.vocab_size = options.vocab_size;
  if (options.limit_alphabet >= 0) how.limit_alphabet = options.limit_alphabet;
  how.min_frequency = options.min_frequency;
  how.special_tokens.insert(how.special_tokens.end(), options.special.begin(),
                            options.special.end());
  WordPieceModel model = train_wordpiece(words, how, phase_progress(err, "merging pairs"));
  model.text = text;
  std::string vocabulary = wordpiece_vocabulary_text(model);
  return {std::make_unique<WordPieceTokenizer>(std::move(model)), words.distinct(),
          std::move(vocabulary)};
}

/// How well the tokenizer fits a text: bytes per token, and unknown words.
inline void report_fit(std::ostream& out, const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  if (ids.empty()) return;
  const auto count = static_cast<double>(ids.size());
  char line[96];
  std::snprintf(line, sizeof line, "%.2f bytes per token",
                static_cast<double>(text.size()) / count);
  out << "fit:         " << line;
  if (const auto unknown_token = tokenizer.unknown_token()) {
    const auto unknown = std::ranges::count(ids, *unknown_token);
    std::snprintf(line, sizeof line, ", %.3f %% of them unknown words",
                  100.0 * static_cast<double>(unknown) / count);
    out << line;
  }
  out << " in the first " << with_commas(static_cast<std::int64_t>(text.size()))
      << " bytes of the text\n";
}

inline void check_train_options(const TrainTokenizerOptions& options) {
  const bool bpe = options.kind == "bpe";
  check_trainer_number("--vocab-size", options.vocab_size, 1);
  check_trainer_number("--min-frequency", options.min_frequency, 0);
  check_trainer_number("--max-token-length", options.max_token_length, 0);
  for (const std::string& name : options.special) {
    check_special_name(name);
    if (bpe) check_special_is_no_bytes(name);
  }
  if (options.cased && options.lowercase) {
    throw ConfigError("--cased and --lowercase exclude each other");
  }
  if (bpe && (options.cased || options.lowercase)) {
    throw ConfigError(std::string(options.cased ? "--cased" : "--lowercase") +
                      " is for --kind wordpiece; byte-level BPE keeps text as it is");
  }
  if (bpe && options.limit_alphabet >= 0) {
    throw ConfigError("--limit-alphabet is for --kind wordpiece; the alphabet of bpe is the bytes");
  }
  if (!bpe && (!options.splitter.empty() || options.max_token_length != 0)) {
    throw ConfigError(std::string(options.splitter.empty() ? "--max-token-length" : "--splitter") +
                      " is for --kind bpe");
  }
}

inline TrainedTokenizer learn_tokenizer(const TrainTokenizerOptions& options, TrainingTexts& texts,
                                        std::ostream& err) {
  const int threads = options.threads > 0 ? options.threads : available_threads();
  return options.kind == "bpe" ? train_bpe_tokenizer(options, texts, threads, err)
                               : train_wordpiece_tokenizer(options, texts, threads, err);
}

inline void train_tokenizer(const TrainTokenizerOptions& options, std::ostream& out,
                            std::ostream& err) {
  check_train_options(options);
  const std::filesystem::path folder = options.output;
  std::error_code ignored;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}) {
    if (options.overwrite || !std::filesystem::exists(folder / name, ignored)) continue;
    throw FileError("'" + (folder / name).string() +
                    "' exists; choose another --output, or replace it with --overwrite");
  }
  TrainingTexts texts(options);
  const TrainedTokenizer trained = learn_tokenizer(options, texts, err);
  const Tokenizer& tokenizer = *trained.tokenizer;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError::system("cannot make the folder", folder.string(), error.value());
  tokenizer.save(folder);
  if (!trained.vocabulary.empty()) {
    write_file_atomically(folder / "vocab.txt", trained.vocabulary);
  }

  out << "text:        " << with_commas(texts.bytes()) << " bytes, "
      << with_commas(trained.distinct_words)
      << " different words\nvocabulary:  " << with_commas(tokenizer.vocab_size())
      << " tokens of kind " << tokenizer.kind() << '\n';
  if (tokenizer.vocab_size() < options.vocab_size) {
    out << "             no other pair occurs " << std::max<std::int64_t>(options.min_frequency, 1)
        << (options.min_frequency > 1 ? " times\n" : " time\n");
  } else if (tokenizer.vocab_size() > options.vocab_size) {
    out << "             special tokens and characters alone are that many\n";
  }
  report_fit(out, tokenizer, texts.sample());
  if (texts.broken().broken() > 0) {
    out << "left out:    " << with_commas(texts.broken().broken())
        << " broken documents, the first: " << texts.broken().first().front() << '\n';
  }
  out << "written to:  " << options.output << "\nnext:        fount tokenizer inspect --tokenizer "
      << options.output << '\n';
}

inline ToolVerb tokenizer_train_verb(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("train", "Learn a vocabulary from text");
  const auto options = std::make_shared<TrainTokenizerOptions>();
  app->add_option("--input", options->input,
                  "Texts, JSON lines (.jsonl, .json), also .gz and .zst, and .parquet: files, "
                  "folders, patterns, "
                  "or - for standard input")
      ->required();
  app->add_option("--output", options->output, "Folder for tokenizer.json")->required();
  app->add_option("--kind", options->kind,
                  "bpe: byte-level, any text comes back as it was; wordpiece: BERT's")
      ->check(CLI::IsMember({"bpe", "wordpiece"}))
      ->capture_default_str();
  add_count(*app, "--vocab-size", options->vocab_size, "Tokens in all, special ones included")
      ->required();
  add_count(*app, "--min-frequency", options->min_frequency,
            "Pairs that occur less often are not merged (default 2)");
  add_count(*app, "--max-token-length", options->max_token_length,
            "Merged tokens have fewer bytes than this (bpe only; default: no limit)");
  add_count(*app, "--limit-alphabet", options->limit_alphabet,
            "Characters that are kept, the most frequent ones (wordpiece only; default 1000, as "
            "BERT's; 0: all)");
  app->add_option(
      "--splitter", options->splitter,
      "What never merges across (bpe only): " + split_rule_names() + " (default: gpt2)");
  app->add_option("--special", options->special,
                  "More special tokens, behind <|endoftext|> (bpe) or BERT's five (wordpiece)");
  app->add_flag("--lowercase", options->lowercase,
                "Lower case without accents (wordpiece only; the default)");
  app->add_flag("--cased", options->cased, "Keep case and accents (wordpiece only)");
  app->add_option("--text-field", options->text_field,
                  "The text in a JSON object, or the column of a Parquet file")
      ->capture_default_str();
  app->add_option("--max-bad", options->max_bad, "Share of broken documents that is left out")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--threads", options->threads, "Threads (default: all; the result is the same)")
      ->check(CLI::Range(1, 1024));
  app->add_flag("--overwrite", options->overwrite, "Replace a tokenizer in the output folder");
  app->footer(
      "Examples:\n"
      "  fount tokenizer train --input books/ --output tokenizers/books --vocab-size 32k\n"
      "  fount tokenizer train --input 'c4/*.json.gz' --output tokenizers/c4 --vocab-size 50257\n"
      "  fount tokenizer train --input a.txt b.txt --output t --kind wordpiece --vocab-size 30k "
      "\\\n"
      "      --special '[Q]' '[A]'");
  return {app, [options](const ToolStreams& streams) {
            train_tokenizer(*options, streams.out, streams.err);
          }};
}

}  // namespace detail

}  // namespace fount
