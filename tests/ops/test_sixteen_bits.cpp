// SPDX-License-Identifier: Apache-2.0
// Ops on tensors of 16 bits. Every op computes in float, so on the same numbers it must give the
// result of the float op, rounded once: bit for bit where it only multiplies and adds in a fixed
// order; elsewhere the compiler may fuse other pairs in other types, and the error of one rounding
// is allowed. Products of bf16 on processors that multiply pairs of them add in another order: their
// float sums are near those of the float op, and what is stored is those sums rounded once.

#include <fount/ops/activation.hpp>
#include <fount/ops/attention.hpp>
#include <fount/ops/embedding.hpp>
#include <fount/ops/linear.hpp>
#include <fount/ops/matmul.hpp>
#include <fount/ops/norm.hpp>
#include <fount/ops/residual.hpp>
#include <fount/ops/rotary.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

using Count = std::int64_t;
using Floats = std::vector<float>;

template <Element S>
std::vector<S> stored(const Floats& values) {
  return converted<S>(values);
}
template <Element S>
Floats widened(const std::vector<S>& values) {
  Floats result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](S x) { return value_of(x); });
  return result;
}
/// Numbers that S holds exactly.
template <Element S>
Floats numbers(Count count, std::uint32_t site) {
  return widened(stored<S>(random_vector<float>(count, site)));
}
template <Element S>
bool rounded(const std::vector<S>& found, const Floats& expected) {
  return same_bits(found, stored<S>(expected));
}

/// The largest relative error of rounding to S.
template <class S>
constexpr double half_unit = std::is_same_v<S, bf16> ? 0x1p-8 : 0x1p-11;

template <Element S>
bool close(const std::vector<S>& found, const Floats& expected) {
  return expected.empty() || distance(widened(found), expected) <= half_unit<S>;
}

/// C of one product of random operands, in these types; their values fit all of `Narrow`.
template <class TC, class TA, class TB, class Narrow>
std::vector<TC> product(int threads, Count m, Count n, Count k, unsigned flags, bool accumulate) {
  const bool a_transposed = (flags & 1U) != 0;
  const bool b_transposed = (flags & 2U) != 0;
  const auto a = stored<TA>(numbers<Narrow>(m * k, 1));
  const auto b = stored<TB>(numbers<Narrow>(k * n, 2));
  const auto bias = stored<TB>(numbers<Narrow>(n, 3));
  auto c = stored<TC>(numbers<Narrow>(m * n, 4));
  const Cpu cpu(threads);
  ops::matmul(cpu, ops::Matmul<TC, TA, TB>{
                       .m = m, .n = n, .k = k, .c = c.data(), .c_row_stride = n,
                       .a = a.data(), .a_row_stride = a_transposed ? 1 : k,
                       .a_col_stride = a_transposed ? m : 1,
                       .b = b.data(), .b_row_stride = b_transposed ? 1 : n,
                       .b_col_stride = b_transposed ? k : 1,
                       .bias = (flags & 4U) != 0 ? bias.data() : nullptr,
                       .accumulate = accumulate});
  return c;
}

struct Extents {
  Count m, n, k;
};
/// Edges of tiles; deeper than one block of k; larger than one block of wide sums.
/// @tparam A, B what the operands are stored in
template <class A, class B>
std::vector<Extents> extents() {
  using Tile = ops::detail::TileFor<A, B>;
  constexpr Count block = Tile::most_words * Tile::steps_per_word;
  return {{1, 1, 1},    {1, 17, 5}, {7, 1, 33}, {13, 33, 64},          {97, 65, 31},
          {0, 3, 4},    {3, 4, 0},  {31, 33, block + 1}, {6, 16, 2 * block + 49},
          {1100, 20, block + 31}, {10, 1030, block + 32}};
}

}  // namespace

TEMPLATE_TEST_CASE("products of 16-bit operands are those of their values, rounded once",
                   "[ops][matmul][16bit]", bf16, fp16) {
  using S = TestType;
  for (const auto [m, n, k] : extents<S, S>()) {
    for (unsigned flags = 0; flags < 8; ++flags) {
      INFO(m << " x " << n << " x " << k << ", flags " << flags);
      const Floats of_floats = product<float, float, float, S>(2, m, n, k, flags, false);
      const Floats whole = product<float, S, S, S>(2, m, n, k, flags, false);
      if constexpr (ops::detail::multiplies_pairs<S, S>) {
        CHECK(distance(whole, of_floats) < 1e-6);
      } else {
        CHECK(same_bits(whole, of_floats));
      }
      CHECK(same_bits(product<float, S, S, S>(1, m, n, k, flags, false), whole));
      CHECK(same_bits(product<float, float, S, S>(1, m, n, k, flags, false), whole));
      CHECK(rounded(product<S, S, S, S>(1, m, n, k, flags, false), whole));
      CHECK(rounded(product<S, S, S, S>(3, m, n, k, flags, false), whole));
      CHECK(rounded(product<S, float, S, S>(2, m, n, k, flags, false), whole));
      Floats sum = whole;
      const Floats before = numbers<S>(m * n, 4);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = before[i] + sum[i];
      CHECK(rounded(product<S, S, S, S>(2, m, n, k, flags, true), sum));
    }
  }
}

TEST_CASE("a float operand beside one in bf16 counts as rounded where pairs are multiplied, and as it "
          "is elsewhere", "[ops][matmul][16bit]") {
  const Cpu cpu(2);
  for (const auto [m, n, k] : extents<float, bf16>()) {
    for (const bool transposed : {false, true}) {
      INFO(m << " x " << n << " x " << k << ", " << transposed);
      Floats a = random_vector<float>(m * k, 1);
      const auto b = stored<bf16>(random_vector<float>(k * n, 2));
      const auto run = [&] {
        Floats c(static_cast<std::size_t>(m * n));
        ops::matmul(cpu, ops::Matmul<float, float, bf16>{
                             .m = m, .n = n, .k = k, .c = c.data(), .c_row_stride = n,
                             .a = a.data(), .a_row_stride = transposed ? 1 : k,
                             .a_col_stride = transposed ? m : 1,
                             .b = b.data(), .b_row_stride = n});
        return c;
      };
      const Floats found = run();
      if constexpr (ops::detail::multiplies_pairs<float, bf16>) a = widened(stored<bf16>(a));
      CHECK(same_bits(found, run()));
      // As it is: products of neighbours differ in the last bits that only a float holds.
      Floats c(static_cast<std::size_t>(m * n));
      const Floats wide_b = widened(b);
      ops::matmul(cpu, ops::Matmul<float>{
                           .m = m, .n = n, .k = k, .c = c.data(), .c_row_stride = n,
                           .a = a.data(), .a_row_stride = transposed ? 1 : k,
                           .a_col_stride = transposed ? m : 1,
                           .b = wide_b.data(), .b_row_stride = n});
      CHECK(distance(found, c) < 1e-6);
    }
  }
}

TEST_CASE("infinities and NaN of bf16 operands reach exactly the sums they belong to",
          "[ops][matmul][16bit]") {
  const Cpu cpu(1);
  for (const Count k : {1, 2, 31, 2304}) {
    constexpr Count m = 17, n = 37;
    Floats a(static_cast<std::size_t>(m * k), 1.0F);
    a[static_cast<std::size_t>(3 * k + k - 1)] = std::numeric_limits<float>::infinity();
    a[static_cast<std::size_t>(16 * k)] = std::numeric_limits<float>::quiet_NaN();
    const auto narrow_a = stored<bf16>(a);
    const auto b = stored<bf16>(Floats(static_cast<std::size_t>(n * k), 1.0F));
    std::vector<bf16> c(static_cast<std::size_t>(m * n));
    ops::matmul(cpu, ops::Matmul<bf16>{.m = m, .n = n, .k = k, .c = c.data(), .c_row_stride = n,
                                       .a = narrow_a.data(), .a_row_stride = k,
                                       .b = b.data(), .b_row_stride = 1, .b_col_stride = k});
    for (Count i = 0; i < m; ++i) {
      for (Count j = 0; j < n; ++j) {
        const float found = value_of(c[static_cast<std::size_t>(i * n + j)]);
        const bool right = i == 3    ? found == std::numeric_limits<float>::infinity()
                           : i == 16 ? std::isnan(found)
                                     : found == static_cast<float>(k);
        if (!right) FAIL_CHECK("k " << k << ", row " << i << ", column " << j << ": " << found);
      }
    }
  }
  SUCCEED();
}

TEMPLATE_TEST_CASE("linear bias gradients of 16 bits are rounded once", "[ops][linear][16bit]",
                   bf16, fp16) {
  using S = TestType;
  const Cpu cpu(2);
  for (const Count rows : {0, 1, 63, 200}) {
    for (const Count out : {1, 65, 300}) {
      const Floats d_y = numbers<S>(rows * out, 1);
      Floats d_bias = numbers<S>(out, 2);
      auto narrow = stored<S>(d_bias);
      Floats mixed = d_bias;
      ops::linear_backward_bias(cpu, d_bias.data(), d_y.data(), rows, out);
      ops::linear_backward_bias(cpu, narrow.data(), stored<S>(d_y).data(), rows, out);
      ops::linear_backward_bias(cpu, mixed.data(), stored<S>(d_y).data(), rows, out);
      CHECK(rounded(narrow, d_bias));
      CHECK(same_bits(mixed, d_bias));
    }
  }
}

TEMPLATE_TEST_CASE("activations of 16 bits are those of their values",
                   "[ops][activation][16bit]", bf16, fp16) {
  using S = TestType;
  const Cpu cpu(2);
  for (const Activation kind : {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu,
                                Activation::swiglu}) {
    for (const Count size : {1, 31, 130}) {
      constexpr Count rows = 5;
      const Count in_size = kind == Activation::swiglu ? 2 * size : size;
      Floats x = numbers<S>(rows * in_size, 1);
      for (float& value : x) value *= 4;
      const Floats d_out = numbers<S>(rows * size, 2);
      Floats out(d_out.size()), d_x(x.size());
      std::vector<S> narrow_out(out.size()), narrow_d_x(x.size());
      const auto narrow_x = stored<S>(x);
      ops::activation_forward(cpu, kind, out.data(), x.data(), rows, size);
      ops::activation_forward(cpu, kind, narrow_out.data(), narrow_x.data(), rows, size);
      ops::activation_backward(cpu, kind, d_x.data(), d_out.data(), x.data(), rows, size);
      ops::activation_backward(cpu, kind, narrow_d_x.data(), stored<S>(d_out).data(),
                               narrow_x.data(), rows, size);
      CHECK(close(narrow_out, out));
      CHECK(close(narrow_d_x, d_x));
    }
  }
}

namespace {

/// Results of a norm and its gradients where activations, weights and gradients are A, W and G.
template <class A, class W, class G, class Narrow>
struct NormResult {
  std::vector<A> sum, out, d_x;
  std::vector<G> d_weight, d_bias;

  NormResult(bool centred, bool delta, Count rows, Count width, bool accumulate = true,
             int threads = 2) {
    const Cpu cpu(threads);
    const auto size = static_cast<std::size_t>(rows * width);
    const auto residual = stored<A>(numbers<Narrow>(rows * width, 1));
    const auto second = stored<A>(numbers<Narrow>(rows * width, 2));
    const auto weight = stored<W>(numbers<Narrow>(width, 3));
    const auto bias = stored<W>(numbers<Narrow>(width, 4));
    const auto d_out = stored<A>(numbers<Narrow>(rows * width, 5));
    sum.resize(size);
    out.resize(size);
    d_x = stored<A>(numbers<Narrow>(rows * width, 6));
    d_weight = stored<G>(numbers<Narrow>(width, 7));
    d_bias = stored<G>(numbers<Narrow>(width, 8));
    Floats mean(static_cast<std::size_t>(rows)), rstd(mean);
    Floats scratch(static_cast<std::size_t>(ops::layer_norm_scratch(rows, width)));
    const ops::NormForward<A, W> forward{.out = out.data(), .sum = sum.data(), .mean = mean.data(),
                                         .rstd = rstd.data(), .residual = residual.data(),
                                         .delta = delta ? second.data() : nullptr,
                                         .weight = weight.data(), .bias = bias.data(),
                                         .rows = rows, .hidden_size = width};
    const ops::NormBackward<A, W, G> backward{
        .d_x = d_x.data(), .d_weight = d_weight.data(), .d_bias = d_bias.data(),
        .d_out = d_out.data(), .x = delta ? sum.data() : residual.data(), .mean = mean.data(),
        .rstd = rstd.data(), .weight = weight.data(), .scratch = scratch.data(), .rows = rows,
        .hidden_size = width, .accumulate_d_x = accumulate};
    if (centred) {
      ops::layer_norm_forward(cpu, forward);
      ops::layer_norm_backward(cpu, backward);
    } else {
      ops::rms_norm_forward(cpu, forward);
      ops::rms_norm_backward(cpu, backward);
    }
  }
};

}  // namespace

TEMPLATE_TEST_CASE("norms of 16 bits are those of their values",
                   "[ops][norm][16bit]", bf16, fp16) {
  using S = TestType;
  for (const bool centred : {true, false}) {
    for (const Count rows : {1, 17, 130}) {
      for (const Count width : {1, 33, 257}) {
        INFO(centred << ", " << rows << " x " << width);
        const NormResult<float, float, float, S> wide(centred, false, rows, width);
        const NormResult<S, S, S, S> narrow(centred, false, rows, width);
        CHECK(close(narrow.out, wide.out));
        CHECK(close(narrow.d_x, wide.d_x));
        CHECK(close(narrow.d_weight, wide.d_weight));
        CHECK(close(narrow.d_bias, wide.d_bias));
        const NormResult<S, S, float, S> mixed(centred, false, rows, width);
        CHECK(distance(mixed.d_weight, wide.d_weight) < 1e-6);
        const NormResult<S, float, float, S> wide_weights(centred, false, rows, width);
        CHECK(close(wide_weights.out, wide.out));
        CHECK(close(wide_weights.d_x, wide.d_x));
        CHECK(distance(wide_weights.d_weight, wide.d_weight) < 1e-6);
        const NormResult<float, float, float, S> wide_alone(centred, false, rows, width, false);
        const NormResult<S, S, S, S> alone(centred, false, rows, width, false);
        // Of one column the gradient is a difference of equals.
        if (width > 1) CHECK(close(alone.d_x, wide_alone.d_x));
        const NormResult<S, S, float, S> one_thread(centred, false, rows, width, true, 1);
        CHECK(one_thread.d_x == mixed.d_x);
        CHECK(one_thread.d_weight == mixed.d_weight);
        // A sum of two is rounded before it is normalised: close, not equal.
        const NormResult<float, float, float, S> wide_sum(centred, true, rows, width);
        const NormResult<S, S, S, S> narrow_sum(centred, true, rows, width);
        CHECK(rounded(narrow_sum.sum, wide_sum.sum));
        if (width > 1) CHECK(distance(widened(narrow_sum.out), wide_sum.out) < 1e-2);
      }
    }
  }
}

TEMPLATE_TEST_CASE("head norms and rotations of 16 bits are those of their values", "[ops][norm][16bit]",
                   bf16, fp16) {
  using S = TestType;
  const Cpu cpu(2);
  constexpr Count rows = 37, heads = 3, dim = 6, stride = 20;
  const Floats x = numbers<S>(rows * stride, 1), d_out = numbers<S>(rows * stride, 2);
  const Floats weight = numbers<S>(dim, 3);
  const ops::HeadShape shape{rows, heads, dim};
  const auto run = [&]<class A>(std::vector<A>& out, std::vector<A>& d_x, std::vector<A>& d_weight) {
    const auto x_in = stored<A>(x), d_in = stored<A>(d_out), w = stored<A>(weight);
    out = stored<A>(Floats(x.size()));
    d_x = out;
    d_weight = stored<A>(Floats(dim));
    Floats rstd(rows * heads), scratch(static_cast<std::size_t>(ops::rms_norm_heads_scratch(shape)));
    ops::rms_norm_heads_forward(cpu, ops::HeadNormForward<A>{
        .out = out.data(), .rstd = rstd.data(), .x = x_in.data(), .weight = w.data(),
        .shape = shape, .out_stride = stride, .x_stride = stride});
    ops::rms_norm_heads_backward(cpu, ops::HeadNormBackward<A>{
        .d_x = d_x.data(), .d_weight = d_weight.data(), .d_out = d_in.data(), .x = x_in.data(),
        .rstd = rstd.data(), .weight = w.data(), .scratch = scratch.data(), .shape = shape,
        .d_x_stride = stride, .d_out_stride = stride, .x_stride = stride});
  };
  Floats out, d_x, d_weight;
  std::vector<S> narrow_out, narrow_d_x, narrow_d_weight;
  run(out, d_x, d_weight);
  run(narrow_out, narrow_d_x, narrow_d_weight);
  CHECK(close(narrow_out, out));
  CHECK(close(narrow_d_x, d_x));
  CHECK(close(narrow_d_weight, d_weight));

  Floats table(static_cast<std::size_t>(ops::rotary_table_size(40, dim)));
  ops::rotary_table(table.data(), 40, dim, 10000.0F);
  const ops::RotaryShape rotary{.batch_size = 1, .seq_len = rows, .num_heads = heads,
                                .head_dim = dim, .stride = stride, .max_positions = 40};
  Floats turned = x;
  auto narrow = stored<S>(x);
  ops::rotary_forward(cpu, turned.data(), table.data(), rotary);
  ops::rotary_forward(cpu, narrow.data(), table.data(), rotary);
  CHECK(close(narrow, turned));
}

TEMPLATE_TEST_CASE("elementwise ops of 16 bits are rounded once", "[ops][residual][16bit]", bf16,
                   fp16) {
  using S = TestType;
  const Cpu cpu(2);
  constexpr Count count = 40'003;
  const Floats a = numbers<S>(count, 1), b = numbers<S>(count, 2);
  const auto narrow_a = stored<S>(a), narrow_b = stored<S>(b);
  Floats wide(a.size());
  std::vector<S> narrow(a.size());
  ops::add(cpu, wide.data(), a.data(), b.data(), count);
  ops::add(cpu, narrow.data(), narrow_a.data(), narrow_b.data(), count);
  CHECK(rounded(narrow, wide));
  const Dropout dropout{{.seed = 3, .step = 1, .site = 2}, 0.3F};
  ops::dropout_forward(cpu, wide.data(), a.data(), dropout, count);
  ops::dropout_forward(cpu, narrow.data(), narrow_a.data(), dropout, count);
  CHECK(rounded(narrow, wide));
  wide = a;
  narrow = narrow_a;
  ops::accumulate(cpu, wide.data(), b.data(), count);
  ops::accumulate(cpu, narrow.data(), narrow_b.data(), count);
  CHECK(rounded(narrow, wide));
}

TEMPLATE_TEST_CASE("embeddings of 16 bits add up in float, however often a token comes",
                   "[ops][embedding][16bit]", bf16, fp16) {
  using S = TestType;
  const Cpu cpu(2);
  constexpr Count rows = 2000, seq_len = 100, vocab = 7, width = 70;
  std::vector<std::int32_t> ids;
  for (Count r = 0; r < rows; ++r) {
    ids.push_back(static_cast<std::int32_t>(r % 3 == 0 ? r % vocab : 2));
  }
  const ops::EmbeddingRows at{.ids = ids.data(), .rows = rows, .seq_len = seq_len,
                              .hidden_size = width};
  const auto run = [&]<class A>(std::vector<A>& out, std::vector<A>& d_tokens,
                                std::vector<A>& d_positions, std::vector<A>& d_type) {
    const auto tokens = stored<A>(numbers<S>(vocab * width, 1));
    const auto positions = stored<A>(numbers<S>(seq_len * width, 2));
    const auto type = stored<A>(numbers<S>(width, 3));
    const auto d_out = stored<A>(numbers<S>(rows * width, 4));
    out = stored<A>(Floats(rows * width));
    d_tokens = tokens;
    d_positions = positions;
    d_type = type;
    ops::embedding_forward(cpu, ops::EmbeddingForward<A>{.out = out.data(), .tokens = tokens.data(),
                                                         .positions = positions.data(),
                                                         .token_type = type.data(), .at = at});
    ops::embedding_backward(cpu, ops::EmbeddingBackward<A>{.d_tokens = d_tokens.data(),
                                                           .d_positions = d_positions.data(),
                                                           .d_token_type = d_type.data(),
                                                           .d_out = d_out.data(), .at = at});
  };
  Floats out, d_tokens, d_positions, d_type;
  std::vector<S> narrow_out, narrow_d_tokens, narrow_d_positions, narrow_d_type;
  run(out, d_tokens, d_positions, d_type);
  run(narrow_out, narrow_d_tokens, narrow_d_positions, narrow_d_type);
  CHECK(rounded(narrow_out, out));
  CHECK(rounded(narrow_d_tokens, d_tokens));
  CHECK(rounded(narrow_d_positions, d_positions));
  CHECK(rounded(narrow_d_type, d_type));
}

namespace {

/// Attention and its gradients over one fused projection.
template <class A, class Narrow>
struct AttentionResult {
  std::vector<A> out, d_qkv;
  Floats lse;

  AttentionResult(int threads, const ops::AttentionShape& like, Count row) {
    const Cpu cpu(threads);
    ops::AttentionShape shape = like;
    const Count tokens = Count{shape.batch_size} * shape.num_queries;
    const Count k_at = Count{shape.num_heads} * shape.head_dim;
    const Count v_at = k_at + Count{shape.num_kv_heads} * shape.head_dim;
    const Count rows = Count{shape.batch_size} * std::max(shape.num_queries, shape.num_keys);
    auto qkv = stored<A>(numbers<Narrow>(rows * row, 1));
    const auto d_out = stored<A>(numbers<Narrow>(tokens * k_at, 2));
    out = stored<A>(Floats(static_cast<std::size_t>(tokens * k_at)));
    d_qkv = stored<A>(Floats(qkv.size(), 3.0F));
    lse.resize(static_cast<std::size_t>(tokens * shape.num_heads));
    ops::attention_forward<A>(cpu, shape, out.data(), lse.data(), qkv.data(), qkv.data() + k_at,
                              qkv.data() + v_at);
    // Backward reads what forward wrote, so it is given the same numbers in both types.
    const auto same_out = stored<A>(widened(stored<Narrow>(widened(out))));
    ops::attention_backward<A>(cpu, shape, d_qkv.data(), d_qkv.data() + k_at, d_qkv.data() + v_at,
                               d_out.data(), same_out.data(), lse.data(), qkv.data(),
                               qkv.data() + k_at, qkv.data() + v_at);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("attention of 16 bits is that of its values",
                   "[ops][attention][16bit]", bf16, fp16) {
  using S = TestType;
  for (const int length : {1, 31, 150}) {
    for (const int dim : {2, 5, 64}) {
      for (const int kv_heads : {1, 2, 4}) {
        const Count row = (4 + 2 * kv_heads) * dim;
        ops::AttentionShape shape{.batch_size = 2, .num_heads = 4, .num_kv_heads = kv_heads,
                                  .head_dim = dim, .num_queries = length, .num_keys = length,
                                  .q_stride = row, .k_stride = row, .v_stride = row,
                                  .out_stride = 4 * dim, .k_batch_stride = row * length,
                                  .v_batch_stride = row * length};
        if (kv_heads == 2) shape.dropout = {{.seed = 1, .step = 2, .site = 3}, 0.2F};
        if (kv_heads == 4) {
          shape.mask = Mask::sliding_window;
          shape.window = 40;
          shape.softcap = 3.0F;
        }
        INFO("length " << length << ", head_dim " << dim << ", kv heads " << kv_heads);
        const AttentionResult<float, S> wide(2, shape, row);
        const AttentionResult<S, S> narrow(2, shape, row);
        const AttentionResult<S, S> one(1, shape, row);
        const AttentionResult<S, S> two_passes(9, shape, row);  // more threads than key heads
        CHECK(close(narrow.out, wide.out));
        CHECK(distance(narrow.lse, wide.lse) < 1e-6);
        CHECK(close(narrow.d_qkv, wide.d_qkv));
        CHECK(same_bits(narrow.d_qkv, one.d_qkv));
        CHECK(same_bits(narrow.d_qkv, two_passes.d_qkv));
      }
    }
  }
}

TEST_CASE("gradients of keys in bf16 have the same bits whether or not all their sums fit a workspace",
          "[ops][attention][16bit]") {
  constexpr int dim = ops::max_head_dim;
  constexpr int queries = 66;
  const auto most = static_cast<int>(
      ops::attention_detail::BackwardTiles<float>::most_summed_keys(dim));
  CHECK(most > 1000);
  for (const int keys : {most, most + 1}) {
    const Count row = 3 * dim;
    ops::AttentionShape shape{.batch_size = 1, .num_heads = 1, .num_kv_heads = 1,
                              .head_dim = dim, .num_queries = queries, .num_keys = keys,
                              .q_stride = row, .k_stride = row, .v_stride = row,
                              .out_stride = dim, .k_batch_stride = row * keys,
                              .v_batch_stride = row * keys};
    INFO(keys << " keys");
    const AttentionResult<bf16, bf16> one_pass_if_it_fits(1, shape, row);
    const AttentionResult<bf16, bf16> two_passes(4, shape, row);
    const AttentionResult<float, bf16> wide(1, shape, row);
    CHECK(same_bits(one_pass_if_it_fits.d_qkv, two_passes.d_qkv));
    CHECK(close(one_pass_if_it_fits.d_qkv, wide.d_qkv));
  }
}
