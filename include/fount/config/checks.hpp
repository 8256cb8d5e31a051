// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must hold between the fields of a ModelConfig, told at compile time. Each check is a base
// class of its own, so that every violation of a configuration is reported at once; the values
// found stand in the compiler's message as the arguments of the check.

#include <fount/config/model_config.hpp>

namespace fount::check {

template <int VocabSize> struct VocabSizeIs {
  static_assert(VocabSize >= 1, "ModelConfig: vocab_size must be at least 1");
};
template <int HiddenSize> struct HiddenSizeIs {
  static_assert(HiddenSize >= 1, "ModelConfig: hidden_size must be at least 1");
};
template <int NumLayers> struct NumLayersIs {
  static_assert(NumLayers >= 1, "ModelConfig: num_layers must be at least 1");
};
template <int NumHeads> struct NumHeadsIs {
  static_assert(NumHeads >= 1, "ModelConfig: num_heads must be at least 1");
};
template <int MaxSeqLen> struct MaxSeqLenIs {
  static_assert(MaxSeqLen >= 1, "ModelConfig: max_seq_len must be at least 1");
};
template <int IntermediateSize> struct IntermediateSizeIs {
  static_assert(IntermediateSize >= 0,
                "ModelConfig: intermediate_size must not be negative (0 means 4 * hidden_size)");
};
template <int HiddenSize, int NumHeads> struct HiddenSizeAndNumHeadsAre {
  static_assert(NumHeads < 1 || HiddenSize % NumHeads == 0,
                "ModelConfig: hidden_size must be a multiple of num_heads (heads share it equally)");
};
template <int NumHeads, int NumKvHeads> struct NumHeadsAndKvHeadsAre {
  static_assert(NumKvHeads >= 1 && NumKvHeads <= NumHeads && NumHeads % NumKvHeads == 0,
                "ModelConfig: num_heads must be a multiple of num_kv_heads (each key-value head "
                "serves a whole group of query heads)");
};
template <int HeadDim> struct HeadDimIs {
  static_assert(HeadDim <= 256, "ModelConfig: head_dim (hidden_size / num_heads) must be at most 256");
};
template <Position P, int HeadDim> struct RotaryHeadDimIs {
  static_assert(P != Position::rotary || HeadDim % 2 == 0,
                "ModelConfig: rotary positions need an even head_dim (hidden_size / num_heads), "
                "since they rotate pairs");
};
template <Mask M, int Window> struct MaskAndWindowAre {
  static_assert((M == Mask::sliding_window) == (Window > 0) && Window >= 0,
                "ModelConfig: window must be positive with Mask::sliding_window and 0 otherwise");
};
template <int PositionOffset, int NumTokenTypes> struct TableRowsAre {
  static_assert(PositionOffset >= 0 && NumTokenTypes >= 0,
                "ModelConfig: position_offset and num_token_types must not be negative");
};
template <bool Positive> struct NormEpsIsPositive {
  static_assert(Positive, "ModelConfig: norm_eps must be positive");
};
template <bool Positive> struct RopeThetaIsPositive {
  static_assert(Positive, "ModelConfig: rope_theta must be positive");
};
template <bool NotNegative> struct SoftcapsAreNotNegative {
  static_assert(NotNegative,
                "ModelConfig: attention_softcap and logit_softcap must not be negative (0 is off)");
};
template <Head H, Mask M> struct HeadAndMaskAre {
  static_assert(H == Head::language_model || M == Mask::bidirectional,
                "ModelConfig: a masked language model looks both ways: use Mask::bidirectional");
};
template <Head H, bool TiedEmbeddings> struct HeadAndTiedEmbeddingsAre {
  static_assert(H == Head::language_model || TiedEmbeddings,
                "ModelConfig: the masked language model's head is tied to the token embedding");
};

}  // namespace fount::check

namespace fount {

/// Instantiating this checks C; every model derives from it.
template <ModelConfig C>
struct CheckedConfig : check::VocabSizeIs<C.vocab_size>,
                       check::HiddenSizeIs<C.hidden_size>,
                       check::NumLayersIs<C.num_layers>,
                       check::NumHeadsIs<C.num_heads>,
                       check::MaxSeqLenIs<C.max_seq_len>,
                       check::IntermediateSizeIs<C.intermediate_size>,
                       check::HiddenSizeAndNumHeadsAre<C.hidden_size, C.num_heads>,
                       check::NumHeadsAndKvHeadsAre<C.num_heads, C.kv_heads()>,
                       check::HeadDimIs<C.head_dim()>,
                       check::RotaryHeadDimIs<C.position, C.head_dim()>,
                       check::MaskAndWindowAre<C.mask, C.window>,
                       check::TableRowsAre<C.position_offset, C.num_token_types>,
                       check::NormEpsIsPositive<(C.norm_eps > 0)>,
                       check::RopeThetaIsPositive<(C.rope_theta > 0)>,
                       check::SoftcapsAreNotNegative<(C.attention_softcap >= 0 &&
                                                      C.logit_softcap >= 0)>,
                       check::HeadAndMaskAre<C.head, C.mask>,
                       check::HeadAndTiedEmbeddingsAre<C.head, C.tied_embeddings> {};

}  // namespace fount
