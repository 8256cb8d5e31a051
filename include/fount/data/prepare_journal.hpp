// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a preparation has come, in a file beside its shards, so that one that was killed goes on
// and ends with the same bytes. What is not in the journal is cut off and done again.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/cursor_json.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/documents.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/json.hpp>
#include <fount/text/utf8.hpp>

namespace fount {

/// What has been read and written so far. Arrays go by split: train, validation.
struct PrepareState {
  TextPosition position;        // all before it is in the shards
  std::uint64_t text_hash = 0;  // of the texts so far
  Bytes text_bytes = 0;
  std::array<std::int64_t, 2> tokens{};
  std::array<std::int64_t, 2> documents{};
  std::int64_t unknown_tokens = 0;
  BrokenDocuments broken;
  Bytes resumed_bytes = 0;  // text that an earlier run has done; not in the file
};

namespace detail {

inline constexpr std::string_view journal_name = "journal.json";

}  // namespace detail

/// Replaces the journal in one step; the shards must be on the device.
inline void write_journal(const std::filesystem::path& folder, const PrepareState& state) {
  Json json = {{"format", "fount-prepare-journal"},
               {"format_version", 1},
               {"position", detail::to_json(state.position)},
               {"text_hash", to_hex(state.text_hash)},
               {"text_bytes", state.text_bytes},
               {"train_tokens", state.tokens[0]},
               {"validation_tokens", state.tokens[1]},
               {"train_documents", state.documents[0]},
               {"validation_documents", state.documents[1]},
               {"unknown_tokens", state.unknown_tokens},
               {"documents_seen", state.broken.seen()},
               {"documents_broken", state.broken.broken()},
               {"documents_too_short", state.broken.too_short()},
               {"first_broken", Json::array()}};
  // Names of files may be in any encoding, JSON is UTF-8.
  for (const std::string& line : state.broken.first()) {
    Utf8Stream text;
    json["first_broken"].push_back(text.push(line) + text.finish());
  }
  write_file_atomically(folder / detail::journal_name, dump_json(json) + "\n");
}

/// The journal of a folder; nothing if there is none, or none that can be read: the work then
/// starts anew.
inline std::optional<PrepareState> read_journal(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / detail::journal_name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  try {
    const std::string where = path.string();
    const Json json = parse_json(read_file(path, MiB(1)), where);
    json_integer(json, "format_version", where, 1, 1);
    PrepareState state;
    state.position = detail::position_from(json_member(json, "position", where), where);
    state.text_hash = detail::hash_member(json, "text_hash", where);
    state.text_bytes = json_integer(json, "text_bytes", where);
    state.tokens = {json_integer(json, "train_tokens", where),
                    json_integer(json, "validation_tokens", where)};
    state.documents = {json_integer(json, "train_documents", where),
                       json_integer(json, "validation_documents", where)};
    state.unknown_tokens = json_integer(json, "unknown_tokens", where);
    std::vector<std::string> first;
    for (const Json& line : json_member(json, "first_broken", where)) {
      if (line.is_string()) first.push_back(line.get<std::string>());
    }
    state.broken.restore(json_integer(json, "documents_seen", where),
                         json_integer(json, "documents_broken", where),
                         json_integer(json, "documents_too_short", where), std::move(first));
    state.resumed_bytes = state.text_bytes;
    return state;
  } catch (const FileError&) {
    return std::nullopt;
  }
}

}  // namespace fount
