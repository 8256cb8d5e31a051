// SPDX-License-Identifier: Apache-2.0
#pragma once
// From logits to the next token: temperature, the k likeliest, the nucleus of probability p
// (Holtzman et al. 2020, "The curious case of neural text degeneration"). The same seed gives the
// same tokens.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/random.hpp>

namespace fount {

struct SamplingOptions {
  double temperature = 1.0;  // 0: always the likeliest token
  int top_k = 0;             // 0: all
  double top_p = 1.0;
  std::uint64_t seed = 1;
};

class Sampler {
 public:
  /// @throws ConfigError for a value outside its range
  explicit Sampler(const SamplingOptions& options) : options_(options) {
    if (!(options.temperature >= 0.0) || !std::isfinite(options.temperature)) {
      throw ConfigError("temperature is " + std::to_string(options.temperature) +
                        "; it must be 0 (greedy) or more");
    }
    if (options.top_k < 0) {
      throw ConfigError("top_k is " + std::to_string(options.top_k) +
                        "; it must be 0 (all tokens) or more");
    }
    if (!(options.top_p > 0.0 && options.top_p <= 1.0)) {
      throw ConfigError("top_p is " + std::to_string(options.top_p) +
                        "; it must be above 0 and at most 1");
    }
  }

  /// Draws a token id.
  /// @param sample, position which sequence and where in it: they address the random number
  std::int32_t operator()(std::span<const float> logits, std::uint32_t sample,
                          std::uint64_t position) {
    if (logits.empty()) throw ShapeError("sampling: there are no logits to choose from");
    const auto likeliest = std::max_element(logits.begin(), logits.end());
    if (options_.temperature == 0.0) return static_cast<std::int32_t>(likeliest - logits.begin());
    rank(logits);
    const double top = logits[static_cast<std::size_t>(order_.front())];
    weights_.resize(order_.size());
    double total = 0.0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const double logit = logits[static_cast<std::size_t>(order_[i])];
      weights_[i] = std::exp((logit - top) / options_.temperature);
      total += weights_[i];
    }
    const std::size_t kept = nucleus(total);
    total = std::accumulate(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(kept),
                            0.0);
    const RandomStream random{options_.seed, sample, 0, RandomPurpose::sampling};
    double left = static_cast<double>(random.uniform(position)) * total;
    for (std::size_t i = 0; i < kept; ++i) {
      left -= weights_[i];
      if (left < 0.0) return order_[i];
    }
    return order_[kept - 1];
  }

 private:
  /// The candidates, likeliest first; equal logits by id.
  void rank(std::span<const float> logits) {
    order_.resize(logits.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto likelier = [&](std::int32_t a, std::int32_t b) {
      const float left = logits[static_cast<std::size_t>(a)];
      const float right = logits[static_cast<std::size_t>(b)];
      return left > right || (left == right && a < b);
    };
    const auto limit = static_cast<std::size_t>(options_.top_k);
    if (limit > 0 && limit < order_.size()) {
      std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(limit),
                       order_.end(), likelier);
      order_.resize(limit);
    }
    std::sort(order_.begin(), order_.end(), likelier);
  }

  /// How many of the ranked tokens reach top_p together; at least one.
  std::size_t nucleus(double total) const {
    if (options_.top_p >= 1.0) return weights_.size();
    double sum = 0.0;
    std::size_t count = 0;
    while (count < weights_.size() && sum < options_.top_p * total) sum += weights_[count++];
    return std::max<std::size_t>(count, 1);
  }

  SamplingOptions options_;
  std::vector<std::int32_t> order_;
  std::vector<double> weights_;
};

}  // namespace fount
