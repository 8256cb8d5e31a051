// SPDX-License-Identifier: Apache-2.0
#pragma once
// `fount fetch`: where the usual texts and tokenizers are, and the commands that get and use them.
// It opens no connection itself; the list is in data/known_data.hpp.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/app/suggest.hpp>
#include <fount/app/tool_verb.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/known_data.hpp>

#include <CLI/CLI.hpp>

namespace fount::detail {

inline void list_known_data(std::ostream& out) {
  out << "Text and tokenizers that others publish. `fount fetch NAME` prints the commands.\n"
         "Sizes are approximate; on the licence, the page named has the last word.\n\n";
  for (const KnownData& data : known_data) {
    char line[160];
    const std::string size = data.files > 1
                                 ? with_commas(data.files) + " x " + format_bytes(data.bytes)
                                 : format_bytes(data.bytes);
    std::snprintf(line, sizeof line, "%-16s %-18s %s\n", std::string(data.name).c_str(),
                  size.c_str(), std::string(data.licence).c_str());
    out << line << "                 " << data.about << "\n                 " << data.page << '\n';
  }
}

struct FetchOptions {
  std::string name;
  std::string output;      // a folder; empty: data/NAME
  std::int64_t files = 0;  // of several; 0: one
};

/// A shell script on `out`.
inline void print_fetch_commands(const FetchOptions& options, std::ostream& out) {
  const auto found = std::ranges::find(known_data, options.name, &KnownData::name);
  if (found == known_data.end()) {
    std::vector<std::string> names;
    for (const KnownData& data : known_data) names.emplace_back(data.name);
    throw ConfigError("unknown data '" + options.name + "'" + suggestion(options.name, names) +
                      "; `fount fetch` lists what is known");
  }
  const KnownData& data = *found;
  const std::string folder =
      options.output.empty() ? "data/" + std::string(data.name) : options.output;
  if (folder.find('\'') != std::string::npos || folder.find('\n') != std::string::npos) {
    throw ConfigError("--output '" + folder + "': a folder without quotes and line ends");
  }
  const std::int64_t files = std::clamp<std::int64_t>(options.files, 1, data.files);
  out << "# " << data.about << "\n# " << data.page << "\n# licence: " << data.licence << "\n# "
      << (files > 1 ? with_commas(files) + " of " + with_commas(data.files) + " files, about "
          : data.files > 1
              ? "1 of " + with_commas(data.files) + " files (--files says how many), about "
              : std::string("about "))
      << format_bytes(data.bytes * files) << "\nset -e\nmkdir -p '" << folder << "'\n";
  for (std::int64_t i = 0; i < files; ++i) {
    const int number = data.first + static_cast<int>(i);
    // Goes on with what an earlier call has got, and says so when a page is no file.
    out << "curl --fail --location --retry 5 --continue-at - --output '" << folder << '/'
        << numbered(data.file, number) << "' \\\n  '" << numbered(data.url, number) << "'\n";
  }
  out << "# then:\n";
  std::string next(data.next);
  for (std::size_t at = next.find("DIR"); at != std::string::npos;
       at = next.find("DIR", at + folder.size())) {
    next.replace(at, 3, folder);
  }
  for (std::size_t begin = 0; begin < next.size();) {
    const std::size_t end = std::min(next.find('\n', begin), next.size());
    out << "#   " << next.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

inline ToolVerb fetch_verb(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "fetch", "Say where known texts and tokenizers are, and print the commands that get them");
  const auto options = std::make_shared<FetchOptions>();
  app->add_option("name,--name", options->name,
                  "Which; without it: a list with sizes and licences");
  app->add_option("--output", options->output, "Folder for the files (default: data/NAME)");
  add_count(*app, "--files", options->files, "How many files of those that come in several (1)");
  app->footer(
      "Nothing is fetched until you run what it prints.\n"
      "Examples:\n"
      "  fount fetch\n"
      "  fount fetch c4 --files 4 | sh");
  return {app, [options](const ToolStreams& streams) {
            if (options->name.empty()) {
              list_known_data(streams.out);
            } else {
              print_fetch_commands(*options, streams.out);
            }
          }};
}

}  // namespace fount::detail
