// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batches for masked-language models: which tokens of a row are to be predicted, and what stands in
// their place. A pure function of seed and sample, so every epoch has masks of its own, and a run
// that goes on has those of the unbroken one.
// Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers", section 3.1: 15 % of
// the tokens; of these 80 % become [MASK], 10 % any token, 10 % stay. Whole words: the note of May
// 2019 in that paper's repository.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/random.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

struct MaskingOptions {
  double fraction = 0.15;     // of the tokens, or of the words, that are predicted
  double mask_share = 0.8;    // of these: become the mask token
  double random_share = 0.1;  // become a random token; the rest stays as it is
  bool whole_words = false;   // all pieces of a word or none
  std::uint64_t seed = 0;
};

/// Masks rows of token ids for one tokenizer.
class TokenMasker {
 public:
  /// @param mask_token written in place of predicted tokens: "[MASK]" of BERT's vocabularies
  /// @throws ConfigError if a share is out of range; Error if the tokenizer lacks the mask token
  TokenMasker(const Tokenizer& tokenizer, const MaskingOptions& options,
              std::string_view mask_token = "[MASK]")
      : options_(options),
        mask_id_(tokenizer.find_special(mask_token)),
        kinds_(static_cast<std::size_t>(tokenizer.vocab_size()), Kind::begins_word) {
    const auto share = [](const char* name, double value) {
      if (value >= 0.0 && value <= 1.0) return;
      throw ConfigError("masking: " + std::string(name) + " is " + std::to_string(value) +
                        "; it must be from 0 to 1");
    };
    share("fraction", options.fraction);
    share("mask_share", options.mask_share);
    share("random_share", options.random_share);
    share("mask_share + random_share", options.mask_share + options.random_share);
    const bool wordpiece = tokenizer.kind() == "wordpiece";
    for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      const std::string_view bytes = tokenizer.token(id);
      if (wordpiece ? bytes.starts_with("##") : continues_word(bytes)) {
        kinds_[static_cast<std::size_t>(id)] = Kind::continues_word;
      }
    }
    for (const SpecialToken& special : tokenizer.special_tokens()) {
      kinds_[static_cast<std::size_t>(special.id)] = Kind::special;
    }
    for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (kinds_[static_cast<std::size_t>(id)] != Kind::special) ordinary_.push_back(id);
    }
  }

  std::int32_t mask_id() const { return mask_id_; }

  /// Masks one row in place. Special tokens and ids outside the vocabulary are never predicted.
  /// @param sample  number of the row in the run: equal numbers give equal masks
  /// @param[in,out] inputs  token ids; predicted ones are replaced
  /// @param[out] labels  as many: the token that stood there, or -1 where nothing is predicted
  /// @return predicted tokens
  std::int64_t mask(std::int64_t sample, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> labels) const {
    if (labels.size() != inputs.size()) {
      throw ShapeError("masking: " + std::to_string(inputs.size()) + " inputs and " +
                       std::to_string(labels.size()) + " labels; there must be as many");
    }
    const RandomStream choose{options_.seed, static_cast<std::uint32_t>(sample),
                              static_cast<std::uint32_t>(sample >> 32), RandomPurpose::masking};
    std::int64_t predicted = 0;
    bool chosen = false;  // of the word that goes on
    bool in_word = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int32_t id = inputs[i];
      labels[i] = -1;
      const Kind kind = kind_of(id);
      const auto draw = choose.block(i);
      if (kind == Kind::special) {
        in_word = false;
        continue;
      }
      const bool goes_on = options_.whole_words && in_word && kind == Kind::continues_word;
      if (!goes_on) chosen = unit(draw[0]) < options_.fraction;
      in_word = true;
      if (!chosen) continue;
      labels[i] = id;
      ++predicted;
      const double what = unit(draw[1]);
      if (what < options_.mask_share) {
        inputs[i] = mask_id_;
      } else if (what < options_.mask_share + options_.random_share) {
        inputs[i] = ordinary_[static_cast<std::size_t>(
            static_cast<std::uint64_t>(draw[2]) * ordinary_.size() >> 32U)];
      }
    }
    return predicted;
  }

 private:
  enum class Kind : std::uint8_t { begins_word, continues_word, special };

  /// Of a byte-level vocabulary: words begin with a space or at punctuation.
  static bool continues_word(std::string_view bytes) {
    if (bytes.empty()) return false;
    const auto first = static_cast<unsigned char>(bytes.front());
    return first >= 0x80 || (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z') ||
           (first >= 'a' && first <= 'z');
  }
  static double unit(std::uint32_t bits) { return static_cast<double>(bits) * 0x1p-32; }
  Kind kind_of(std::int32_t id) const {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < kinds_.size() ? kinds_[index] : Kind::special;
  }

  MaskingOptions options_;
  std::int32_t mask_id_;
  std::vector<Kind> kinds_;             // by id
  std::vector<std::int32_t> ordinary_;  // ids that are not special
};

}  // namespace fount
