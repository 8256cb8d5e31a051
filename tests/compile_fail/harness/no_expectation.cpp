// SPDX-License-Identifier: Apache-2.0
// For the harness: an error that nobody described.

#include <fount/core/dtype.hpp>

static_assert(fount::size_of(fount::DType::float32) == 5, "a float has five bytes");
