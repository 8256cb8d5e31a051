// SPDX-License-Identifier: Apache-2.0
// Fount's own products, through the function that all layers call.

#include <fount/ops/matmul.hpp>

#include "library.hpp"

namespace bench {
namespace {

using fount::bf16;

template <fount::Element TC, fount::Element TA, fount::Element TB>
Multiply multiply(const fount::Cpu& cpu, const Product& p) {
  if (p.c_type != fount::dtype_of<TC> || p.a_type != fount::dtype_of<TA> ||
      p.b_type != fount::dtype_of<TB>) {
    return {};
  }
  return [&cpu, p](void* c, const void* a, const void* b) {
    fount::ops::matmul<TC, TA, TB>(cpu, {.m = p.m,
                                         .n = p.n,
                                         .k = p.k,
                                         .c = static_cast<TC*>(c),
                                         .c_row_stride = p.n,
                                         .a = static_cast<const TA*>(a),
                                         .a_row_stride = p.a_transposed ? 1 : p.k,
                                         .a_col_stride = p.a_transposed ? p.m : 1,
                                         .b = static_cast<const TB*>(b),
                                         .b_row_stride = p.b_transposed ? 1 : p.n,
                                         .b_col_stride = p.b_transposed ? p.k : 1});
  };
}

}  // namespace

Library fount_library() {
  return {"fount", [](const fount::Cpu& cpu, const Product& p) {
            // Those of fp32 and of bf16_mixed: layers in bf16 with gradients in float, and the
            // head, whose logits are float.
            for (const auto& found :
                 {multiply<float, float, float>(cpu, p), multiply<bf16, bf16, bf16>(cpu, p),
                  multiply<float, bf16, bf16>(cpu, p), multiply<bf16, float, bf16>(cpu, p),
                  multiply<float, float, bf16>(cpu, p)}) {
              if (found) return found;
            }
            return Multiply{};
          }};
}

}  // namespace bench
