// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few macros of the project: host/device marks, the instruction set and its namespace, which
// optional libraries there are.
// Everything else is a constant, a template or a function.

#if defined(__CUDACC__)
#define FOUNT_HOST_DEVICE __host__ __device__
#else
#define FOUNT_HOST_DEVICE
#endif

/// Whether code may name instructions of AVX2; nvcc's front end does not take all of them.
#if (defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))) && !defined(__CUDACC__)
#define FOUNT_HAS_AVX2 1
#else
#define FOUNT_HAS_AVX2 0
#endif

/// Whether the instruction set multiplies pairs of bf16 and adds in float (vdpbf16ps).
#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define FOUNT_HAS_BF16_PRODUCTS 1
#else
#define FOUNT_HAS_BF16_PRODUCTS 0
#endif

/// Whether it also multiplies whole blocks of bf16 in tile registers (AMX).
#if FOUNT_HAS_BF16_PRODUCTS && defined(__AMX_TILE__) && defined(__AMX_BF16__)
#define FOUNT_HAS_BF16_BLOCKS 1
#else
#define FOUNT_HAS_BF16_BLOCKS 0
#endif

/// One inline namespace per instruction set, so that objects compiled for different ones can be
/// linked into one program. In it stands what computes: formulas, ops, layers, models, optimizers,
/// plans. Outside stands what describes, holds or reports and is the same in every set:
/// configurations, errors, memory, threads, files, the interfaces of train/model.hpp. So a program
/// may ask the processor, take the ModelEntry of one object or another, and do the rest in one
/// place.
///
/// Of what stands outside, and of templates of the standard library, the linker keeps the first
/// body that it finds. Name objects for lower instruction sets before those for higher ones, or a
/// processor may meet an instruction that it lacks. Objects that differ within a set (AVX2 for
/// Haswell and for Zen 3) share all bodies: there, too, the lower one comes first.
/// tests/instruction_sets does it.
#if FOUNT_HAS_BF16_BLOCKS
#define FOUNT_CPU_NAMESPACE amx_bf16
#elif FOUNT_HAS_BF16_PRODUCTS
#define FOUNT_CPU_NAMESPACE avx512_bf16
#elif defined(__AVX512F__)
#define FOUNT_CPU_NAMESPACE avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define FOUNT_CPU_NAMESPACE avx2
#else
#define FOUNT_CPU_NAMESPACE portable
#endif

/// Optional libraries: CMake says 1 for those that were found (FOUNT_ZLIB, FOUNT_ZSTD,
/// FOUNT_UTF8PROC, FOUNT_PARQUET = AUTO, ON or OFF); who compiles without CMake says it with -D, and links them.
#if !defined(FOUNT_HAS_ZLIB)
#define FOUNT_HAS_ZLIB 0
#endif
#if !defined(FOUNT_HAS_ZSTD)
#define FOUNT_HAS_ZSTD 0
#endif
#if !defined(FOUNT_HAS_UTF8PROC)
#define FOUNT_HAS_UTF8PROC 0
#endif
#if !defined(FOUNT_HAS_PARQUET)
#define FOUNT_HAS_PARQUET 0
#endif
