// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fount/ops/attention.hpp>

#include "support/catch.hpp"

namespace {

using fount::Cpu;
using fount::Mask;
using fount::ops::AttentionShape;

enum class Documents { none, blocks, padded };

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-13;

double uniform(std::uint64_t index, std::uint32_t site) {
  const fount::RandomStream stream{.seed = 11, .step = 0, .site = site};
  return 2.0 * static_cast<double>(stream.uniform(index)) - 1.0;
}

/// Tensors of one call: q, k, v in one fused row (q heads, k heads, v heads) and two unused
/// columns.
template <class T>
struct Problem {
  AttentionShape shape;
  int row = 0;  // of the fused projection
  std::vector<T> qkv, d_qkv, out, lse, d_out;
  std::vector<std::int32_t> documents;

  Problem(int batch, int heads, int kv_heads, int head_dim, int length, Documents kind)
      : row((heads + 2 * kv_heads) * head_dim + 2) {
    shape = {.batch_size = batch,
             .num_heads = heads,
             .num_kv_heads = kv_heads,
             .head_dim = head_dim,
             .num_queries = length,
             .num_keys = length,
             .q_stride = row,
             .k_stride = row,
             .v_stride = row,
             .out_stride = heads * head_dim + 1,
             .k_batch_stride = std::int64_t{row} * length,
             .v_batch_stride = std::int64_t{row} * length};
    const auto tokens = static_cast<std::size_t>(batch * length);
    const auto out_size = tokens * static_cast<std::size_t>(shape.out_stride);
    qkv.resize(tokens * static_cast<std::size_t>(row));
    d_out.resize(out_size);
    for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<T>(1.7 * uniform(i, 1));
    for (std::size_t i = 0; i < out_size; ++i) d_out[i] = static_cast<T>(uniform(i, 2));
    const T nan = std::numeric_limits<T>::quiet_NaN();
    d_qkv.assign(qkv.size(), nan);
    out.assign(out_size, nan);
    lse.assign(tokens * static_cast<std::size_t>(heads), nan);
    for (int b = 0; b < batch && kind != Documents::none; ++b) {
      for (int t = 0; t < length; ++t) {
        const int id = kind == Documents::blocks ? (t + 3 * b) / 5 : (t + b) / 40;
        const bool padding = kind == Documents::padded && (t >= length - 2 - b || t % 7 == 3);
        documents.push_back(padding ? -1 : id);
      }
    }
    shape.documents = documents.empty() ? nullptr : documents.data();
  }
  Problem(const Problem&) = delete;

  std::int64_t k_at() const { return std::int64_t{shape.num_heads} * shape.head_dim; }
  std::int64_t v_at() const { return k_at() + std::int64_t{shape.num_kv_heads} * shape.head_dim; }
  void forward(const Cpu& cpu) {
    fount::ops::attention_forward<T>(cpu, shape, out.data(), lse.data(), qkv.data(),
                                     inside(qkv, k_at()), inside(qkv, v_at()));
  }
  void backward(const Cpu& cpu) {
    fount::ops::attention_backward<T>(cpu, shape, d_qkv.data(), inside(d_qkv, k_at()),
                                      inside(d_qkv, v_at()), d_out.data(), out.data(), lse.data(),
                                      qkv.data(), inside(qkv, k_at()), inside(qkv, v_at()));
  }

 private:
  static T* inside(std::vector<T>& values, std::int64_t at) {
    return values.empty() ? nullptr : values.data() + at;
  }
};

bool visible(const AttentionShape& s, int b, int i, int j) {
  const int position = s.query_offset + i;
  if (s.mask != Mask::bidirectional && j > position) return false;
  if (s.mask == Mask::sliding_window && j <= position - s.window) return false;
  if (s.documents == nullptr) return true;
  const std::int32_t* ids = s.documents + b * s.num_keys;
  return ids[position] != -1 && ids[position] == ids[j];
}

/// The dense definition, in double, forward and backward.
struct Reference {
  std::vector<double> d_qkv, out, lse;

  template <class T>
  explicit Reference(const Problem<T>& p)
      : d_qkv(p.qkv.size(), 0.0), out(p.out.size(), 0.0), lse(p.lse.size()) {
    const AttentionShape& s = p.shape;
    for (int b = 0; b < s.batch_size; ++b) {
      for (int h = 0; h < s.num_heads; ++h) {
        for (int i = 0; i < s.num_queries; ++i) query(p, b, h, i);
      }
    }
  }

 private:
  template <class T>
  void query(const Problem<T>& p, int b, int h, int i) {
    const AttentionShape& s = p.shape;
    const int kv = h / (s.num_heads / s.num_kv_heads);
    const auto q_at = static_cast<std::size_t>((b * s.num_queries + i) * p.row + h * s.head_dim);
    const auto o_at =
        static_cast<std::size_t>((b * s.num_queries + i) * s.out_stride + h * s.head_dim);
    const double scale =
        s.scale != 0.0F ? static_cast<double>(s.scale) : 1.0 / std::sqrt(s.head_dim);
    const double cap = static_cast<double>(s.softcap);
    const auto K = static_cast<std::size_t>(s.num_keys), D = static_cast<std::size_t>(s.head_dim);
    const auto key_at = [&](std::size_t j) {
      return (static_cast<std::size_t>(b) * K + j) * static_cast<std::size_t>(p.row) +
             static_cast<std::size_t>(p.k_at() + kv * s.head_dim);
    };
    const std::size_t to_v = static_cast<std::size_t>(s.num_kv_heads) * D;
    std::vector<std::size_t> seen;
    for (std::size_t j = 0; j < K; ++j) {
      if (visible(s, b, i, static_cast<int>(j))) seen.push_back(j);
    }
    std::vector<double> score(K), prob(K), factor(K, 1.0);
    double highest = -INFINITY, sum = 0;
    for (const std::size_t j : seen) {
      double dot = 0;
      for (std::size_t d = 0; d < D; ++d) {
        dot += static_cast<double>(p.qkv[q_at + d]) * static_cast<double>(p.qkv[key_at(j) + d]);
      }
      score[j] = cap > 0 ? cap * std::tanh(dot * scale / cap) : dot * scale;
      highest = std::max(highest, score[j]);
    }
    for (const std::size_t j : seen) {
      prob[j] = std::exp(score[j] - highest);
      sum += prob[j];
    }
    const auto row = static_cast<std::size_t>((b * s.num_heads + h) * s.num_queries + i);
    lse[row] = sum == 0 ? -INFINITY : highest + std::log(sum);
    double delta = 0;
    for (const std::size_t j : seen) {
      prob[j] /= sum;
      if (s.dropout.active()) factor[j] = static_cast<double>(s.dropout.factor(row * K + j));
      for (std::size_t d = 0; d < D; ++d) {
        const double v = static_cast<double>(p.qkv[key_at(j) + to_v + d]);
        const double d_out = static_cast<double>(p.d_out[o_at + d]);
        out[o_at + d] += prob[j] * factor[j] * v;
        d_qkv[key_at(j) + to_v + d] += prob[j] * factor[j] * d_out;
        delta += prob[j] * factor[j] * v * d_out;
      }
    }
    for (const std::size_t j : seen) {
      double d_prob = 0;
      for (std::size_t d = 0; d < D; ++d) {
        d_prob += factor[j] * static_cast<double>(p.d_out[o_at + d]) *
                  static_cast<double>(p.qkv[key_at(j) + to_v + d]);
      }
      double d_score = prob[j] * (d_prob - delta) * scale;
      if (cap > 0) d_score *= 1.0 - (score[j] / cap) * (score[j] / cap);
      for (std::size_t d = 0; d < D; ++d) {
        d_qkv[q_at + d] += d_score * static_cast<double>(p.qkv[key_at(j) + d]);
        d_qkv[key_at(j) + d] += d_score * static_cast<double>(p.qkv[q_at + d]);
      }
    }
  }
};

/// ||a - b|| / max(||b||, 1e-3) over `width` of every `stride` elements; any NaN makes it NaN.
template <class T>
double relative_error(const std::vector<T>& a, const std::vector<double>& b, std::size_t stride,
                      std::size_t width) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i % stride >= width) continue;
    if (std::isinf(b[i]) && static_cast<double>(a[i]) == b[i]) continue;
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), 1e-3);
}

template <class T>
void check_against_reference(Problem<T>& p, const Cpu& cpu) {
  p.forward(cpu);
  p.backward(cpu);
  const Reference expected(p);
  const AttentionShape& s = p.shape;
  const auto row = static_cast<std::size_t>(p.row);
  CHECK(relative_error(p.out, expected.out, static_cast<std::size_t>(s.out_stride),
                       static_cast<std::size_t>(p.k_at())) <= tolerance<T>);
  CHECK(relative_error(p.lse, expected.lse, 1, 1) <= tolerance<T>);
  CHECK(relative_error(p.d_qkv, expected.d_qkv, row, row - 2) <= tolerance<T>);
  // The columns between rows belong to someone else.
  for (std::size_t i = row - 1; i < p.d_qkv.size(); i += row) {
    if (!std::isnan(p.d_qkv[i])) FAIL("attention_backward wrote between rows");
  }
}

struct MaskCase {
  Mask mask;
  int window;
};
constexpr MaskCase all_masks[] = {{Mask::causal, 0},
                                  {Mask::bidirectional, 0},
                                  {Mask::sliding_window, 1},
                                  {Mask::sliding_window, 3},
                                  {Mask::sliding_window, 1000}};
constexpr fount::Dropout some_dropout{{.seed = 5, .step = 9, .site = 2}, 0.3F};

template <class T>
void sweep(int heads, int kv_heads) {
  const int head_dims[] = {1, 2, 3, 16, 17, 64};
  const int lengths[] = {1, 2, 7, 31, 33, 65, 130};
  const Cpu cpu(1);
  std::size_t turn = static_cast<std::size_t>(heads);
  for (const MaskCase mask : all_masks) {
    for (const Documents documents : {Documents::none, Documents::blocks, Documents::padded}) {
      for (const float softcap : {0.0F, 1.5F}) {
        for (const bool dropping : {false, true}) {
          for (const int length : lengths) {
            const int head_dim = head_dims[turn++ % 6];
            const int batch = length > 64 ? 1 : 2;
            CAPTURE(name_of(mask.mask), mask.window, static_cast<int>(documents), softcap, dropping,
                    length, head_dim);
            Problem<T> p(batch, heads, kv_heads, head_dim, length, documents);
            p.shape.mask = mask.mask;
            p.shape.window = mask.window;
            p.shape.softcap = softcap;
            if (dropping) p.shape.dropout = some_dropout;
            check_against_reference(p, cpu);
          }
        }
      }
    }
  }
}

template <class T>
void configure_everything(Problem<T>& p) {
  p.shape.softcap = 2.0F;
  p.shape.scale = 0.4F;
  p.shape.dropout = some_dropout;
}

}  // namespace

TEST_CASE("attention agrees with the dense definition for one key head per query head",
          "[ops][attention][cpu]") {
  sweep<float>(2, 2);
  sweep<double>(2, 2);
}

TEST_CASE("attention agrees with the dense definition for grouped key heads",
          "[ops][attention][cpu]") {
  sweep<float>(4, 2);
  sweep<double>(4, 2);
}

TEST_CASE("attention agrees with the dense definition for one key head in all",
          "[ops][attention][cpu]") {
  sweep<float>(3, 1);
  sweep<double>(3, 1);
}

TEST_CASE("attention agrees with the dense definition for every head size up to 40 and the largest",
          "[ops][attention][cpu]") {
  const Cpu cpu(1);
  for (int head_dim = 1; head_dim <= 40; ++head_dim) {
    CAPTURE(head_dim);
    Problem<float> p(1, 2, 1, head_dim, 70, Documents::none);
    check_against_reference(p, cpu);
  }
  for (const int head_dim : {80, 96, 128, 255, 256}) {
    CAPTURE(head_dim);
    Problem<double> p(1, 1, 1, head_dim, 67, Documents::none);
    configure_everything(p);
    check_against_reference(p, cpu);
  }
}

TEST_CASE("attention backward matches finite differences of attention forward",
          "[ops][attention][cpu]") {
  const Cpu cpu(1);
  for (const MaskCase mask : all_masks) {
    for (const Documents documents : {Documents::none, Documents::padded}) {
      Problem<double> p(2, 4, 2, 3, 6, documents);
      configure_everything(p);
      p.shape.mask = mask.mask;
      p.shape.window = mask.window;
      const auto loss = [&] {
        p.forward(cpu);
        double sum = 0;
        for (std::size_t i = 0; i < p.out.size(); ++i) {
          if (i % static_cast<std::size_t>(p.shape.out_stride) <
              static_cast<std::size_t>(p.k_at())) {
            sum += p.out[i] * p.d_out[i];
          }
        }
        return sum;
      };
      loss();
      p.backward(cpu);
      for (std::size_t i = 0; i < p.qkv.size(); ++i) {
        if (i % static_cast<std::size_t>(p.row) >= static_cast<std::size_t>(p.row - 2)) continue;
        const double kept = p.qkv[i], step = 1e-5;
        p.qkv[i] = kept + step;
        const double above = loss();
        p.qkv[i] = kept - step;
        const double below = loss();
        p.qkv[i] = kept;
        CAPTURE(name_of(mask.mask), i);
        CHECK(p.d_qkv[i] == Approx((above - below) / (2 * step)).margin(1e-8).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("attention gives the same bits on one, two, three and eight threads",
          "[ops][attention][cpu][threads]") {
  for (const int kv_heads : {1, 2, 4}) {
    for (const Documents documents : {Documents::none, Documents::blocks}) {
      std::vector<float> out, lse, d_qkv;
      for (const int threads : {1, 2, 3, 8}) {
        const Cpu cpu(threads);
        Problem<float> p(1, 4, kv_heads, 24, 203, documents);
        configure_everything(p);
        p.forward(cpu);
        p.backward(cpu);
        // Unused columns are NaN and never equal; 0 stands for them.
        for (auto* values : {&p.out, &p.lse, &p.d_qkv}) {
          for (float& x : *values) x = std::isnan(x) ? 0.0F : x;
        }
        if (threads == 1) {
          out = p.out;
          lse = p.lse;
          d_qkv = p.d_qkv;
        }
        CAPTURE(kv_heads, threads);
        // Not inside CHECK, which would print both sides.
        const bool same_out = p.out == out, same_lse = p.lse == lse, same_d_qkv = p.d_qkv == d_qkv;
        CHECK(same_out);
        CHECK(same_lse);
        CHECK(same_d_qkv);
      }
    }
  }
}

TEST_CASE("attention decodes against a cache to the bits of the whole sequence",
          "[ops][attention][cpu]") {
  const Cpu cpu(1);
  const int length = 131, capacity = 140, head_dim = 20, batch = 2;
  for (const MaskCase mask : all_masks) {
    if (mask.mask == Mask::bidirectional) continue;
    Problem<float> whole(batch, 4, 2, head_dim, length, Documents::none);
    whole.shape.mask = mask.mask;
    whole.shape.window = mask.window;
    whole.forward(cpu);
    // The cache holds `capacity` rows a sequence; what is not yet written must not be read.
    const std::size_t width = 2 * head_dim;
    std::vector<float> k(batch * capacity * width, NAN), v(k);
    for (int t = 0; t < length;) {
      const int step = t % 3 == 0 ? 1 : 5;  // single tokens and short chunks
      const int count = std::min(step, length - t);
      AttentionShape shape = whole.shape;
      shape.num_queries = count;
      shape.query_offset = t;
      shape.num_keys = t + count;
      shape.k_stride = shape.v_stride = static_cast<std::int64_t>(width);
      shape.k_batch_stride = shape.v_batch_stride = static_cast<std::int64_t>(capacity * width);
      std::vector<float> q(static_cast<std::size_t>(batch * count * whole.row));
      std::vector<float> out(static_cast<std::size_t>(batch * count) *
                             static_cast<std::size_t>(shape.out_stride));
      for (int b = 0; b < batch; ++b) {
        for (int i = 0; i < count; ++i) {
          const float* from =
              &whole.qkv[static_cast<std::size_t>((b * length + t + i) * whole.row)];
          const auto at = static_cast<std::size_t>(b * capacity + t + i) * width;
          std::copy_n(from + whole.k_at(), width, &k[at]);
          std::copy_n(from + whole.v_at(), width, &v[at]);
          std::copy_n(from, whole.row, &q[static_cast<std::size_t>((b * count + i) * whole.row)]);
        }
      }
      fount::ops::attention_forward<float>(cpu, shape, out.data(), nullptr, q.data(), k.data(),
                                           v.data());
      for (int b = 0; b < batch; ++b) {
        for (int i = 0; i < count; ++i) {
          for (std::int64_t c = 0; c < whole.k_at(); ++c) {
            const auto at = (b * count + i) * shape.out_stride + c;
            const auto expected = (b * length + t + i) * shape.out_stride + c;
            CAPTURE(t, i, c);
            if (out[static_cast<std::size_t>(at)] !=
                whole.out[static_cast<std::size_t>(expected)]) {
              FAIL("decoding differs from the forward of the whole sequence");
            }
          }
        }
      }
      t += count;
    }
  }
}

TEST_CASE("attention rows that see no key are 0 and pass no gradient", "[ops][attention][cpu]") {
  const Cpu cpu(1);
  Problem<float> p(1, 2, 1, 5, 9, Documents::none);
  p.documents.assign(9, -1);
  p.shape.documents = p.documents.data();
  p.forward(cpu);
  p.backward(cpu);
  for (std::size_t i = 0; i < p.out.size(); ++i) {
    if (i % 11 < 10) CHECK(p.out[i] == 0.0F);
  }
  for (const float x : p.lse) CHECK(x == -std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < p.d_qkv.size(); ++i) {
    if (i % static_cast<std::size_t>(p.row) < 20) CHECK(p.d_qkv[i] == 0.0F);
  }
}

TEST_CASE("attention keeps no probability of an earlier call for a run of padding",
          "[ops][attention][cpu]") {
  const Cpu cpu(1);
  Problem<float> before(1, 1, 1, 8, 64, Documents::none);
  before.shape.mask = Mask::bidirectional;
  before.forward(cpu);
  before.backward(cpu);
  // Long enough that some vector of queries is padding only, between two that are not.
  Problem<float> p(1, 1, 1, 8, 64, Documents::none);
  p.documents.assign(64, 0);
  std::fill_n(p.documents.begin() + 15, 34, -1);
  p.shape.documents = p.documents.data();
  check_against_reference(p, cpu);
}

TEST_CASE("attention with nothing to do writes zeros or nothing", "[ops][attention][cpu]") {
  const Cpu cpu(2);
  SECTION("no sequences") {
    Problem<float> p(0, 2, 1, 4, 3, Documents::none);
    p.forward(cpu);
    p.backward(cpu);
  }
  SECTION("no queries: keys and values get gradient 0") {
    Problem<float> p(1, 2, 1, 4, 3, Documents::none);
    p.shape.num_queries = 0;
    p.forward(cpu);
    p.backward(cpu);
    CHECK(std::isnan(p.out[0]));
    CHECK(std::isnan(p.d_qkv[0]));
    CHECK(p.d_qkv[static_cast<std::size_t>(p.k_at())] == 0.0F);
    CHECK(p.d_qkv[static_cast<std::size_t>(p.v_at())] == 0.0F);
  }
  SECTION("no keys: out and the gradient of q are 0") {
    Problem<float> p(1, 2, 1, 4, 3, Documents::none);
    p.shape.num_keys = 0;
    p.forward(cpu);
    p.backward(cpu);
    CHECK(p.out[0] == 0.0F);
    CHECK(p.lse[0] == -std::numeric_limits<float>::infinity());
    CHECK(p.d_qkv[0] == 0.0F);
    CHECK(std::isnan(p.d_qkv[static_cast<std::size_t>(p.k_at())]));
  }
}

TEST_CASE("attention survives scores far outside the range of exp", "[ops][attention][cpu]") {
  const Cpu cpu(1);
  Problem<float> p(1, 1, 1, 16, 90, Documents::none);
  for (float& x : p.qkv) x *= 100.0F;
  p.forward(cpu);
  p.backward(cpu);
  for (std::size_t i = 0; i < p.out.size(); ++i) {
    if (i % 17 < 16) CHECK(std::isfinite(p.out[i]));
  }
  for (std::size_t i = 0; i < p.d_qkv.size(); ++i) {
    if (i % 50 < 48) CHECK(std::isfinite(p.d_qkv[i]));
  }
}

TEST_CASE("attention refuses shapes that fit no tensor", "[ops][attention][cpu]") {
  const Cpu cpu(1);
  Problem<float> p(2, 4, 2, 4, 3, Documents::blocks);
  const AttentionShape good = p.shape;
  const auto refused = [&](auto&& change) {
    p.shape = good;
    change(p.shape);
    CHECK_THROWS_AS(p.forward(cpu), fount::ShapeError);
    CHECK_THROWS_AS(p.backward(cpu), fount::ShapeError);
  };
  refused([](AttentionShape& s) { s.num_kv_heads = 3; });
  refused([](AttentionShape& s) { s.num_kv_heads = 0; });
  refused([](AttentionShape& s) { s.num_heads = 0; });
  refused([](AttentionShape& s) { s.head_dim = 0; });
  refused([](AttentionShape& s) { s.head_dim = 257; });
  refused([](AttentionShape& s) { s.batch_size = -1; });
  refused([](AttentionShape& s) { s.num_queries = -1; });
  refused([](AttentionShape& s) { s.num_keys = -1; });
  refused([](AttentionShape& s) { s.query_offset = -1; });
  refused([](AttentionShape& s) { s.query_offset = 1; });  // documents end before the last query
  refused([](AttentionShape& s) { s.q_stride = 15; });
  refused([](AttentionShape& s) { s.k_stride = 7; });
  refused([](AttentionShape& s) { s.v_stride = 7; });
  refused([](AttentionShape& s) { s.out_stride = 15; });
  refused([](AttentionShape& s) { s.k_batch_stride = 1; });
  refused([](AttentionShape& s) { s.v_batch_stride = 1; });
  const auto refused_option = [&](auto&& change) {
    p.shape = good;
    change(p.shape);
    CHECK_THROWS_AS(p.forward(cpu), fount::ConfigError);
  };
  refused_option([](AttentionShape& s) { s.mask = Mask::sliding_window; });
  refused_option([](AttentionShape& s) { s.softcap = -1.0F; });
  refused_option([](AttentionShape& s) { s.scale = NAN; });
  refused_option([](AttentionShape& s) { s.dropout.rate = 1.0F; });
}
