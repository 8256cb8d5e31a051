// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only door to Eigen, without its threads: Fount's results must not depend on their number.
// Kernels do not use it; tests take it as the reference that products are compared with.

#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif

#if defined(__GNUC__)
#pragma GCC system_header  // its warnings are not ours
#endif

#include <Eigen/Core>
