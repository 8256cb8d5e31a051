// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first pass over texts, where a preparation needs one: which characters there are, how much
// text, and where one text is cut in train and validation part.
// The cut follows nanoGPT's data/shakespeare_char/prepare.py.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/documents.hpp>
#include <fount/data/text_sources.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>
#include <fount/text/character.hpp>
#include <fount/text/utf8.hpp>

namespace fount::detail {

/// In which unit the length of one text is counted when it is cut.
enum class TextUnit { characters, bytes };

struct TextSurvey {
  std::vector<Bytes> bytes;          // of each source, unpacked
  std::vector<std::int64_t> units;   // of each source
  std::vector<char32_t> characters;  // those that occur, where they were asked for
  Bytes cut = 0;                     // where the train part of one text ends

  Bytes total() const {
    Bytes sum = 0;
    for (const Bytes size : bytes) sum += size;
    return sum;
  }
};

/// Hears, every quarter of a mebibyte or so, how many bytes of the files have been read.
class SurveyProgress {
 public:
  explicit SurveyProgress(std::function<void(Bytes)> hear) : hear_(std::move(hear)) {}

  void operator()(Bytes consumed) {
    if (consumed - told_ < (Bytes{1} << 18U)) return;
    told_ = consumed;
    hear_(consumed);
  }

 private:
  std::function<void(Bytes)> hear_;
  Bytes told_ = 0;
};

/// Reads texts as one. @param any_bytes what is not UTF-8 is text as well
/// @throws FileError naming source and offset of what is not text
inline TextSurvey survey_one_text(const TextSources& sources, TextUnit unit, bool any_bytes,
                                  SurveyProgress progress) {
  TextSurvey result;
  result.bytes.resize(sources.all().size());
  result.units.resize(sources.all().size());
  CharacterSet characters;
  RecordReader reader(sources.all(), {.as_it_is = true});
  while (const auto record = reader.next()) {
    const auto source = static_cast<std::size_t>(record->at.source);
    const std::string& name = sources.all()[source].name;
    const auto size = static_cast<Bytes>(record->text.size());
    result.bytes[source] += size;
    if (unit == TextUnit::characters) {
      result.units[source] += characters.add(record->text, name, record->at.offset);
    } else {
      result.units[source] += size;
      const std::size_t bad = any_bytes ? std::string_view::npos : first_broken_byte(record->text);
      if (bad != std::string_view::npos) {
        throw FileError::content(
            name,
            std::string(record->text[bad] == '\0' ? "a NUL" : "bytes that are not UTF-8") +
                " at offset " + std::to_string(record->at.offset + static_cast<Bytes>(bad)),
            "text in UTF-8",
            "convert it (iconv), or use the byte tokenizer, which takes any bytes");
      }
    }
    progress(reader.consumed());
  }
  result.characters = characters.sorted();
  return result;
}

/// The characters of documents; what is broken is left out here as it is later.
inline TextSurvey survey_documents(const TextSources& sources, const DocumentOptions& options,
                                   SurveyProgress progress) {
  TextSurvey result;
  CharacterSet characters;
  characters.add("\n", "");  // between documents
  DocumentReader reader(sources.all(), options);
  while (const auto record = reader.next()) {
    characters.add(record->text, "");
    progress(reader.consumed());
  }
  result.characters = characters.sorted();
  return result;
}

/// Byte offset of unit `unit` of one source; a byte inside a character moves behind it.
inline Bytes offset_of_unit(const TextSource& source, std::int64_t unit, TextUnit kind) {
  const auto stream = open_stream(source.path);
  if (kind == TextUnit::bytes) {
    const Bytes at = stream->skip(unit);
    char next[4];
    std::size_t size = 0;
    while (size < sizeof next) {
      const std::size_t count = stream->read(next + size, sizeof next - size);
      if (count == 0) break;
      size += count;
    }
    return at + static_cast<Bytes>(next_code_point({next, size}, 0));
  }
  std::vector<char> buffer(std::size_t{1} << 16U);
  Bytes at = 0;
  while (const std::size_t size = stream->read(buffer.data(), buffer.size())) {
    for (std::size_t i = 0; i < size; ++i, ++at) {
      if ((static_cast<unsigned char>(buffer[i]) & 0xC0) == 0x80) continue;
      if (unit-- == 0) return at;
    }
  }
  return at;
}

/// Where the train part ends, in bytes of the whole: behind the first int(n·(1-val_fraction)) of n
/// units, moved to a document start where that is asked for.
/// @throws FileError if there is no document start behind it
inline Bytes find_cut(const TextSources& sources, const TextSurvey& found, TextUnit kind,
                      double val_fraction, bool at_documents) {
  std::int64_t total = 0;
  for (const std::int64_t units : found.units) total += units;
  auto left = static_cast<std::int64_t>(static_cast<double>(total) * (1.0 - val_fraction));
  if (left == total) return found.total();
  Bytes end = 0;
  for (std::size_t i = 0; i < found.units.size(); ++i) {
    if (left < found.units[i]) {
      end += offset_of_unit(sources.all()[i], left, kind);
      break;
    }
    left -= found.units[i];
    end += found.bytes[i];
  }
  if (!at_documents) return end;
  end = static_cast<Bytes>(next_document(sources, static_cast<std::size_t>(end)));
  if (end < found.total()) return end;
  throw FileError("'" + sources.all().front().path.string() +
                  "': found no blank line in the last part of the text, expected one to cut at; " +
                  "leave out --split-at-documents, or raise --val-fraction");
}

inline constexpr std::string_view survey_name = "survey.json";

/// Keeps a survey beside the shards, for a run that is stopped.
inline void write_survey(const std::filesystem::path& folder, const TextSurvey& survey) {
  const Json json = {{"bytes", survey.bytes},
                     {"cut", survey.cut},
                     {"characters", std::vector<std::uint32_t>(survey.characters.begin(),
                                                               survey.characters.end())}};
  write_file_atomically(folder / survey_name, dump_json(json, -1) + "\n");
}

/// The survey of an earlier run; nothing if there is none that can be read.
inline std::optional<TextSurvey> read_survey(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / survey_name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  try {
    const std::string where = path.string();
    const Json json = parse_json(read_file(path, MiB(256)), where);
    TextSurvey survey;
    survey.cut = json_integer(json, "cut", where);
    for (const Json& size : json_member(json, "bytes", where)) {
      if (!size.is_number_unsigned()) return std::nullopt;
      survey.bytes.push_back(size.get<Bytes>());
    }
    for (const Json& code : json_member(json, "characters", where)) {
      if (!code.is_number_unsigned() || code.get<std::uint64_t>() > 0x10FFFF) return std::nullopt;
      survey.characters.push_back(code.get<std::uint32_t>());
    }
    return survey;
  } catch (const FileError&) {
    return std::nullopt;
  }
}

}  // namespace fount::detail
