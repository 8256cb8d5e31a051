// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program `fount`: everything that does not depend on a model. Each verb is one function that
// declares its options and returns what to run; tool_main() parses and reports. The work itself is
// in the libraries.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/app/data_verb.hpp>
#include <fount/app/fetch_verb.hpp>
#include <fount/app/prepare_verb.hpp>
#include <fount/app/suggest.hpp>
#include <fount/app/tokenizer_verbs.hpp>
#include <fount/app/tool_verb.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/stories.hpp>
#include <fount/io/files.hpp>
#include <fount/version.hpp>

#include <CLI/CLI.hpp>

namespace fount {

namespace detail {

struct StoriesOptions {
  std::string output;
  std::int64_t bytes = 0;
  std::uint64_t seed = 0;
};

inline void write_stories_file(const StoriesOptions& options, const ToolStreams& streams) {
  if (options.output == "-") {
    data::write_stories(streams.out, options.bytes, options.seed);
    return;
  }
  data::StoryStream stories(options.seed, options.bytes);
  const auto write_all = [&](FileWriter& file) {
    while (const auto piece = stories.next()) file.write(*piece);
  };
  std::error_code ignored;
  const auto status = std::filesystem::status(options.output, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    FileWriter device(options.output);  // a pipe or device is written to, never replaced
    write_all(device);
    device.close();
    return;
  }
  AtomicFile file(options.output);
  write_all(file.writer());
  file.commit();
  const std::string folder = std::filesystem::path(options.output).replace_extension().string();
  streams.out << "written to: " << options.output << ", " << with_commas(file.writer().written())
              << " bytes\nnext:       fount prepare --input " << options.output
              << " --split-at-documents --output "
              << (folder == options.output ? folder + "-tokens" : folder) << '\n';
}

inline ToolVerb stories_verb(CLI::App& program) {
  CLI::App* app = program.add_subcommand("stories", "Write short stories as training text");
  const auto options = std::make_shared<StoriesOptions>();
  app->add_option("--output", options->output, "File to write, or - for standard output")
      ->required();
  add_count(*app, "--bytes", options->bytes, "Write whole stories, at least so many bytes")
      ->required();
  app->add_option("--seed", options->seed, "Equal seeds give equal stories")->capture_default_str();
  app->footer("Example:\n  fount stories --output stories.txt --bytes 5M --seed 1");
  return {app, [options](const ToolStreams& streams) { write_stories_file(*options, streams); }};
}

/// Option names may be spelled with '_' as with '-': --val_fraction is --val-fraction.
inline std::string normalise_option(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  std::replace(
      argument.begin(),
      argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size())),
      '_', '-');
  return argument;
}

/// The complaint about the first option that `app` does not have; empty if it has all.
inline std::string unknown_option(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() < 3 || !name.starts_with("--")) continue;
    if (std::ranges::find(known, name) == known.end()) {
      return "unknown option '" + name + "'" + suggestion(name, known);
    }
  }
  return {};
}

/// What cannot be read as a command: a sentence and where help is. Exit code 2.
inline int refuse_usage(std::ostream& err, const std::string& program, const std::string& what) {
  err << program << ": error: " << what << "\nTry '" << program << " --help'.\n";
  return 2;
}

}  // namespace detail

/// Runs the tool. @param arguments those behind the name of the program
/// @return 0: done; 1: it failed, and `err` says why; 2: the command could not be understood
inline int run_tool(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  std::ranges::transform(arguments, arguments.begin(), detail::normalise_option);
  CLI::App program("Tools for training language models with Fount: everything but the model.",
                   "fount");
  program.set_version_flag("--version", std::string("fount ") + version);
  program.require_subcommand(1);
  program.footer("'fount VERB --help' explains a verb.");
  const detail::ToolVerb verbs[] = {detail::prepare_verb(program), detail::tokenizer_verb(program),
                                    detail::data_verb(program), detail::fetch_verb(program),
                                    detail::stories_verb(program)};

  if (arguments.empty()) {
    err << program.help();
    return 2;
  }
  std::vector<std::string> names;
  const detail::ToolVerb* verb = nullptr;
  for (const detail::ToolVerb& candidate : verbs) {
    names.push_back(candidate.app->get_name());
    if (arguments.front() == names.back()) verb = &candidate;
  }
  std::string name = verb == nullptr ? "fount" : "fount " + arguments.front();
  if (verb == nullptr && !arguments.front().starts_with("-")) {
    return detail::refuse_usage(
        err, name,
        "unknown verb '" + arguments.front() + "'" + suggestion(arguments.front(), names));
  }
  const CLI::App* app = verb == nullptr ? &program : verb->app;
  if (verb != nullptr && arguments.size() > 1 && !arguments[1].starts_with("-")) {
    names.clear();  // of the verbs below this one
    for (const CLI::App* below : verb->app->get_subcommands({})) {
      names.push_back(below->get_name());
      if (arguments[1] == names.back()) app = below;
    }
    if (app == verb->app && !names.empty()) {
      return detail::refuse_usage(
          err, name, "unknown verb '" + arguments[1] + "'" + suggestion(arguments[1], names));
    }
    if (app != verb->app) name += " " + arguments[1];
  }
  const std::string unknown = detail::unknown_option(*app, arguments);
  if (!unknown.empty()) return detail::refuse_usage(err, name, unknown);

  try {
    std::ranges::reverse(arguments);  // as CLI11 wants it
    program.parse(arguments);
    verb->run({out, err});
    if (!out.flush()) throw FileError("cannot write to standard output; is the disk full?");
    return 0;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return program.exit(e, out, err);
    return detail::refuse_usage(err, name, e.what());
  } catch (const ConfigError& e) {
    return detail::refuse_usage(err, name, e.what());
  } catch (const std::bad_alloc&) {
    err << name << ": error: not enough memory\n";
  } catch (const std::exception& e) {
    err << name << ": error: " << e.what() << '\n';
  }
  return 1;
}

/// The main function of `fount`.
inline int tool_main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);  // nobody here mixes streams with stdio
  return run_tool(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), std::cout,
                  std::cerr);
}

}  // namespace fount
