// SPDX-License-Identifier: Apache-2.0
#pragma once
// One configuration in one precision, predicting one token after another with a key-value cache, in
// memory and with weights that somebody else owns: a GenerationModel, or a TrainingModel between
// steps.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fount/core/macros.hpp>
#include <fount/train/model.hpp>

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C, Precision P>
class Generator : public TokenGenerator {
 public:
  using Model = Transformer<C>;
  using E = nn::Elements<P>;

  /// @param cpu, parameters, buffers (all but inputs, labels, documents and losses) outlive this
  Generator(const Cpu& cpu, const std::vector<Parameter>& parameters,
            const InferenceBuffers<C, E>& buffers)
      : cpu_(cpu),
        parameters_(parameters),
        buffers_(buffers),
        logits_(static_cast<std::size_t>(C.vocab_size)) {}

  const ModelConfig& config() const override { return Model::config; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  ParameterBuffer weights() override {
    return {P.weight, reinterpret_cast<std::byte*>(buffers_.weights),
            Model::parameter_storage() * static_cast<Bytes>(sizeof(typename E::Weight))};
  }

  void reset() override { length_ = 0; }
  int length() const override { return length_; }

  std::span<const float> append(std::span<const std::int32_t> tokens) override {
    if (tokens.empty()) throw ShapeError("generation: nothing to append");
    if (length_ + static_cast<std::int64_t>(tokens.size()) > C.max_seq_len) {
      throw ShapeError("generation: " + std::to_string(length_) + " + " +
                       std::to_string(tokens.size()) + " tokens do not fit into the context of " +
                       std::to_string(C.max_seq_len) + "; use a shorter prompt");
    }
    for (const std::int32_t id : tokens) {
      if (id < 0 || id >= C.vocab_size) {
        throw ShapeError("generation: token id " + std::to_string(id) +
                         " is outside the vocabulary of " + std::to_string(C.vocab_size));
      }
    }
    constexpr int chunk = generation_shape<C>().seq_len;
    while (!tokens.empty()) {
      const auto count = std::min<std::size_t>(tokens.size(), chunk);
      step(tokens.first(count), count == tokens.size());
      tokens = tokens.subspan(count);
    }
    return logits_;
  }

 private:
  void step(std::span<const std::int32_t> tokens, bool want_logits) {
    nn::Context<E> context;
    context.backend = &cpu_;
    context.shape = {1, static_cast<int>(tokens.size())};
    context.rotary_table = buffers_.batch.rotary_table;
    context.past_len = length_;
    const auto* const x =
        Model::template hidden<E>(context, buffers_.weights, buffers_.batch.saved,
                                  buffers_.batch.scratch, tokens.data(), buffers_.caches.data());
    length_ += static_cast<int>(tokens.size());
    if (!want_logits) return;
    const std::int64_t last = static_cast<std::int64_t>(tokens.size()) - 1;
    Model::template logits<E>(context, buffers_.weights, buffers_.batch.saved, buffers_.logits,
                              x + last * C.hidden_size, 1);
    std::transform(buffers_.logits, buffers_.logits + C.vocab_size, logits_.begin(),
                   [](auto value) { return static_cast<float>(value); });
  }

  const Cpu& cpu_;
  const std::vector<Parameter>& parameters_;
  InferenceBuffers<C, E> buffers_;
  std::vector<float> logits_;
  int length_ = 0;
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
