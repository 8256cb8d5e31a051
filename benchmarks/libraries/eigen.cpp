// SPDX-License-Identifier: Apache-2.0
// Eigen's products in float. Eigen is built without threads here, so the larger extent of the
// result is shared out among Fount's: equal parts, as Eigen's own threads would take.

#include <algorithm>

#include <fount/ops/cpu/eigen.hpp>

#include "library.hpp"

namespace bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Matrix>;

/// Some rows or columns of the result. Written out four times: a transposed operand has another
/// type.
template <class A, class B>
void multiply_part(Eigen::Map<Matrix>& c, const A& a, const B& b, bool by_rows, Eigen::Index first,
                   Eigen::Index count) {
  if (by_rows) {
    c.middleRows(first, count).noalias() = a.middleRows(first, count) * b;
  } else {
    c.middleCols(first, count).noalias() = a * b.middleCols(first, count);
  }
}

void multiply(const fount::Cpu& cpu, const Product& p, float* c_data, const float* a_data,
              const float* b_data) {
  Eigen::Map<Matrix> c(c_data, p.m, p.n);
  const Input a(a_data, p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k);
  const Input b(b_data, p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n);
  const bool by_rows = p.m >= p.n;
  const std::int64_t extent = by_rows ? p.m : p.n;
  const std::int64_t part = (extent + cpu.threads() - 1) / cpu.threads();
  cpu.parallel((extent + part - 1) / part, [&](std::int64_t index, int) {
    const std::int64_t first = index * part;
    const std::int64_t count = std::min(part, extent - first);
    if (p.a_transposed && p.b_transposed) {
      multiply_part(c, a.transpose(), b.transpose(), by_rows, first, count);
    } else if (p.a_transposed) {
      multiply_part(c, a.transpose(), b, by_rows, first, count);
    } else if (p.b_transposed) {
      multiply_part(c, a, b.transpose(), by_rows, first, count);
    } else {
      multiply_part(c, a, b, by_rows, first, count);
    }
  });
}

}  // namespace

Library eigen_library() {
  return {"eigen", [](const fount::Cpu& cpu, const Product& p) {
            if (!p.is_float32()) return Multiply{};
            return Multiply{[&cpu, p](void* c, const void* a, const void* b) {
              multiply(cpu, p, static_cast<float*>(c), static_cast<const float*>(a),
                       static_cast<const float*>(b));
            }};
          }};
}

}  // namespace bench
