// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processor as a backend: how many threads its kernels use, and the packing buffers that each
// thread owns. It knows nothing of models; memory of a model lives in the model's own arena.

#include <concepts>
#include <cstdint>
#include <memory>

#include <fount/backend/threads.hpp>
#include <fount/core/arena.hpp>

namespace fount {

/// What an op runs on.
template <class B>
concept Backend = requires(B& backend) {
  { backend.synchronize() } -> std::same_as<void>;
};

class Cpu {
 public:
  /// Room for one thread's packed tiles (see ops/cpu/); plans list it as a reserve.
  static constexpr Bytes workspace_bytes_per_thread = MiB(4);

  /// @param threads at least 1; see available_threads() for a good default
  explicit Cpu(int threads = 1)
      : pool_(std::make_unique<ThreadPool>(threads)),
        workspace_(this->threads() * workspace_bytes_per_thread, "kernel workspaces") {}

  int threads() const { return pool_->threads(); }
  Bytes reserve_bytes() const { return workspace_.size(); }

  /// Scratch of one thread, 64-byte aligned, overwritten by every matrix multiplication.
  std::byte* workspace(int thread) const {
    return workspace_.data() + thread * workspace_bytes_per_thread;
  }

  /// Kernels on this backend have finished when they return.
  void synchronize() const {}

  /// body(index, thread) for index in [0, count); see ThreadPool::run.
  template <class Body>
  void parallel(std::int64_t count, Body&& body) const {
    pool_->run(count, body);
  }

 private:
  std::unique_ptr<ThreadPool> pool_;
  Arena workspace_;
};

static_assert(Backend<Cpu>);

}  // namespace fount
