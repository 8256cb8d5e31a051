// SPDX-License-Identifier: Apache-2.0
#include <fount/ops/cross_entropy.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/vectors.hpp"

using namespace fount;
using namespace fount::test;

namespace {

/// Logits in rows of `stride` with NaN in the padding, which must never be read.
template <class T>
struct Case {
  std::int64_t rows, vocab, stride;
  std::vector<T> logits, loss;
  std::vector<std::int32_t> labels;

  Case(std::int64_t r, std::int64_t v, std::int64_t s)
      : rows(r), vocab(v), stride(s), logits(random_vector<T>(r * s, 1)), loss(nan_vector<T>(r)) {
    for (std::int64_t i = 0; i < r * s; ++i) {
      T& x = logits[static_cast<std::size_t>(i)];
      x = i % s < v ? T(4) * x : std::numeric_limits<T>::quiet_NaN();
    }
    for (std::int64_t i = 0; i < r; ++i) {
      labels.push_back(i % 5 == 3 ? (i % 2 == 0 ? -100 : -1)
                                  : static_cast<std::int32_t>(i * 31 % v));
    }
  }

  void run(const Cpu& cpu, T softcap, T d_scale, bool want_gradient) {
    ops::cross_entropy<T>(cpu, {.logits = logits.data(),
                                .loss = loss.data(),
                                .labels = labels.data(),
                                .rows = rows,
                                .vocab_size = vocab,
                                .stride = stride,
                                .softcap = softcap,
                                .d_scale = d_scale,
                                .want_gradient = want_gradient});
  }
};

/// The definition, in double; d_logits gets the gradient times d_scale.
template <class T>
std::vector<double> reference(const Case<T>& c, double cap, double d_scale,
                              std::vector<double>& d_logits) {
  std::vector<double> losses;
  d_logits.assign(c.logits.size(), 0.0);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const std::int32_t label = c.labels[static_cast<std::size_t>(r)];
    losses.push_back(0);
    if (label < 0) continue;
    const auto raw = [&](std::int64_t i) {
      return static_cast<double>(c.logits[static_cast<std::size_t>(r * c.stride + i)]);
    };
    const auto z = [&](std::int64_t i) { return cap > 0 ? cap * std::tanh(raw(i) / cap) : raw(i); };
    double sum = 0;
    for (std::int64_t i = 0; i < c.vocab; ++i) sum += std::exp(z(i));
    losses.back() = std::log(sum) - z(label);
    for (std::int64_t i = 0; i < c.vocab; ++i) {
      const double slope = cap > 0 ? 1 - std::pow(std::tanh(raw(i) / cap), 2) : 1;
      d_logits[static_cast<std::size_t>(r * c.stride + i)] =
          (std::exp(z(i)) / sum - (i == label ? 1 : 0)) * slope * d_scale;
    }
  }
  return losses;
}

}  // namespace

TEMPLATE_TEST_CASE("cross_entropy and its gradient follow their definition", "[ops][cross_entropy]",
                   float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 3e-6 : 1e-13;
  for (const std::int64_t rows : {0, 1, 7, 33}) {
    for (const std::int64_t vocab : {1, 2, 65, 769, 1100}) {
      for (const double cap : {0.0, 5.0}) {
        CAPTURE(rows, vocab, cap);
        Case<TestType> c(rows, vocab, (vocab + 127) / 128 * 128);
        std::vector<double> d_logits;
        const auto losses = reference(c, cap, 0.25, d_logits);
        const auto before = c.logits;
        c.run(Cpu(2), TestType(cap), TestType(0.25), false);
        CHECK(distance(c.loss, losses) <= (vocab > 1 ? tolerance : 1e30));
        CHECK(same_bits(c.logits, before));
        c.loss = nan_vector<TestType>(rows);
        c.run(Cpu(2), TestType(cap), TestType(0.25), true);
        for (std::size_t r = 0; r < losses.size(); ++r) {
          CHECK(static_cast<double>(c.loss[r]) == Approx(losses[r]).margin(1e-6));
          if (c.labels[r] < 0) CHECK(c.loss[r] == 0);
        }
        if (vocab > 1) CHECK(distance(c.logits, d_logits) <= tolerance);
        for (std::int64_t i = 0; i < rows * c.stride; ++i) {
          const bool ignored = c.labels[static_cast<std::size_t>(i / c.stride)] < 0;
          if ((ignored || i % c.stride >= vocab) && c.logits[static_cast<std::size_t>(i)] != 0) {
            FAIL("an ignored row or the padding has a gradient at " << i);
          }
        }
      }
    }
  }
}

TEST_CASE("cross_entropy gradient matches central differences", "[ops][cross_entropy]") {
  const Cpu cpu(1);
  for (const double cap : {0.0, 3.0}) {
    Case<double> c(7, 13, 13);
    auto gradient = c;
    gradient.run(cpu, cap, 0.5, true);
    const auto wanted = central_differences(c.logits, [&] {
      c.run(cpu, cap, 1.0, false);
      return 0.5 * ops::sum_rows(c.loss.data(), c.rows);
    });
    CHECK(distance(gradient.logits, wanted) < 1e-8);
  }
}

TEST_CASE("cross_entropy is stable for huge and for infinite logits", "[ops][cross_entropy]") {
  const float infinity = std::numeric_limits<float>::infinity();
  Case<float> c(4, 5, 8);
  c.labels = {1, 1, 0, 2};
  const std::vector<std::vector<float>> rows = {{1e4F, 1e4F, -1e4F, 0, 0},
                                                {-3e38F, 3e38F, 0, 0, 0},
                                                {-infinity, 2, 1, -infinity, 0},
                                                {-infinity, -infinity, 3, -infinity, -infinity}};
  for (std::size_t r = 0; r < 4; ++r) std::copy(rows[r].begin(), rows[r].end(), &c.logits[8 * r]);
  c.run(Cpu(1), 0, 1, true);
  CHECK(c.loss[0] == Approx(std::log(2.0)));
  CHECK(c.logits[0] == Approx(0.5));
  CHECK(c.logits[1] == Approx(-0.5));
  CHECK(c.loss[1] == 0);
  CHECK(c.loss[2] == infinity);  // the label itself is impossible
  CHECK(c.logits[2 * 8 + 3] == 0);
  CHECK(c.loss[3] == 0);
  CHECK(c.logits[3 * 8 + 2] == 0);
}

TEST_CASE("cross_entropy lets NaN through to the loss", "[ops][cross_entropy]") {
  for (const float cap : {0.0F, 5.0F}) {
    Case<float> c(2, 65, 128);
    c.logits[40] = std::numeric_limits<float>::quiet_NaN();
    c.run(Cpu(1), cap, 1, true);
    CHECK(std::isnan(c.loss[0]));
    CHECK_FALSE(std::isnan(c.loss[1]));
    CHECK(std::isnan(ops::sum_rows(c.loss.data(), 2)));
  }
}

TEST_CASE("cross_entropy is bit-identical for any number of threads", "[ops][cross_entropy]") {
  for (const float cap : {0.0F, 5.0F}) {
    Case<float> one(33, 1999, 2048);
    auto two = one, three = one;
    one.run(Cpu(1), cap, 0.1F, true);
    two.run(Cpu(2), cap, 0.1F, true);
    three.run(Cpu(3), cap, 0.1F, true);
    CHECK(same_bits(two.logits, one.logits));
    CHECK(same_bits(three.logits, one.logits));
    CHECK(same_bits(two.loss, one.loss));
    CHECK(same_bits(three.loss, one.loss));
  }
}

TEST_CASE("the rows of a chunk do not depend on its length", "[ops][cross_entropy]") {
  Case<float> whole(33, 65, 128);
  auto parts = whole;
  whole.run(Cpu(1), 0, 1, true);
  for (std::int64_t first = 0; first < 33; first += 10) {
    const std::int64_t rows = std::min<std::int64_t>(10, 33 - first);
    ops::cross_entropy<float>(Cpu(1), {.logits = parts.logits.data() + first * 128,
                                       .loss = parts.loss.data() + first,
                                       .labels = parts.labels.data() + first,
                                       .rows = rows,
                                       .vocab_size = 65,
                                       .stride = 128,
                                       .want_gradient = true});
  }
  CHECK(same_bits(parts.logits, whole.logits));
  CHECK(ops::sum_rows(parts.loss.data(), 33) == ops::sum_rows(whole.loss.data(), 33));
}
