// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of stored elements, two registers of numbers at a time. Of bfloat16 one register takes the
// even elements and the other the odd ones: a word of memory holds one of each, so that a shift and
// a mask tell them apart, and a merge puts them together. A formula that looks at one element at a
// time does not see the difference.

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fount/backend/shuffle.hpp>
#include <fount/backend/stored.hpp>
#include <fount/backend/vectors.hpp>
#include <fount/core/dtype.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/random.hpp>
#include <fount/core/unroll.hpp>

#if FOUNT_HAS_AVX2
#include <immintrin.h>
#endif

namespace fount {
inline namespace FOUNT_CPU_NAMESPACE {

/// Which of the elements that a pair of registers holds are in the first of them: the first half,
/// or the even ones.
enum class Order : std::uint8_t { consecutive, alternating };

/// The order that suits rows of all these types, side by side.
template <Element... S>
inline constexpr Order order_of = (std::is_same_v<S, bf16> && ...) ? Order::alternating
                                                                   : Order::consecutive;

/// Numbers in two registers.
template <Real T>
struct Pair {
  Vector<T> first, second;
};

/// Elements of a pair.
template <Real T>
inline constexpr int pair_size = 2 * vector_width<T>;

namespace pair_detail {

/// The even lanes of both registers, then the odd ones; and back.
template <Real T>
[[gnu::always_inline]] inline Pair<T> deal(const Pair<T>& halves) {
  constexpr int lanes = vector_width<T>;
  Pair<T> dealt;
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    shuffle<2 * I...>(dealt.first, halves.first, halves.second);
    shuffle<2 * I + 1 ...>(dealt.second, halves.first, halves.second);
  }
  (std::make_integer_sequence<int, lanes>{});
  return dealt;
}
template <Real T>
[[gnu::always_inline]] inline Pair<T> collect(const Pair<T>& dealt) {
  constexpr int lanes = vector_width<T>;
  Pair<T> halves;
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    shuffle<(I / 2 + I % 2 * lanes)...>(halves.first, dealt.first, dealt.second);
    shuffle<((lanes + I) / 2 + I % 2 * lanes)...>(halves.second, dealt.first, dealt.second);
  }
  (std::make_integer_sequence<int, lanes>{});
  return halves;
}

/// The lower halves of the words of both, of which the upper ones are 0.
[[gnu::always_inline]] inline void store_lower_halves(bf16* to, Words first, Words second) {
#if FOUNT_HAS_AVX2 && !defined(__AVX512F__)
  // Quarters of the two registers take turns.
  const __m256i packed =
      _mm256_packus_epi32(reinterpret_cast<__m256i>(first), reinterpret_cast<__m256i>(second));
  const __m256i in_order = _mm256_permute4x64_epi64(packed, 0b11'01'10'00);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), in_order);
#else
  using Halves = typename StoredWords<vector_width<float>>::Short;
  const Halves halves[2] = {__builtin_convertvector(first, Halves),
                            __builtin_convertvector(second, Halves)};
  std::memcpy(static_cast<void*>(to), halves, sizeof halves);
#endif
}

/// Element by element: for numbers that the quick ways below do not round rightly. Not inlined:
/// rare.
/// @param round (number, its place in the pair) -> what is stored
template <Order O, Element S, class Round>
[[gnu::noinline]] void store_one_by_one(S* to, const Pair<compute_t<S>>& pair, Round round) {
  constexpr int lanes = vector_width<compute_t<S>>;
  for (int i = 0; i < 2 * lanes; ++i) {
    const bool second = O == Order::alternating ? i % 2 != 0 : i >= lanes;
    const int lane = O == Order::alternating ? i / 2 : i % lanes;
    to[i] = round(second ? pair.second[lane] : pair.first[lane], second, lane);
  }
}

}  // namespace pair_detail

template <Order O, Element S>
[[gnu::always_inline]] inline Pair<compute_t<S>> load_pair(const S* from) {
  using T = compute_t<S>;
  Pair<T> pair;
  if constexpr (O == Order::alternating && std::is_same_v<S, bf16>) {
    Words words;
    std::memcpy(&words, from, sizeof words);
    pair.first = reinterpret_cast<Vector<float>>(words << 16U);
    pair.second = reinterpret_cast<Vector<float>>(words & 0xffff0000U);
  } else {
    load_vector(pair.first, from);
    load_vector(pair.second, from + vector_width<T>);
    if constexpr (O == Order::alternating) pair = pair_detail::deal(pair);
  }
  return pair;
}

/// Rounds to nearest even, NaN stays NaN: the bits of static_cast<S>.
template <Order O, Element S>
[[gnu::always_inline]] inline void store_pair(S* to, const Pair<compute_t<S>>& pair) {
  [[maybe_unused]] const auto one_by_one = [to, &pair] {
    // A copy, made here: what this rare call refers to lies in memory.
    pair_detail::store_one_by_one<O>(to, Pair<compute_t<S>>(pair),
                                     [](auto number, bool, int) { return static_cast<S>(number); });
  };
#if FOUNT_HAS_BF16_PRODUCTS && defined(__AVX512DQ__) && !defined(__CUDACC__)
  if constexpr (std::is_same_v<S, bf16>) {
    const auto first = reinterpret_cast<__m512>(pair.first);
    const auto second = reinterpret_cast<__m512>(pair.second);
    // The instruction takes subnormal numbers for 0.
    constexpr int subnormal = 0x20;
    if ((_mm512_fpclass_ps_mask(first, subnormal) | _mm512_fpclass_ps_mask(second, subnormal)) !=
        0) {
      return one_by_one();
    }
    auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
    if constexpr (O == Order::alternating) {
      typedef std::uint16_t Halves __attribute__((vector_size(64)));
      halves = reinterpret_cast<__m512i>(__builtin_shufflevector(
          reinterpret_cast<Halves>(halves), reinterpret_cast<Halves>(halves), 0, 16, 1, 17, 2, 18,
          3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
          15, 31));
    }
    _mm512_storeu_si512(to, halves);
    return;
  }
#endif
  if constexpr (std::is_same_v<S, bf16>) {
    if (any_nan(pair.first, pair.second)) return one_by_one();
    const auto nearest = [](Vector<float> numbers) __attribute__((always_inline)) {
      const auto words = reinterpret_cast<Words>(numbers);
      return words + (((words >> 16U) & 1U) + 0x7fffU);
    };
    const Words first = nearest(pair.first) >> 16U;
    const Words second = nearest(pair.second);
    if constexpr (O == Order::alternating) {
      const Words words = merge_halves(second, first);
      std::memcpy(static_cast<void*>(to), &words, sizeof words);
    } else {
      pair_detail::store_lower_halves(to, first, second >> 16U);
    }
  } else {
    const Pair<compute_t<S>> halves = O == Order::alternating ? pair_detail::collect(pair) : pair;
    store_vector(to, halves.first);
    store_vector(to + vector_width<compute_t<S>>, halves.second);
  }
}

/// Rounds each number to one of its neighbours, by round_stochastically() with 16 bits of the word
/// that an even element shares with the odd one behind it: those from bit `rotation` on, around the
/// end of the word, are the even one's, the others the odd one's.
template <unsigned rotation>
[[gnu::always_inline]] inline void store_pair_stochastically(bf16* to, const Pair<float>& pair,
                                                             const Words& words) {
  static_assert(rotation < 32U);
  const Words turned =
      rotation % 16 == 0 ? words : words >> rotation % 32 | words << (32 - rotation) % 32;
  const Words lower = turned & 0xffffU;
  const Words upper = turned >> 16U;
  const Words first = rotation == 16 ? upper : lower;
  const Words second = rotation == 16 ? lower : upper;
  if (any_nan(pair.first, pair.second)) {
    // Copies, made here: what this rare call refers to lies in memory.
    return pair_detail::store_one_by_one<Order::alternating>(
        to, Pair<float>(pair), [first, second](float number, bool is_second, int lane) {
          return round_stochastically(number, is_second ? second[lane] : first[lane]);
        });
  }
  // Infinity stays what it is: no 16 bits carry into its exponent.
  const Words merged = merge_halves(reinterpret_cast<Words>(pair.second) + second,
                                    (reinterpret_cast<Words>(pair.first) + first) >> 16U);
  std::memcpy(static_cast<void*>(to), &merged, sizeof merged);
}

/// f on the first registers of all pairs, then on the second ones. It may take them by reference.
template <class F, Real T, class... P>
[[gnu::always_inline]] inline void on_each(F f, Pair<T>& pair, P&&... pairs) {
  f(pair.first, pairs.first...);
  f(pair.second, pairs.second...);
}
template <class F, Real T, class... P>
[[gnu::always_inline]] inline void on_each(F f, T& number, P&&... numbers) {
  f(number, numbers...);
}

/// A sum along a row: a lane takes every so many elements, lanes are added in pairs, the rest of
/// the row at the end.
template <Real T>
struct RowSum {
  Pair<T> lanes = {};
  T rest = 0;

  [[gnu::always_inline]] T total() const {
    constexpr int width = vector_width<T>;
    Vector<T> sums = lanes.first + lanes.second;
    unroll<std::countr_zero(static_cast<unsigned>(width))>([&](
        auto step) __attribute__((always_inline)) {
      constexpr int half = width >> (step + 1);
      [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
        Vector<T> upper;
        shuffle<(I + half) % width...>(upper, sums, sums);
        sums += upper;
      }
      (std::make_integer_sequence<int, width>{});
    });
    return sums[0] + rest;
  }
};

/// Where a pair is in rows that lie side by side.
template <Order O, Real T>
struct PairPlace {
  std::int64_t index;  // of its first element

  template <Element S>
  [[gnu::always_inline]] Pair<T> load(const S* row) const {
    return load_pair<O>(row + index);
  }
  template <Element S>
  [[gnu::always_inline]] void store(S* row, const Pair<T>& pair) const {
    store_pair<O>(row + index, pair);
  }
  /// For rows that only loops of one order see: their numbers lie as they lie in registers.
  [[gnu::always_inline]] Pair<T> load_dealt(const T* row) const {
    return load_pair<Order::consecutive>(row + index);
  }
  [[gnu::always_inline]] void store_dealt(T* row, const Pair<T>& pair) const {
    store_pair<Order::consecutive>(row + index, pair);
  }
  [[gnu::always_inline]] Pair<T>& of(RowSum<T>& sum) const { return sum.lanes; }
  /// The words for the rounding of these elements.
  [[gnu::always_inline]] Words words(const RoundingWords& all) const {
    Words lane;
    for (int i = 0; i < vector_width<std::uint32_t>; ++i) lane[i] = static_cast<std::uint32_t>(i);
    return all.at(lane + static_cast<std::uint32_t>(index / 2));
  }
  static Words no_words() { return Words{}; }
  template <unsigned rotation>
  [[gnu::always_inline]] void store_stochastically(bf16* row, const Pair<T>& pair,
                                                   const Words& words) const {
    store_pair_stochastically<rotation>(row + index, pair, words);
  }
  [[gnu::always_inline]] static Pair<T> zero() { return {Vector<T>{}, Vector<T>{}}; }
};

/// Where one element is, of the rest of a row that fills no pair.
template <Real T>
struct ElementPlace {
  std::int64_t index;

  template <Element S>
  [[gnu::always_inline]] T load(const S* row) const {
    return value_of(row[index]);
  }
  template <Element S>
  [[gnu::always_inline]] void store(S* row, T number) const {
    row[index] = static_cast<S>(number);
  }
  [[gnu::always_inline]] T load_dealt(const T* row) const { return row[index]; }
  [[gnu::always_inline]] void store_dealt(T* row, T number) const { row[index] = number; }
  [[gnu::always_inline]] T& of(RowSum<T>& sum) const { return sum.rest; }
  [[gnu::always_inline]] std::uint32_t words(const RoundingWords& all) const {
    return all.at(static_cast<std::uint32_t>(index / 2));
  }
  static std::uint32_t no_words() { return 0; }
  template <unsigned rotation>
  [[gnu::always_inline]] void store_stochastically(bf16* row, T number, std::uint32_t word) const {
    row[index] = round_stochastically(
        number, std::rotr(word, static_cast<int>(rotation) + (index % 2 == 0 ? 0 : 16)));
  }
  static T zero() { return 0; }
};

/// body(place) for every pair of elements from `begin` up to `end`, and for each of the rest.
/// `begin` is a multiple of pair_size where rows are dealt or random words are asked for.
template <Order O, Real T, class Body>
[[gnu::always_inline]] inline void for_each_pair(std::int64_t begin, std::int64_t end, Body body) {
  std::int64_t i = begin;
  for (; end - i >= pair_size<T>; i += pair_size<T>) body(PairPlace<O, T>{i});
  for (; i < end; ++i) body(ElementPlace<T>{i});
}

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
