// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading the repository's own sources for the tests in this folder: which files there are, their
// lines, their includes, and their code without comments and literals.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sources {

struct File {
  std::string path;  // from the repository's root, with '/'
  std::string text;
};

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Every file below root/folder with one of `extensions`, sorted by path.
inline std::vector<File> files(const std::filesystem::path& root, const std::string& folder,
                               const std::vector<std::string>& extensions) {
  std::vector<File> result;
  if (!std::filesystem::exists(root / folder)) return result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || std::ranges::find(extensions, extension) == extensions.end()) {
      continue;
    }
    result.push_back({entry.path().lexically_relative(root).generic_string(), read(entry.path())});
  }
  std::ranges::sort(result, {}, &File::path);
  return result;
}

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

/// What stands between <> or "" after each #include, with the brackets.
inline std::vector<std::string> includes(const std::string& text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*(<[^>]*>|"[^"]*"))");
  std::vector<std::string> result;
  for (const std::string& line : lines(text)) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) result.push_back(match[1]);
  }
  return result;
}

/// `text` with comments removed and literals emptied, so that a word in a message is not code.
inline std::string code(std::string_view text) {
  std::string result;
  std::size_t at = 0;
  const auto skip_past = [&](std::string_view end) {
    const std::size_t found = text.find(end, at);
    at = found == std::string_view::npos ? text.size() : found + end.size();
  };
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const bool after_word = at > 0 && is_word(text[at - 1]);
    if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (rest.starts_with("/*")) {
      skip_past("*/");
    } else if (rest.starts_with("R\"") && !after_word) {
      const std::size_t open = text.find('(', at);
      if (open == std::string_view::npos) break;
      const std::string end = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
      skip_past(end);
      result += "\"\"";
    } else if (rest.front() == '"' || (rest.front() == '\'' && !after_word)) {
      const char quote = rest.front();  // a ' after a digit separates thousands
      for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
        if (text[at] == '\\') ++at;
      }
      if (at < text.size()) ++at;
      result += {quote, quote};
    } else {
      result += text[at++];
    }
  }
  return result;
}

}  // namespace sources
