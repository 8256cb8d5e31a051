// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the two files of a GPT-2 tokenizer: the vocabulary in JSON, and the merges line by line.
// https://github.com/openai/gpt-2 (encoder.py)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fount/core/error.hpp>
#include <fount/io/json.hpp>
#include <fount/text/bpe_json_reader.hpp>
#include <fount/text/bpe_model.hpp>

namespace fount {

/// The model of GPT-2's two files.
/// @param encoder  content of encoder.json (or vocab.json): the id of each token
/// @param merges   content of vocab.bpe (or merges.txt): a line `#version...`, then a merge a line
/// @throws FileError naming the file, and the line of vocab.bpe
inline BpeModel read_gpt2_model(std::string_view encoder, std::string_view encoder_where,
                                std::string_view merges, std::string_view merges_where) {
  const Json json = parse_json(encoder, encoder_where);
  const detail::NamedVocabulary vocabulary(json, encoder_where);
  BpeModel model;
  if (const std::int32_t id = vocabulary.find("<|endoftext|>"); id != no_token) {
    model.added.push_back({.content = "<|endoftext|>", .id = id});
  }
  std::size_t number = 0;
  while (!merges.empty()) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    const std::string line(merges.substr(0, end));
    merges.remove_prefix(std::min(end + 1, merges.size()));
    if (++number == 1 && line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == line.size() ||
        line.find_first_of(" \r", space + 1) != std::string::npos) {
      throw FileError::content(
          merges_where,
          "line " + std::to_string(number) + ": " +
              Json(line.substr(0, 80)).dump(-1, ' ', false, Json::error_handler_t::replace),
          "two tokens with one space between", "fetch the file again");
    }
    try {
      model.merges.push_back(
          vocabulary.merge(line.substr(0, space), line.substr(space + 1), number));
    } catch (const FileError& e) {
      throw FileError::content(merges_where,
                               "line " + std::to_string(number) + " that does not fit",
                               "merges of " + std::string(encoder_where), e.what());
    }
  }
  model.tokens = vocabulary.tokens(model.added, model.merges);
  const auto empty = static_cast<std::size_t>(std::ranges::count(model.tokens, std::string()));
  const std::size_t expected = model.tokens.size() - std::min(model.tokens.size(), empty + 256);
  if (model.merges.size() != expected) {
    throw FileError::content(merges_where, std::to_string(model.merges.size()) + " merges",
                             std::to_string(expected) + ", as " + std::string(encoder_where) +
                                 " has so many tokens of more than one byte",
                             "fetch both files again");
  }
  return model;
}

}  // namespace fount
