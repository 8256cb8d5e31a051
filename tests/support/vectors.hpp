// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of ops share: reproducible inputs, prefilled outputs, distances, and the gradient of a
// scalar function by central differences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <fount/core/random.hpp>

namespace fount::test {

/// Uniform in [-1, 1), another sequence for each site.
template <class T>
std::vector<T> random_vector(std::int64_t count, std::uint32_t site) {
  const RandomStream stream{.seed = 42, .step = 0, .site = site};
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = T(2) * T(stream.uniform(i)) - T(1);
  return values;
}

/// What an output holds before an op that must overwrite it.
template <class T>
std::vector<T> nan_vector(std::int64_t count) {
  return std::vector<T>(static_cast<std::size_t>(count), std::numeric_limits<T>::quiet_NaN());
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), [](From x) { return static_cast<To>(x); });
  return to;
}

/// ||a - b|| / max(||b||, 1e-30); infinite where the sizes differ, NaN where an element is NaN.
template <class A, class B>
double distance(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0;
  double length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    length += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference) / std::fmax(std::sqrt(length), 1e-30);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
double dot(const std::vector<T>& a, const std::vector<T>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

/// d loss() / d x, element by element; x is restored.
template <class Loss>
std::vector<double> central_differences(std::vector<double>& x, Loss loss, double h = 1e-5) {
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + h;
    const double above = loss();
    x[i] = kept - h;
    const double below = loss();
    x[i] = kept;
    gradient[i] = (above - below) / (2 * h);
  }
  return gradient;
}

}  // namespace fount::test
