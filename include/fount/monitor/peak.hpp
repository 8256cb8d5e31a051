// SPDX-License-Identifier: Apache-2.0
#pragma once
// The peak rate of multiply-adds of this machine with the instruction set of the including file,
// measured: what a share of peak is a share of. It says nothing about memory.
// Williams et al. 2009, "Roofline: an insightful visual performance model".

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fount/backend/cpu.hpp>
#include <fount/backend/threads.hpp>
#include <fount/backend/tile_registers.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>

#if FOUNT_HAS_BF16_PRODUCTS
#include <immintrin.h>
#endif

namespace fount {

namespace detail {
inline namespace FOUNT_CPU_NAMESPACE {

// Registers of the instruction set: the accumulators and two operands must fit, and the
// accumulators must outnumber the multiply-adds in flight (2 pipes of 4 or 5 cycles).
#if defined(__AVX512F__)
inline constexpr std::size_t peak_register_bytes = 64;
inline constexpr std::size_t peak_accumulators = 24;
#elif defined(__AVX2__)
inline constexpr std::size_t peak_register_bytes = 32;
inline constexpr std::size_t peak_accumulators = 12;
#elif defined(__aarch64__)
inline constexpr std::size_t peak_register_bytes = 16;
inline constexpr std::size_t peak_accumulators = 24;
#else
inline constexpr std::size_t peak_register_bytes = 16;
inline constexpr std::size_t peak_accumulators = 12;
#endif

/// `iterations` multiply-adds on every accumulator; the result keeps the compiler honest.
template <Element T>
[[gnu::noinline]] void run_multiply_adds(T* result, T factor, T summand, std::int64_t iterations) {
  typedef T Register __attribute__((vector_size(peak_register_bytes)));
  const auto run = [&]<std::size_t... I>(std::index_sequence<I...>) {
    // Initialised element by element: after a loop over it, g++ would keep the array in memory.
    Register sums[] = {(Register{} + static_cast<T>(I))...};
    const Register a = Register{} + factor;
    const Register b = Register{} + summand;
    for (std::int64_t i = 0; i < iterations; ++i) ((sums[I] = sums[I] * a + b), ...);
    Register total = (sums[I] + ...);
    std::copy_n(reinterpret_cast<const T*>(&total), peak_register_bytes / sizeof(T), result);
  };
  run(std::make_index_sequence<peak_accumulators>{});
}

/// Multiply-adds in one iteration of the loop over operands of type T.
template <Element T>
inline constexpr std::size_t multiply_adds_per_iteration =
    peak_accumulators * peak_register_bytes / sizeof(T);

#if FOUNT_HAS_BF16_BLOCKS
template <> inline constexpr std::size_t multiply_adds_per_iteration<bf16> = 4 * 16 * 16 * 32;

/// The same on four tile registers of sums.
template <>
[[gnu::noinline]] inline void run_multiply_adds<bf16>(bf16* result, bf16 factor, bf16,
                                                      std::int64_t iterations) {
  constexpr std::int64_t row_bytes = 64;
  const AmxRegisters::Session session;
  bf16 block[16 * 32];
  std::fill(std::begin(block), std::end(block), factor);
  __asm__ volatile("" : : "r"(block) : "memory");
  AmxRegisters::load<4>(block, row_bytes);
  AmxRegisters::load<5>(block, row_bytes);
  AmxRegisters::load<6>(block, row_bytes);
  AmxRegisters::load<7>(block, row_bytes);
  for (std::int64_t i = 0; i < iterations; ++i) {
    AmxRegisters::multiply_add<0>();
    AmxRegisters::multiply_add<1>();
    AmxRegisters::multiply_add<2>();
    AmxRegisters::multiply_add<3>();
  }
  AmxRegisters::store<0>(result, row_bytes);
}

#elif FOUNT_HAS_BF16_PRODUCTS
/// The same with products of pairs of bf16 that are added in float: two multiply-adds in each of the
/// lanes. Sums grow from 0 by `factor` squared, twice.
template <>
[[gnu::noinline]] inline void run_multiply_adds<bf16>(bf16* result, bf16 factor, bf16,
                                                      std::int64_t iterations) {
  const auto run = [&]<std::size_t... I>(std::index_sequence<I...>) {
    __m512 sums[] = {_mm512_set1_ps(static_cast<float>(I))...};
    const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi16(static_cast<short>(factor.bits)));
    for (std::int64_t i = 0; i < iterations; ++i) {
      ((sums[I] = _mm512_dpbf16_ps(sums[I], pair, pair)), ...);
    }
    const __m512 total = (sums[I] + ...);
    std::copy_n(reinterpret_cast<const bf16*>(&total), sizeof total / sizeof(bf16), result);
  };
  run(std::make_index_sequence<peak_accumulators>{});
}
#endif

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace detail

inline namespace FOUNT_CPU_NAMESPACE {

/// Floating-point operations a second that the threads of `backend` reach together in a loop of
/// multiply-adds over registers; takes 50 to 100 ms. The median over many short pieces: other
/// programs interrupt some of them, and a thread that is left alone at the end runs a few faster.
template <Element T>
double measure_peak_flops(const Cpu& backend) {
  using Clock = std::chrono::steady_clock;
  if constexpr (FOUNT_HAS_BF16_BLOCKS && std::is_same_v<T, bf16>) require_tile_registers();
  // Read at run time: constants would be folded. The sums approach summand / (1 - factor) = 1.
  volatile float factor_source = 0.96875F;
  volatile float summand_source = 0.03125F;
  const auto factor = static_cast<T>(factor_source);
  const auto summand = static_cast<T>(summand_source);
  const auto run_seconds = [&](int thread, std::int64_t iterations) {
    const auto start = Clock::now();
    detail::run_multiply_adds(reinterpret_cast<T*>(backend.workspace(thread)), factor, summand,
                              iterations);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  // Pieces of a fifth to two fifths of a millisecond, found on this thread. The best of three: the
  // first run meets cold memory, and any may be interrupted.
  std::int64_t iterations = 1024;
  for (;; iterations *= 2) {
    double fastest = run_seconds(0, iterations);
    for (int i = 0; i < 2; ++i) fastest = std::min(fastest, run_seconds(0, iterations));
    if (fastest >= 2e-4) break;
  }
  std::vector<double> seconds(static_cast<std::size_t>(backend.threads()) * 256);
  backend.parallel(static_cast<std::int64_t>(seconds.size()), [&](std::int64_t piece, int thread) {
    seconds[static_cast<std::size_t>(piece)] = run_seconds(thread, iterations);
  });
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  const double flops_per_piece = 2.0 *
                                 static_cast<double>(detail::multiply_adds_per_iteration<T>) *
                                 static_cast<double>(iterations);
  // Threads beyond the processors take turns and add nothing.
  const int threads = std::min(backend.threads(), available_threads());
  return flops_per_piece * threads / *middle;
}

/// The peak for operands stored as `dtype`: in float for 16-bit formats, unless the instruction set
/// multiplies bf16 itself. @throws ConfigError for DType::none, DeviceError if the system does not give
/// a program for AMX its tile registers
inline double measure_peak_flops(const Cpu& backend, DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return measure_peak_flops<std::conditional_t<FOUNT_HAS_BF16_PRODUCTS, bf16, float>>(backend);
    case DType::float16:
    case DType::float32: return measure_peak_flops<float>(backend);
    case DType::float64: return measure_peak_flops<double>(backend);
    case DType::none: break;
  }
  throw ConfigError("measure_peak_flops: found element type " + std::string(name_of(dtype)) +
                    ", expected the type of some operands");
}

}  // namespace FOUNT_CPU_NAMESPACE

}  // namespace fount
