// SPDX-License-Identifier: Apache-2.0
// For the harness: correct code, so "it must not compile" has to be reported as failed.
// expect: anything

#include <fount/core/dtype.hpp>

static_assert(fount::size_of(fount::DType::float32) == 4);
