// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text from a model: a prompt goes in as tokens, text comes out piece by piece as it is generated.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/models/sampling.hpp>
#include <fount/text/tokenizer.hpp>
#include <fount/train/model.hpp>

namespace fount {

struct TextRequest {
  std::string prompt;
  std::int64_t max_new_tokens = 200;
  std::uint32_t sample = 0;  // which of several samples: each has random numbers of its own
  SamplingOptions sampling;
};

/// Replaces each backslash followed by n by a new line: prompts come from command lines.
inline std::string with_new_lines(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos; ++at) {
    text.replace(at, 2, "\n");
  }
  return text;
}

/// The prompt as token ids. @throws ConfigError if it is empty or longer than the context
inline std::vector<std::int32_t> encode_prompt(const TokenGenerator& model,
                                               const Tokenizer& tokenizer,
                                               std::string_view prompt) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  if (ids.empty()) throw ConfigError("the prompt is empty; give at least one character");
  const int limit = model.config().max_seq_len;
  if (static_cast<std::int64_t>(ids.size()) > limit) {
    throw ConfigError("the prompt is " + std::to_string(ids.size()) +
                      " tokens long, the model's context only " + std::to_string(limit) +
                      "; shorten the prompt");
  }
  return ids;
}

/// Generates after the prompt and hands every finished piece of text to `emit`. When the context is
/// full, generation goes on from its later half, read again.
/// @return the tokens generated
template <class Emit>
std::vector<std::int32_t> generate_text(TokenGenerator& model, const Tokenizer& tokenizer,
                                        const TextRequest& request, Emit&& emit) {
  std::vector<std::int32_t> sequence = encode_prompt(model, tokenizer, request.prompt);
  const std::size_t prompt_size = sequence.size();
  const auto limit = static_cast<std::size_t>(model.config().max_seq_len);
  const auto known = static_cast<std::size_t>(tokenizer.vocab_size());
  Sampler sampler(request.sampling);
  StreamingDecoder decoder(tokenizer);
  model.reset();
  std::span<const float> logits;
  if (request.max_new_tokens > 0) logits = model.append(sequence);
  for (std::int64_t i = 0; i < request.max_new_tokens; ++i) {
    // Ids that the tokenizer does not know are never drawn.
    const std::int32_t id = sampler(logits.first(std::min(logits.size(), known)), request.sample,
                                    static_cast<std::uint64_t>(i));
    sequence.push_back(id);
    if (const std::string text = decoder.push(id); !text.empty()) emit(text);
    if (i + 1 == request.max_new_tokens) break;
    if (static_cast<std::size_t>(model.length()) < limit) {
      logits = model.append(std::span(&sequence.back(), 1));
    } else {
      const std::size_t keep = std::max<std::size_t>(limit / 2, 1);
      model.reset();
      logits = model.append(std::span(sequence).last(keep));
    }
  }
  if (const std::string rest = decoder.finish(); !rest.empty()) emit(rest);
  sequence.erase(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(prompt_size));
  return sequence;
}

}  // namespace fount
