// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/matmul.hpp>

#include <fount/ops/cpu/eigen.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace fount;

using Count = std::int64_t;

template <class T> constexpr double tolerance = std::is_same_v<T, double> ? 1e-14 : 1e-6;

template <class T>
std::vector<T> numbers(Count count, unsigned seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761U + 1;
  for (T& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<T>(static_cast<compute_t<T>>(static_cast<double>(state >> 8U) / 8388608.0 - 1.0));
  }
  return values;
}

/// How to ask for one product: the extents, and everything that must not change the answer.
struct Case {
  Count m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  bool accumulate = false, bias = false;
  Count padding = 0;  // unused elements behind each row of A, B and C
  int threads = 1;
};

template <class T>
struct Operands {
  std::vector<T> a, b, c, bias;
  ops::Matmul<T> problem;

  explicit Operands(const Case& x) {
    const Count a_stride = (x.a_transposed ? x.m : x.k) + x.padding;
    const Count b_stride = (x.b_transposed ? x.k : x.n) + x.padding;
    const Count c_stride = x.n + x.padding;
    a = numbers<T>(a_stride * (x.a_transposed ? x.k : x.m), 1);
    b = numbers<T>(b_stride * (x.b_transposed ? x.n : x.k), 2);
    c = numbers<T>(c_stride * x.m, 3);
    if (!x.accumulate) c.assign(c.size(), std::numeric_limits<T>::quiet_NaN());
    bias = numbers<T>(x.n, 4);
    problem = {.m = x.m, .n = x.n, .k = x.k,
               .c = c.data(), .c_row_stride = c_stride,
               .a = a.data(), .a_row_stride = x.a_transposed ? 1 : a_stride,
               .a_col_stride = x.a_transposed ? a_stride : 1,
               .b = b.data(), .b_row_stride = x.b_transposed ? 1 : b_stride,
               .b_col_stride = x.b_transposed ? b_stride : 1,
               .bias = x.bias ? bias.data() : nullptr,
               .accumulate = x.accumulate};
  }
};

/// Eigen's answer in T's precision, from the operands before the product overwrote C.
template <class T>
Eigen::Matrix<T, -1, -1> expected(const ops::Matmul<T>& p) {
  using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using Map = Eigen::Map<const Eigen::Matrix<T, -1, -1>, 0, Stride>;
  const Map a(p.a, p.m, p.k, Stride(p.a_col_stride, p.a_row_stride));
  const Map b(p.b, p.k, p.n, Stride(p.b_col_stride, p.b_row_stride));
  Eigen::Matrix<T, -1, -1> result = Eigen::Matrix<T, -1, -1>::Zero(p.m, p.n);
  if (p.m * p.n > 0 && p.k > 0) result.noalias() = a * b;
  if (p.bias != nullptr) {
    result.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, -1>>(p.bias, p.n);
  }
  if (p.accumulate) result += Map(p.c, p.m, p.n, Stride(1, p.c_row_stride));
  return result;
}

/// ||C - expected|| / ||expected||; NaN in C makes it NaN.
template <class T>
double relative_error(const ops::Matmul<T>& p, const Eigen::Matrix<T, -1, -1>& reference) {
  double difference = 0;
  double norm = 0;
  for (Count i = 0; i < p.m; ++i) {
    for (Count j = 0; j < p.n; ++j) {
      const double value = static_cast<double>(reference(i, j));
      const double error = static_cast<double>(p.c[i * p.c_row_stride + j]) - value;
      difference += error * error;
      norm += value * value;
    }
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

std::string text_of(const Case& x) {
  return std::to_string(x.m) + "x" + std::to_string(x.n) + "x" + std::to_string(x.k) +
         (x.a_transposed ? " A^T" : "") + (x.b_transposed ? " B^T" : "") +
         (x.accumulate ? " accumulate" : "") + (x.bias ? " bias" : "") + " padding " +
         std::to_string(x.padding) + " threads " + std::to_string(x.threads);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

const std::vector<Count> sizes = {0, 1, 2, 3, 7, 13, 14, 15, 31, 32, 33, 64, 97, 128, 257};

/// The tiles of the other instruction sets, through whatever this one offers.
template <class T> using Portable = ops::detail::MatmulTile<T, 16, 4>;
template <class T> using Avx2 = ops::detail::MatmulTile<T, 32, 6>;
template <class T> using Avx512 = ops::detail::MatmulTile<T, 64, 14>;
/// As many rows as tile registers take.
struct OfBlocks {
  static constexpr int rows = 32, short_rows = 16;
};

}  // namespace

TEMPLATE_TEST_CASE("matmul agrees with Eigen at every combination of awkward sizes",
                   "[ops][matmul]", float, double) {
  using T = TestType;
  const Cpu cpu(2);
  unsigned turn = 0;
  for (const Count m : sizes) {
    for (const Count n : sizes) {
      for (const Count k : sizes) {
        turn = turn * 1664525U + 1013904223U;  // the flags take turns; the next test crosses them
        const Case x{.m = m, .n = n, .k = k,
                     .a_transposed = (turn >> 16U & 1U) != 0,
                     .b_transposed = (turn >> 17U & 1U) != 0,
                     .accumulate = (turn >> 18U & 1U) != 0,
                     .bias = (turn >> 19U & 1U) != 0,
                     .padding = static_cast<Count>(turn >> 20U & 3U),
                     .threads = 2};
        Operands<T> operands(x);
        const auto reference = expected(operands.problem);
        ops::matmul(cpu, operands.problem);
        const double error = relative_error(operands.problem, reference);
        if (!(error <= tolerance<T>)) FAIL_CHECK(text_of(x) << ": error " << error);
      }
    }
  }
  SUCCEED();
}

TEMPLATE_TEST_CASE("matmul takes operands stored either way, with and without bias and sum",
                   "[ops][matmul]", float, double) {
  using T = TestType;
  const Cpu cpu(2);
  for (const Count m : {1, 5, 20, 130}) {
    for (const Count n : {1, 9, 40, 150}) {
      for (const Count k : {1, 19, 100, 1700}) {
        for (unsigned flags = 0; flags < 16; ++flags) {
          const Case x{.m = m, .n = n, .k = k,
                       .a_transposed = (flags & 1U) != 0, .b_transposed = (flags & 2U) != 0,
                       .accumulate = (flags & 4U) != 0, .bias = (flags & 8U) != 0,
                       .padding = 3, .threads = 2};
          Operands<T> operands(x);
          const auto before = operands.c;
          const auto reference = expected(operands.problem);
          ops::matmul(cpu, operands.problem);
          const double error = relative_error(operands.problem, reference);
          // One sum of 1700 terms that nearly cancel has lost digits that no order would keep.
          const double allowed = (k > 1000 ? 4 : 1) * tolerance<T>;
          if (!(error <= allowed)) FAIL_CHECK(text_of(x) << ": error " << error);
          for (Count i = 0; i < m; ++i) {  // what lies between the rows of C is not ours
            const auto gap = static_cast<std::size_t>(i * (n + 3) + n);
            if (std::memcmp(&operands.c[gap], &before[gap], 3 * sizeof(T)) != 0) {
              FAIL_CHECK(text_of(x) << ": wrote beyond row " << i);
            }
          }
        }
      }
    }
  }
  SUCCEED();
}

TEMPLATE_TEST_CASE("matmul gives the same bits for one, two and three threads and in a task",
                   "[ops][matmul]", float, double) {
  using T = TestType;
  const Cpu one(1);
  const Cpu two(2);
  const Cpu three(3);
  // The last ones are wider than the packed part of one workspace, and deeper than one block.
  const std::vector<Case> cases = {
      {.m = 33, .n = 33, .k = 33},    {.m = 1, .n = 257, .k = 300}, {.m = 257, .n = 1, .k = 300},
      {.m = 97, .n = 128, .k = 1100},  {.m = 200, .n = 65, .k = 31}, {.m = 13, .n = 1500, .k = 1100},
      {.m = 97, .n = 1500, .k = 1100}, {.m = 70, .n = 70, .k = 3100}};
  for (Case x : cases) {
    for (unsigned flags = 0; flags < 4; ++flags) {
      x.a_transposed = (flags & 1U) != 0;
      x.b_transposed = (flags & 2U) != 0;
      x.bias = x.accumulate = flags == 0;
      Operands<T> a(x);
      Operands<T> b(x);
      Operands<T> c(x);
      Operands<T> d(x);
      ops::matmul(one, a.problem);
      ops::matmul(two, b.problem);
      ops::matmul(three, c.problem);
      two.parallel(2, [&](Count index, int thread) {
        if (index == 1) ops::matmul_in_task(two, thread, d.problem);
      });
      INFO(text_of(x));
      CHECK(same_bits(a.c, b.c));
      CHECK(same_bits(a.c, c.c));
      CHECK(same_bits(a.c, d.c));
    }
  }
}

TEMPLATE_TEST_CASE("matmul that packs B in many stages agrees with Eigen and with itself",
                   "[ops][matmul]", float, double) {
  using T = TestType;
  const Cpu one(1);
  const Cpu two(2);
  const Cpu five(5);
  for (const Count m : {1, 45, 130, 300}) {
    for (unsigned flags = 0; flags < 4; ++flags) {
      const Case x{.m = m, .n = 1701, .k = 2403,
                   .a_transposed = (flags & 1U) != 0, .b_transposed = (flags & 2U) != 0,
                   .accumulate = flags == 3, .bias = flags == 2};
      Operands<T> a(x);
      Operands<T> b(x);
      Operands<T> c(x);
      const auto reference = expected(a.problem);
      ops::matmul(one, a.problem);
      ops::matmul(two, b.problem);
      ops::matmul(five, c.problem);
      INFO(text_of(x));
      // Sums of thousands of terms that nearly cancel have lost digits that no order would keep.
      CHECK(relative_error(a.problem, reference) <= 4 * tolerance<T>);
      CHECK(same_bits(a.c, b.c));
      CHECK(same_bits(a.c, c.c));
    }
  }
}

TEMPLATE_TEST_CASE("a row of a product has the same bits alone, among few and among many",
                   "[ops][matmul]", float, double, bf16) {
  using T = TestType;
  const Cpu cpu(2);
  for (unsigned flags = 0; flags < 8; ++flags) {
    Case x{.m = 300, .n = 333, .k = flags < 4 ? 2403 : 60,  // several blocks of k and one
           .a_transposed = (flags & 1U) != 0, .b_transposed = (flags & 2U) != 0,
           .accumulate = flags == 3, .bias = flags == 2};
    Operands<T> all(x);
    Operands<T> some(x);
    const auto before = some.c;
    ops::matmul(cpu, all.problem);
    for (const Count rows : {1, 2, 7, 13, 24, 25, 28, 29, 54, 55, 120}) {
      std::copy(before.begin(), before.end(), some.c.begin());
      some.problem.m = rows;
      ops::matmul(cpu, some.problem);
      INFO(text_of(x) << ", the first " << rows);
      const auto end = static_cast<std::size_t>(rows * x.n);
      CHECK(std::memcmp(some.c.data(), all.c.data(), end * sizeof(T)) == 0);
      CHECK(std::memcmp(some.c.data() + end, before.data() + end, (before.size() - end) * sizeof(T)) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("the tiles of every instruction set agree with Eigen", "[ops][matmul]",
                   Portable<float>, Portable<double>, Avx2<float>, Avx2<double>, Avx512<float>,
                   Avx512<double>) {
  using T = typename TestType::Sum;
  const Cpu cpu(1);
  for (const Count m : {1, 3, 6, 7, 8, 14, 29, 190}) {
    for (const Count n : {1, 8, 17, 33, 70}) {
      for (const Count k : {1, 16, 37, 1040}) {
        for (unsigned flags = 0; flags < 4; ++flags) {
          const Case x{.m = m, .n = n, .k = k,
                       .a_transposed = (flags & 1U) != 0, .b_transposed = (flags & 2U) != 0,
                       .accumulate = flags == 2, .bias = flags == 1};
          Operands<T> operands(x);
          const auto reference = expected(operands.problem);
          ops::detail::matmul_with<TestType>(ops::detail::Crew{cpu, 0, 1}, operands.problem);
          const double error = relative_error(operands.problem, reference);
          if (!(error <= tolerance<T>)) FAIL_CHECK(text_of(x) << ": error " << error);
        }
      }
    }
  }
  SUCCEED();
}

TEMPLATE_TEST_CASE("rows are cut into tiles without gaps, and hardly any is computed in vain", "[ops][matmul]",
                   (ops::detail::MatmulTile<float, 64, 14>), (ops::detail::MatmulTile<float, 32, 6>),
                   (ops::detail::MatmulTile<double, 16, 4>), OfBlocks) {
  using Tile = TestType;
  for (std::int64_t rows = 1; rows <= 3100; ++rows) {
    const ops::detail::RowTiles<Tile> tiles(rows);
    INFO(rows << " rows: " << tiles.tall << " tall tiles of " << tiles.count);
    REQUIRE(tiles.first_row(0) == 0);
    REQUIRE(tiles.first_row(tiles.count) >= rows);
    // The first tile of a wrong height; the first whose rows would choose the other kernel than the one
    // that its strip is packed for. Not a check for each tile: there are a million.
    std::int64_t misplaced = -1, misread = -1;
    for (std::int64_t tile = tiles.count - 1; tile >= 0; --tile) {
      const bool is_tall = tile < tiles.tall;
      const auto first = tiles.first_row(tile), next = tiles.first_row(tile + 1);
      if (next - first != (is_tall ? Tile::rows : Tile::short_rows)) misplaced = tile;
      if ((std::min(next, rows) - first > Tile::short_rows) != is_tall) misread = tile;
    }
    REQUIRE(misplaced == -1);
    REQUIRE(misread == -1);
    if (rows >= Tile::rows * Tile::short_rows / 2) {
      // Where both heights are multiples of 16, so is their sum.
      const auto beyond = Tile::rows % 16 == 0 ? (16 - rows % 16) % 16 : rows % 2;
      REQUIRE(tiles.first_row(tiles.count) <= rows + beyond);
    }
  }
}

TEST_CASE("matmul takes operands whose neighbours are far apart in both directions",
          "[ops][matmul]") {
  const Cpu cpu(2);
  constexpr Count m = 31, n = 45, k = 100;
  const auto a = numbers<double>(m * k * 6, 1);
  const auto b = numbers<double>(k * n * 6, 2);
  std::vector<double> c(static_cast<std::size_t>(m * n), std::nan(""));
  const ops::Matmul<double> p{.m = m, .n = n, .k = k, .c = c.data(), .c_row_stride = n,
                              .a = a.data(), .a_row_stride = 3 * k, .a_col_stride = 2,
                              .b = b.data(), .b_row_stride = 2, .b_col_stride = 3 * k};
  ops::matmul(cpu, p);
  CHECK(relative_error(p, expected(p)) <= tolerance<double>);
}

TEST_CASE("matmul refuses negative extents and rows of C that overlap", "[ops][matmul]") {
  const Cpu cpu(1);
  float c[4] = {};
  CHECK_THROWS_AS(ops::matmul<float>(cpu, {.m = -1, .n = 1, .k = 1, .c = c}), ShapeError);
  CHECK_THROWS_AS(
      ops::matmul<float>(cpu, {.m = 2, .n = 2, .k = 0, .c = c, .c_row_stride = 1}), ShapeError);
}
