// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where text comes from: files, folders, patterns and standard input, as a list of sources in the
// order in which they are read. What is in them: data/text_records.hpp.
// Own rules, stated at each function.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/io/open_stream.hpp>

namespace fount {

enum class TextFormat {
  text,       // what stands in it is text, all of it
  json_lines  // one JSON value a line; a Parquet file is read so, too
};

struct TextSource {
  std::filesystem::path path;  // "-": standard input
  std::string name;            // as it is shown: the path inside the folder that was named
  TextFormat format = TextFormat::text;
  Bytes file_bytes = 0;      // of the file, compressed or not; 0 for pipes
  std::int64_t changed = 0;  // nanoseconds, in the file system's own time; 0 for pipes
  bool regular = true;       // false: pipes and devices, which can be read once

  bool compressed() const {
    return compression_of(path.string()) != Compression::none || is_parquet_name(path.string());
  }
};

namespace detail {

inline constexpr std::array<std::string_view, 3> json_lines_endings = {".jsonl", ".ndjson",
                                                                       ".json"};

inline bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

/// What the name says, compression aside.
inline TextFormat format_of(std::string_view name) {
  const bool lines =
      is_parquet_name(name) || ends_with_any(without_compression(name), json_lines_endings);
  return lines ? TextFormat::json_lines : TextFormat::text;
}

/// Whether a file that was found in a folder, not named, is taken for text. Files that preparations
/// and checkpoints leave are JSON, too.
inline bool is_text_name(std::string_view name) {
  if (name.starts_with('.')) return false;
  for (const std::string_view ours : {"metadata.json", "tokenizer.json", "tokenizer_config.json",
                                      "config.json", "generation_config.json"}) {
    if (name == ours) return false;
  }
  const std::string_view bare = without_compression(name);
  return bare.ends_with(".txt") || ends_with_any(bare, json_lines_endings) ||
         is_parquet_name(name);  // refused by name where Arrow is missing, not left out
}

inline TextSource describe_source(const std::filesystem::path& path, std::string name) {
  TextSource source{path, std::move(name)};
  source.format = format_of(source.name);
  if (path == "-") {
    source.name = "standard input";
    source.regular = false;
    return source;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw file_failure("cannot open", path, errno);
  source.regular = S_ISREG(status.st_mode);
  if (source.regular) {
    source.file_bytes = static_cast<Bytes>(status.st_size);
    source.changed =
        static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  }
  if (!has_parquet && is_parquet_name(source.name)) refuse_parquet(path);
  if (source.compressed() && is_parquet_name(without_compression(source.name)) &&
      !is_parquet_name(source.name)) {
    throw FileError::content(path.string(), "a compressed parquet file",
                             "a parquet file, whose pages are compressed inside", "unpack it");
  }
  return source;
}

/// Paths compare part by part, each as people count: a/2.txt, a/10.txt, b/1.txt.
inline bool natural_path_less(const std::filesystem::path& a, const std::filesystem::path& b) {
  auto i = a.begin();
  auto j = b.begin();
  for (; i != a.end() && j != b.end(); ++i, ++j) {
    if (*i != *j) return natural_less(i->native(), j->native());
  }
  return i == a.end() && j != b.end();
}

/// The texts below a folder; hidden files and folders are left out, links to folders not followed.
inline void add_folder(const std::filesystem::path& folder, std::vector<TextSource>& sources) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> inside;
  fs::recursive_directory_iterator entry(folder, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;  // a dangling link is neither
    const std::string name = entry->path().filename().string();
    if (entry->is_directory(ignored) && name.starts_with('.')) entry.disable_recursion_pending();
    if (!entry->is_regular_file(ignored) || !is_text_name(name)) continue;
    if (is_parquet_name(name)) {
      // Converted already: the lines of JSON beside it are the same documents.
      fs::path lines = entry->path();
      if (fs::exists(lines.replace_extension(".jsonl"), ignored)) continue;
    }
    inside.push_back(entry->path().lexically_relative(folder));
  }
  if (error) throw file_failure("cannot list the folder", folder, error.value());
  if (inside.empty()) {
    throw FileError::content(folder.string(),
                             "no .txt file, .jsonl or .json, compressed or not, in the folder",
                             "at least one", "name another folder, or one file of any name");
  }
  std::ranges::sort(inside, natural_path_less);
  for (const fs::path& path : inside) {
    sources.push_back(describe_source(folder / path, path.generic_string()));
  }
}

}  // namespace detail

/// The texts of a preparation, in the order in which they are read.
class TextSources {
 public:
  TextSources() = default;
  explicit TextSources(const std::filesystem::path& input) { add(input); }

  /// A file of any name, a folder (every .txt, .jsonl, .ndjson and .json below it, compressed or
  /// not, and every x.parquet without an x.jsonl beside it, in natural order), a pattern with * and
  /// ?, or "-".
  /// @throws FileError if it is missing, or a folder without texts
  void add(const std::filesystem::path& input) {
    std::error_code ignored;
    if (std::filesystem::is_directory(input, ignored)) {
      detail::add_folder(input, all_);
    } else if (std::filesystem::exists(input, ignored) || input == "-") {
      all_.push_back(detail::describe_source(input, input.filename().string()));
    } else {
      for (const std::filesystem::path& path : expand_pattern(input)) {
        all_.push_back(detail::describe_source(path, path.filename().string()));
      }
    }
  }

  const std::vector<TextSource>& all() const& { return all_; }
  std::vector<TextSource>& all() & { return all_; }
  std::vector<TextSource> all() && { return std::move(all_); }
  /// Of the files, compressed or not.
  Bytes file_bytes() const {
    Bytes sum = 0;
    for (const TextSource& source : all_) sum += source.file_bytes;
    return sum;
  }

 private:
  std::vector<TextSource> all_;
};

/// The first document start at or after byte `at` of the texts in a row: behind a blank line (two
/// line feeds, and any that follow) or at the start of a source. The size of the whole if there is
/// none. Reads the texts up to there.
inline std::size_t next_document(const TextSources& texts, std::size_t at) {
  std::vector<char> buffer(std::size_t{1} << 16U);
  std::size_t begin = 0;
  for (const TextSource& source : texts.all()) {
    if (at <= begin) return begin;
    const auto stream = open_stream(source.path);
    // Two bytes back: the cut may lie within or just behind a blank line.
    const std::size_t start = std::max<std::size_t>(at - begin, 2) - 2;
    auto offset = static_cast<std::size_t>(stream->skip(static_cast<Bytes>(start)));
    int line_feeds = 0;
    while (const std::size_t size = stream->read(buffer.data(), buffer.size())) {
      for (std::size_t i = 0; i < size; ++i, ++offset) {
        if (buffer[i] == '\n') {
          ++line_feeds;
        } else {
          if (line_feeds >= 2) return begin + offset;
          line_feeds = 0;
        }
      }
    }
    begin += offset;
  }
  return begin;
}

}  // namespace fount
