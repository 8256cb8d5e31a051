// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only door to the JSON library: parsing that refuses what is deep, doubled or not UTF-8, and
// access that names the file. Costly to compile: keep it out of headers with kernels.
// RFC 8259; the library is nlohmann/json.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>

#include <nlohmann/json.hpp>

namespace fount {

/// Objects keep the order in which members were added.
using Json = nlohmann::ordered_json;

/// Deeper nesting is refused: no file of ours needs it, and writers and destructors recurse.
inline constexpr int max_json_depth = 64;

namespace detail {

/// Looks at brackets outside strings only; whether the rest is JSON is the parser's business.
inline void check_json_depth(std::string_view text, std::string_view where) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_json_depth) {
        throw FileError::content(where,
                                 "JSON nested deeper than " + std::to_string(max_json_depth) +
                                     " at byte " + std::to_string(at),
                                 "a flatter file");
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

/// Walks over the text and tells the builder how far the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  const char** furthest_;
};

/// Receives the parser's events and builds the value. The library's own builder looks through all
/// members of an ordered object for each new one, which is quadratic in a vocabulary, and keeps
/// the last of two members with one name.
class JsonBuilder {
 public:
  JsonBuilder(std::string_view where, const char* begin, const char* const* furthest)
      : where_(where), begin_(begin), furthest_(furthest) {}

  bool null() { return leaf(nullptr); }
  bool boolean(bool value) { return leaf(value); }
  bool number_integer(Json::number_integer_t value) { return leaf(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return leaf(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return leaf(value); }
  bool string(std::string& value) { return leaf(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().names.insert(name).second) {
      throw FileError::content(where_,
                               "the name \"" + name.substr(0, 100) + "\" twice in one " +
                                   "JSON object, near byte " + std::to_string(*furthest_ - begin_),
                               "each name once");
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    std::string reason = e.what();
    if (const auto end = reason.find("] "); end != std::string::npos) reason.erase(0, end + 2);
    if (reason.size() > 200) reason = reason.substr(0, 200) + "...";
    throw FileError::content(
        where_, "invalid JSON at byte " + std::to_string(position) + " (" + reason + ")",
        "well-formed JSON in UTF-8");
  }
  Json take() { return std::move(root_); }

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> names;
  };

  Json* add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      auto& elements = parent.get_ref<Json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    Json::object_t::Container& members = parent.get_ref<Json::object_t&>();
    members.emplace_back(std::move(key_), std::move(value));
    return &members.back().second;
  }
  template <class Value>
  bool leaf(Value&& value) {
    add(Json(std::forward<Value>(value)));
    return true;
  }
  bool open(Json value) {
    open_.push_back({add(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view where_;
  const char* begin_;
  const char* const* furthest_;
  Json root_;
  std::vector<Open> open_;
  std::string key_;
};

}  // namespace detail

/// Parses a whole text. `where` names it in messages: a path, as a rule.
/// @throws FileError with the byte offset if it is not JSON, not UTF-8, nested deeper than
///         max_json_depth, or names a member twice.
inline Json parse_json(std::string_view text, std::string_view where) {
  detail::check_json_depth(text, where);
  const char* furthest = text.data();
  const char* end = text.data() + text.size();
  detail::JsonBuilder builder(where, text.data(), &furthest);
  Json::sax_parse(detail::CountingIterator(text.data(), &furthest),
                  detail::CountingIterator(end, &furthest), &builder);
  return builder.take();
}

/// Text of a value; `indent` < 0 writes it on one line. @throws Error if a string is not UTF-8.
inline std::string dump_json(const Json& value, int indent = 2) {
  try {
    return value.dump(indent);
  } catch (const nlohmann::detail::exception& e) {
    throw Error(std::string("cannot write JSON: ") + e.what());
  }
}

/// Member `name` of an object. @throws FileError naming `where` if there is none.
inline const Json& json_member(const Json& object, std::string_view name, std::string_view where) {
  if (object.is_object()) {
    if (const auto at = object.find(std::string(name)); at != object.end()) return *at;
  }
  throw FileError::content(where, "no \"" + std::string(name) + "\"", "a member of that name");
}

/// A string member. @throws FileError if it is missing or something else.
inline std::string json_string(const Json& object, std::string_view name, std::string_view where) {
  const Json& value = json_member(object, name, where);
  if (value.is_string()) return value.get<std::string>();
  throw FileError::content(where, "\"" + std::string(name) + "\" of type " + value.type_name(),
                           "a string");
}

/// An integer member in [low, high]. @throws FileError if it is missing, no integer or outside.
inline std::int64_t json_integer(const Json& object, std::string_view name, std::string_view where,
                                 std::int64_t low = 0,
                                 std::int64_t high = std::numeric_limits<std::int64_t>::max()) {
  const Json& value = json_member(object, name, where);
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_integer() && !too_large) {
    const auto number = value.get<std::int64_t>();
    if (number >= low && number <= high) return number;
  }
  throw FileError::content(
      where,
      "\"" + std::string(name) +
          "\": " + value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60),
      "an integer from " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace fount
