// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program made for one processor and started on another: a sentence in place of SIGILL. The function
// itself must run anywhere, so it is compiled without AVX and calls nothing that is not.

#include <cstdio>

#include <fount/core/macros.hpp>

#if defined(__x86_64__) && !defined(__CUDACC__)
#define FOUNT_COMPILED_FOR_ANY_PROCESSOR [[gnu::target("no-avx"), gnu::noinline]]
#else
#define FOUNT_COMPILED_FOR_ANY_PROCESSOR
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// An instruction set that this file is compiled for and the processor lacks; null if there is none.
FOUNT_COMPILED_FOR_ANY_PROCESSOR inline const char* missing_instruction_set() {
#if defined(__x86_64__) && !defined(__CUDACC__)
  __builtin_cpu_init();
#if defined(__AVX__)
  if (!__builtin_cpu_supports("avx")) return "AVX";
#endif
#if defined(__BMI2__)
  if (!__builtin_cpu_supports("bmi2")) return "BMI2";
#endif
#if defined(__FMA__)
  if (!__builtin_cpu_supports("fma")) return "FMA";
#endif
#if defined(__AVX2__)
  if (!__builtin_cpu_supports("avx2")) return "AVX2";
#endif
#if defined(__AVX512F__)
  if (!__builtin_cpu_supports("avx512f")) return "AVX-512 F";
#endif
#if defined(__AVX512BW__)
  if (!__builtin_cpu_supports("avx512bw")) return "AVX-512 BW";
#endif
#if defined(__AVX512DQ__)
  if (!__builtin_cpu_supports("avx512dq")) return "AVX-512 DQ";
#endif
#if defined(__AVX512VL__)
  if (!__builtin_cpu_supports("avx512vl")) return "AVX-512 VL";
#endif
#if defined(__AVX512VBMI__)
  if (!__builtin_cpu_supports("avx512vbmi")) return "AVX-512 VBMI";
#endif
#if defined(__AVX512BF16__)
  if (!__builtin_cpu_supports("avx512bf16")) return "AVX-512 BF16";
#endif
#if FOUNT_HAS_BF16_BLOCKS
  if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-bf16")) return "AMX";
#endif
#endif
  return nullptr;
}

/// Whether the processor can run this program; if not, says on standard error what it lacks and what
/// to do.
FOUNT_COMPILED_FOR_ANY_PROCESSOR inline bool runs_on_this_processor(const char* program) {
  const char* const missing = missing_instruction_set();
  if (missing == nullptr) return true;
  std::fputs(program, stderr);
  std::fputs(": this program is compiled for processors with ", stderr);
  std::fputs(missing, stderr);
  std::fputs(", which this one lacks. Build it on this machine, or with -DFOUNT_MARCH=x86-64-v3 for any "
             "processor with AVX2, or with -DFOUNT_MARCH=none for every one\n", stderr);
  return false;
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
