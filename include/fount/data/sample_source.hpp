// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a training run reads: numbered samples, each a row of token ids and the ids that follow
// them. Token shards (data/loader.hpp) and text (data/text_stream.hpp) are two kinds of source.

#include <cstdint>
#include <string>
#include <vector>

#include <fount/data/text_records.hpp>

namespace fount {

/// Where fill() writes a sample; each array holds seq_len values.
struct SampleRow {
  std::int32_t* inputs = nullptr;
  std::int32_t* labels = nullptr;     // the token behind each input
  std::int32_t* documents = nullptr;  // which document of the row an input is in: 0, 1, ...;
                                      // null: nobody asks
};

/// Numbers the documents of a row: one begins at each `document_start`.
inline void number_documents(const std::int32_t* inputs, std::int64_t count,
                             std::int32_t document_start, std::int32_t* documents) {
  std::int32_t document = 0;
  for (std::int64_t t = 0; t < count; ++t) {
    if (t > 0 && inputs[t] == document_start) ++document;
    documents[t] = document;
  }
}

/// One of the processes that share the samples of a run. They take them in turn, so the samples
/// that all have taken together are the first of the run, and their number is the whole state: it
/// stays right when the run goes on with another number of processes.
struct RankShare {
  int rank = 0;
  int world_size = 1;

  /// This rank's sample number `index` = 0, 1, ... of those behind the first `taken`.
  constexpr std::int64_t sample(std::int64_t taken, std::int64_t index) const {
    return taken + index * world_size + rank;
  }
  /// Taken by all ranks when each has had `count` more.
  constexpr std::int64_t after(std::int64_t taken, std::int64_t count) const {
    return taken + count * world_size;
  }
};

/// How far into the data a number of samples is.
struct DataProgress {
  std::int64_t epoch = 0;  // complete ones
  std::int64_t files = 0;  // complete ones, of all epochs
};

/// Where a stream of text stands: enough to go on without what was read before. A source of shards
/// needs none of it.
struct StreamCursor {
  std::int64_t first_sample = 0;  // the sample that begins here
  std::int64_t epoch = 0;
  TextPosition at;                  // of the record that the sample begins in
  std::int64_t tokens = 0;          // of that record, that earlier samples have
  std::int64_t documents_seen = 0;  // of this epoch, with those that are broken
  std::int64_t documents_broken = 0;

  friend bool operator==(const StreamCursor&, const StreamCursor&) = default;
};

/// Samples 0, 1, 2, ... without end, epoch after epoch.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  /// Writes one sample. @throws FileError if the data cannot be read, or an id is out of range
  virtual void fill(std::int64_t sample, const SampleRow& row) = 0;
  /// Samples that the first `files` files give, those of later epochs counted on. Text has to be
  /// read for this.
  virtual std::int64_t count_samples(std::int64_t files) = 0;
  /// Of the samples before `sample`.
  virtual DataProgress progress(std::int64_t sample) const = 0;
  virtual std::int64_t num_files() const = 0;
  /// Names what the samples depend on: equal hashes mean equal samples of equal numbers.
  virtual std::uint64_t list_hash() const = 0;
  /// For the head of a run: "1,003,854 tokens, 3,921 windows an epoch".
  virtual std::string describe() const = 0;

  /// What a source needs, besides the number of the next sample, to go on without reading what came
  /// before. Nothing where every sample can be reached at once.
  virtual StreamCursor cursor() const { return {}; }
  /// @throws FileError if the cursor cannot be one of this source
  virtual void seek(const StreamCursor& cursor) { static_cast<void>(cursor); }
  /// What a person should hear about the data; each is told once.
  virtual std::vector<std::string> take_notes() { return {}; }

 protected:
  SampleSource() = default;
  SampleSource(const SampleSource&) = default;
  SampleSource(SampleSource&&) = default;
  SampleSource& operator=(const SampleSource&) = default;
  SampleSource& operator=(SampleSource&&) = default;
};

}  // namespace fount
