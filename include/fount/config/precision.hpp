// SPDX-License-Identifier: Apache-2.0
#pragma once
// In which element types a run keeps its weights, gradients, moments and activations. A plan needs
// only these; which of them this build can compute in is another question (see can_compute_on_cpu).

#include <string_view>

#include <fount/core/dtype.hpp>

namespace fount {

struct Precision {
  DType weight = DType::float32;
  DType gradient = DType::float32;
  DType master = DType::none;  // none: the optimizer updates the weights themselves
  DType moment = DType::float32;
  DType activation = DType::float32;
  bool stochastic_rounding = false;
  bool loss_scaling = false;

  /// The type of the arithmetic: 16-bit formats are for storage.
  constexpr DType compute() const {
    return activation == DType::float64 ? DType::float64 : DType::float32;
  }
  /// Bytes of weights, gradients, master weights and two moments for each parameter.
  constexpr int bytes_per_parameter() const {
    return static_cast<int>(size_of(weight) + size_of(gradient) + size_of(master) +
                            2 * size_of(moment));
  }
  friend constexpr bool operator==(const Precision&, const Precision&) = default;
};

inline constexpr Precision fp32 = {};
/// Everything in double: for proofs, not for speed.
inline constexpr Precision fp64 = {DType::float64, DType::float64, DType::none, DType::float64,
                                   DType::float64};
inline constexpr Precision bf16_mixed = {DType::bfloat16, DType::float32, DType::float32,
                                         DType::float32, DType::bfloat16};
inline constexpr Precision bf16_grad16 = {DType::bfloat16, DType::bfloat16, DType::float32,
                                          DType::float32, DType::bfloat16};
inline constexpr Precision bf16_lean = {DType::bfloat16, DType::bfloat16, DType::none,
                                        DType::bfloat16, DType::bfloat16, true};
inline constexpr Precision fp16_mixed = {DType::float16,  DType::float32, DType::float32,
                                         DType::float32, DType::float16, false, true};

constexpr std::string_view name_of(const Precision& precision) {
  if (precision == fp32) return "fp32";
  if (precision == fp64) return "fp64";
  if (precision == bf16_mixed) return "bf16_mixed";
  if (precision == bf16_grad16) return "bf16_grad16";
  if (precision == bf16_lean) return "bf16_lean";
  if (precision == fp16_mixed) return "fp16_mixed";
  return "custom";
}

/// Whether the CPU kernels compute in `precision`: they know every storage format, but double goes
/// with double only, and master weights are what the kernels compute in.
constexpr bool can_compute_on_cpu(const Precision& precision) {
  const DType types[] = {precision.weight, precision.gradient, precision.moment,
                         precision.activation};
  int doubles = 0;
  for (const DType type : types) {
    if (type == DType::none) return false;
    doubles += type == DType::float64 ? 1 : 0;
  }
  return (doubles == 0 || doubles == 4) &&
         (precision.master == DType::none || precision.master == precision.compute());
}

}  // namespace fount
