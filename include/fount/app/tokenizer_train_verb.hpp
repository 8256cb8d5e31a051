// SPDX-License-Identifier: Apache-2.0
#pragma once
// `fount tokenizer train`: from text files to the folder of a tokenizer. The work is in
// text/bpe_trainer.hpp and text/wordpiece_trainer.hpp.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/app/tokenizer_verb.hpp>
#include <fount/backend/threads.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
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
  std::string splitter;               // bpe only; empty: gpt2
  bool cased = false;                 // wordpiece only
  bool lowercase = false;             // wordpiece only: says the default
  std::vector<std::string> special;   // more of them
  int threads = 0;                    // 0: all
  bool overwrite = false;
};

namespace detail {

/// Files, mapped as long as this lives.
class TrainingTexts {
 public:
  /// @param inputs files of any name, folders (their .txt files), or "-" for standard input
  explicit TrainingTexts(const std::vector<std::string>& inputs) {
    files_.reserve(inputs.size());
    for (const std::string& input : inputs) {
      std::error_code ignored;
      if (input == "-") {
        if (!standard_input_.empty()) throw ConfigError("--input: - stands there twice");
        standard_input_ = read_descriptor(0, "standard input", GiB(64));
        add("standard input", standard_input_);
      } else if (std::filesystem::is_directory(input, ignored)) {
        const std::vector<std::string> names = list_files(input, "*.txt");
        if (names.empty()) {
          throw FileError::content(input, "no .txt file in the folder", "at least one",
                                   "name another folder, or files of any name");
        }
        for (const std::string& name : names) add_file(std::filesystem::path(input) / name);
      } else {
        add_file(input);
      }
    }
    if (bytes() == 0) {
      throw FileError::content(inputs.empty() ? "--input" : inputs.front(), "no text at all",
                               "text to learn from", "name another file");
    }
  }
  const std::vector<std::string_view>& all() const { return texts_; }
  Bytes bytes() const {
    Bytes sum = 0;
    for (const std::string_view text : texts_) sum += static_cast<Bytes>(text.size());
    return sum;
  }
  /// The name and byte of what a part of one of the texts has at `offset`.
  std::pair<std::string, std::size_t> place(std::string_view part, std::size_t offset) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto begin = reinterpret_cast<std::uintptr_t>(texts_[i].data());
      const auto at = reinterpret_cast<std::uintptr_t>(part.data());
      if (at >= begin && at < begin + texts_[i].size()) return {names_[i], at - begin + offset};
    }
    return {"text", offset};
  }

 private:
  void add_file(const std::filesystem::path& path) {
    files_.push_back(std::make_unique<MappedFile>(path));
    add(path.string(), files_.back()->text());
  }
  void add(std::string name, std::string_view text) {
    names_.push_back(std::move(name));
    texts_.push_back(text);
  }

  std::vector<std::unique_ptr<MappedFile>> files_;
  std::string standard_input_;
  std::vector<std::string> names_;
  std::vector<std::string_view> texts_;
};

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
inline WordCounter count_bert_words(const TrainingTexts& texts, const BertTextOptions& how,
                                    int threads, const std::function<void(double)>& progress) {
  const auto split = [&](std::string_view part, const auto& emit) {
    for (std::size_t at = 0; at < part.size();) {
      const int length = decode_utf8(part, at).length;
      if (length == 0) {
        const auto [name, byte] = texts.place(part, at);
        throw FileError::content(
            name, "bytes that are not UTF-8 at offset " + std::to_string(byte), "text in UTF-8",
            "convert it (iconv), or train a tokenizer of kind bpe, which takes any bytes");
      }
      at += static_cast<std::size_t>(length);
    }
    BertWords(how).for_each(part, emit);
  };
  return count_words(texts.all(), split, threads, progress);
}

struct TrainedTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::int64_t distinct_words = 0;
  std::string vocabulary;  // vocab.txt, for wordpiece
};

inline TrainedTokenizer train_bpe_tokenizer(const TrainTokenizerOptions& options,
                                            const TrainingTexts& texts, int threads,
                                            std::ostream& err) {
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
      count_words(texts.all(), split, threads, phase_progress(err, "counting words"));
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
                                                  const TrainingTexts& texts, int threads,
                                                  std::ostream& err) {
  BertTextOptions text;
  text.lowercase = !options.cased;
  const WordCounter words =
      count_bert_words(texts, text, threads, phase_progress(err, "counting words"));
  WordPieceTrainerOptions how;
  how.vocab_size = options.vocab_size;
  how.min_frequency = options.min_frequency;
  how.special_tokens.insert(how.special_tokens.end(), options.special.begin(),
                            options.special.end());
  WordPieceModel model = train_wordpiece(words, how, phase_progress(err, "merging pairs"));
  model.text = text;
  std::string vocabulary = wordpiece_vocabulary_text(model);
  return {std::make_unique<WordPieceTokenizer>(std::move(model)), words.distinct(),
          std::move(vocabulary)};
}

/// How well the tokenizer fits: bytes per token, and unknown words, at the start of the first text.
inline void report_fit(std::ostream& out, const Tokenizer& tokenizer, std::string_view text) {
  constexpr std::size_t sample_bytes = std::size_t{1} << 20U;
  if (text.size() > sample_bytes) text = text.substr(0, next_certain_cut(text, sample_bytes));
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  if (ids.empty()) return;
  const auto count = static_cast<double>(ids.size());
  char line[96];
  std::snprintf(line, sizeof line, "%.2f bytes per token",
                static_cast<double>(text.size()) / count);
  out << "fit:         " << line;
  if (const auto* wordpiece = dynamic_cast<const WordPieceTokenizer*>(&tokenizer)) {
    const auto unknown = std::ranges::count(ids, wordpiece->unknown_id());
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
  if (!bpe && (!options.splitter.empty() || options.max_token_length != 0)) {
    throw ConfigError(std::string(options.splitter.empty() ? "--max-token-length" : "--splitter") +
                      " is for --kind bpe");
  }
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
  const TrainingTexts texts(options.input);
  const int threads = options.threads > 0 ? options.threads : available_threads();
  const TrainedTokenizer trained = options.kind == "bpe"
                                       ? train_bpe_tokenizer(options, texts, threads, err)
                                       : train_wordpiece_tokenizer(options, texts, threads, err);
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
  report_fit(out, tokenizer, texts.all().front());
  out << "written to:  " << options.output << "\nnext:        fount tokenizer inspect --tokenizer "
      << options.output << '\n';
}

inline TokenizerVerb tokenizer_train_verb(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("train", "Learn a vocabulary from text");
  const auto options = std::make_shared<TrainTokenizerOptions>();
  app->add_option("--input", options->input,
                  "Text files, folders (their .txt files), or - for standard input")
      ->required();
  app->add_option("--output", options->output, "Folder for tokenizer.json")->required();
  app->add_option("--kind", options->kind,
                  "bpe: byte-level, any text comes back as it was; wordpiece: BERT's")
      ->check(CLI::IsMember({"bpe", "wordpiece"}))
      ->capture_default_str();
  const auto add_count = [&](const std::string& name, std::int64_t& target,
                             const std::string& description) {
    return app
        ->add_option_function<std::string>(
            name,
            [name, &target](const std::string& text) {
              const auto number = parse_count(text);
              if (!number || *number < 0) {
                throw CLI::ValidationError(name,
                                           "'" + text + "' is not a count; write 8000 or 32k");
              }
              target = *number;
            },
            description)
        ->type_name("COUNT");
  };
  add_count("--vocab-size", options->vocab_size, "Tokens in all, special ones included")
      ->required();
  add_count("--min-frequency", options->min_frequency,
            "Pairs that occur less often are not merged (default 2)");
  add_count("--max-token-length", options->max_token_length,
            "Merged tokens have fewer bytes than this (bpe only; default: no limit)");
  app->add_option(
      "--splitter", options->splitter,
      "What never merges across (bpe only): " + split_rule_names() + " (default: gpt2)");
  app->add_option("--special", options->special,
                  "More special tokens, behind <|endoftext|> (bpe) or BERT's five (wordpiece)");
  app->add_flag("--lowercase", options->lowercase,
                "Lower case without accents (wordpiece only; the default)");
  app->add_flag("--cased", options->cased, "Keep case and accents (wordpiece only)");
  app->add_option("--threads", options->threads, "Threads (default: all; the result is the same)")
      ->check(CLI::Range(1, 1024));
  app->add_flag("--overwrite", options->overwrite, "Replace a tokenizer in the output folder");
  app->footer(
      "Examples:\n"
      "  fount tokenizer train --input books/ --output tokenizers/books --vocab-size 32k\n"
      "  fount tokenizer train --input a.txt b.txt --output t --kind wordpiece --vocab-size 30k "
      "\\\n"
      "      --special '[Q]' '[A]'");
  return {app,
          [options](std::ostream& out, std::ostream& err) { train_tokenizer(*options, out, err); }};
}

}  // namespace detail

}  // namespace fount
