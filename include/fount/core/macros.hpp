// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few macros of the project: host/device marks, the instruction set and its namespace.
// Everything else is a constant, a template or a function.

#if defined(__CUDACC__)
#define FOUNT_HOST_DEVICE __host__ __device__
#else
#define FOUNT_HOST_DEVICE
#endif

/// Whether the instruction set multiplies pairs of bf16 and adds in float (vdpbf16ps).
#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define FOUNT_HAS_BF16_PRODUCTS 1
#else
#define FOUNT_HAS_BF16_PRODUCTS 0
#endif

/// One inline namespace per instruction set, so that objects compiled for different ones can be
/// linked into one program without sharing (and mixing up) the bodies of inline kernels.
#if FOUNT_HAS_BF16_PRODUCTS
#define FOUNT_CPU_NAMESPACE avx512_bf16
#elif defined(__AVX512F__)
#define FOUNT_CPU_NAMESPACE avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define FOUNT_CPU_NAMESPACE avx2
#else
#define FOUNT_CPU_NAMESPACE portable
#endif
