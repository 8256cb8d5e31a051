// SPDX-License-Identifier: Apache-2.0
#pragma once
// One eighth of the full product of variants: all configurations of one norm and one activation.
// Built only where FOUNT_FULL_PROOF is on; test_pairwise.cpp covers every pair of values always.

#include <utility>

#include "models/gradients/proof.hpp"
#include "support/catch.hpp"

namespace fount::test {

template <int NormIndex, int ActivationIndex, int Index>
constexpr Choice choice_of() {
  return {NormIndex,        ActivationIndex,  Index % 3,      Index / 3 % 2,
          Index / 6 % 3,    Index / 18 % 2,   Index / 36 % 2};
}

template <ModelConfig C>
void prove_with_and_without_documents() {
  for (const bool documents : {false, true}) {
    const ProofResult result = GradientProof<C>::run({.documents = documents});
    INFO(describe(C) << (documents ? " documents" : "") << ": " << result.tensor);
    CHECK(result.worst <= 1e-6);
  }
}

template <int NormIndex, int ActivationIndex>
void prove_product() {
  [&]<int... Index>(std::integer_sequence<int, Index...>) {
    (prove_with_and_without_documents<config_of(choice_of<NormIndex, ActivationIndex, Index>())>(),
     ...);
  }(std::make_integer_sequence<int, 72>{});
}

}  // namespace fount::test
