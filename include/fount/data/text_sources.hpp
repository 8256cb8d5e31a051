// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the text of a preparation comes from: a file, the .txt files of a folder, or standard
// input; and where documents begin in it. Tokens are not known here.
// Own rules, stated at each function.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>

namespace fount {

/// The texts of a preparation, one after the other as if they were one.
/// @throws FileError if the input is missing, empty, or a folder without .txt files
class TextSources {
 public:
  explicit TextSources(const std::filesystem::path& input) {
    std::error_code ignored;
    if (input == "-") {
      standard_input_ = read_descriptor(0, "standard input", GiB(64));
      add("standard input", standard_input_);
    } else if (std::filesystem::is_directory(input, ignored)) {
      const std::vector<std::string> names = list_files(input, "*.txt");
      if (names.empty()) {
        throw FileError::content(input.string(), "no .txt file in the folder", "at least one",
                                 "name another folder, or one file of any name");
      }
      for (const std::string& name : names) files_.emplace_back(input / name);
      for (const MappedFile& file : files_) add(file.path().filename().string(), file.text());
    } else {
      files_.emplace_back(input);
      add(input.filename().string(), files_.back().text());
    }
    if (total_ == 0) {
      throw FileError::content(input.string(), "no text at all", "text to learn from",
                               "name another file");
    }
  }

  struct Source {
    std::string name;
    std::string_view text;
    std::size_t begin;  // where the text starts in the whole
  };
  const std::vector<Source>& all() const { return sources_; }
  std::size_t size() const { return total_; }

 private:
  void add(std::string name, std::string_view text) {
    sources_.push_back({std::move(name), text, total_});
    total_ += text.size();
  }

  std::vector<MappedFile> files_;
  std::string standard_input_;
  std::vector<Source> sources_;
  std::size_t total_ = 0;
};

/// The first document start at or after `at`: behind a blank line (two line feeds, and any that
/// follow) or at the start of a source. The size of the whole if there is none.
inline std::size_t next_document(const TextSources& texts, std::size_t at) {
  for (const auto& source : texts.all()) {
    if (at <= source.begin) return source.begin;
    const std::size_t inside = at - source.begin;
    if (inside >= source.text.size()) continue;
    // Two bytes back: the cut may lie within or just behind a blank line.
    std::size_t blank = source.text.find("\n\n", inside >= 2 ? inside - 2 : 0);
    if (blank == std::string_view::npos) continue;
    blank = std::min(source.text.find_first_not_of('\n', blank), source.text.size());
    if (blank < source.text.size()) return source.begin + blank;
  }
  return texts.size();
}

}  // namespace fount
