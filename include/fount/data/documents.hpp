// SPDX-License-Identifier: Apache-2.0
#pragma once
// Documents: what the records of text sources say, the count of those that are broken, and a reader
// that gives documents one by one and can go on where it stopped. Tokens are not known here.
// Own rules, stated at each function.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/text_records.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/json_text.hpp>

namespace fount {

/// What is one document, as a person says it. `automatic`: a line of JSON where the name of a file
/// says that it holds these, else what the reader of it takes for the rule of plain text.
enum class PrepareDocuments { automatic, file, blank_line, line, json_lines };

constexpr std::string_view name_of(PrepareDocuments rule) {
  switch (rule) {
    case PrepareDocuments::automatic: return "auto";
    case PrepareDocuments::file: return "file";
    case PrepareDocuments::blank_line: return "blank_line";
    case PrepareDocuments::line: return "line";
    case PrepareDocuments::json_lines: return "json_lines";
  }
  return "?";
}

/// Makes `rule` the one by which `sources` are read.
inline void apply_documents(PrepareDocuments rule, std::vector<TextSource>& sources,
                            RecordOptions& records) {
  using enum PrepareDocuments;
  for (TextSource& source : sources) {
    if (rule == json_lines) source.format = TextFormat::json_lines;
  }
  records.documents = rule == blank_line ? DocumentRule::blank_line
                      : rule == line     ? DocumentRule::line
                                         : DocumentRule::file;
}

struct DocumentOptions {
  RecordOptions records;
  std::int64_t min_words = 0;  // documents with fewer, between white space, are left out
};

namespace detail {

/// Whether a text has `count` words: runs of bytes that are not ASCII white space.
inline bool has_words(std::string_view text, std::int64_t count) {
  bool in_word = false;
  for (const char c : text) {
    if (count <= 0) break;
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space && !in_word) --count;
    in_word = !space;
  }
  return count <= 0;
}

}  // namespace detail

/// Turns a record into the text of its document, in place: takes it out of the JSON, and says in
/// `broken` why there is none.
inline void decode_record(TextRecord& record, const DocumentOptions& options) {
  if (!record.broken.empty()) return;
  if (record.format == TextFormat::json_lines) {
    JsonText found = json_text(record.text, options.records.text_field);
    record.text = std::move(found.text);
    record.broken = std::move(found.broken);
  }
  // Pieces of long documents are checked as they are read, and have words enough.
  if (!record.broken.empty() || !record.begins || !record.ends) return;
  if (record.text.empty()) {
    record.broken = "an empty text";
  } else if (!options.records.any_bytes) {
    const std::size_t bad = first_broken_byte(record.text);
    if (bad != std::string_view::npos) record.broken = describe_broken_byte(record.text, bad);
  }
  record.too_short = record.broken.empty() && !detail::has_words(record.text, options.min_words);
}

/// Counts documents, those that are too short and those that are broken, and remembers the first
/// ten of these.
class BrokenDocuments {
 public:
  static constexpr std::size_t remembered = 10;

  void add(const TextRecord& record, const TextSource& source) {
    seen_ += record.begins ? 1 : 0;
    too_short_ += record.too_short ? 1 : 0;
    if (record.broken.empty()) return;
    ++broken_;
    if (first_.size() < remembered) {
      first_.push_back(source.name + ", line " + std::to_string(record.at.line) + " (byte " +
                       std::to_string(record.at.offset) + "): " + record.broken);
    }
  }
  /// As after a stop: counts and sentences of an earlier object.
  void restore(std::int64_t seen, std::int64_t broken, std::int64_t too_short,
               std::vector<std::string> first) {
    seen_ = seen;
    broken_ = broken;
    too_short_ = too_short;
    first_ = std::move(first);
  }

  std::int64_t seen() const { return seen_; }
  std::int64_t broken() const { return broken_; }
  std::int64_t too_short() const { return too_short_; }
  /// "name, line 3 (byte 120): why" of the first ten.
  const std::vector<std::string>& first() const { return first_; }

  /// @throws FileError if more than `max_share` of the documents are broken. `at_end` false: only
  ///         once there are a thousand, so that a few at the start stop nothing.
  void check(double max_share, bool at_end) const {
    if (!at_end && broken_ < 1000) return;
    if (static_cast<double>(broken_) <= max_share * static_cast<double>(seen_)) return;
    std::string text = "found " + with_commas(broken_) + " broken documents among " +
                       with_commas(seen_) + ", expected at most " +
                       std::to_string(max_share * 100.0).substr(0, 5) +
                       " %; mend them, or raise --max-bad. The first:";
    for (const std::string& line : first_) text += "\n  " + line;
    throw FileError(text);
  }

 private:
  std::int64_t seen_ = 0;
  std::int64_t broken_ = 0;
  std::int64_t too_short_ = 0;
  std::vector<std::string> first_;
};

/// Gives the documents of a list of sources one by one; those that are broken are counted and left
/// out. A document longer than options.records.piece_bytes comes in pieces (`begins`, `ends`).
class DocumentReader {
 public:
  DocumentReader(std::vector<TextSource> sources, DocumentOptions options)
      : options_(std::move(options)), records_(std::move(sources), options_.records) {}

  /// The next document, or piece of one; nothing at the end.
  /// @throws FileError if a file cannot be read or is damaged
  std::optional<TextRecord> next() {
    while (std::optional<TextRecord> record = records_.next()) {
      decode_record(*record, options_);
      const auto source = static_cast<std::size_t>(record->at.source);
      broken_.add(*record, records_.sources()[source]);
      if (record->used()) return record;
    }
    return std::nullopt;
  }

  /// Where next() goes on; seek() takes it, in this reader or another over the same sources.
  const TextPosition& position() const { return records_.position(); }
  void seek(const TextPosition& position) { records_.seek(position); }
  /// Bytes of the files that have been read, compressed or not.
  Bytes consumed() const { return records_.consumed(); }
  const BrokenDocuments& broken() const { return broken_; }
  const std::vector<TextSource>& sources() const { return records_.sources(); }

 private:
  DocumentOptions options_;
  RecordReader records_;
  BrokenDocuments broken_;
};

}  // namespace fount
