// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serves training samples straight from text: files are read, unpacked and tokenized in threads of
// their own while the model trains, a few blocks of samples ahead, in bounded memory. The samples
// depend on the files, the tokenizer and the seed alone, and a stream goes on from any of them.
// Prepared shards are in data/loader.hpp.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/document_encoder.hpp>
#include <fount/data/documents.hpp>
#include <fount/data/loader.hpp>
#include <fount/data/ordered_pipeline.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/data/text_records.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/hash.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

struct TextStreamOptions {
  std::int64_t seq_len = 0;
  std::int32_t vocab_size = 0;  // of the model: every id must be below
  std::uint64_t seed = 0;
  bool shuffle = true;                // false: in the order of the files
  std::int64_t block_samples = 1024;  // read, and shuffled, together
  int prefetch = 4;                   // blocks ready ahead of the one that is served
  int workers = 1;                    // threads that tokenize
  PrepareDocuments documents = PrepareDocuments::automatic;
  std::string text_field = "text";
  std::int64_t max_samples = 0;  // documents of an epoch, from the first on; 0: all
  std::int64_t min_words = 0;
  double max_bad = 0.01;                      // the share of broken documents that is left out
  std::function<void(double part)> counting;  // hears how far count_samples() is, 0 to 1
};

/// Samples of seq_len tokens and their successors from text, each exactly once per epoch.
///
/// The documents of the sources, each behind the tokenizer's end-of-text token, form one row of
/// tokens; sample k of an epoch begins at token k·seq_len of it. With `shuffle`, each epoch takes
/// the files in an order of its own, and samples are shuffled within blocks of block_samples; with
/// max_samples the files keep their order, so that every epoch has the same documents. Tokens at
/// the end of an epoch that fill no sample are never served. Every rank of a run reads all of the
/// text and takes its share of the samples.
class TextStream final : public SampleSource {
 public:
  /// @param sources   read again in every epoch, so none may be a pipe
  /// @param tokenizer outlives this
  /// @throws ConfigError if an option is out of range, or the tokenizer has more tokens than the
  ///         model; FileError for a pipe
  TextStream(std::vector<TextSource> sources, const Tokenizer& tokenizer, TextStreamOptions options)
      : options_(std::move(options)),
        sources_(std::move(sources)),
        encoder_(tokenizer, document_options(options_, sources_, tokenizer)) {
    check();
    if (options_.max_samples == 0 && options_.shuffle && sources_.size() > 1) reorder_ = true;
    hash_list();
  }
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;
  ~TextStream() override { stop(); }

  /// Samples must come in order, but for those of a block; an earlier one starts the stream anew.
  /// From one thread only. @throws FileError if the text is damaged, or has too little for one
  /// sample
  void fill(std::int64_t sample, const SampleRow& row) override {
    if (sample < block_.start.first_sample) seek({});
    while (sample >= block_.start.first_sample + block_.samples) take_block();
    const std::int64_t T = options_.seq_len;
    const std::int64_t window = window_in_block(sample - block_.start.first_sample);
    const std::int32_t* const ids = block_.ids.data() + window * T;
    std::copy_n(ids, T, row.inputs);
    std::copy_n(ids + 1, T, row.labels);
    if (row.documents != nullptr) {
      number_documents(ids, T, encoder_.tokenizer().end_of_text().value_or(-1), row.documents);
    }
  }

  std::int64_t count_samples(std::int64_t files) override {
    const std::int64_t whole = files / num_files();
    std::int64_t samples = 0;
    if (whole > 0) {
      if (windows_ == 0) windows_ = samples_in(0, num_files());
      samples = whole * windows_;
    }
    if (const std::int64_t rest = files % num_files(); rest > 0) samples += samples_in(whole, rest);
    return samples;
  }
  /// How many samples the first epoch begins with, up to the size of a block.
  std::int64_t first_block() {
    seek({});
    take_block();
    return block_.samples;
  }
  DataProgress progress(std::int64_t sample) const override {
    if (sample < block_.start.first_sample) return {};
    const std::int64_t epoch = block_.start.epoch;
    if (block_.ends_epoch && sample >= block_.start.first_sample + block_.samples) {
      return {epoch + 1, (epoch + 1) * num_files()};
    }
    return {epoch, epoch * num_files() + block_.start.at.source};
  }
  std::int64_t num_files() const override { return static_cast<std::int64_t>(sources_.size()); }
  std::uint64_t list_hash() const override { return list_hash_; }
  std::string describe() const override {
    Bytes bytes = 0;
    for (const TextSource& source : sources_) bytes += source.file_bytes;
    return "text, " + with_commas(num_files()) + (num_files() == 1 ? " file, " : " files, ") +
           format_bytes(bytes) + ", tokenized by " + std::to_string(options_.workers) +
           (options_.workers == 1 ? " thread" : " threads") + " while the model trains";
  }

  /// That of the block which holds the sample last filled: it is read again.
  StreamCursor cursor() const override { return block_.start; }
  void seek(const StreamCursor& cursor) override {
    if (cursor.at.source >= num_files()) {
      throw FileError("text stream: a place in file " + std::to_string(cursor.at.source + 1) +
                      " to go on from, and there are " + std::to_string(num_files()) +
                      "; the checkpoint is damaged or of another run, use another");
    }
    stop();
    block_ = {};
    block_.start = cursor;
  }
  std::vector<std::string> take_notes() override {
    if (block_.notes.empty()) return {};
    return std::exchange(block_.notes, {});
  }

 private:
  /// Samples that are read together.
  struct Block {
    StreamCursor start;
    std::int64_t samples = 0;
    bool ends_epoch = false;
    std::vector<std::int32_t> ids;   // samples * seq_len + 1
    std::vector<std::string> notes;  // about documents that were left out
  };
  struct Encoded {
    TextPosition at;
    std::vector<std::int32_t> ids;
    std::int64_t seen = 0;  // of the epoch, before this record
    std::int64_t broken = 0;
  };
  struct EncodedRecords {
    std::vector<Encoded> list;
    std::vector<TextRecord> records;
    std::vector<std::string> notes;
  };

  /// Reads one epoch from a place in it to its end.
  class EpochReader {
   public:
    EpochReader(const TextStream& stream, const StreamCursor& start)
        : stream_(&stream),
          reader_(stream.sources_of(start.epoch), stream.encoder_.options().records) {
      broken_.restore(start.documents_seen, start.documents_broken, 0, {});
      reader_.seek(start.at);
    }

    /// @param take bool take(EncodedRecords&), in order; false ends the reading
    /// @return whether it came to the end of the epoch
    template <class Take>
    bool run(Take take) {
      bool going = true;
      run_ordered(
          stream_->options_.workers, [&] { return going ? next_batch() : std::nullopt; },
          [this](EncodedRecords batch) { return encode(std::move(batch)); },
          [&](EncodedRecords batch) {
            count(batch);
            if (going) going = take(batch);
          });
      if (going) broken_.check(stream_->options_.max_bad, true);
      return going;
    }

    /// Bytes of the files that have been read.
    Bytes consumed() const { return reader_.consumed(); }

   private:
    static constexpr std::size_t batch_bytes = std::size_t{1} << 16U;

    std::optional<EncodedRecords> next_batch() {
      if (error_) std::rethrow_exception(error_);
      EncodedRecords batch;
      try {
        for (std::size_t size = 0; size < batch_bytes;) {
          std::optional<TextRecord> record = reader_.next();
          if (!record) break;
          size += record->text.size() + sizeof(TextRecord);
          batch.records.push_back(std::move(*record));
        }
      } catch (...) {
        if (batch.records.empty()) throw;
        error_ = std::current_exception();  // behind the records that are whole
      }
      if (batch.records.empty()) return std::nullopt;
      return batch;
    }
    EncodedRecords encode(EncodedRecords batch) const {
      for (TextRecord& record : batch.records) {
        decode_record(record, stream_->encoder_.options());
        Encoded encoded;
        encoded.at = record.at;
        stream_->encoder_.encode(record, encoded.ids);
        batch.list.push_back(std::move(encoded));
      }
      return batch;
    }
    void count(EncodedRecords& batch) {
      for (std::size_t i = 0; i < batch.records.size(); ++i) {
        batch.list[i].seen = broken_.seen();
        batch.list[i].broken = broken_.broken();
        const std::size_t told = broken_.first().size();
        const TextRecord& record = batch.records[i];
        broken_.add(record, reader_.sources()[static_cast<std::size_t>(record.at.source)]);
        if (broken_.first().size() > told) batch.notes.push_back(broken_.first().back());
      }
      broken_.check(stream_->options_.max_bad, false);
    }

    const TextStream* stream_;
    RecordReader reader_;
    BrokenDocuments broken_;
    std::exception_ptr error_;  // of the reader
  };

  static DocumentOptions document_options(const TextStreamOptions& options,
                                          std::vector<TextSource>& sources,
                                          const Tokenizer& tokenizer) {
    DocumentOptions result;
    apply_documents(options.documents, sources, result.records);
    result.records.any_bytes = tokenizer.kind() == "byte";
    result.records.max_documents = options.max_samples;
    result.records.text_field = options.text_field;
    result.min_words = options.min_words;
    return result;
  }

  void check() const {
    const auto at_least = [](const char* name, std::int64_t value, std::int64_t least) {
      if (value >= least) return;
      throw ConfigError("text stream: " + std::string(name) + " is " + std::to_string(value) +
                        "; it must be at least " + std::to_string(least));
    };
    at_least("seq_len", options_.seq_len, 1);
    at_least("block_samples", options_.block_samples, 1);
    at_least("prefetch", options_.prefetch, 1);
    at_least("workers", options_.workers, 1);
    at_least("max_samples", options_.max_samples, 0);
    at_least("min_words", options_.min_words, 0);
    if (!(options_.max_bad >= 0.0 && options_.max_bad <= 1.0)) {
      throw ConfigError("text stream: max_bad is " + std::to_string(options_.max_bad) +
                        "; it must be from 0 to 1");
    }
    const std::int32_t vocab_size = encoder_.tokenizer().vocab_size();
    if (vocab_size > options_.vocab_size) {
      throw ConfigError("text stream: the tokenizer has " + std::to_string(vocab_size) +
                        " tokens, the model " + std::to_string(options_.vocab_size) +
                        "; use a model with a larger vocab_size or another tokenizer");
    }
    if (sources_.empty()) throw FileError("text stream: no files given");
    for (const TextSource& source : sources_) {
      if (source.regular) continue;
      throw FileError("'" + source.path.string() +
                      "' can be read once only, and training reads its text in every epoch; write "
                      "it to a file, or use `fount prepare`");
    }
  }
  void hash_list() {
    Hash64 hash;
    for (const TextSource& source : sources_) {
      hash.add(static_cast<std::uint64_t>(source.name.size())).add(source.name);
      hash.add(static_cast<std::uint64_t>(source.file_bytes));
    }
    hash.add(encoder_.tokenizer().hash());
    hash.add(options_.text_field);
    for (const std::int64_t number :
         {static_cast<std::int64_t>(options_.documents), options_.max_samples, options_.min_words,
          options_.block_samples, std::int64_t{options_.shuffle}}) {
      hash.add(static_cast<std::uint64_t>(number));
    }
    list_hash_ = hash.value();
  }
  [[noreturn]] void refuse_empty(std::int64_t tokens) const {
    std::string where = "'" + sources_.front().path.string() + "'";
    if (sources_.size() > 1) where += " and " + std::to_string(sources_.size() - 1) + " more";
    throw FileError(where + ": found " + with_commas(tokens) +
                    " tokens in all, expected at least " + with_commas(options_.seq_len + 1) +
                    " (seq_len + 1); use a smaller seq_len or more text");
  }

  /// Reads the first files of an epoch to count their samples.
  std::int64_t samples_in(std::int64_t epoch, std::int64_t files) const {
    StreamCursor start;
    start.epoch = epoch;
    std::int64_t tokens = 0;
    Bytes bytes = 0;
    const std::vector<TextSource> order = sources_of(epoch);
    for (std::int64_t i = 0; i < files; ++i) bytes += order[static_cast<std::size_t>(i)].file_bytes;
    EpochReader reader(*this, start);
    reader.run([&](const EncodedRecords& records) {
      for (const Encoded& record : records.list) {
        if (record.at.source >= files) return false;
        tokens += static_cast<std::int64_t>(record.ids.size());
      }
      if (options_.counting && bytes > 0) {
        options_.counting(
            std::min(1.0, static_cast<double>(reader.consumed()) / static_cast<double>(bytes)));
      }
      return true;
    });
    const std::int64_t samples = std::max<std::int64_t>(0, tokens - 1) / options_.seq_len;
    if (files == num_files() && samples == 0) refuse_empty(tokens);
    return samples;
  }

  /// The files in the order of an epoch.
  std::vector<TextSource> sources_of(std::int64_t epoch) const {
    if (!reorder_) return sources_;
    const Permutation order(sources_.size(), ~options_.seed, static_cast<std::uint32_t>(epoch));
    std::vector<TextSource> result;
    for (std::size_t i = 0; i < sources_.size(); ++i) result.push_back(sources_[order(i)]);
    return result;
  }
  std::int64_t window_in_block(std::int64_t place) const {
    if (!options_.shuffle || block_.samples < 2) return place;
    const Permutation order(static_cast<std::uint64_t>(block_.samples), options_.seed,
                            static_cast<std::uint32_t>(block_.start.first_sample));
    return static_cast<std::int64_t>(order(static_cast<std::uint64_t>(place)));
  }

  // --- the thread that reads ahead -----------------------------------------------------------

  /// Cuts the tokens of an epoch into blocks.
  class BlockCutter {
   public:
    BlockCutter(const TextStreamOptions& options, const StreamCursor& start)
        : samples_(options.block_samples), seq_len_(options.seq_len), start_(start) {
      skip_ = start.tokens;
    }

    void add(EncodedRecords& batch) {
      for (Encoded& record : batch.list) {
        const std::int64_t skip = std::exchange(skip_, 0);
        const auto count = static_cast<std::int64_t>(record.ids.size());
        if (count <= skip) continue;
        marks_.push_back(
            {static_cast<std::int64_t>(ids_.size()) - skip, record.at, record.seen, record.broken});
        ids_.insert(ids_.end(), record.ids.begin() + skip, record.ids.end());
      }
      for (std::string& note : batch.notes) notes_.push_back(std::move(note));
    }
    /// A full block; at the end of the epoch what is left. Nothing if there is none.
    std::optional<Block> cut(bool at_end) {
      const auto count = static_cast<std::int64_t>(ids_.size());
      std::int64_t samples = std::max<std::int64_t>(0, count - 1) / seq_len_;
      // One sample more than a block has to be there: so the last block of an epoch is known.
      if (!at_end && samples <= samples_) return std::nullopt;
      if (samples == 0) return std::nullopt;
      samples = std::min(samples, samples_);
      const std::int64_t used = samples * seq_len_;
      Block block;
      block.start = start_;
      block.samples = samples;
      block.ends_epoch = at_end;
      block.ids.assign(ids_.begin(), ids_.begin() + used + 1);
      block.notes = std::exchange(notes_, {});
      ids_.erase(ids_.begin(), ids_.begin() + used);
      for (Mark& mark : marks_) mark.begin -= used;
      while (marks_.size() > 1 && marks_[1].begin <= 0) marks_.pop_front();
      start_.first_sample += samples;
      start_.at = marks_.front().at;
      start_.tokens = -marks_.front().begin;
      start_.documents_seen = marks_.front().seen;
      start_.documents_broken = marks_.front().broken;
      return block;
    }
    std::int64_t next_sample() const { return start_.first_sample; }
    std::int64_t left() const { return static_cast<std::int64_t>(ids_.size()); }

   private:
    struct Mark {
      std::int64_t begin;  // where the tokens of a record begin, in ids_
      TextPosition at;
      std::int64_t seen;
      std::int64_t broken;
    };

    std::int64_t samples_;
    std::int64_t seq_len_;
    StreamCursor start_;
    std::int64_t skip_ = 0;
    std::vector<std::int32_t> ids_;
    std::deque<Mark> marks_;
    std::vector<std::string> notes_;
  };

  void read_ahead(StreamCursor start) {
    for (;;) {
      BlockCutter cutter(options_, start);
      const bool from_its_begin = start.at == TextPosition{};
      const bool ended = EpochReader(*this, start).run([&](EncodedRecords& records) {
        cutter.add(records);
        while (std::optional<Block> block = cutter.cut(false)) {
          if (!give(std::move(*block))) return false;
        }
        return true;
      });
      if (!ended) return;
      if (std::optional<Block> block = cutter.cut(true)) {
        if (!give(std::move(*block))) return;
      }
      if (from_its_begin && cutter.next_sample() == start.first_sample) refuse_empty(cutter.left());
      StreamCursor next;
      next.first_sample = cutter.next_sample();
      next.epoch = start.epoch + 1;
      start = next;
    }
  }
  /// @return false when nobody wants more
  bool give(Block block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return stopping_ || ready_.size() < static_cast<std::size_t>(options_.prefetch);
    });
    if (stopping_) return false;
    ready_.push_back(std::move(block));
    changed_.notify_all();
    return true;
  }
  void start() {
    stopping_ = false;
    error_ = nullptr;
    thread_ = std::thread([this, from = block_.start] {
      try {
        read_ahead(from);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
        changed_.notify_all();
      }
    });
  }
  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    ready_.clear();
  }
  void take_block() {
    if (!thread_.joinable()) start();
    std::vector<std::string> notes = std::move(block_.notes);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ != nullptr || !ready_.empty(); });
    if (ready_.empty()) std::rethrow_exception(error_);
    block_ = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    block_.notes.insert(block_.notes.begin(), notes.begin(), notes.end());
  }

  TextStreamOptions options_;
  std::vector<TextSource> sources_;
  DocumentEncoder encoder_;
  bool reorder_ = false;
  std::uint64_t list_hash_ = 0;
  std::int64_t windows_ = 0;  // of an epoch; 0: not counted yet
  Block block_;               // the one that is served

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> ready_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fount
