// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the verbs of the program `fount` have in common: where they write, and options that take
// counts. The verbs are in headers of their own, or in app/tool_main.hpp if they are short.

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/units.hpp>

#include <CLI/CLI.hpp>

namespace fount::detail {

/// Where a verb writes: results, and what is not a result.
struct ToolStreams {
  std::ostream& out;
  std::ostream& err;
};

/// A verb of the program: its options, and what to do once they are read.
struct ToolVerb {
  CLI::App* app;
  std::function<void(const ToolStreams&)> run;
};

/// A verb with verbs below it: runs the one that was chosen.
inline ToolVerb verb_group(CLI::App* app, std::vector<ToolVerb> verbs) {
  app->require_subcommand(1);
  app->footer("'fount " + app->get_name() + " VERB --help' explains a verb.");
  return {app, [verbs = std::move(verbs)](const ToolStreams& streams) {
            for (const ToolVerb& verb : verbs) {
              if (verb.app->parsed()) verb.run(streams);
            }
          }};
}

/// An option that takes a number as people write it: 500000, 500k, 5M, 64KiB.
inline CLI::Option* add_count(CLI::App& app, const std::string& name, std::int64_t& target,
                              const std::string& description) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &target](const std::string& text) {
            auto number = parse_count(text);
            if (!number) number = parse_bytes(text);
            if (!number || *number < 0) {
              throw CLI::ValidationError(
                  name, "'" + text + "' is not a count; write 500000, 500k " + "or 5M");
            }
            target = *number;
          },
          description)
      ->type_name("COUNT");
}

}  // namespace fount::detail
