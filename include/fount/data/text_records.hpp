// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts the bytes of text sources into records, in bounded memory: a line of JSON, a document of
// plain text, or a piece of a document that is long. Knows where each begins, and can go on from
// any of these places. What a record says is decoded in data/documents.hpp.
// Own rules, stated at each type.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/open_stream.hpp>
#include <fount/text/utf8.hpp>

namespace fount {

/// What a document is in a file of plain text. Lines end with LF or CRLF; a lone CR ends none.
enum class DocumentRule {
  file,        // the whole file
  blank_line,  // what stands between empty lines
  line         // each line that is not empty
};

struct RecordOptions {
  DocumentRule documents = DocumentRule::file;
  bool as_it_is = false;   // plain text keeps a byte order mark, and nothing in it is broken
  bool any_bytes = false;  // bytes that are not UTF-8, and NUL, are text as well
  std::size_t piece_bytes = std::size_t{1} << 18U;  // longer documents come in pieces
  std::size_t line_bytes = std::size_t{1} << 25U;   // longer lines of JSON are broken
  std::int64_t max_documents = 0;   // end behind so many, broken ones included; 0: all
  std::string text_field = "text";  // member of a JSON object, column of a Parquet file
};

/// A place between two records, and what has to be remembered to go on from there.
struct TextPosition {
  std::int64_t source = 0;    // index in the list of sources
  Bytes offset = 0;           // in the text of the source, unpacked
  std::int64_t line = 1;      // of the source
  std::int64_t document = 0;  // begun before this place, in all sources
  bool inside = false;        // of a document that comes in pieces
  bool dropped = false;       // the rest of that document is left out
  std::uint64_t key = 0;      // hash of its first piece

  friend bool operator==(const TextPosition&, const TextPosition&) = default;
};

struct TextRecord {
  TextPosition at;   // where it begins
  std::string text;  // a line of JSON, or text
  TextFormat format = TextFormat::text;
  bool begins = true;      // a document,
  bool ends = true;        // and the same one
  std::string broken;      // why there is no document here; empty: there is
  bool too_short = false;  // fewer words than asked for: left out, and nothing is wrong with it

  bool used() const { return broken.empty() && !too_short; }
};

/// Where bytes of text stop being UTF-8, or hold a NUL; npos: nowhere.
inline std::size_t first_broken_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte != 0 && byte < 0x80) {
      ++at;
      continue;
    }
    const CodePoint code = decode_utf8(text, at);
    if (code.value == 0) return at;  // NUL, or not UTF-8
    at += static_cast<std::size_t>(code.length);
  }
  return std::string_view::npos;
}

/// What is wrong at such a byte.
inline std::string describe_broken_byte(std::string_view text, std::size_t at) {
  return (text[at] == '\0' ? "a NUL at byte " : "bytes that are not UTF-8 at byte ") +
         std::to_string(at);
}

/// Where a piece of at most `limit` bytes of a longer text ends: behind the last line feed that
/// stands between two printing ASCII characters, the second a letter; else before the last space
/// between two letters; else between two characters. At the first two places GPT-2's pre-tokenizer,
/// and those that follow it, cut too: the pieces have the tokens of the whole.
/// @param text longer than `limit`, which is at least 8
inline std::size_t piece_end(std::string_view text, std::size_t limit) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  // Not further back than half: pieces should be worth their while.
  for (std::size_t at = limit - 1; at > limit / 2; --at) {
    if (text[at - 1] == '\n' && letter(text[at]) && text[at - 2] > ' ' && text[at - 2] < 0x7F) {
      return at;
    }
  }
  for (std::size_t at = limit - 1; at > limit / 2; --at) {
    if (text[at] == ' ' && letter(text[at - 1]) && letter(text[at + 1])) return at;
  }
  std::size_t at = limit - 4;
  while (at > limit / 2 && (text[at - 1] == '\n' || text[at - 1] == '\r')) --at;
  return next_code_point(text, at);
}

/// Reads the records of a list of sources, one after the other.
class RecordReader {
 public:
  RecordReader(std::vector<TextSource> sources, const RecordOptions& options)
      : sources_(std::move(sources)), options_(options) {
    options_.piece_bytes = std::max<std::size_t>(options_.piece_bytes, 16);
    options_.line_bytes = std::max<std::size_t>(options_.line_bytes, 16);
  }

  const std::vector<TextSource>& sources() const { return sources_; }
  /// Where next() goes on.
  const TextPosition& position() const { return at_; }
  /// Bytes of the files that have been read, compressed or not: those of earlier sources and of
  /// this one.
  Bytes consumed() const {
    Bytes sum = stream_ ? stream_->consumed() : 0;
    for (std::size_t i = 0; i < std::min(index(), sources_.size()); ++i) {
      sum += sources_[i].file_bytes;
    }
    return sum;
  }

  /// Goes on from a place that position() told. A compressed source is unpacked up to there.
  /// @throws FileError if the source ends before it
  void seek(const TextPosition& position) {
    close();
    at_ = position;
    if (at_.offset == 0) return;
    open();
    if (stream_->skip(at_.offset) != at_.offset) {
      throw FileError::content(sources_[index()].path.string(),
                               "its end before byte " + std::to_string(at_.offset),
                               "the text that was there before", "start anew");
    }
  }

  /// The next record; nothing at the end of the last source.
  /// @throws FileError if a file cannot be read or is damaged
  std::optional<TextRecord> next() {
    while (index() < sources_.size()) {
      if (options_.max_documents > 0 && at_.document >= options_.max_documents && !at_.inside)
        break;
      if (!stream_) open();
      std::optional<TextRecord> record = next_of_source();
      if (record) return record;
      next_source();
    }
    return std::nullopt;
  }

 private:
  std::size_t index() const { return static_cast<std::size_t>(at_.source); }
  const TextSource& source() const { return sources_[index()]; }
  std::string_view ahead() const { return std::string_view(buffer_).substr(used_); }

  void open() {
    stream_ = open_stream(source().path, options_.text_field);
    fresh_ = at_.offset == 0;
    skip_mark_ = fresh_ && !options_.as_it_is;
  }
  void next_source() {
    close();
    const TextPosition before = at_;
    at_ = {};
    at_.source = before.source + 1;
    at_.document = before.document;
  }
  void close() {
    stream_.reset();
    buffer_.clear();
    used_ = 0;
    ended_ = false;
  }

  /// Has at least `size` bytes ahead, or all that are left. @return whether there are so many
  bool ensure(std::size_t size) {
    constexpr std::size_t step = std::size_t{1} << 18U;
    while (buffer_.size() - used_ < size && !ended_) {
      if (used_ >= buffer_.size() / 2) {  // not for every line: moving bytes takes time
        buffer_.erase(0, used_);
        used_ = 0;
      }
      const std::size_t before = buffer_.size();
      buffer_.resize(before + step);
      const std::size_t count = stream_->read(buffer_.data() + before, step);
      buffer_.resize(before + count);
      ended_ = count == 0;
    }
    return buffer_.size() - used_ >= size;
  }
  void use(std::size_t size) {
    const std::string_view text = ahead().substr(0, size);
    at_.line += std::ranges::count(text, '\n');
    at_.offset += static_cast<Bytes>(size);
    used_ += size;
  }

  std::optional<TextRecord> next_of_source() {
    if (skip_mark_) {
      skip_mark_ = false;
      if (ensure(3) && ahead().starts_with("\xEF\xBB\xBF")) use(3);
    }
    if (source().format == TextFormat::json_lines) return next_line(TextFormat::json_lines);
    for (;;) {
      std::optional<TextRecord> record;
      switch (options_.documents) {
        case DocumentRule::file: record = next_piece_of_file(); break;
        case DocumentRule::blank_line: record = next_paragraph(); break;
        case DocumentRule::line: record = next_line(TextFormat::text); break;
      }
      if (!record || !options_.as_it_is) record = check_piece(std::move(record));
      if (!record || !drop_) return record;
    }
  }

  /// Starts a record here, of a document that begins unless one is going on.
  TextRecord start(TextFormat format) {
    TextRecord record;
    record.at = at_;
    record.format = format;
    record.begins = !at_.inside;
    if (record.begins) ++at_.document;
    return record;
  }

  /// A document in pieces cannot be judged as a whole: from its first broken piece on, its rest is
  /// left out.
  std::optional<TextRecord> check_piece(std::optional<TextRecord> record) {
    drop_ = false;
    if (!record || (record->begins && record->ends)) return record;
    drop_ = record->at.dropped;
    const bool first = record->begins;
    if (first) at_.key = hash64(record->text);
    record->at.key = at_.key;
    if (!drop_ && record->broken.empty() && !options_.any_bytes) {
      const std::size_t bad = first_broken_byte(record->text);
      if (bad != std::string_view::npos) {
        record->broken = describe_broken_byte(record->text, bad);
        at_.dropped = true;
      }
    }
    if (record->ends) {
      at_.dropped = false;
      at_.key = 0;
    }
    return record;
  }

  std::optional<TextRecord> next_line(TextFormat format) {
    for (;;) {
      const std::size_t end = line_end();
      if (end == std::string_view::npos) return long_line(format);
      if (end == 0 && ended_ && ahead().empty()) return std::nullopt;
      std::string_view line = ahead().substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const bool empty = line.find_first_not_of(" \t\r") == std::string_view::npos;
      const std::size_t with_feed = std::min(end + 1, ahead().size());
      if (empty) {
        use(with_feed);
        continue;
      }
      TextRecord record = start(format);
      record.text = line;
      use(with_feed);
      return record;
    }
  }
  /// Length of the line ahead, without its line feed; npos if it is longer than allowed.
  std::size_t line_end() {
    std::size_t searched = 0;
    for (;;) {
      const std::size_t end = ahead().find('\n', searched);
      if (end != std::string_view::npos) {
        return end <= options_.line_bytes ? end : std::string_view::npos;
      }
      searched = ahead().size();
      if (searched > options_.line_bytes) return std::string_view::npos;
      if (!ensure(searched + 1)) return searched;
    }
  }
  /// A line that does not fit in memory: no JSON can be read from it. The limit holds for lines of
  /// plain text, too.
  TextRecord long_line(TextFormat format) {
    TextRecord record = start(format);
    record.broken = "a line of more than " + std::to_string(options_.line_bytes) + " bytes";
    for (;;) {
      const std::size_t end = ahead().find('\n');
      if (end != std::string_view::npos) {
        use(end + 1);
        return record;
      }
      use(ahead().size());
      if (!ensure(1)) return record;
    }
  }

  std::optional<TextRecord> next_piece_of_file() {
    const std::size_t limit = options_.piece_bytes;
    const bool more = ensure(limit + 8);
    if (ahead().empty()) {
      if (!std::exchange(fresh_, false) || options_.as_it_is) return std::nullopt;
      TextRecord record = start(TextFormat::text);
      record.broken = "an empty file";
      next_source();  // the place behind it is there: it is told once
      return record;
    }
    fresh_ = false;
    TextRecord record = start(TextFormat::text);
    const std::size_t size = more ? piece_end(ahead(), limit) : ahead().size();
    record.ends = !more;
    record.text = ahead().substr(0, size);
    use(size);
    at_.inside = more;
    return record;
  }

  std::optional<TextRecord> next_paragraph() {
    if (!at_.inside) {
      for (ensure(2); const std::size_t blank = blank_line(ahead()); ensure(2)) use(blank);
      if (ahead().empty()) return std::nullopt;
    }
    TextRecord record = start(TextFormat::text);
    const std::size_t limit = options_.piece_bytes;
    std::size_t searched = 0;
    for (;;) {
      const std::size_t at = ahead().substr(0, limit).find('\n', searched);
      if (at == std::string_view::npos) {
        searched = std::min(limit, ahead().size());
        if (searched == limit || !ensure(searched + 1)) break;
        continue;
      }
      ensure(at + 3);
      const std::string_view rest = ahead().substr(at + 1);
      if (rest.empty() || blank_line(rest) > 0) return end_paragraph(std::move(record), at);
      searched = at + 1;
    }
    ensure(limit + 8);
    if (ahead().size() <= limit) return end_paragraph(std::move(record), ahead().size());
    const std::size_t size = piece_end(ahead(), limit);
    record.ends = false;
    record.text = ahead().substr(0, size);
    use(size);
    at_.inside = true;
    return record;
  }
  TextRecord end_paragraph(TextRecord record, std::size_t size) {
    record.text = ahead().substr(0, size);
    if (record.text.ends_with('\r')) record.text.pop_back();
    use(std::min(size + 1, ahead().size()));
    at_.inside = false;
    return record;
  }
  /// Length of the empty line that `text` begins with, with its end; 0 if there is none.
  static std::size_t blank_line(std::string_view text) {
    if (text.starts_with('\n')) return 1;
    return text.starts_with("\r\n") ? 2 : 0;
  }

  std::vector<TextSource> sources_;
  RecordOptions options_;
  TextPosition at_;
  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  std::size_t used_ = 0;    // of the buffer
  bool ended_ = false;      // the stream has no more
  bool fresh_ = false;      // nothing of the source has become a record
  bool skip_mark_ = false;  // a byte order mark may come
  bool drop_ = false;       // the record just read is left out
};

}  // namespace fount
