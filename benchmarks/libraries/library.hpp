// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix product asked for without saying who computes it: what Fount's products are compared
// with. One file beside this one for each library; CMakeLists.txt says which of them are there.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fount/backend/cpu.hpp>
#include <fount/core/dtype.hpp>

namespace bench {

/// C(m, n) = A(m, k) B(k, n), all row-major and contiguous; an operand may be stored transposed.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false;  // stored (k, m)
  bool b_transposed = false;  // stored (n, k)
  fount::DType c_type = fount::DType::float32;
  fount::DType a_type = fount::DType::float32;
  fount::DType b_type = fount::DType::float32;

  bool is_float32() const {
    using enum fount::DType;
    return c_type == float32 && a_type == float32 && b_type == float32;
  }
};

/// Computes one product: (c, a, b).
using Multiply = std::function<void(void*, const void*, const void*)>;

struct Library {
  std::string name;
  /// All that may be done before the data is there, packing excluded: it belongs to the product.
  /// Result: empty where the library does not offer the product.
  std::function<Multiply(const fount::Cpu&, const Product&)> prepare;
};

Library fount_library();
Library eigen_library();     // on Fount's threads
Library onednn_library();    // on those of its OpenMP
Library openblas_library();  // on its own

/// Those that this program is linked with; Fount first.
inline std::vector<Library> libraries() {
  return {
    fount_library(), eigen_library(),
#if FOUNT_BENCHMARK_ONEDNN
        onednn_library(),
#endif
#if FOUNT_BENCHMARK_OPENBLAS
        openblas_library(),
#endif
  };
}

}  // namespace bench
