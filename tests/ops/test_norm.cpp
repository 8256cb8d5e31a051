// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/norm.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

constexpr std::int64_t row_counts[] = {0, 1, 7, 33};
constexpr std::int64_t sizes[] = {1, 2, 3, 17, 128, 769};

/// All buffers of one normalisation, outputs full of NaN.
template <class T>
struct Case {
  std::int64_t rows, C;
  std::vector<T> residual, delta, weight, bias, d_out, d_weight, d_bias, d_x;
  std::vector<T> out, sum, mean, rstd, scratch;

  Case(std::int64_t r, std::int64_t c)
      : rows(r),
        C(c),
        residual(random_vector<T>(r * c, 1)),
        delta(random_vector<T>(r * c, 2)),
        weight(random_vector<T>(c, 3)),
        bias(random_vector<T>(c, 4)),
        d_out(random_vector<T>(r * c, 5)),
        d_weight(random_vector<T>(c, 6)),
        d_bias(random_vector<T>(c, 7)),
        d_x(random_vector<T>(r * c, 8)),
        out(nan_vector<T>(r * c)),
        sum(nan_vector<T>(r * c)),
        mean(nan_vector<T>(r)),
        rstd(nan_vector<T>(r)),
        scratch(nan_vector<T>(ops::layer_norm_scratch(r, c))) {}

  ops::NormForward<T> forward(bool with_delta, bool with_bias) {
    return {.out = out.data(),
            .sum = with_delta ? sum.data() : nullptr,
            .mean = mean.data(),
            .rstd = rstd.data(),
            .residual = residual.data(),
            .delta = with_delta ? delta.data() : nullptr,
            .weight = weight.data(),
            .bias = with_bias ? bias.data() : nullptr,
            .rows = rows,
            .hidden_size = C,
            .eps = T(1e-5)};
  }
  ops::NormBackward<T> backward(bool with_delta, bool with_bias, bool accumulate) {
    return {.d_x = d_x.data(),
            .d_weight = d_weight.data(),
            .d_bias = with_bias ? d_bias.data() : nullptr,
            .d_out = d_out.data(),
            .x = with_delta ? sum.data() : residual.data(),
            .mean = mean.data(),
            .rstd = rstd.data(),
            .weight = weight.data(),
            .scratch = scratch.data(),
            .rows = rows,
            .hidden_size = C,
            .accumulate_d_x = accumulate};
  }
};

/// The definition, in double; `centred` says LayerNorm.
template <class T>
std::vector<double> reference(const Case<T>& c, bool centred, bool with_delta, bool with_bias) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    std::vector<double> x;
    double mean = 0, square = 0;
    for (auto i = static_cast<std::size_t>(r * c.C); i < static_cast<std::size_t>((r + 1) * c.C);
         ++i) {
      x.push_back(static_cast<double>(c.residual[i] + (with_delta ? c.delta[i] : T(0))));
    }
    for (const double v : x) mean += centred ? v / static_cast<double>(c.C) : 0;
    for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(c.C);
    for (std::size_t i = 0; i < x.size(); ++i) {
      out.push_back((x[i] - mean) / std::sqrt(square + 1e-5) * static_cast<double>(c.weight[i]) +
                    (with_bias ? static_cast<double>(c.bias[i]) : 0));
    }
  }
  return out;
}

template <class T>
void run_forward(const Cpu& cpu, const ops::NormForward<T>& norm, bool centred) {
  centred ? ops::layer_norm_forward(cpu, norm) : ops::rms_norm_forward(cpu, norm);
}
template <class T>
void run_backward(const Cpu& cpu, const ops::NormBackward<T>& norm, bool centred) {
  centred ? ops::layer_norm_backward(cpu, norm) : ops::rms_norm_backward(cpu, norm);
}

}  // namespace

TEMPLATE_TEST_CASE("norms follow their definition, with and without a residual sum", "[ops][norm]",
                   float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 1e-6 : 1e-14;
  const Cpu cpu(2);
  for (const auto rows : row_counts) {
    for (const auto C : sizes) {
      for (const bool centred : {true, false}) {
        for (const bool with_delta : {true, false}) {
          CAPTURE(rows, C, centred, with_delta);
          const bool with_bias = centred && with_delta;
          Case<TestType> c(rows, C);
          run_forward(cpu, c.forward(with_delta, with_bias), centred);
          CHECK(distance(c.out, reference(c, centred, with_delta, with_bias)) <= tolerance);
          if (with_delta) {
            for (std::size_t i = 0; i < c.sum.size(); ++i) {
              if (c.sum[i] != c.residual[i] + c.delta[i]) FAIL("sum is not residual + delta");
            }
          }
        }
      }
    }
  }
}

TEST_CASE("layer_norm keeps its digits where the mean is large", "[ops][norm]") {
  const Cpu cpu(1);
  Case<float> c(3, 128);
  for (float& x : c.residual) x += 1000.0F;
  ops::layer_norm_forward(cpu, c.forward(false, true));
  CHECK(distance(c.out, reference(c, true, false, true)) < 1e-4);  // one-pass: 0.1 and more
}

TEST_CASE("norm backward matches central differences", "[ops][norm]") {
  const Cpu cpu(1);
  for (const auto rows : {1, 5, 37}) {
    for (const auto C : {2, 3, 9}) {
      for (const bool centred : {true, false}) {
        CAPTURE(rows, C, centred);
        Case<double> c(rows, C);
        const auto loss = [&] {
          run_forward(cpu, c.forward(true, centred), centred);
          return dot(c.out, c.d_out);
        };
        const auto d_x = central_differences(c.residual, loss);
        const auto d_weight = central_differences(c.weight, loss);
        const auto d_bias = central_differences(c.bias, loss);
        loss();
        std::fill(c.d_weight.begin(), c.d_weight.end(), 0.0);
        std::fill(c.d_bias.begin(), c.d_bias.end(), 0.0);
        c.d_x = nan_vector<double>(rows * C);
        run_backward(cpu, c.backward(true, centred, false), centred);
        // With two columns a LayerNorm is nearly a sign: its gradient is all but 0.
        if (C > 2) CHECK(distance(c.d_x, d_x) < 1e-6);
        CHECK(distance(c.d_weight, d_weight) < 1e-6);
        if (centred) CHECK(distance(c.d_bias, d_bias) < 1e-6);
      }
    }
  }
}

TEST_CASE("norm backward adds to parameter gradients, and to d_x where asked", "[ops][norm]") {
  const Cpu cpu(2);
  for (const bool centred : {true, false}) {
    Case<double> fresh(33, 17);
    Case<double> added(33, 17);
    const Case<double> before(33, 17);
    for (auto* c : {&fresh, &added}) run_forward(cpu, c->forward(true, centred), centred);
    std::fill(fresh.d_weight.begin(), fresh.d_weight.end(), 0.0);
    std::fill(fresh.d_bias.begin(), fresh.d_bias.end(), 0.0);
    run_backward(cpu, fresh.backward(true, centred, false), centred);
    run_backward(cpu, added.backward(true, centred, true), centred);
    const auto plus = [](std::vector<double> a, const std::vector<double>& b) {
      for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
      return a;
    };
    CHECK(distance(added.d_x, plus(before.d_x, fresh.d_x)) < 1e-14);
    CHECK(distance(added.d_weight, plus(before.d_weight, fresh.d_weight)) < 1e-14);
    if (centred) CHECK(distance(added.d_bias, plus(before.d_bias, fresh.d_bias)) < 1e-14);
  }
}

TEST_CASE("norms in float follow double, at awkward sizes", "[ops][norm]") {
  const Cpu cpu(1);
  for (const auto rows : row_counts) {
    for (const auto C : sizes) {
      for (const bool centred : {true, false}) {
        CAPTURE(rows, C, centred);
        // One or two columns make LayerNorm's d_x a difference of equals: nothing to compare.
        if (centred && C <= 2) continue;
        Case<float> f(rows, C);
        Case<double> d(rows, C);
        run_forward(cpu, f.forward(true, centred), centred);
        run_forward(cpu, d.forward(true, centred), centred);
        run_backward(cpu, f.backward(true, centred, true), centred);
        run_backward(cpu, d.backward(true, centred, true), centred);
        CHECK(distance(f.d_x, d.d_x) < 1e-5);
        CHECK(distance(f.d_weight, d.d_weight) < 1e-5);
        CHECK(distance(f.d_bias, d.d_bias) < 1e-5);
      }
    }
  }
}

TEST_CASE("norms are bit-identical for any number of threads", "[ops][norm]") {
  for (const auto rows : {33, 1200}) {
    for (const bool centred : {true, false}) {
      Case<float> one(rows, 129);
      run_forward(Cpu(1), one.forward(true, centred), centred);
      run_backward(Cpu(1), one.backward(true, centred, true), centred);
      for (const int threads : {2, 3}) {
        Case<float> many(rows, 129);
        run_forward(Cpu(threads), many.forward(true, centred), centred);
        run_backward(Cpu(threads), many.backward(true, centred, true), centred);
        CHECK(same_bits(many.out, one.out));
        CHECK(same_bits(many.d_x, one.d_x));
        CHECK(same_bits(many.d_weight, one.d_weight));
        CHECK(same_bits(many.d_bias, one.d_bias));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a row has the same bits wherever it is, with delta and without", "[ops][norm]",
                   float, double) {
  constexpr std::int64_t rows = 70;  // several pieces, forward and backward
  const auto repeat_first = [](std::vector<TestType>& numbers, std::int64_t C) {
    for (std::int64_t i = C; i < rows * C; ++i) {
      numbers[static_cast<std::size_t>(i)] = numbers[static_cast<std::size_t>(i % C)];
    }
  };
  const auto rows_alike = [](const std::vector<TestType>& numbers, std::int64_t C) {
    for (std::int64_t i = C; i < rows * C; ++i) {
      if (numbers[static_cast<std::size_t>(i)] != numbers[static_cast<std::size_t>(i % C)]) {
        return false;
      }
    }
    return true;
  };
  for (const std::int64_t C : {1, 7, 40, 129, 768, 1601}) {
    for (const bool centred : {true, false}) {
      for (const bool with_bias : {true, false}) {
        CAPTURE(C, centred, with_bias);
        Case<TestType> added(rows, C);
        for (auto* const numbers : {&added.residual, &added.delta, &added.d_out, &added.d_x}) {
          repeat_first(*numbers, C);
        }
        Case<TestType> alone = added;
        run_forward(Cpu(2), added.forward(true, with_bias), centred);
        alone.residual = added.sum;
        run_forward(Cpu(2), alone.forward(false, with_bias), centred);
        CHECK(rows_alike(added.out, C));
        CHECK(same_bits(added.out, alone.out));
        CHECK(same_bits(added.rstd, alone.rstd));
        for (const bool accumulate : {true, false}) {
          Case<TestType> backward = added;
          run_backward(Cpu(2), backward.backward(true, with_bias, accumulate), centred);
          CAPTURE(accumulate);
          CHECK(rows_alike(backward.d_x, C));
        }
      }
    }
  }
}

namespace {

/// Heads of a fused buffer whose rows are wider than the heads.
struct HeadCase {
  ops::HeadShape shape;
  std::int64_t stride;
  std::vector<double> x, weight, d_out, out, rstd, d_x, d_weight, scratch;

  explicit HeadCase(ops::HeadShape s)
      : shape(s),
        stride(s.num_heads * s.head_dim + 3),
        x(random_vector<double>(s.rows * stride, 1)),
        weight(random_vector<double>(s.head_dim, 2)),
        d_out(random_vector<double>(s.rows * stride, 3)),
        out(nan_vector<double>(s.rows * stride)),
        rstd(nan_vector<double>(s.rows * s.num_heads)),
        d_x(nan_vector<double>(s.rows * stride)),
        d_weight(static_cast<std::size_t>(s.head_dim)),
        scratch(nan_vector<double>(ops::rms_norm_heads_scratch(s))) {}

  void forward(const Cpu& cpu, double* to) {
    ops::rms_norm_heads_forward<double>(cpu, {.out = to,
                                              .rstd = rstd.data(),
                                              .x = x.data(),
                                              .weight = weight.data(),
                                              .shape = shape,
                                              .out_stride = stride,
                                              .x_stride = stride});
  }
  void backward(const Cpu& cpu, double* to, const double* gradient) {
    ops::rms_norm_heads_backward<double>(cpu, {.d_x = to,
                                               .d_weight = d_weight.data(),
                                               .d_out = gradient,
                                               .x = x.data(),
                                               .rstd = rstd.data(),
                                               .weight = weight.data(),
                                               .scratch = scratch.data(),
                                               .shape = shape,
                                               .d_x_stride = stride,
                                               .d_out_stride = stride,
                                               .x_stride = stride});
  }
  bool in_head(std::size_t i) const {
    return static_cast<std::int64_t>(i) % stride < shape.num_heads * shape.head_dim;
  }
};

}  // namespace

TEST_CASE("rms_norm of heads normalises each head, in place too", "[ops][norm]") {
  const Cpu cpu(2);
  for (const auto& shape : {ops::HeadShape{0, 2, 4}, {1, 1, 1}, {7, 3, 5}, {33, 2, 64}}) {
    HeadCase c(shape);
    c.forward(cpu, c.out.data());
    const std::vector<double> x = c.x;
    c.forward(cpu, c.x.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!c.in_head(i)) {
        CHECK(std::isnan(c.out[i]));  // between the heads nothing is written
        CHECK(c.x[i] == x[i]);
        continue;
      }
      const auto D = static_cast<std::size_t>(shape.head_dim);
      const std::size_t at = i % static_cast<std::size_t>(c.stride);
      double square = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const double v = x[i - at % D + d];
        square += v * v / static_cast<double>(D);
      }
      CHECK(c.out[i] == Approx(x[i] / std::sqrt(square + 1e-5) * c.weight[at % D]));
      CHECK(c.x[i] == c.out[i]);
    }
  }
}

TEST_CASE("rms_norm of heads backward matches central differences, in place too", "[ops][norm]") {
  const Cpu cpu(2);
  HeadCase c({19, 3, 5});
  const auto loss = [&] {
    c.forward(cpu, c.out.data());
    double sum = 0;
    for (std::size_t i = 0; i < c.out.size(); ++i) {
      if (c.in_head(i)) sum += c.out[i] * c.d_out[i];
    }
    return sum;
  };
  auto d_x = central_differences(c.x, loss);
  const auto d_weight = central_differences(c.weight, loss);
  c.forward(cpu, c.out.data());
  c.backward(cpu, c.d_x.data(), c.d_out.data());
  CHECK(distance(c.d_weight, d_weight) < 1e-7);
  c.backward(cpu, c.d_out.data(), c.d_out.data());
  for (std::size_t i = 0; i < d_x.size(); ++i) {
    if (!c.in_head(i)) continue;
    CHECK(c.d_x[i] == Approx(d_x[i]).margin(1e-7));
    CHECK(c.d_out[i] == c.d_x[i]);
  }
}

TEST_CASE("norm scratch is bounded and known at compile time", "[ops][norm]") {
  STATIC_REQUIRE(ops::layer_norm_scratch(0, 8) == 0);
  STATIC_REQUIRE(ops::layer_norm_scratch(1, 8) == 16);
  STATIC_REQUIRE(ops::layer_norm_scratch(1 << 20, 8) == 64 * 16);
  STATIC_REQUIRE(ops::rms_norm_scratch(32, 8) == 8);
  STATIC_REQUIRE(ops::rms_norm_scratch(33, 8) == 16);
}
