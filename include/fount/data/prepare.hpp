// SPDX-License-Identifier: Apache-2.0
#pragma once
// From text to a data set: finds the texts, gets the tokenizer, encodes with several threads in
// bounded memory, and writes shards, tokenizer and metadata so that a failed preparation leaves
// nothing half, and a killed one is gone on with. The command line around it is in app/.
// One text is cut as nanoGPT's data/shakespeare_char/prepare.py does it; the steps are in
// text_survey.hpp, encode_records.hpp, staged_shards.hpp and prepare_output.hpp.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/documents.hpp>
#include <fount/data/encode_records.hpp>
#include <fount/data/ordered_pipeline.hpp>
#include <fount/data/prepare_journal.hpp>
#include <fount/data/prepare_output.hpp>
#include <fount/data/staged_shards.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/data/text_survey.hpp>
#include <fount/io/disk_space.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/text/byte.hpp>
#include <fount/text/character.hpp>
#include <fount/text/load_tokenizer.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/version.hpp>

namespace fount {

struct PrepareOptions {
  std::filesystem::path input;  // a file, a folder, a pattern, or "-": standard input
  std::vector<std::filesystem::path> more_inputs;  // read behind it
  std::string tokenizer = "char";                  // "char", "byte", or the path of a tokenizer
  std::shared_ptr<const Tokenizer> own_tokenizer;  // used instead, where there is one
  std::filesystem::path output;
  double val_fraction = 0.1;  // of one text, its last part; of documents, so many of them
  std::int64_t shard_tokens = 100'000'000;
  bool split_at_documents = false;  // move the cut of one text to the next blank line
  bool overwrite = false;
  PrepareDocuments documents = PrepareDocuments::automatic;
  std::string text_field = "text";    // of a JSON object
  double max_bad = 0.01;              // the share of broken documents that is left out silently
  std::int64_t max_samples = 0;       // read so many documents, from the first on; 0: all
  std::int64_t min_words = 0;         // documents with fewer words are left out
  std::int32_t max_vocab_size = 0;    // the model's: a larger vocabulary is refused; 0: any
  int workers = 1;                    // threads that encode; the result does not depend on them
  Bytes journal_bytes = MiB(64);      // of text between two entries of the journal
  std::int64_t line_bytes = MiB(32);  // longer lines of JSON are broken
};

/// How far a preparation is. Converts to the part that is done.
struct PrepareProgress {
  double part = 0;          // 0 to 1
  bool encoding = false;    // false: the first pass, which finds characters and length
  Bytes text_bytes = 0;     // unpacked, that have been encoded
  Bytes resumed_bytes = 0;  // of these, by an earlier run
  std::int64_t documents = 0;
  std::int64_t tokens = 0;

  operator double() const { return part; }  // NOLINT: who wants only this takes a double
};

/// Hears, now and then, how far the work is.
using Progress = std::function<void(const PrepareProgress&)>;

/// What was written, as in metadata.json, and what happened on the way.
struct PreparedData : DatasetMetadata {
  Bytes text_bytes = 0;                     // unpacked
  Bytes resumed_bytes = 0;                  // of these, done by an earlier run that was stopped
  bool one_text = false;                    // the sources were one text; else documents
  std::array<std::int64_t, 2> documents{};  // of train and validation
  std::int64_t unknown_tokens = 0;          // of words that the vocabulary cannot spell
  BrokenDocuments broken;
};

namespace detail {

inline void check_options(const PrepareOptions& options) {
  std::error_code ignored;
  if (!options.own_tokenizer && options.tokenizer != "char" && options.tokenizer != "byte" &&
      !std::filesystem::exists(options.tokenizer, ignored)) {
    throw ConfigError("prepare: tokenizer '" + options.tokenizer +
                      "' is not known; use char or byte, or the path of a tokenizer.json, of a " +
                      "folder that holds one, or of a .tiktoken file");
  }
  if (!(options.val_fraction >= 0.0 && options.val_fraction < 1.0)) {
    throw ConfigError("prepare: val-fraction is " + std::to_string(options.val_fraction) +
                      "; it must be at least 0 and below 1");
  }
  if (!(options.max_bad >= 0.0 && options.max_bad <= 1.0)) {
    throw ConfigError("prepare: max-bad is " + std::to_string(options.max_bad) +
                      "; it must be from 0 to 1");
  }
  if (options.shard_tokens < 1 || options.shard_tokens > max_shard_tokens) {
    throw ConfigError("prepare: shard-tokens is " + std::to_string(options.shard_tokens) +
                      "; it must be from 1 to " + std::to_string(max_shard_tokens));
  }
  if (options.line_bytes < 16 || options.line_bytes > GiB(1)) {
    throw ConfigError("prepare: max-line-bytes is " + std::to_string(options.line_bytes) +
                      "; it must be from 16 to " + std::to_string(GiB(1)));
  }
  if (options.max_samples < 0 || options.min_words < 0) {
    throw ConfigError("prepare: max-samples and min-words are counts, from 0 on");
  }
  if (options.workers < 1 || options.workers > 1024) {
    throw ConfigError("prepare: workers is " + std::to_string(options.workers) +
                      "; it must be from 1 to 1024");
  }
}

/// One preparation, step by step.
class Preparation {
 public:
  Preparation(const PrepareOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {
    check_options(options_);
    sources_.add(options_.input);
    for (const std::filesystem::path& input : options_.more_inputs) sources_.add(input);
    decide_documents();
    if (options_.own_tokenizer) {
      tokenizer_ = options_.own_tokenizer;
    } else if (options_.tokenizer == "byte") {
      tokenizer_ = std::make_shared<const ByteTokenizer>();
    } else if (options_.tokenizer != "char") {
      tokenizer_ = load_tokenizer(options_.tokenizer);
    }
    documents_.records.any_bytes = tokenizer_ && tokenizer_->kind() == "byte";
    decide_one_text();
  }

  PreparedData run() {
    const std::uint64_t plan = plan_hash();
    if (!options_.overwrite && is_prepared(options_.output) &&
        !PrepareOutput::is_publishing(options_.output, plan)) {
      throw FileError::content(options_.output.string(), "prepared data (metadata.json)",
                               "a folder without", "choose another folder, or add --overwrite");
    }
    output_.emplace(options_.output, plan);
    if (output_->resumed() && PrepareOutput::is_publishing(options_.output, plan)) {
      return finished(output_->finish_publishing());
    }
    survey();
    check_disk();
    try {
      encode();
    } catch (const Error& e) {
      if (!output_->kept()) throw;
      throw FileError(std::string(e.what()) + "\nWhat was done before is kept in '" +
                      output_->staging().string() +
                      "'; the same command goes on from there, with the same input.");
    }
    return publish();
  }

 private:
  static constexpr std::size_t batch_bytes = std::size_t{1} << 18U;

  void decide_documents() {
    RecordOptions& records = documents_.records;
    apply_documents(options_.documents, sources_.all(), records);
    records.line_bytes = static_cast<std::size_t>(options_.line_bytes);
    records.max_documents = options_.max_samples;
    documents_.records.text_field = options_.text_field;
    documents_.min_words = options_.min_words;
  }
  void decide_one_text() {
    const auto& all = sources_.all();
    const bool json =
        std::ranges::find(all, TextFormat::json_lines, &TextSource::format) != all.end();
    const bool separated = tokenizer_ && tokenizer_->end_of_text().has_value();
    one_text_ = options_.documents == PrepareDocuments::automatic && !json &&
                !(separated && all.size() > 1);
    documents_.records.as_it_is = one_text_;
    if (one_text_ && (options_.max_samples > 0 || options_.min_words > 0)) {
      throw ConfigError(
          "prepare: max-samples and min-words are about documents, and this is one "
          "text; say what a document is: --documents file, blank-line or line");
    }
    if (options_.split_at_documents && !one_text_) {
      throw ConfigError(
          "prepare: split-at-documents moves the cut of one text, and these are documents; each "
          "is whole in train or validation anyway");
    }
  }

  /// Names all that the result depends on. Equal plans give equal bytes; pipes cannot be compared.
  std::uint64_t plan_hash() const {
    Hash64 hash;
    const auto add = [&](std::string_view text) {
      hash.add(static_cast<std::uint64_t>(text.size())).add(text);
    };
    hash.add(std::uint64_t{1});  // the version of the journal and of the rules
    add(options_.tokenizer);
    hash.add(tokenizer_ ? tokenizer_->hash() : 0);
    hash.add(tokenizer_ ? static_cast<std::uint64_t>(tokenizer_->end_of_text().value_or(-1)) : 0);
    add(options_.text_field);
    for (const auto number : {std::bit_cast<std::uint64_t>(options_.val_fraction),
                              static_cast<std::uint64_t>(options_.shard_tokens),
                              static_cast<std::uint64_t>(options_.documents),
                              static_cast<std::uint64_t>(options_.max_samples),
                              static_cast<std::uint64_t>(options_.min_words),
                              std::uint64_t{options_.split_at_documents},
                              static_cast<std::uint64_t>(options_.line_bytes)}) {
      hash.add(number);
    }
    for (const TextSource& source : sources_.all()) {
      add(source.path.string());
      hash.add(static_cast<std::uint64_t>(source.file_bytes));
      hash.add(static_cast<std::uint64_t>(source.changed));
      if (!source.regular) hash.add(static_cast<std::uint64_t>(::getpid()));
    }
    return hash.value();
  }

  // --- the first pass ---

  /// Where two passes are needed, what can be read only once is copied first.
  void spool_pipes() {
    for (std::size_t i = 0; i < sources_.all().size(); ++i) {
      TextSource& source = sources_.all()[i];
      if (source.regular) continue;
      const std::filesystem::path copy = output_->staging() / ("input-" + std::to_string(i));
      FileStream in(source.path);
      FileWriter out(copy);
      std::vector<char> buffer(std::size_t{1} << 18U);
      while (const std::size_t size = in.read(buffer.data(), buffer.size())) {
        out.write(buffer.data(), size);
      }
      source.file_bytes = out.written();
      out.close();
      source.path = copy;
    }
  }
  void survey() {
    const bool characters = !tokenizer_;  // those of the text become the vocabulary
    if (!one_text_ && !characters) return;
    spool_pipes();
    std::optional<TextSurvey> found;
    if (output_->resumed()) found = read_survey(output_->staging());
    if (!found || found->bytes.size() != (one_text_ ? sources_.all().size() : 0)) {
      const SurveyProgress heard([&](Bytes consumed) { report(consumed, false); });
      if (one_text_) {
        const TextUnit unit = characters ? TextUnit::characters : TextUnit::bytes;
        found = survey_one_text(sources_, unit, documents_.records.any_bytes, heard);
        if (found->total() == 0) refuse_nothing("no text at all");
        found->cut =
            find_cut(sources_, *found, unit, options_.val_fraction, options_.split_at_documents);
      } else {
        found = survey_documents(sources_, documents_, heard);
      }
      write_survey(output_->staging(), *found);
    }
    survey_ = std::move(*found);
    surveyed_ = true;
    if (characters) tokenizer_ = std::make_shared<const CharacterTokenizer>(survey_.characters);
  }
  [[noreturn]] void refuse_nothing(std::string_view found) const {
    throw FileError::content(options_.input.string(), found, "text to learn from",
                             "name another file");
  }

  /// Refuses what will surely not fit. Tokens of a large vocabulary hold some four bytes of text,
  /// compressed text unpacks to about three times its size.
  void check_disk() const {
    const std::int32_t vocab_size = tokenizer_->vocab_size();
    if (options_.max_vocab_size > 0 && vocab_size > options_.max_vocab_size) {
      throw ConfigError("prepare: the tokenizer has " + std::to_string(vocab_size) +
                        " tokens, and vocab-size allows " +
                        std::to_string(options_.max_vocab_size) +
                        "; use another tokenizer, or a model with a larger vocabulary");
    }
    Bytes text = survey_.total();
    if (text == 0) {
      for (const TextSource& source : sources_.all()) {
        text += source.file_bytes * (source.compressed() ? 3 : 1);
      }
    }
    const std::string_view kind = tokenizer_->kind();
    const Bytes per_token = kind == "byte" || kind == "char" ? 1 : 4;
    const Bytes needed = text / per_token * (has_wide_tokens(vocab_size) ? 4 : 2);
    const Bytes done = output_->resumed() ? folder_bytes(output_->staging()) : 0;
    const Bytes free = free_disk_space(output_->staging());
    // Characters outside ASCII take several bytes of text for one token.
    require_disk_space(options_.output, kind == "char" ? needed / 4 - done : needed - done, free,
                       "the shards");
  }
  static Bytes folder_bytes(const std::filesystem::path& folder) {
    Bytes sum = 0;
    for (const std::string& name : list_files(folder)) {
      std::error_code ignored;
      const auto size = std::filesystem::file_size(folder / name, ignored);
      if (!ignored) sum += static_cast<Bytes>(size);
    }
    return sum;
  }

  // --- the pass that writes ---

  std::uint64_t first_hash() const {
    Hash64 hash;
    hash.add(tokenizer_->hash()).add(static_cast<std::uint64_t>(one_text_ ? survey_.cut : 0));
    hash.add(static_cast<std::uint64_t>(options_.shard_tokens));
    hash.add(static_cast<std::uint64_t>(one_text_ ? survey_.total() : 0));
    if (!one_text_) hash.add(std::bit_cast<std::uint64_t>(options_.val_fraction));
    return hash.value();
  }

  /// Opens the shards at the place of the journal, or empty.
  void begin_shards() {
    const auto open = [&](const PrepareState& state) {
      shards_.clear();
      for (const Split split : {Split::train, Split::validation}) {
        shards_.emplace_back(output_->staging(), split, options_.shard_tokens,
                             tokenizer_->vocab_size(), state.tokens[split == Split::train ? 0 : 1]);
      }
      state_ = state;
      journaled_bytes_ = state.text_bytes;
    };
    if (output_->resumed()) {
      if (const auto journal = read_journal(output_->staging())) {
        try {
          open(*journal);
          reader_->seek(journal->position);
          output_->keep();
          return;
        } catch (const FileError&) {
          // The shards are not those of the journal, or the text is shorter: start anew.
          reader_.emplace(sources_.all(), documents_.records);
        }
      }
    }
    PrepareState fresh;
    fresh.text_hash = first_hash();
    open(fresh);
  }

  std::optional<RecordBatch> next_batch() {
    RecordBatch batch;
    for (std::size_t size = 0; size < batch_bytes;) {
      std::optional<TextRecord> record = reader_->next();
      if (!record) break;
      size += record->text.size() + sizeof(TextRecord);
      batch.records.push_back(std::move(*record));
    }
    if (batch.records.empty()) return std::nullopt;
    batch.after = reader_->position();
    batch.consumed = reader_->consumed();
    return batch;
  }

  void encode() {
    reader_.emplace(sources_.all(), documents_.records);
    begin_shards();
    RecordEncoder::Options encoder;
    encoder.documents = documents_;
    encoder.val_fraction = options_.val_fraction;
    encoder.one_text = one_text_;
    encoder.cut = survey_.cut;
    Bytes begin = 0;
    for (std::size_t i = 0; i < sources_.all().size(); ++i) {
      encoder.begins.push_back(begin);
      encoder.names.push_back(sources_.all()[i].name);
      if (one_text_) begin += survey_.bytes[i];
    }
    run_ordered(
        options_.workers, [&] { return next_batch(); }, RecordEncoder(*tokenizer_, encoder),
        [&](const EncodedBatch& encoded) { write(encoded); });
    if (!one_text_) state_.broken.check(options_.max_bad, true);
    if (one_text_ && state_.text_bytes != survey_.total()) {
      throw FileError::content(options_.input.string(),
                               std::to_string(state_.text_bytes) + " bytes of text",
                               std::to_string(survey_.total()) + " as in the first pass",
                               "it changed while it was read; start again");
    }
    if (state_.tokens[0] + state_.tokens[1] == 0) refuse_nothing("no document at all");
  }

  void write(const EncodedBatch& encoded) {
    Hash64 hash = Hash64::resume(state_.text_hash);
    for (const TextRecord& record : encoded.batch.records) {
      if (!one_text_) {
        const auto source = static_cast<std::size_t>(record.at.source);
        state_.broken.add(record, sources_.all()[source]);
      }
      if (!record.used()) continue;
      if (!one_text_ && record.begins) hash.add(std::string_view("\0", 1));
      hash.add(record.text);
      state_.text_bytes += static_cast<Bytes>(record.text.size());
    }
    state_.text_hash = hash.value();
    const auto unknown = tokenizer_->unknown_token();
    for (const std::size_t side : {0U, 1U}) {
      if (unknown) state_.unknown_tokens += std::ranges::count(encoded.ids[side], *unknown);
      shards_[side].write(encoded.ids[side]);
      state_.tokens[side] = shards_[side].tokens();
      state_.documents[side] += encoded.documents[side];
    }
    state_.position = encoded.batch.after;
    if (!one_text_) state_.broken.check(options_.max_bad, false);
    if (state_.text_bytes - journaled_bytes_ >= options_.journal_bytes) journal();
    report(encoded.batch.consumed, true);
  }
  void journal() {
    // What comes through a pipe does not come again.
    if (!std::ranges::all_of(sources_.all(), &TextSource::regular)) return;
    for (StagedShards& shards : shards_) shards.sync();
    write_journal(output_->staging(), state_);
    journaled_bytes_ = state_.text_bytes;
    output_->keep();
  }

  void report(Bytes consumed, bool encoding) const {
    if (!progress_) return;
    // The first pass does a small part of the work.
    constexpr double survey_part = 0.2;
    const Bytes all = sources_.file_bytes();
    const double share =
        all > 0 ? std::min(1.0, static_cast<double>(consumed) / static_cast<double>(all)) : 0.0;
    PrepareProgress heard;
    heard.encoding = encoding;
    heard.part = !encoding    ? share * survey_part
                 : !surveyed_ ? share
                              : survey_part + share * (1.0 - survey_part);
    heard.text_bytes = state_.text_bytes;
    heard.resumed_bytes = state_.resumed_bytes;
    heard.documents = state_.documents[0] + state_.documents[1];
    heard.tokens = state_.tokens[0] + state_.tokens[1];
    progress_(heard);
  }

  // --- the end ---

  PreparedData publish() {
    DatasetMetadata metadata;
    metadata.tokenizer = tokenizer_->kind();
    metadata.vocab_size = tokenizer_->vocab_size();
    metadata.tokenizer_hash = tokenizer_->hash();
    metadata.dataset_hash = state_.text_hash;
    const ShardOrigin origin{metadata.vocab_size, metadata.tokenizer_hash, metadata.dataset_hash};
    for (StagedShards& shards : shards_) {
      for (DatasetShard& shard : shards.seal(origin)) metadata.shards.push_back(std::move(shard));
    }
    list_sources(metadata);
    tokenizer_->save(output_->staging());
    write_file_atomically(output_->staging() / DatasetMetadata::file_name,
                          to_json(metadata, version));
    if (progress_) {
      PrepareProgress heard;
      heard.part = 1.0;
      heard.encoding = true;
      heard.text_bytes = state_.text_bytes;
      heard.resumed_bytes = state_.resumed_bytes;
      heard.documents = state_.documents[0] + state_.documents[1];
      heard.tokens = state_.tokens[0] + state_.tokens[1];
      progress_(heard);
    }
    output_->publish(metadata);
    return finished(std::move(metadata));
  }
  /// Of one text, with its bytes unpacked; of documents, with those of the files.
  void list_sources(DatasetMetadata& metadata) const {
    constexpr std::size_t most = 10'000;  // metadata.json stays readable
    Bytes others = 0;
    for (std::size_t i = 0; i < sources_.all().size(); ++i) {
      const TextSource& source = sources_.all()[i];
      const Bytes bytes = one_text_ ? survey_.bytes[i] : source.file_bytes;
      if (i >= most) {
        others += bytes;
        continue;
      }
      Utf8Stream name;  // names of files may be in any encoding, JSON is UTF-8
      metadata.sources.push_back({name.push(source.name) + name.finish(), bytes});
    }
    if (sources_.all().size() > most) {
      metadata.sources.push_back(
          {"and " + std::to_string(sources_.all().size() - most) + " more", others});
    }
  }
  PreparedData finished(DatasetMetadata metadata) const {
    PreparedData result;
    static_cast<DatasetMetadata&>(result) = std::move(metadata);
    result.text_bytes = state_.text_bytes;
    result.resumed_bytes = state_.resumed_bytes;
    result.one_text = one_text_;
    result.documents = state_.documents;
    result.unknown_tokens = state_.unknown_tokens;
    result.broken = state_.broken;
    return result;
  }

  PrepareOptions options_;
  Progress progress_;
  TextSources sources_;
  DocumentOptions documents_;
  std::shared_ptr<const Tokenizer> tokenizer_;  // of characters: after the survey
  bool one_text_ = false;
  std::optional<PrepareOutput> output_;
  TextSurvey survey_;
  bool surveyed_ = false;
  std::optional<RecordReader> reader_;
  std::vector<StagedShards> shards_;  // train, validation
  PrepareState state_;
  Bytes journaled_bytes_ = 0;
};

}  // namespace detail

/// Writes the data set of texts: tokens_train_000000.bin ..., tokens_val_000000.bin ...,
/// tokenizer.json, tokenizer_config.json and metadata.json.
///
/// Texts are one text where nothing says that they are documents: plain files (with a tokenizer
/// that has an end-of-text token: one plain file), and no rule in options.documents. The files then
/// count as if they were one; the first int(n·(1-val_fraction)) of the n characters (byte tokenizer
/// and tokenizers from a file: of the bytes) are the train part, as nanoGPT has it, and the rest
/// validation.
///
/// Documents (lines of JSON, and plain files by options.documents) are validation where a hash of
/// their text says so: about val_fraction of them, equal ones on the same side. Broken ones are
/// left out and counted. Each begins with the end-of-text token of the tokenizer; without one, each
/// is followed by an empty line.
///
/// A preparation that was killed is gone on with when it is started again with the same options,
/// files and output folder, and gives the same bytes.
/// @return what was written, as in metadata.json, and counts
/// @throws FileError if an input is missing, empty or damaged, if more than max_bad of the
/// documents
///         are broken, if the output holds prepared data already, or if the disk refuses;
///         ConfigError if an option is out of range
inline PreparedData prepare(const PrepareOptions& options, const Progress& progress = {}) {
  return detail::Preparation(options, progress).run();
}

}  // namespace fount
