// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile registers of AMX: 8 KiB a thread, which the system saves for those programs only that have
// asked for it.
// Linux kernel documentation, "Using XSTATE features in user space applications".

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if FOUNT_HAS_BF16_BLOCKS
#include <immintrin.h>
#endif

namespace fount {

/// Asks the system for the tile registers, for all threads of the process; asking again is harmless.
/// @return 0, or why the system refuses, as errno
inline int request_tile_registers() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

/// Asks once in the process. @throws DeviceError if the system refuses
inline void require_tile_registers() {
  static const int refusal = request_tile_registers();
  if (refusal != 0) {
    throw DeviceError("tile registers (AMX): this program is compiled for them, and the system refuses "
                      "them: " + std::generic_category().message(refusal) +
                      " (arch_prctl ARCH_REQ_XCOMP_PERM; Linux has it from 5.16 on). Build with "
                      "-mno-amx-tile, or with -DFOUNT_MARCH=x86-64-v3");
  }
}

#if FOUNT_HAS_BF16_BLOCKS

inline namespace FOUNT_CPU_NAMESPACE {

/// The tile registers of the processor.
struct AmxRegisters {
  static void prepare() { require_tile_registers(); }

  /// Their shape, all 16 rows of 64 bytes. Set anew for each task, since other code of the program may
  /// use the registers, too, and given back, so that the system need not save them.
  class Session {
   public:
    Session() {
      struct alignas(64) {
        std::uint8_t palette = 1;
        std::uint8_t start_row = 0;
        std::uint8_t reserved[14] = {};
        std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
      } const shape;
      // g++ does not know that tile instructions read memory: all of it is written by now.
      __asm__ volatile("" : : "r"(&shape) : "memory");
      _tile_loadconfig(&shape);
    }
    ~Session() { _tile_release(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  // Numbers of registers are part of the instruction, and g++ wants to read digits.
  template <int Number>
  [[gnu::always_inline]] static void clear() {
    static_assert(Number >= 0 && Number < 4);
    if constexpr (Number == 0) _tile_zero(0);
    if constexpr (Number == 1) _tile_zero(1);
    if constexpr (Number == 2) _tile_zero(2);
    if constexpr (Number == 3) _tile_zero(3);
  }
  template <int Number>
  [[gnu::always_inline]] static void load(const void* from, std::int64_t row_bytes) {
    static_assert(Number >= 4 && Number < 8);
    if constexpr (Number == 4) _tile_loadd(4, from, row_bytes);
    if constexpr (Number == 5) _tile_loadd(5, from, row_bytes);
    if constexpr (Number == 6) _tile_loadd(6, from, row_bytes);
    if constexpr (Number == 7) _tile_loadd(7, from, row_bytes);
  }
  /// Sums of row Number / 2 and column Number % 2.
  template <int Number>
  [[gnu::always_inline]] static void multiply_add() {
    static_assert(Number >= 0 && Number < 4);
    if constexpr (Number == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (Number == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (Number == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (Number == 3) _tile_dpbf16ps(3, 5, 7);
  }
  template <int Number>
  [[gnu::always_inline]] static void store(void* to, std::int64_t row_bytes) {
    static_assert(Number >= 0 && Number < 4);
    if constexpr (Number == 0) _tile_stored(0, to, row_bytes);
    if constexpr (Number == 1) _tile_stored(1, to, row_bytes);
    if constexpr (Number == 2) _tile_stored(2, to, row_bytes);
    if constexpr (Number == 3) _tile_stored(3, to, row_bytes);
  }
};

}  // namespace FOUNT_CPU_NAMESPACE

#endif

}  // namespace fount
