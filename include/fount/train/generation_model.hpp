// SPDX-License-Identifier: Apache-2.0
#pragma once
// One configuration in one precision with the memory that generation takes: weights, one block's
// buffers and the key-value cache, a single allocation made from generate_plan.

#include <vector>

#include <fount/core/macros.hpp>
#include <fount/train/generator.hpp>
#include <fount/train/model.hpp>

namespace fount {
namespace detail {
inline namespace FOUNT_CPU_NAMESPACE {

/// A base, because it must be there before the Generator that works in it.
template <ModelConfig C, Precision P>
struct GenerationMemory {
  explicit GenerationMemory(int threads)
      : plan(generate_plan<C, P>()),
        arena(plan.total(), "generation"),
        cpu(threads),
        parameters(parameter_table<Transformer<C>>()) {
    Committer committer(arena.data(), arena.size());
    MemoryPlan ignored;
    buffers = inference_layout<C, nn::Elements<P>>(committer, generation_shape<C>(), C.max_seq_len,
                                                   ignored);
    fill_tables(buffers.batch);
  }

  MemoryPlan plan;
  Arena arena;
  Cpu cpu;
  std::vector<Parameter> parameters;
  InferenceBuffers<C, nn::Elements<P>> buffers;
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace detail

inline namespace FOUNT_CPU_NAMESPACE {

template <ModelConfig C, Precision P>
class GenerationModel final : detail::GenerationMemory<C, P>, public Generator<C, P> {
  using Memory = detail::GenerationMemory<C, P>;

 public:
  /// The weights are zero until somebody fills weights() (read_weights, or a copy).
  /// @throws DeviceError without enough memory
  explicit GenerationModel(int threads = 1)
      : Memory(threads), Generator<C, P>(Memory::cpu, Memory::parameters, Memory::buffers) {}

  const MemoryPlan& plan() const { return Memory::plan; }
  Bytes allocated_bytes() const { return Memory::arena.size(); }
};

}  // namespace FOUNT_CPU_NAMESPACE
}  // namespace fount
