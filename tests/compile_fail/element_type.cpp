// SPDX-License-Identifier: Apache-2.0
// Only the four element types have a DType.
// expect: constraints? not satisfied|constraint failure
// expect: Element

#include <fount/core/dtype.hpp>

constexpr fount::DType dtype = fount::dtype_of<int>;
