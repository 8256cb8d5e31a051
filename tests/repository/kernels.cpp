// SPDX-License-Identifier: Apache-2.0
// The innermost kernels of products and of attention, for registers.sh to look at.
#include <fount/ops/cpu/attention_tile.hpp>
#include <fount/ops/cpu/matmul_bf16.hpp>
#include <fount/ops/cpu/matmul_tile.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

#define KERNELS(TILE, IN_PLACE, TC, TB) \
  template void multiply_covering_tile<TILE, IN_PLACE, TC, TB>(const TileTask<TILE::Word, TC, TB>&);

using Float = NativeTile<float>;
using Double = NativeTile<double>;
KERNELS(Float, false, float, float)
KERNELS(Double, false, double, double)
#if !defined(__AVX512F__)  // taller tiles pack
KERNELS(Float, true, float, float)
KERNELS(Double, true, double, double)
#endif
#if FOUNT_HAS_BF16_PRODUCTS
KERNELS(PairTile, false, float, bf16)
KERNELS(PairTile, false, bf16, bf16)
#endif
}  // namespace detail

namespace attention_detail {
template void product_column<Left::by_row, Write::replace, float>(Rows<float>, Rows<const float>,
                                                                  Rows<const float>, int, int);
template void product_column<Left::by_row, Write::add, float>(Rows<float>, Rows<const float>,
                                                              Rows<const float>, int, int);
template void product_column<Left::by_depth, Write::add, float>(Rows<float>, Rows<const float>,
                                                                Rows<const float>, int, int);
}  // namespace attention_detail
}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
