// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <tuple>

#include "models/gradients/proof.hpp"
#include "support/catch.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// Every pair of values of any two axes occurs in one of these rows.
constexpr std::array<Choice, 13> rows = {{{0, 0, 0, 1, 0, 0, 1},
                                          {0, 1, 0, 0, 2, 0, 0},
                                          {0, 1, 2, 1, 1, 1, 1},
                                          {0, 2, 0, 1, 1, 0, 0},
                                          {0, 2, 2, 0, 2, 1, 0},
                                          {0, 3, 1, 1, 1, 0, 0},
                                          {0, 3, 2, 1, 0, 0, 0},
                                          {1, 0, 1, 1, 2, 1, 0},
                                          {1, 0, 2, 0, 1, 1, 0},
                                          {1, 1, 1, 0, 0, 0, 1},
                                          {1, 2, 1, 0, 1, 1, 1},
                                          {1, 2, 2, 1, 0, 1, 1},
                                          {1, 3, 0, 0, 2, 1, 1}}};

template <ModelConfig C>
void prove(const ProofOptions& options) {
  const ProofResult result = GradientProof<C>::run(options);
  INFO(describe(C) << (options.documents ? " documents" : "")
                   << (options.dropout > 0 ? " dropout" : "") << ": " << result.tensor);
  CHECK(result.worst <= 1e-6);
}

/// A small base for variants outside the product.
constexpr ModelConfig base = {.vocab_size = 7, .hidden_size = 12, .num_layers = 2, .num_heads = 2,
                              .num_kv_heads = 1, .intermediate_size = 5, .max_seq_len = 5,
                              .norm = Norm::rms_norm, .activation = Activation::swiglu,
                              .position = Position::rotary};

template <class Change>
constexpr ModelConfig with(ModelConfig config, Change change) {
  change(config);
  return config;
}

constexpr ModelConfig qk_norm = with(base, [](ModelConfig& c) { c.qk_norm = true; });
constexpr ModelConfig softcaps = with(base, [](ModelConfig& c) {
  c.attention_softcap = 1.5F;
  c.logit_softcap = 2.0F;
});
constexpr ModelConfig odd_heads = with(base, [](ModelConfig& c) {
  c.hidden_size = 9;
  c.num_heads = 3;
  c.position = Position::learned;
  c.position_offset = 2;
});
constexpr ModelConfig bert = {.vocab_size = 7, .hidden_size = 8, .num_layers = 2, .num_heads = 4,
                              .max_seq_len = 5, .activation = Activation::gelu_erf,
                              .mask = Mask::bidirectional,
                              .norm_placement = NormPlacement::post,
                              .head = Head::masked_language_model, .bias = true,
                              .num_token_types = 2, .norm_eps = 1e-12F};
constexpr ModelConfig post_norm_decoder = with(base, [](ModelConfig& c) {
  c.norm_placement = NormPlacement::post;
  c.tied_embeddings = false;
});
constexpr ModelConfig one_of_each = {.vocab_size = 1, .hidden_size = 2, .num_layers = 1,
                                     .num_heads = 1, .max_seq_len = 5};

}  // namespace

TEST_CASE("the rows cover every pair of values", "[models][gradients]") {
  for (std::size_t i = 0; i < axis_sizes.size(); ++i) {
    for (std::size_t j = i + 1; j < axis_sizes.size(); ++j) {
      std::set<std::pair<int, int>> seen;
      for (const Choice& row : rows) seen.emplace(row[i], row[j]);
      CHECK(static_cast<int>(seen.size()) == axis_sizes[i] * axis_sizes[j]);
    }
  }
}

TEST_CASE("every gradient of a pairwise cover of variants matches central differences",
          "[models][gradients]") {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (prove<config_of(rows[I])>({}), ...);
    (prove<config_of(rows[I])>({.documents = true}), ...);
  }(std::make_index_sequence<rows.size()>{});
}

TEST_CASE("gradients hold under dropout for each kind of attention", "[models][gradients]") {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    // Multi-head, grouped and multi-query; each of these rows has another mask as well.
    (prove<config_of(rows[I])>({.dropout = 0.3F}), ...);
    (prove<config_of(rows[I])>({.documents = true, .dropout = 0.2F}), ...);
  }(std::index_sequence<0, 7, 10, 4>{});
}

TEST_CASE("gradients hold when blocks are computed again", "[models][gradients]") {
  prove<config_of(rows[6])>({.dropout = 0.3F, .recompute = Recompute::block});
  prove<bert>({.documents = true, .recompute = Recompute::block});
}

TEST_CASE("gradients hold for the variants outside the product", "[models][gradients]") {
  prove<qk_norm>({});
  prove<softcaps>({});
  prove<odd_heads>({});
  prove<bert>({});
  prove<bert>({.documents = true, .dropout = 0.2F});
  prove<post_norm_decoder>({});
  prove<one_of_each>({});
}
