// SPDX-License-Identifier: Apache-2.0
// For the harness: an error, but not the one that is expected.
// expect: num_heads must be a multiple of num_kv_heads

#include <fount/core/dtype.hpp>

static_assert(fount::size_of(fount::DType::float32) == 5, "a float has five bytes");
