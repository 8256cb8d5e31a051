// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes one text out of a line of JSON without building the rest: the line itself if it is a
// string, or a string member of the object. Whole files of JSON: io/json.hpp.
// RFC 8259; https://jsonlines.org

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fount/io/json.hpp>

namespace fount {

/// What was found in the line.
struct JsonText {
  std::string text;
  std::string broken;  // why there is no text; empty: there is
};

namespace detail {

/// Hears the parser's events and keeps the text. Nesting is counted, not followed.
class JsonTextFinder {
 public:
  explicit JsonTextFinder(std::string_view field) : field_(field) {}

  bool null() { return other("null"); }
  bool boolean(bool) { return other("a boolean"); }
  bool number_integer(Json::number_integer_t) { return other("a number"); }
  bool number_unsigned(Json::number_unsigned_t) { return other("a number"); }
  bool number_float(Json::number_float_t, const std::string&) { return other("a number"); }
  bool binary(Json::binary_t&) { return other("binary data"); }
  bool string(std::string& value) {
    if (depth_ == 0 || (depth_ == 1 && wanted_)) {
      found_.text = std::move(value);
      has_text_ = true;
    }
    wanted_ = false;
    return true;
  }
  bool start_object(std::size_t) { return open("an object"); }
  bool start_array(std::size_t) { return depth_ == 0 ? refuse("an array") : open("an array"); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    wanted_ = depth_ == 1 && name == field_;
    return !wanted_ || !has_text_ || refuse("\"" + std::string(field_) + "\" twice");
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    return refuse("invalid JSON at byte " + std::to_string(position) + " of the line");
  }

  JsonText take() {
    if (found_.broken.empty() && !has_text_) {
      found_.broken = "no \"" + std::string(field_) + "\"";
    }
    return std::move(found_);
  }

 private:
  bool refuse(std::string reason) {
    found_.broken = std::move(reason);
    return false;
  }
  /// A value that is not a string, where one may be wanted.
  bool other(const char* kind) {
    if (depth_ == 0) return refuse(std::string(kind) + " instead of an object or a string");
    if (std::exchange(wanted_, false)) {
      return refuse("\"" + std::string(field_) + "\" is " + kind + ", not a string");
    }
    return true;
  }
  bool open(const char* kind) {
    if (depth_ > 0 && !other(kind)) return false;
    if (++depth_ > max_json_depth) {
      return refuse("JSON nested deeper than " + std::to_string(max_json_depth));
    }
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  std::string_view field_;
  JsonText found_;
  int depth_ = 0;
  bool wanted_ = false;  // the value that comes is the text
  bool has_text_ = false;
};

}  // namespace detail

/// The text of a line: a JSON string, or the member `field` of an object. Never throws for what is
/// in the line; escapes of surrogate pairs become one character.
inline JsonText json_text(std::string_view line, std::string_view field) {
  detail::JsonTextFinder finder(field);
  Json::sax_parse(line.data(), line.data() + line.size(), &finder);
  return finder.take();
}

}  // namespace fount
