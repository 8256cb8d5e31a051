// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading metrics.jsonl back, for a report, and cutting it where a run resumes. Apart from
// monitor/metrics.hpp, so that whoever only writes does not pay for the JSON library.
// A last line without its end is what a crash leaves behind, and is passed over.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fount/core/error.hpp>
#include <fount/io/files.hpp>
#include <fount/io/json.hpp>
#include <fount/monitor/metrics.hpp>

namespace fount {

namespace detail {

/// A number or the name of one that JSON lacks; NaN where the key is missing.
inline double metric(const Json& object, const char* name, const std::string& where) {
  const auto at = object.find(name);
  if (at == object.end()) return std::numeric_limits<double>::quiet_NaN();
  if (at->is_number()) return at->get<double>();
  if (at->is_string()) {
    const auto text = at->get<std::string>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  throw FileError::content(where, "\"" + std::string(name) + "\" of type " + at->type_name(),
                           R"(a number, "NaN", "Infinity" or "-Infinity")");
}

/// Calls visit(line without its end, "path:number") for every line, blank ones left out. Parses
/// `tail`, what follows the last newline, only if it is whole: torn lines have no closing brace.
template <class Visit>
void visit_lines(std::string_view text, const std::string& path, Visit&& visit) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const bool torn = end == std::string_view::npos && !line.ends_with('}');
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !torn) visit(line, path + ":" + std::to_string(number));
  }
}

inline StepRecord step_from_json(const Json& object, const std::string& where) {
  StepRecord record;
  record.step = json_integer(object, "step", where);
  if (object.contains("tokens")) record.tokens = json_integer(object, "tokens", where);
  record.loss = metric(object, "loss", where);
  record.lr = metric(object, "lr", where);
  record.grad_norm = metric(object, "grad_norm", where);
  record.tokens_per_second = metric(object, "tokens_per_second", where);
  record.step_ms = metric(object, "step_ms", where);
  if (object.contains("memory_bytes")) {
    record.memory_bytes = json_integer(object, "memory_bytes", where);
  }
  return record;
}

}  // namespace detail

/// All records of the file. Running means and best marks are computed again; keys and lines of
/// other kinds are passed over.
/// @throws FileError naming file and line where a line other than a torn last one is damaged
inline History read_metrics(const std::filesystem::path& path) {
  const MappedFile file(path);
  History history;
  RunningMean mean;
  double best = std::numeric_limits<double>::infinity();
  detail::visit_lines(file.text(), path.string(), [&](std::string_view line, std::string where) {
    const Json object = parse_json(line, where);
    if (object.is_object() && object.contains("val_loss")) {
      ValidationRecord record{json_integer(object, "step", where),
                              detail::metric(object, "val_loss", where), false};
      record.best = record.val_loss < best;  // never for NaN
      if (record.best) best = record.val_loss;
      history.validations.push_back(record);
    } else if (object.is_object() && object.contains("loss")) {
      StepRecord record = detail::step_from_json(object, where);
      mean.add(record.loss);
      record.loss_mean = mean.mean();
      history.steps.push_back(record);
    } else {
      json_integer(object, "step", where);  // every line of ours has one
    }
  });
  return history;
}

/// Cuts the file to what was known after step `step`: lines of later steps and a torn last line
/// go, the rest stays byte for byte. Replaces the file in one step; does nothing if there is none.
/// @return how many whole lines were dropped
/// @throws FileError if the file is damaged or cannot be replaced
inline std::int64_t truncate_after(const std::filesystem::path& path, std::int64_t step) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return 0;
  std::string kept;
  std::int64_t dropped = 0;
  std::size_t size = 0;
  {
    const MappedFile file(path);
    size = file.text().size();
    detail::visit_lines(file.text(), path.string(), [&](std::string_view line, std::string where) {
      if (json_integer(parse_json(line, where), "step", where) > step) {
        ++dropped;
      } else {
        kept.append(line).push_back('\n');
      }
    });
  }
  if (kept.size() != size) write_file_atomically(path, kept);
  return dropped;
}

}  // namespace fount
