// SPDX-License-Identifier: Apache-2.0
// Products of bf16 in blocks, as tile registers take them. Few processors have such registers, so an
// emulation of them stands in here: packing, edges and addresses are tested on every machine. Those that
// have them never choose pairs in vectors, so that kernel is called here, too.

#include <fount/ops/matmul.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Count = std::int64_t;

/// What AmxRegisters offers, in ordinary memory. Registers hold NaN until they are cleared or loaded,
/// and are there in a session only.
struct EmulatedRegisters {
  using Register = std::array<std::uint32_t, 256>;  // 16 rows of 64 bytes
  static Register* registers() {
    thread_local Register eight[8];
    return eight;
  }
  static bool& in_session() {
    thread_local bool inside = false;
    return inside;
  }
  static Register& at(int number) {
    if (!in_session()) throw Error("a tile register is used outside of a session");
    return registers()[number];
  }
  static void prepare() {}

  class Session {
   public:
    Session() {
      for (int i = 0; i < 8; ++i) registers()[i].fill(0xffffffffU);
      in_session() = true;
    }
    ~Session() { in_session() = false; }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  template <int Number>
  static void clear() {
    at(Number).fill(0);
  }
  template <int Number>
  static void load(const void* from, Count row_bytes) {
    for (int row = 0; row < 16; ++row) {
      std::memcpy(at(Number).data() + row * 16,
                  static_cast<const std::byte*>(from) + row * row_bytes, 64);
    }
  }
  template <int Number>
  static void store(void* to, Count row_bytes) {
    for (int row = 0; row < 16; ++row) {
      std::memcpy(static_cast<std::byte*>(to) + row * row_bytes, at(Number).data() + row * 16, 64);
    }
  }
  template <int Number>
  static void multiply_add() {
    const Register& a = at(4 + Number / 2);
    const Register& b = at(6 + Number % 2);
    float sums[16][16];
    std::memcpy(sums, at(Number).data(), sizeof sums);
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t k = 0; k < 16; ++k) {
        for (std::size_t column = 0; column < 16; ++column) {
          sums[row][column] += half(a[row * 16 + k], 0) * half(b[k * 16 + column], 0) +
                               half(a[row * 16 + k], 1) * half(b[k * 16 + column], 1);
        }
      }
    }
    std::memcpy(at(Number).data(), sums, sizeof sums);
  }

 private:
  static float half(std::uint32_t word, int upper) {
    const std::uint32_t bits = upper != 0 ? word & 0xffff0000U : word << 16U;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

using EmulatedTile = ops::detail::BlockTile<EmulatedRegisters>;

/// Unused elements behind each row of C.
constexpr Count gap = 3;

struct Case {
  Count m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false, bias = false, accumulate = false;
  Count spread = 1;  // distance of elements that would be neighbours
};

std::string text_of(const Case& x) {
  return std::to_string(x.m) + "x" + std::to_string(x.n) + "x" + std::to_string(x.k) +
         (x.a_transposed ? " A^T" : "") + (x.b_transposed ? " B^T" : "") + (x.bias ? " bias" : "") +
         (x.accumulate ? " accumulate" : "") + " spread " + std::to_string(x.spread);
}

template <Element TC, Element TA, Element TB>
struct Product {
  std::vector<TA> a;
  std::vector<TB> b, bias;
  std::vector<TC> c;
  ops::Matmul<TC, TA, TB> problem;

  explicit Product(const Case& x)
      : a(converted<TA>(random_vector<float>(x.m * x.k * x.spread, 1))),
        b(converted<TB>(random_vector<float>(x.k * x.n * x.spread, 2))),
        bias(converted<TB>(random_vector<float>(x.n, 3))),
        c(converted<TC>(random_vector<float>(x.m * (x.n + gap), 4))) {
    problem = {.m = x.m, .n = x.n, .k = x.k, .c = c.data(), .c_row_stride = x.n + gap,
               .a = a.data(), .a_row_stride = x.spread * (x.a_transposed ? 1 : x.k),
               .a_col_stride = x.spread * (x.a_transposed ? x.m : 1),
               .b = b.data(), .b_row_stride = x.spread * (x.b_transposed ? 1 : x.n),
               .b_col_stride = x.spread * (x.b_transposed ? x.k : 1),
               .bias = x.bias ? bias.data() : nullptr, .accumulate = x.accumulate};
  }

  /// From the operands as they count, before C is overwritten. What lies behind rows stays.
  std::vector<double> expected() const {
    const auto counted = [](auto value) { return static_cast<double>(value_of(bf16(value_of(value)))); };
    std::vector<double> result;
    for (Count i = 0; i < problem.m; ++i) {
      for (Count j = 0; j < problem.c_row_stride; ++j) {
        const auto before = static_cast<double>(value_of(problem.c[i * problem.c_row_stride + j]));
        if (j >= problem.n) {
          result.push_back(before);
          continue;
        }
        double sum = problem.bias == nullptr ? 0 : static_cast<double>(value_of(problem.bias[j]));
        if (problem.accumulate) sum += before;
        for (Count k = 0; k < problem.k; ++k) {
          sum += counted(problem.a[i * problem.a_row_stride + k * problem.a_col_stride]) *
                 counted(problem.b[k * problem.b_row_stride + j * problem.b_col_stride]);
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  template <class Tile>
  void run(const Cpu& cpu) {
    // What packing leaves out would be NaN: in all of A's part, and in the first strips of B.
    if (problem.k % 32 != 0) {
      for (int i = 0; i < cpu.threads(); ++i) std::memset(cpu.workspace(i), 0xff, 640 * 1024);
    }
    ops::detail::matmul_with<Tile>(ops::detail::Crew{cpu, 0, cpu.threads()}, problem);
  }
};

/// On one thread and on three: right, with the same bits.
template <class Tile, Element TC, Element TA, Element TB>
void check_tile(const Case& x, const std::string& tile) {
  static const Cpu one_thread(1), three_threads(3);
  Product<TC, TA, TB> one(x);
  const std::vector<double> expected = one.expected();
  one.template run<Tile>(one_thread);
  std::vector<double> found;
  for (const TC value : one.c) found.push_back(static_cast<double>(value_of(value)));
  const double error = expected.empty() ? 0 : distance(found, expected);
  const double allowed = std::is_same_v<TC, bf16> ? 0x1p-8 : 1e-6;
  if (!(error <= allowed)) FAIL_CHECK(tile << " " << text_of(x) << ": error " << error);
  for (Count i = 0; i < x.m * (x.n + gap); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i % (x.n + gap) >= x.n && found[at] != expected[at]) {
      FAIL_CHECK(tile << " " << text_of(x) << ": wrote behind row " << i / (x.n + gap));
    }
  }

  Product<TC, TA, TB> three(x);
  three.template run<Tile>(three_threads);
  if (!same_bits(three.c, one.c)) {
    FAIL_CHECK(tile << " " << text_of(x) << ": other bits on three threads");
  }
}

template <Element TC, Element TA, Element TB>
void check(const Case& x) {
  check_tile<EmulatedTile, TC, TA, TB>(x, "emulated");
#if FOUNT_HAS_BF16_PRODUCTS
  check_tile<ops::detail::PairTile, TC, TA, TB>(x, "pairs");
#endif
#if FOUNT_HAS_BF16_BLOCKS
  check_tile<ops::detail::BlockTile<AmxRegisters>, TC, TA, TB>(x, "AMX");
#endif
}

template <class C, class A, class B>
struct Types {
  using TC = C;
  using TA = A;
  using TB = B;
};

}  // namespace

TEMPLATE_TEST_CASE("products in blocks are right at every edge, whatever operands are stored in",
                   "[ops][matmul]", (Types<float, bf16, bf16>), (Types<bf16, bf16, float>),
                   (Types<float, float, bf16>), (Types<bf16, bf16, bf16>)) {
  using TC = typename TestType::TC;
  using TA = typename TestType::TA;
  using TB = typename TestType::TB;
  constexpr Count block = EmulatedTile::most_words * EmulatedTile::steps_per_word;
  unsigned turn = 0;
  for (const Count m : {1, 15, 16, 17, 32, 33, 61}) {
    for (const Count n : {1, 16, 17, 31, 32, 70}) {
      for (const Count k : {1, 2, 31, 32, 33, 96}) {
        turn = turn * 1664525U + 1013904223U;  // the flags take turns
        check<TC, TA, TB>({.m = m, .n = n, .k = k,
                           .a_transposed = (turn >> 16U & 1U) != 0,
                           .b_transposed = (turn >> 17U & 1U) != 0,
                           .bias = (turn >> 18U & 1U) != 0,
                           .accumulate = (turn >> 19U & 1U) != 0,
                           .spread = (turn >> 20U & 7U) == 0 ? 3 : 1});
      }
    }
  }
  for (const unsigned flags : {0U, 3U, 5U, 6U, 9U, 15U}) {
    for (const auto& [m, n, k] : {std::array<Count, 3>{0, 3, 4}, {3, 4, 0}, {34, 50, block},
                                  {33, 47, block + 1}, {290, 5, block + 63}, {20, 70, 2 * block + 31}}) {
      check<TC, TA, TB>({.m = m, .n = n, .k = k,
                         .a_transposed = (flags & 1U) != 0, .b_transposed = (flags & 2U) != 0,
                         .bias = (flags & 4U) != 0, .accumulate = (flags & 8U) != 0});
    }
  }
  // Stages that share a kept A; more rows than one block of wide sums has.
  check<TC, TA, TB>({.m = 45, .n = 700, .k = 800, .b_transposed = true, .bias = true});
  check<TC, TA, TB>({.m = 40, .n = 600, .k = block + 31, .a_transposed = true, .accumulate = true});
  check<TC, TA, TB>({.m = 1100, .n = 20, .k = block + 31, .bias = true});
  SUCCEED();
}
