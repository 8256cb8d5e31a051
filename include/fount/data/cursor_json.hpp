// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places in texts and streams as JSON: for the journal of a preparation and for checkpoints.

#include <string>
#include <string_view>

#include <fount/core/error.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/data/text_records.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/json.hpp>

namespace fount::detail {

inline Json to_json(const TextPosition& at) {
  return {{"source", at.source},     {"offset", at.offset}, {"line", at.line},
          {"document", at.document}, {"inside", at.inside}, {"dropped", at.dropped},
          {"key", to_hex(at.key)}};
}

inline bool json_boolean(const Json& json, std::string_view name, std::string_view where) {
  const Json& value = json_member(json, name, where);
  if (value.is_boolean()) return value.get<bool>();
  throw FileError::content(where, "\"" + std::string(name) + "\" of another type", "a boolean");
}

inline TextPosition position_from(const Json& json, std::string_view where) {
  TextPosition at;
  at.source = json_integer(json, "source", where);
  at.offset = json_integer(json, "offset", where);
  at.line = json_integer(json, "line", where);
  at.document = json_integer(json, "document", where);
  at.inside = json_boolean(json, "inside", where);
  at.dropped = json_boolean(json, "dropped", where);
  at.key = hash_member(json, "key", where);
  return at;
}

inline Json to_json(const StreamCursor& cursor) {
  return {{"first_sample", cursor.first_sample},     {"epoch", cursor.epoch},
          {"position", to_json(cursor.at)},          {"tokens", cursor.tokens},
          {"documents_seen", cursor.documents_seen}, {"documents_broken", cursor.documents_broken}};
}

inline StreamCursor cursor_from(const Json& json, std::string_view where) {
  StreamCursor cursor;
  cursor.first_sample = json_integer(json, "first_sample", where);
  cursor.epoch = json_integer(json, "epoch", where);
  cursor.at = position_from(json_member(json, "position", where), where);
  cursor.tokens = json_integer(json, "tokens", where);
  cursor.documents_seen = json_integer(json, "documents_seen", where);
  cursor.documents_broken = json_integer(json, "documents_broken", where);
  return cursor;
}

}  // namespace fount::detail
