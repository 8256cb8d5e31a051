// SPDX-License-Identifier: Apache-2.0
#pragma once
// The door to Google Benchmark, and what every program of kernel benchmarks does alike: take the
// number of threads, register its rows, run those that --benchmark_filter leaves.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <fount/backend/cpu.hpp>
#include <fount/monitor/machine.hpp>

#include <benchmark/benchmark.h>

namespace bench {

/// Takes `--threads N` out of the arguments; without it, FOUNT_THREADS counts, as it does for the
/// trainers; 0 or nothing: as many as this process may use.
/// @throws fount::ConfigError for what is not a number from 0 to 4096
inline int take_threads(int& argc, char** argv) {
  const char* given = std::getenv("FOUNT_THREADS");
  constexpr std::size_t length = std::char_traits<char>::length("--threads");
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const bool flag = std::strncmp(argv[i], "--threads", length) == 0;
    if (flag && argv[i][length] == '=') {
      given = argv[i] + length + 1;
    } else if (flag && argv[i][length] == '\0') {
      given = i + 1 < argc ? argv[++i] : "nothing";
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  if (given == nullptr || *given == '\0') return fount::available_threads();
  int threads = -1;
  const char* const end = given + std::strlen(given);
  const auto [rest, error] = std::from_chars(given, end, threads);
  if (error != std::errc{} || rest != end || threads < 0 || threads > 4096) {
    throw fount::ConfigError("--threads (or FOUNT_THREADS): found '" + std::string(given) +
                             "', expected a number from 0 (as many as there are) to 4096");
  }
  return threads == 0 ? fount::available_threads() : threads;
}

/// The data of the benchmark that runs now. Google Benchmark calls a benchmark several times until
/// it knows how many iterations it wants: its data is made once, and goes when the next one's
/// comes.
template <class Work, class Make>
Work& current(const std::string& name, const Make& make) {
  static std::string owner;
  static std::unique_ptr<Work> work;
  if (work == nullptr || owner != name) {
    work = nullptr;  // first: two might not fit in memory together
    work = std::make_unique<Work>(make());
    owner = name;
  }
  return *work;
}

/// The body of main. `register_rows(cpu)` registers benchmarks; `reporter`, if any, prints instead
/// of Google Benchmark's own on the console. Result: the program's exit code.
template <class RegisterRows>
int run(int argc, char** argv, RegisterRows register_rows,
        benchmark::BenchmarkReporter* reporter = nullptr) {
  try {
    const fount::Cpu cpu(take_threads(argc, argv));
    for (int i = 1; i < argc; ++i) {  // a format that was asked for is Google Benchmark's to print
      if (std::strncmp(argv[i], "--benchmark_format", 18) == 0) reporter = nullptr;
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    const fount::Machine machine = fount::inspect_machine();
    benchmark::AddCustomContext("processor", machine.processor);
    benchmark::AddCustomContext("compiled for", machine.instruction_set);
    benchmark::AddCustomContext("compiler", machine.compiler);
    benchmark::AddCustomContext("threads", std::to_string(cpu.threads()));
    register_rows(cpu);
    benchmark::RunSpecifiedBenchmarks(reporter);
    benchmark::Shutdown();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace bench
