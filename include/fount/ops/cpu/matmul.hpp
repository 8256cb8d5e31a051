// SPDX-License-Identifier: Apache-2.0
#pragma once
// The matrix multiplication around its kernel: blocks that fit the caches, packed strips of B
// shared by all threads, and a fixed grid of tasks. Registers and packing have their own files.
// After Goto & van de Geijn 2008, https://doi.org/10.1145/1356052.1356053

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>

#include <fount/backend/cpu.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/ops/cpu/matmul_pack.hpp>
#include <fount/ops/cpu/matmul_tile.hpp>
#include <fount/ops/matmul.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

// A thread's workspace holds its block of A in front and a share of the packed strips of B behind.
inline constexpr Bytes packed_a_bytes = KiB(528);
inline constexpr Bytes packed_b_bytes = Cpu::workspace_bytes_per_thread - packed_a_bytes;

/// Steps along k that are summed in registers before C is touched again: 768 floats, a GPT-2 width
/// in one go. Strips of B then live in the L2 cache, and that is near enough: 6.1 cycles a step of
/// the 6 x 16 tile, of 6.0 at peak (AMD EPYC, Zen 3, g++ 12).
inline constexpr Bytes depth_bytes = 3072;
/// Tiles of C that one task stacks up, so that a strip of B is used often while it is near.
inline constexpr std::int64_t tiles_per_task = 12;
/// Tasks to aim at: enough for threads of uneven speed to share.
inline constexpr std::int64_t task_target = 24;
/// Multiplications below which waking the other threads costs more than they give.
inline constexpr std::int64_t serial_limit = 32768;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

/// The threads that work on one product: `count` of them from number `first`.
struct Crew {
  const Cpu& cpu;
  int first = 0;
  int count = 1;

  template <class Body>
  void run(std::int64_t tasks, Body&& body) const {
    if (count > 1) {
      cpu.parallel(tasks, static_cast<Body&&>(body));
    } else {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, first);
    }
  }
};

/// Work that must be finished before any of the tasks which share it goes on: whoever comes takes
/// a part, then waits for the parts that others took. One fork and join fewer than two loops.
class Preparation {
 public:
  explicit Preparation(std::int64_t parts) : parts_(parts) {}

  template <class Body>
  void finish(Body&& body) {
    for (std::int64_t part; (part = next_.fetch_add(1, std::memory_order_relaxed)) < parts_;) {
      body(part);
      done_.fetch_add(1, std::memory_order_release);
    }
    for (int turn = 0; done_.load(std::memory_order_acquire) < parts_; ++turn) {
      if (turn > 1000) std::this_thread::yield();  // its thread may be waiting for our processor
    }
  }

 private:
  std::int64_t parts_;
  std::atomic<std::int64_t> next_ = 0, done_ = 0;
};

/// A block of sums in float, where C itself cannot hold what is not finished yet.
inline constexpr std::int64_t wide_rows = 1092;  // a multiple of every tile's rows
inline constexpr std::int64_t wide_columns = 480;
inline constexpr Bytes wide_bytes = wide_rows * wide_columns * static_cast<Bytes>(sizeof(float));

/// One product on its way through the blocks.
template <class Tile, Element TC, Element TA, Element TB>
class BlockedMatmul {
  using T = typename Tile::Element;
  static_assert(std::is_same_v<compute_t<TC>, T> && std::is_same_v<compute_t<TA>, T> &&
                    std::is_same_v<compute_t<TB>, T>,
                "matmul: double goes with double only");
  static constexpr bool wide_sums = !std::is_same_v<TC, T>;
  // What a wide product has set aside its inner product must not use.
  static constexpr Bytes strips_bytes =
      packed_b_bytes - (std::is_same_v<TA, T> && std::is_same_v<TB, T> ? 0 : wide_bytes);
  static constexpr std::int64_t max_depth = depth_bytes / static_cast<Bytes>(sizeof(T));
  // Somewhat more than is used: the transposing pack writes a little beyond its last strip.
  static_assert((tiles_per_task * Tile::rows * max_depth + Tile::rows * Tile::lanes) *
                        static_cast<Bytes>(sizeof(T)) <= packed_a_bytes,
                "a task's block of A must fit its part of the workspace");

 public:
  BlockedMatmul(const Crew& crew, const Matmul<TC, TA, TB>& problem)
      : crew_(crew),
        p_(problem),
        in_place_(can_read_in_place && problem.a_col_stride == 1),
        all_tiles_(divide_up(problem.m, Tile::rows)),
        all_strips_(divide_up(problem.n, Tile::columns)) {}

  void run() {
    if (wide_sums && p_.k > max_depth) return run_wide();
    // The only split that rounding can tell, and it depends on k alone.
    const std::int64_t depth_blocks = divide_up(p_.k, max_depth);
    const std::int64_t depth = std::min(p_.k, align_up(divide_up(p_.k, depth_blocks), 16));
    for (k0_ = 0; k0_ < p_.k; k0_ += depth) {
      depth_ = std::min(depth, p_.k - k0_);
      const Bytes strip_bytes = depth_ * Tile::columns * static_cast<Bytes>(sizeof(T));
      strips_per_thread_ = strips_bytes / strip_bytes / max_part * max_part;
      const std::int64_t blocks = divide_up(all_strips_, strips_per_thread_ * crew_.count);
      const std::int64_t strips = divide_up(all_strips_, blocks);
      for (strip0_ = 0; strip0_ < all_strips_; strip0_ += strips) {
        strips_ = std::min(strips, all_strips_ - strip0_);
        run_block();
      }
    }
  }

 private:
  static constexpr bool can_read_in_place = Tile::reads_a_in_place && std::is_same_v<TA, T>;

  /// Sums that take several blocks of k grow in float, a block of C at a time.
  void run_wide() const {
    if constexpr (wide_sums) {
      static_assert(!std::is_same_v<TA, T> || !std::is_same_v<TB, T>,
                    "matmul: only products of 16-bit operands are rounded to 16 bits");
      // Behind the strips of the inner product, in the first workspace.
      T* const sums = reinterpret_cast<T*>(crew_.cpu.workspace(crew_.first) + packed_a_bytes +
                                           strips_bytes);
      for (std::int64_t row = 0; row < p_.m; row += wide_rows) {
        for (std::int64_t column = 0; column < p_.n; column += wide_columns) {
          const std::int64_t rows = std::min(wide_rows, p_.m - row);
          const std::int64_t columns = std::min(wide_columns, p_.n - column);
          const Matmul<T, TA, TB> block{.m = rows, .n = columns, .k = p_.k,
                                        .c = sums, .c_row_stride = columns,
                                        .a = p_.a + row * p_.a_row_stride,
                                        .a_row_stride = p_.a_row_stride,
                                        .a_col_stride = p_.a_col_stride,
                                        .b = p_.b + column * p_.b_col_stride,
                                        .b_row_stride = p_.b_row_stride,
                                        .b_col_stride = p_.b_col_stride,
                                        .bias = p_.bias == nullptr ? nullptr : p_.bias + column};
          BlockedMatmul<Tile, T, TA, TB>(crew_, block).run();
          crew_.run(divide_up(rows, 16), [&](std::int64_t piece, int) {
            for (std::int64_t i = piece * 16; i < std::min(rows, piece * 16 + 16); ++i) {
              TC* __restrict c = p_.c + (row + i) * p_.c_row_stride + column;
              const T* sum = sums + i * columns;
              for (std::int64_t j = 0; j < columns; ++j) {
                c[j] = static_cast<TC>(p_.accumulate ? value_of(c[j]) + sum[j] : sum[j]);
              }
            }
          });
        }
      }
    }
  }

  /// Strips of B packed in one go; parts lie one behind the other in one thread's workspace.
  static constexpr std::int64_t max_part = 4;

  /// Packed strip number `strip` of the current block.
  T* packed_strip(std::int64_t strip) const {
    const auto thread = static_cast<int>(strip / strips_per_thread_);
    std::byte* base = crew_.cpu.workspace(crew_.first + thread) + packed_a_bytes;
    return reinterpret_cast<T*>(base) + strip % strips_per_thread_ * depth_ * Tile::columns;
  }

  /// Deals the current block out as a grid of tasks, which pack B together before they multiply.
  /// Where A must be packed the grid has few columns, because each column packs A anew.
  void run_block() const {
    const std::int64_t most_tiles = in_place_
        ? tiles_per_task
        // Strips of A are packed from runs of at least 24 rows: shorter ones waste cache lines.
        : std::clamp(divide_up(all_tiles_, task_target), divide_up(24, Tile::rows),
                     tiles_per_task);
    const std::int64_t grid_rows = divide_up(all_tiles_, most_tiles);
    const std::int64_t tiles = divide_up(all_tiles_, grid_rows);
    const std::int64_t narrowest = in_place_ ? 1 : 8;
    const std::int64_t strips = std::max(divide_up(strips_, divide_up(task_target, grid_rows)),
                                         std::min(strips_, narrowest));
    const std::int64_t grid_columns = divide_up(strips_, strips);

    const std::int64_t part = std::clamp<std::int64_t>(strips_ / 8, 1, max_part);
    Preparation packing(divide_up(strips_, part));
    crew_.run(grid_rows * grid_columns, [&](std::int64_t task, int thread) {
      packing.finish([&](std::int64_t index) { pack_b(index * part, part); });
      const std::int64_t tile = task / grid_columns * tiles;
      const std::int64_t strip = task % grid_columns * strips;
      multiply_block(thread, tile, std::min(all_tiles_, tile + tiles), strip,
                     std::min(strips_, strip + strips));
    });
  }

  void pack_b(std::int64_t strip, std::int64_t count) const {
    const std::int64_t column = (strip0_ + strip) * Tile::columns;
    const StripSource<TB> from{p_.b + k0_ * p_.b_row_stride + column * p_.b_col_stride,
                              p_.b_col_stride, p_.b_row_stride, 0, depth_};
    const std::int64_t columns =
        std::min({count * Tile::columns, (strips_ - strip) * Tile::columns, p_.n - column});
    pack_strips<Tile, Tile::columns, Tile::half_columns>(packed_strip(strip), from, columns);
  }

  void pack_a(T* packed_a, std::int64_t first_tile, std::int64_t last_tile) const {
    const std::int64_t row = first_tile * Tile::rows;
    const StripSource<TA> from{p_.a + row * p_.a_row_stride + k0_ * p_.a_col_stride,
                              p_.a_row_stride, p_.a_col_stride, 0, depth_};
    const std::int64_t rows = std::min(last_tile * Tile::rows, p_.m) - row;
    pack_strips<Tile, Tile::rows, Tile::half_rows>(packed_a, from, rows);
  }

  void multiply_block(int thread, std::int64_t first_tile, std::int64_t last_tile,
                      std::int64_t first_strip, std::int64_t last_strip) const {
    T* packed_a = reinterpret_cast<T*>(crew_.cpu.workspace(thread));
    if (!in_place_) pack_a(packed_a, first_tile, last_tile);
    TileTask<TC, TB> task;
    task.depth = depth_;
    task.a_row_stride = in_place_ ? p_.a_row_stride : 0;
    task.c_row_stride = p_.c_row_stride;
    task.accumulate = p_.accumulate || k0_ > 0;
    for (std::int64_t s = first_strip; s < last_strip; ++s) {
      const std::int64_t column = (strip0_ + s) * Tile::columns;
      task.columns = static_cast<int>(std::min<std::int64_t>(Tile::columns, p_.n - column));
      task.b = packed_strip(s);
      task.bias = p_.bias != nullptr && k0_ == 0 ? p_.bias + column : nullptr;
      for (std::int64_t t = first_tile; t < last_tile; ++t) {
        const std::int64_t row = t * Tile::rows;
        task.rows = static_cast<int>(std::min<std::int64_t>(Tile::rows, p_.m - row));
        task.c = p_.c + row * p_.c_row_stride + column;
        if constexpr (can_read_in_place) {
          if (in_place_) {
            task.a = p_.a + row * p_.a_row_stride + k0_;
            multiply_covering_tile<Tile, true>(task);
            continue;
          }
        }
        task.a = packed_a + (row - first_tile * Tile::rows) * depth_;
        multiply_covering_tile<Tile, false>(task);
      }
    }
  }

  Crew crew_;
  const Matmul<TC, TA, TB>& p_;
  bool in_place_;
  std::int64_t all_tiles_, all_strips_;  // of C and B
  std::int64_t k0_ = 0, depth_ = 0;      // the current block of k
  std::int64_t strip0_ = 0, strips_ = 0, strips_per_thread_ = 0;  // and of B
};

/// k == 0: the product is a sum of nothing.
template <Element TC, Element TA, Element TB>
void write_empty_sums(const Matmul<TC, TA, TB>& p) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    TC* c = p.c + i * p.c_row_stride;
    for (std::int64_t j = 0; j < p.n; ++j) {
      const compute_t<TC> value = p.bias != nullptr ? value_of(p.bias[j]) : compute_t<TC>(0);
      c[j] = static_cast<TC>(p.accumulate ? value_of(c[j]) + value : value);
    }
  }
}

template <Element TC, Element TA, Element TB>
void check(const Matmul<TC, TA, TB>& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || (p.m > 1 && p.c_row_stride < p.n)) {
    throw ShapeError("matmul: found m " + std::to_string(p.m) + ", n " + std::to_string(p.n) +
                     ", k " + std::to_string(p.k) + ", c_row_stride " +
                     std::to_string(p.c_row_stride) +
                     "; expected extents of at least 0 and a stride of at least n");
  }
}

template <class Tile, Element TC, Element TA, Element TB>
void matmul_with(const Crew& crew, const Matmul<TC, TA, TB>& problem) {
  check(problem);
  if (problem.m == 0 || problem.n == 0) return;
  if (problem.k == 0) return write_empty_sums(problem);
  BlockedMatmul<Tile, TC, TA, TB>(crew, problem).run();
}

}  // namespace detail

template <Element TC, Element TA, Element TB>
void matmul(const Cpu& cpu, const Matmul<TC, TA, TB>& problem) {
  // In floating point, because a product of three extents may not fit an integer.
  const double multiplications = static_cast<double>(problem.m) *
                                 static_cast<double>(problem.n) * static_cast<double>(problem.k);
  const int count = multiplications < detail::serial_limit ? 1 : cpu.threads();
  detail::matmul_with<detail::NativeTile<compute_t<TC>>>(detail::Crew{cpu, 0, count}, problem);
}

template <Element TC, Element TA, Element TB>
void matmul_in_task(const Cpu& cpu, int thread, const Matmul<TC, TA, TB>& problem) {
  detail::matmul_with<detail::NativeTile<compute_t<TC>>>(detail::Crew{cpu, thread, 1}, problem);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
