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

#include <fount/backend/chunks.hpp>
#include <fount/backend/cpu.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/ops/cpu/matmul_amx.hpp>
#include <fount/ops/cpu/matmul_bf16.hpp>
#include <fount/ops/cpu/matmul_pack.hpp>
#include <fount/ops/cpu/matmul_rows.hpp>
#include <fount/ops/cpu/matmul_tile.hpp>
#include <fount/ops/matmul.hpp>

namespace fount::ops {
inline namespace FOUNT_CPU_NAMESPACE {
namespace detail {

// A thread's workspace holds its block of A in front, then a share of the packed strips of B and of
// the blocks of A that are kept.
inline constexpr Bytes packed_a_bytes = KiB(528);
inline constexpr Bytes packed_b_bytes = Cpu::workspace_bytes_per_thread - packed_a_bytes;

/// Tasks to aim at: enough for threads of uneven speed to share.
inline constexpr std::int64_t task_target = 24;
/// Stages to aim at where B is larger than a cache: the strips of the first must be waited for, those
/// of the others are packed meanwhile. Not asked for where B is the smaller operand, because where A is
/// too large to be kept each stage packs it anew.
inline constexpr std::int64_t stage_target = 3;
inline constexpr Bytes small_b_bytes = MiB(1);
/// Strips of up to this many bytes are read from the caches that they were written in; more are written
/// past them (AMD EPYC, Zen 4, two threads on two chiplets: packing B had taken 8 % of a product, and
/// streamed it takes 4 to 6 % less).
inline constexpr Bytes cached_b_bytes = KiB(128);
/// Stages whose strips exist at a time: one that is read, one that is made, and one between them, so
/// that nobody waits for the slowest thread.
inline constexpr std::int64_t stage_slots = 3;
/// Multiplications below which waking the other threads costs more than they give.
inline constexpr std::int64_t serial_limit = 32768;

// The tile for operands that are stored as A and B.
#if FOUNT_HAS_BF16_BLOCKS
using Bf16Tile = BlockTile<AmxRegisters>;
#elif FOUNT_HAS_BF16_PRODUCTS
using Bf16Tile = PairTile;
#else
using Bf16Tile = void;
#endif
template <Element A, Element B>
using TileFor = std::conditional_t<multiplies_pairs<A, B>, Bf16Tile, NativeTile<compute_t<A>>>;

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

/// Counts parts that threads finish, so that others can wait for a number of them.
class Progress {
 public:
  void add_one() { done_.fetch_add(1, std::memory_order_release); }
  void wait_for(std::int64_t count) const {
    for (int turn = 0; done_.load(std::memory_order_acquire) < count; ++turn) {
      if (turn > 1000) std::this_thread::yield();  // its thread may be waiting for our processor
    }
  }

 private:
  std::atomic<std::int64_t> done_ = 0;
};

/// A block of sums in float, where C itself cannot hold what is not finished yet.
inline constexpr std::int64_t wide_sums_count = 512 * 1024;
inline constexpr std::int64_t most_wide_rows = 1092;
inline constexpr Bytes wide_bytes = wide_sums_count * static_cast<Bytes>(sizeof(float));

/// One product on its way through the blocks.
template <class Tile, Element TC, Element TA, Element TB>
class BlockedMatmul {
  using T = typename Tile::Sum;
  using Word = typename Tile::Word;
  static_assert(std::is_same_v<compute_t<TC>, T> && std::is_same_v<compute_t<TA>, T> &&
                    std::is_same_v<compute_t<TB>, T>,
                "matmul: double goes with double only");
  static constexpr bool wide_sums = !std::is_same_v<TC, T>;
  // What a wide product has set aside its inner product must not use.
  static constexpr Bytes strips_bytes =
      packed_b_bytes - (std::is_same_v<TA, T> && std::is_same_v<TB, T> ? 0 : wide_bytes);
  static constexpr std::int64_t max_words = Tile::most_words;
  static constexpr std::int64_t max_depth = max_words * Tile::steps_per_word;
  // Somewhat more than is used: the transposing pack writes a little beyond its last strip.
  static_assert((Tile::tiles_per_task * Tile::rows * max_words + Tile::rows * Tile::lanes) *
                        static_cast<Bytes>(sizeof(Word)) <= packed_a_bytes,
                "a task's block of A must fit its part of the workspace");
  static_assert(stage_slots * max_words * Tile::columns * static_cast<Bytes>(sizeof(Word)) <=
                    strips_bytes,
                "one strip of every stage that exists must fit the workspace of one thread");

 public:
  BlockedMatmul(const Crew& crew, const Matmul<TC, TA, TB>& problem)
      : crew_(crew),
        p_(problem),
        in_place_(can_read_in_place && problem.a_col_stride == 1),
        tiles_(problem.m),
        all_strips_(num_chunks(problem.n, Tile::columns)) {}

  void run() {
    if (wide_sums && p_.k > max_depth) return run_wide();
    if (!divide()) return run_row();
    // Tasks are handed out in their order, so whatever a task waits for has been begun.
    crew_.run(stages_ * tasks_, [&](std::int64_t task, int thread) {
      run_task(task / tasks_, task % tasks_, thread);
    });
  }

 private:
  static constexpr bool can_read_in_place = Tile::reads_a_in_place && std::is_same_v<TA, Word>;

  /// Sums that take several blocks of k grow in float, a block of C at a time.
  void run_wide() const {
    if constexpr (wide_sums) {
      static_assert(!std::is_same_v<TA, T> || !std::is_same_v<TB, T>,
                    "matmul: only products of 16-bit operands are rounded to 16 bits");
      // Behind the strips of the inner product, in the first workspace.
      T* const sums = reinterpret_cast<T*>(crew_.cpu.workspace(crew_.first) + packed_a_bytes +
                                           strips_bytes);
      const std::int64_t most_rows = std::min(p_.m, most_wide_rows / Tile::rows * Tile::rows);
      const std::int64_t most_columns = wide_sums_count / most_rows / Tile::columns * Tile::columns;
      for (std::int64_t row = 0; row < p_.m; row += most_rows) {
        for (std::int64_t column = 0; column < p_.n; column += most_columns) {
          const std::int64_t rows = std::min(most_rows, p_.m - row);
          const std::int64_t columns = std::min(most_columns, p_.n - column);
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
          crew_.run(num_chunks(rows, 16), [&](std::int64_t piece, int) {
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

  /// So few rows that nobody else needs a strip of B: each is packed and multiplied at once, so that B is
  /// read once and its packed strips stay in the caches of one core.
  void run_row() {
    const std::int64_t tasks = crew_.count == 1 ? 1 : std::min(all_strips_, task_target);
    crew_.run(tasks, [&](std::int64_t task, int thread) {
      std::byte* const workspace = crew_.cpu.workspace(thread);
      Word* const block = reinterpret_cast<Word*>(workspace);
      Word* const strip = reinterpret_cast<Word*>(workspace + packed_a_bytes);
      const std::int64_t last = all_strips_ * (task + 1) / tasks;
      [[maybe_unused]] const typename Tile::Session session{};
      for (std::int64_t number = 0; number < stages_; ++number) {
        const Stage stage = stage_at(number);
        if (!in_place_) pack_a(stage, block, 0, tiles_.count);
        for (std::int64_t s = all_strips_ * task / tasks; s < last; ++s) {
          pack_run<Store::cached>(stage, {s, s + 1, 0, stage.words}, strip);
          const Share next{s + 1, s + 2, 0, stage.words};
          multiply_strips(stage, {0, tiles_.count, s, s + 1}, block,
                          [&](std::int64_t) { return strip; },
                          s + 1 < last ? region_of(stage, next) : Region{});
        }
      }
    });
  }

  /// Chooses the stages, each some strips of B over a block of k, and the grid of tasks in a stage.
  /// Where A must be packed the grid has few columns, because each column packs A anew. Returns whether
  /// the grid has several rows, so that strips of B are shared.
  bool divide() {
    // The only split that rounding can tell, and it depends on k alone.
    depth_ = std::min(p_.k, align_up(num_chunks(p_.k, num_chunks(p_.k, max_depth)),
                                     16 * Tile::steps_per_word));
    const std::int64_t depth_blocks = num_chunks(p_.k, depth_);
    const std::int64_t words = words_of(depth_);
    strip_words_ = words * Tile::columns;

    // Each column of the grid packs A anew, and turning round blocks of it was a fifth of a product on two
    // threads (Xeon with AMX): few tasks there, which took a tenth less.
    const std::int64_t target = TakesBlocks<Tile> && p_.a_col_stride != 1
        ? std::min<std::int64_t>(task_target, 4 * crew_.count) : task_target;
    const std::int64_t most_tiles = in_place_
        ? Tile::tiles_per_task
        // Strips of A are packed from runs of at least 24 rows: shorter ones waste cache lines.
        : std::clamp(num_chunks(tiles_.count, target), num_chunks(24, Tile::rows),
                     Tile::tiles_per_task);
    tiles_per_row_ = num_chunks(tiles_.count, num_chunks(tiles_.count, most_tiles));
    const std::int64_t grid_rows = num_chunks(tiles_.count, tiles_per_row_);
    if (grid_rows == 1) {
      groups_ = 1;
      strips_ = all_strips_;
      stages_ = depth_blocks;
      return false;
    }

    const Bytes strip_bytes = strip_words_ * static_cast<Bytes>(sizeof(Word));
    std::int64_t groups = 1;
    const Bytes b_bytes = all_strips_ * depth_blocks * strip_bytes;
    streams_b_ = crew_.count > 1 && b_bytes > cached_b_bytes;
    if (p_.n > p_.m && b_bytes > small_b_bytes) {
      groups = std::min(num_chunks(stage_target, depth_blocks), all_strips_ / 8);
    }
    strips_per_thread_ = strips_bytes / strip_bytes / stage_slots;
    groups = std::max(groups, num_chunks(all_strips_, strips_per_thread_ * crew_.count));
    // What packing a block writes beyond its end belongs to it.
    a_block_words_ = tiles_per_row_ * Tile::rows * words + Tile::lanes;
    a_blocks_per_thread_ = num_chunks(grid_rows, crew_.count);
    const Bytes a_bytes = a_blocks_per_thread_ * a_block_words_ * static_cast<Bytes>(sizeof(Word));
    keeps_a_ = !in_place_ && groups > 1 && a_bytes <= strips_bytes / 2;
    if (keeps_a_) {
      strips_per_thread_ = (strips_bytes - a_bytes) / strip_bytes / stage_slots;
      groups = std::max(groups, num_chunks(all_strips_, strips_per_thread_ * crew_.count));
    }
    strips_ = num_chunks(all_strips_, groups);
    groups_ = num_chunks(all_strips_, strips_);
    stages_ = depth_blocks * groups_;

    const std::int64_t narrowest = in_place_ ? 1 : keeps_a_ ? strips_ : 8;
    strips_per_column_ =
        std::max(num_chunks(strips_, num_chunks(target, grid_rows * stages_)),
                 std::min(strips_, narrowest));
    grid_columns_ = num_chunks(strips_, strips_per_column_);
    tasks_ = grid_rows * grid_columns_;
    // The last tasks of a stage only multiply, so that the next is packed before they end.
    shares_ = std::max((tasks_ + 1) / 2, tasks_ - 2 * crew_.count);
    return true;
  }

  /// Words along k that strips of `depth` steps have: whole blocks, filled up with zeros.
  static std::int64_t words_of(std::int64_t depth) {
    return align_up(num_chunks(depth, Tile::steps_per_word), Tile::words_per_block);
  }

  struct Stage {
    std::int64_t k0, depth, words;      // along k
    std::int64_t first_strip, strips;
  };
  Stage stage_at(std::int64_t number) const {
    const std::int64_t k0 = number / groups_ * depth_;
    const std::int64_t depth = std::min(depth_, p_.k - k0);
    const std::int64_t first = number % groups_ * strips_;
    return {k0, depth, words_of(depth), first,
            std::min(strips_, all_strips_ - first)};
  }

  /// How often the parts of a stage's slot have been finished when those of this stage are.
  static std::int64_t rounds(std::int64_t stage) { return stage / stage_slots + 1; }
  void wait_until_finished(std::int64_t stage) {
    finished_[stage % stage_slots].wait_for(rounds(stage) * tasks_);
  }

  /// Multiplies its tiles, while its share of the next stage's strips comes nearer; then packs that.
  void run_task(std::int64_t number, std::int64_t task, int thread) {
    const Stage stage = stage_at(number);
    Progress& packed = packed_[number % stage_slots];
    if (number == 0) {
      const std::int64_t parts = std::max<std::int64_t>(tasks_, 4 * crew_.count);
      for (std::int64_t part; (part = next_part_.fetch_add(1, std::memory_order_relaxed)) < parts;) {
        pack_b(stage, 0, share_of(stage, part, parts));
        first_packed_.add_one();
      }
      first_packed_.wait_for(parts);
    } else {
      // The first stage is not counted in the progress of its slot.
      packed.wait_for((rounds(number) - (number % stage_slots == 0 ? 1 : 0)) * shares_);
    }
    if (number >= groups_) wait_until_finished(number - groups_);  // it wrote what this one adds to
    if (keeps_a_ && number > 0) {
      if (number % groups_ != 0) {
        kept_.wait_for((number / groups_ + 1) * tasks_);
      } else {
        wait_until_finished(number - 1);  // it reads what this one packs over
      }
    }
    const bool packs = task < shares_ && number + 1 < stages_;
    const Stage next = packs ? stage_at(number + 1) : Stage{};
    const Share share = packs ? share_of(next, task, shares_) : Share{};
    multiply_block(stage, number, task, thread, packs ? region_of(next, share) : Region{});
    finished_[number % stage_slots].add_one();
    if (!packs) return;
    if (number + 1 >= stage_slots) wait_until_finished(number + 1 - stage_slots);
    pack_b(next, number + 1, share);
    packed_[(number + 1) % stage_slots].add_one();
  }

  /// Packed strip number `strip` of a stage. They lie one behind the other in some thread's workspace.
  Word* packed_strip(std::int64_t stage, std::int64_t strip) const {
    const auto thread = static_cast<int>(strip / strips_per_thread_);
    std::byte* base = crew_.cpu.workspace(crew_.first + thread) + packed_a_bytes;
    return reinterpret_cast<Word*>(base) +
           (stage % stage_slots * strips_per_thread_ + strip % strips_per_thread_) * strip_words_;
  }

  /// Where a row of tasks finds its block of A: packed by every task for itself, or kept behind the
  /// strips of B in some thread's workspace.
  Word* packed_a(std::int64_t grid_row, int thread) const {
    if (!keeps_a_) return reinterpret_cast<Word*>(crew_.cpu.workspace(thread));
    const auto keeper = static_cast<int>(grid_row / a_blocks_per_thread_);
    std::byte* base = crew_.cpu.workspace(crew_.first + keeper) + packed_a_bytes;
    return reinterpret_cast<Word*>(base) + stage_slots * strips_per_thread_ * strip_words_ +
           grid_row % a_blocks_per_thread_ * a_block_words_;
  }

  /// A part of a stage's strips: some of them whole, or some words of all of them, whichever is
  /// consecutive in memory.
  struct Share {
    std::int64_t first_strip = 0, last_strip = 0;
    std::int64_t first_word = 0, last_word = 0;
  };
  Share share_of(const Stage& stage, std::int64_t index, std::int64_t of) const {
    if (p_.b_col_stride == 1) {
      return {0, stage.strips, stage.words * index / of, stage.words * (index + 1) / of};
    }
    return {stage.strips * index / of, stage.strips * (index + 1) / of, 0, stage.words};
  }

  /// How many steps along k of a share's words exist in B.
  static std::int64_t depth_of(const Stage& stage, const Share& share) {
    return std::clamp<std::int64_t>(stage.depth - share.first_word * Tile::steps_per_word, 0,
                                    (share.last_word - share.first_word) * Tile::steps_per_word);
  }

  /// Rows in memory that a share is made from.
  struct Region {
    const TB* data = nullptr;
    std::int64_t rows = 0, row_size = 0, row_stride = 0;  // in elements
  };
  Region region_of(const Stage& stage, const Share& share) const {
    const std::int64_t column = (stage.first_strip + share.first_strip) * Tile::columns;
    const std::int64_t columns =
        std::min((share.last_strip - share.first_strip) * Tile::columns, p_.n - column);
    const std::int64_t k = stage.k0 + share.first_word * Tile::steps_per_word;
    const std::int64_t depth = depth_of(stage, share);
    const TB* const data = p_.b + k * p_.b_row_stride + column * p_.b_col_stride;
    if (p_.b_col_stride == 1) return {data, depth, columns, p_.b_row_stride};
    if (p_.b_row_stride == 1) return {data, columns, depth, p_.b_col_stride};
    return {};
  }

  void pack_b(const Stage& stage, std::int64_t number, const Share& share) const {
    for (std::int64_t strip = share.first_strip; strip < share.last_strip;) {
      // As many as lie side by side in one workspace.
      const std::int64_t end = std::min(
          share.last_strip, (strip / strips_per_thread_ + 1) * strips_per_thread_);
      const Share run{strip, end, share.first_word, share.last_word};
      Word* const to = packed_strip(number, strip);
      streams_b_ ? pack_run<Store::streamed>(stage, run, to) : pack_run<Store::cached>(stage, run, to);
      strip = end;
    }
    if (streams_b_) finish_streams();
  }

  /// Packs a share whose strips lie side by side, the first of them at `to`.
  template <Store How>
  void pack_run(const Stage& stage, const Share& share, Word* to) const {
    if (share.first_word >= share.last_word) return;
    const std::int64_t k = stage.k0 + share.first_word * Tile::steps_per_word;
    const std::int64_t column = (stage.first_strip + share.first_strip) * Tile::columns;
    const StripSource<TB> from{p_.b + k * p_.b_row_stride + column * p_.b_col_stride,
                               p_.b_col_stride, p_.b_row_stride, 0, depth_of(stage, share)};
    const std::int64_t columns =
        std::min((share.last_strip - share.first_strip) * Tile::columns, p_.n - column);
    pack_strips<Tile, Tile::columns, Tile::half_columns, How>(
        to, strip_words_ / Tile::columns, from, columns, share.first_word, share.last_word);
  }

  void pack_a(const Stage& stage, Word* block, std::int64_t first_tile,
              std::int64_t last_tile) const {
    const std::int64_t first_short = std::clamp(tiles_.tall, first_tile, last_tile);
    pack_tiles<Tile::rows>(stage, block, first_tile, first_short);
    block += (tiles_.first_row(first_short) - tiles_.first_row(first_tile)) * stage.words;
    pack_tiles<Tile::short_rows>(stage, block, first_short, last_tile);
  }

  template <int Height>
  void pack_tiles(const Stage& stage, Word* to, std::int64_t first_tile,
                  std::int64_t last_tile) const {
    if (first_tile >= last_tile) return;
    const std::int64_t row = tiles_.first_row(first_tile);
    const StripSource<TA> from{p_.a + row * p_.a_row_stride + stage.k0 * p_.a_col_stride,
                              p_.a_row_stride, p_.a_col_stride, 0, stage.depth};
    const std::int64_t rows = std::min(tiles_.first_row(last_tile), p_.m) - row;
    if constexpr (TakesBlocks<Tile>) {
      pack_blocks<Tile, Height>(to, stage.words, from, rows);
    } else {
      pack_strips<Tile, Height, Height, Store::cached>(to, stage.words, from, rows, 0, stage.words);
    }
  }

  /// The tiles of one task.
  void multiply_block(const Stage& stage, std::int64_t number, std::int64_t index, int thread,
                      const Region& ahead) {
    const std::int64_t first_tile = index / grid_columns_ * tiles_per_row_;
    const std::int64_t last_tile = std::min(tiles_.count, first_tile + tiles_per_row_);
    const std::int64_t first_strip = index % grid_columns_ * strips_per_column_;
    const std::int64_t last_strip = std::min(stage.strips, first_strip + strips_per_column_);
    if (first_strip >= last_strip) return;
    Word* const block = packed_a(index / grid_columns_, thread);
    if (!in_place_ && !(keeps_a_ && number % groups_ != 0)) {
      pack_a(stage, block, first_tile, last_tile);
      if (keeps_a_) kept_.add_one();
    }
    [[maybe_unused]] const typename Tile::Session session{};
    multiply_strips(stage, {first_tile, last_tile, first_strip, last_strip}, block,
                    [&](std::int64_t strip) { return packed_strip(number, strip); }, ahead);
  }

  struct Part {
    std::int64_t first_tile, last_tile;
    std::int64_t first_strip, last_strip;  // counted within the stage
  };
  /// The tiles of a part of C. Meanwhile each call of the kernel fetches some rows of `ahead`.
  template <class StripAt>
  void multiply_strips(const Stage& stage, const Part& part, const Word* block, StripAt&& strip_at,
                       const Region& ahead) const {
    const auto [first_tile, last_tile, first_strip, last_strip] = part;
    TileTask<Word, TC, TB> task;
    task.depth = stage.words;
    task.a_row_stride = in_place_ ? p_.a_row_stride : 0;
    task.c_row_stride = p_.c_row_stride;
    task.accumulate = p_.accumulate || stage.k0 > 0;
    const std::int64_t calls = (last_strip - first_strip) * (last_tile - first_tile);
    std::int64_t call = 0;
    constexpr auto element = static_cast<Bytes>(sizeof(TB));
    task.ahead.row_steps = num_chunks(ahead.row_size * element, Ahead::bytes_per_step);
    task.ahead.row_stride = ahead.row_stride * element;
    task.next_b_step = num_chunks(Tile::columns * static_cast<Bytes>(sizeof(Word)),
                                  last_tile - first_tile);
    for (std::int64_t s = first_strip; s < last_strip; ++s) {
      const std::int64_t column = (stage.first_strip + s) * Tile::columns;
      task.columns = static_cast<int>(std::min<std::int64_t>(Tile::columns, p_.n - column));
      task.b = strip_at(s);
      const auto next_b = reinterpret_cast<std::uintptr_t>(
          strip_at(std::min(s + 1, last_strip - 1)));
      task.bias = p_.bias != nullptr && stage.k0 == 0 ? p_.bias + column : nullptr;
      for (std::int64_t t = first_tile; t < last_tile; ++t) {
        const std::int64_t row = tiles_.first_row(t);
        task.rows = static_cast<int>(std::min(tiles_.first_row(t + 1), p_.m) - row);
        task.c = p_.c + row * p_.c_row_stride + column;
        task.next_b = next_b + static_cast<std::uintptr_t>((t - first_tile) * stage.words *
                                                           task.next_b_step);
        const std::int64_t row_ahead = ahead.rows * call++ / calls;
        task.ahead.address =
            ahead.data == nullptr
                ? reinterpret_cast<std::uintptr_t>(task.b)
                : reinterpret_cast<std::uintptr_t>(ahead.data) +
                      static_cast<std::uintptr_t>(row_ahead * task.ahead.row_stride);
        if constexpr (can_read_in_place) {
          if (in_place_) {
            task.a = p_.a + row * p_.a_row_stride + stage.k0;
            multiply_covering_tile<Tile, true, TC, TB>(task);
            continue;
          }
        }
        task.a = block + (row - tiles_.first_row(first_tile)) * stage.words;
        multiply_covering_tile<Tile, false, TC, TB>(task);
      }
    }
  }

  Crew crew_;
  const Matmul<TC, TA, TB>& p_;
  bool in_place_;
  bool streams_b_ = false;  // its strips leave the caches before all threads read them
  bool keeps_a_ = false;  // every stage of a block of k reads the strips of A that the first one packed
  RowTiles<Tile> tiles_;     // of C
  std::int64_t all_strips_;  // of B
  std::int64_t depth_ = 0, strip_words_ = 0, strips_per_thread_ = 0;
  std::int64_t a_block_words_ = 0, a_blocks_per_thread_ = 0;
  std::int64_t stages_ = 0, groups_ = 0, strips_ = 0;  // stages in all, those of one block of k,
                                                       // strips of one stage
  std::int64_t tasks_ = 0, shares_ = 0, grid_columns_ = 0, tiles_per_row_ = 0, strips_per_column_ = 0;
  // Of the stages that share a slot, all together.
  Progress packed_[stage_slots], finished_[stage_slots];
  std::atomic<std::int64_t> next_part_ = 0;
  Progress first_packed_, kept_;
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
  Tile::prepare();
  BlockedMatmul<Tile, TC, TA, TB>(crew, problem).run();
}

}  // namespace detail

template <Element TC, Element TA, Element TB>
void matmul(const Cpu& cpu, const Matmul<TC, TA, TB>& problem) {
  // In floating point, because a product of three extents may not fit an integer.
  const double multiplications = static_cast<double>(problem.m) *
                                 static_cast<double>(problem.n) * static_cast<double>(problem.k);
  const int count = multiplications < detail::serial_limit ? 1 : cpu.threads();
  detail::matmul_with<detail::TileFor<TA, TB>>(detail::Crew{cpu, 0, count}, problem);
}

template <Element TC, Element TA, Element TB>
void matmul_in_task(const Cpu& cpu, int thread, const Matmul<TC, TA, TB>& problem) {
  detail::matmul_with<detail::TileFor<TA, TB>>(detail::Crew{cpu, thread, 1}, problem);
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount::ops
