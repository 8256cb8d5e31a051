// SPDX-License-Identifier: Apache-2.0
// The door to oneDNN, for its products in float and in bf16. Weights are given as they lie in
// memory: oneDNN packs them inside the product, as training must, where they change with every
// step.

#include <memory>

#include <dlfcn.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "library.hpp"

namespace bench {
namespace {

dnnl::memory::desc description(std::int64_t rows, std::int64_t columns, bool transposed,
                               fount::DType dtype) {
  const auto type = dtype == fount::DType::bfloat16 ? dnnl::memory::data_type::bf16
                                                    : dnnl::memory::data_type::f32;
  return {{rows, columns},
          type,
          transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1}};
}

dnnl::matmul::primitive_desc product_description(const dnnl::engine& engine,
                                                 const dnnl::memory::desc& a,
                                                 const dnnl::memory::desc& b,
                                                 const dnnl::memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c};
#else
  return {dnnl::matmul::desc(a, b, c), engine};
#endif
}

struct State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory a, b, c;
  dnnl::matmul product;

  explicit State(const Product& p) {
    const auto a_description = description(p.m, p.k, p.a_transposed, p.a_type);
    const auto b_description = description(p.k, p.n, p.b_transposed, p.b_type);
    const auto c_description = description(p.m, p.n, false, p.c_type);
    a = dnnl::memory(a_description, engine, nullptr);
    b = dnnl::memory(b_description, engine, nullptr);
    c = dnnl::memory(c_description, engine, nullptr);
    product =
        dnnl::matmul(product_description(engine, a_description, b_description, c_description));
  }

  void run(void* c_data, const void* a_data, const void* b_data) {
    a.set_data_handle(const_cast<void*>(a_data));  // only read: see run's signature
    b.set_data_handle(const_cast<void*>(b_data));
    c.set_data_handle(c_data);
    product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
  }
};

/// Debian's oneDNN computes on the threads of whatever OpenMP it is linked with: ask that one.
void set_threads(int threads) {
  using SetThreads = void (*)(int);
  static const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(threads);
}

}  // namespace

Library onednn_library() {
  return {
      "onednn", [](const fount::Cpu& cpu, const Product& p) {
        set_threads(cpu.threads());
        try {
          const auto state = std::make_shared<State>(p);
          return Multiply{[state](void* c, const void* a, const void* b) { state->run(c, a, b); }};
        } catch (const dnnl::error&) {
          return Multiply{};  // no such combination of types, or no such instructions here
        }
      }};
}

}  // namespace bench
