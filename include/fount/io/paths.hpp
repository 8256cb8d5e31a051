// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of files: natural order, patterns with * and ?, listing and making folders, and the test
// that a name found in a file is a plain name. Contents are read elsewhere.
// Own rules; nothing here calls a shell.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/io/descriptor.hpp>

namespace fount {

/// Orders names as people count: runs of digits compare as numbers, so shard_2 precedes shard_10.
/// Names that differ only in leading zeros are ordered by plain comparison.
inline bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto take_number = [&](std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view left = take_number(a, i);
      const std::string_view right = take_number(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return i >= a.size();
  return a < b;
}

/// Whether `name` matches `pattern`, in which * stands for any run of bytes and ? for one byte.
inline bool matches_pattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;  // where to go back to: the last * took too little
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// A name that stays in its folder: no separators, not "", "." or "..", no NUL.
inline bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// Names of the files in `folder` that match `pattern`, in natural order; folders are left out and
/// links are followed. @throws FileError if the folder cannot be read.
inline std::vector<std::string> list_files(const std::filesystem::path& folder,
                                           std::string_view pattern = "*") {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  std::vector<std::string> names;
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;  // a dangling link is not a file
    const std::string name = entry->path().filename().string();
    if (entry->is_regular_file(ignored) && matches_pattern(name, pattern)) names.push_back(name);
  }
  if (error) throw file_failure("cannot list the folder", folder, error.value());
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

/// The files that a path with * or ? in its last part stands for, in natural order; a path without
/// them stands for itself. @throws FileError if nothing matches.
inline std::vector<std::filesystem::path> expand_pattern(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (text.find_first_of("*?") == std::string::npos) return {path};
  const std::filesystem::path folder = path.parent_path();
  if (folder.string().find_first_of("*?") != std::string::npos) {
    throw FileError("'" + text + "': * and ? may stand in the file name only, not in the folder");
  }
  std::vector<std::filesystem::path> paths;
  for (const std::string& name :
       list_files(folder.empty() ? "." : folder, path.filename().string())) {
    paths.push_back(folder / name);
  }
  if (paths.empty()) throw FileError("'" + text + "': no file matches; check the spelling");
  return paths;
}

/// Makes a folder and those above it. @return whether the last one is new.
/// @throws FileError if it cannot be made, or if a file is in the way.
inline bool ensure_directory(const std::filesystem::path& folder) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  if (error) throw file_failure("cannot make the folder", folder, error.value());
  if (!std::filesystem::is_directory(folder, error)) {
    throw file_failure("cannot make the folder", folder, ENOTDIR);
  }
  return made;
}

}  // namespace fount
