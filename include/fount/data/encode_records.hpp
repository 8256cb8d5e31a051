// SPDX-License-Identifier: Apache-2.0
#pragma once
// From records of text to the tokens of the two splits: the step of a preparation that several
// threads run at once. It depends on nothing but its records, so the result is the same for any
// number of threads.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/document_encoder.hpp>
#include <fount/data/documents.hpp>
#include <fount/io/hash.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount::detail {

/// Records that are encoded together, and where the reader stands behind them.
struct RecordBatch {
  std::vector<TextRecord> records;
  TextPosition after;
  Bytes consumed = 0;  // of the files, up to there
};

/// A batch and its tokens. Arrays go by split: train, validation.
struct EncodedBatch {
  RecordBatch batch;  // its records decoded
  std::array<std::vector<std::int32_t>, 2> ids;
  std::array<std::int64_t, 2> documents{};
};

/// Whether a document is validation: by a hash of its first piece, so that equal documents never
/// lie on both sides, whatever the order of the files.
inline bool is_validation(std::uint64_t key, double val_fraction) {
  // FNV's high bits depend little on the last bytes: mix (the finaliser of splitmix64, Steele et
  // al. 2014).
  key = (key ^ key >> 30U) * 0xBF58476D1CE4E5B9ULL;
  key = (key ^ key >> 27U) * 0x94D049BB133111EBULL;
  key ^= key >> 31U;
  return static_cast<double>(key >> 11U) * 0x1p-53 < val_fraction;
}

class RecordEncoder {
 public:
  struct Options {
    DocumentOptions documents;
    double val_fraction = 0;
    bool one_text = false;           // the sources are one text, cut at a byte of the whole
    Bytes cut = 0;                   // the byte
    std::vector<Bytes> begins;       // of each source, in the whole
    std::vector<std::string> names;  // of each source, for messages
  };

  RecordEncoder(const Tokenizer& tokenizer, Options options)
      : encoder_(tokenizer, options.documents), options_(std::move(options)) {}

  /// May be called from several threads at once.
  /// @throws FileError for one text only, if it holds what cannot be encoded
  EncodedBatch operator()(RecordBatch batch) const {
    EncodedBatch result;
    result.batch = std::move(batch);
    std::size_t size = 0;
    for (const TextRecord& record : result.batch.records) size += record.text.size() + 2;
    // Some tokenizers reserve what each text needs, which copies all before it every time.
    for (std::vector<std::int32_t>& ids : result.ids) ids.reserve(size);
    for (TextRecord& record : result.batch.records) {
      if (options_.one_text) {
        encode_part_of_text(record, result);
      } else {
        encode_document(record, result);
      }
    }
    return result;
  }

 private:
  void encode_part_of_text(const TextRecord& record, EncodedBatch& result) const {
    const auto source = static_cast<std::size_t>(record.at.source);
    const Bytes begin = options_.begins[source] + record.at.offset;
    const auto size = static_cast<Bytes>(record.text.size());
    const auto in_train =
        static_cast<std::size_t>(std::clamp<Bytes>(options_.cut - begin, 0, size));
    const std::string_view parts[] = {std::string_view(record.text).substr(0, in_train),
                                      std::string_view(record.text).substr(in_train)};
    for (const std::size_t side : {0U, 1U}) {
      if (parts[side].empty()) continue;
      const bool first = side == 0 ? record.begins
                                   : begin + static_cast<Bytes>(in_train) == options_.cut ||
                                         (record.begins && in_train == 0);
      if (first) encoder_.begin(result.ids[side]);
      result.documents[side] += first ? 1 : 0;
      try {
        encoder_.tokenizer().encode(parts[side], result.ids[side]);
      } catch (const Error& e) {
        throw FileError("'" + options_.names[source] + "', in the text from byte " +
                        std::to_string(record.at.offset) + " on: " + e.what());
      }
    }
  }

  void encode_document(TextRecord& record, EncodedBatch& result) const {
    decode_record(record, options_.documents);
    if (!record.used()) return;
    const bool whole = record.begins && record.ends;
    const std::uint64_t key = whole ? hash64(encoder_.first_piece(record.text)) : record.at.key;
    const std::size_t side = is_validation(key, options_.val_fraction) ? 1 : 0;
    encoder_.encode(record, result.ids[side]);
    result.documents[side] += record.used() && record.begins ? 1 : 0;
  }

  DocumentEncoder encoder_;
  Options options_;
};

}  // namespace fount::detail
