// SPDX-License-Identifier: Apache-2.0
// The door to OpenBLAS, for its products in float.

#include <array>

#include <cblas.h>

#include "library.hpp"

namespace bench {

Library openblas_library() {
  return {"openblas", [](const fount::Cpu& cpu, const Product& p) {
            if (!p.is_float32()) return Multiply{};
            openblas_set_num_threads(cpu.threads());
            return Multiply{[p](void* c, const void* a, const void* b) {
              const auto [m, n, k] = std::array{
                  static_cast<blasint>(p.m), static_cast<blasint>(p.n), static_cast<blasint>(p.k)};
              cblas_sgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans,
                          p.b_transposed ? CblasTrans : CblasNoTrans, m, n, k, 1.0F,
                          static_cast<const float*>(a), p.a_transposed ? m : k,
                          static_cast<const float*>(b), p.b_transposed ? k : n, 0.0F,
                          static_cast<float*>(c), n);
            }};
          }};
}

}  // namespace bench
