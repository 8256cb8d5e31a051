// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run runs on: processor, memory and its limits, operating system, compiler; and the memory
// of this process. Includes the measured peak rate, monitor/peak.hpp. Reads no environment.
// proc(5); Linux admin guide, "Control Group v2", section Memory.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fount/backend/threads.hpp>
#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>
#include <fount/monitor/metrics.hpp>
#include <fount/monitor/peak.hpp>

namespace fount {

struct Machine {
  std::string processor;
  int available_threads = 1;
  Bytes total_memory = 0;      // of the machine, or the control group's limit where that is lower
  Bytes available_memory = 0;  // without swapping
  std::string operating_system;
  std::string kernel;
  std::string host;
  std::string compiler;
  std::string instruction_set;  // that this program was compiled for
};

namespace detail {

/// The content of a small file of the system; "" where there is none.
inline std::string system_file(const std::filesystem::path& path) {
  try {
    return read_file(path, MiB(16));
  } catch (const FileError&) {
    return {};  // another kernel, or a closed container: the caller has a second source
  }
}

/// The value of "name: value", "name=value" or "name value" at the start of a line; "" if none.
inline std::string_view field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const std::size_t value = line.find_first_not_of(" \t:=\"");
    if (value == 0 || value == std::string_view::npos) continue;  // a longer name, or no value
    line.remove_prefix(value);
    return line.substr(0, line.find_last_not_of(" \t\"") + 1);
  }
  return {};
}

/// The number at the start of `text`, or `otherwise`: "max" is no number.
inline std::int64_t number_or(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc{} ? value : otherwise;
}

/// "MemTotal: 123 kB" -> bytes; 0 if missing.
inline Bytes kib_field(std::string_view text, std::string_view name) {
  return number_or(field(text, name), 0) * 1024;
}

struct MemoryLimit {
  Bytes limit = std::numeric_limits<Bytes>::max();
  Bytes available = std::numeric_limits<Bytes>::max();
};

/// The limit of one control group; what its file cache holds can be had back.
inline void apply_group(MemoryLimit& memory, const std::filesystem::path& folder,
                        const char* limit_name, const char* usage_name) {
  constexpr Bytes none = std::numeric_limits<Bytes>::max();
  const Bytes limit = number_or(system_file(folder / limit_name), none);
  if (limit >= Bytes{1} << 60U) return;  // version 1 writes "no limit" as a huge number
  const Bytes usage = number_or(system_file(folder / usage_name), 0);
  const Bytes cache = number_or(field(system_file(folder / "memory.stat"), "inactive_file"), 0);
  memory.limit = std::min(memory.limit, limit);
  memory.available = std::min(memory.available, std::clamp<Bytes>(limit - usage + cache, 0, limit));
}

/// The lowest limit from this process's control group up to the root, version 2 or 1.
inline MemoryLimit memory_limit(const std::filesystem::path& root = "/sys/fs/cgroup",
                                const std::string& membership =
                                    system_file("/proc/self/cgroup")) {
  MemoryLimit memory;
  const auto walk = [&](const std::filesystem::path& top, std::string_view group,
                        const char* limit_name, const char* usage_name) {
    while (group.starts_with('/')) group.remove_prefix(1);
    for (std::filesystem::path below = group;; below = below.parent_path()) {
      apply_group(memory, below.empty() ? top : top / below, limit_name, usage_name);
      if (below.empty()) return;
    }
  };
  std::string_view lines = membership;
  while (!lines.empty()) {  // "0::/path" or "4:memory:/path"
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) {
      walk(root, group, "memory.max", "memory.current");
    } else if (controllers == "memory") {
      walk(root / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes");
    }
  }
  return memory;
}

/// Reads the start of a small file of the system into `buffer`. Does not allocate.
inline std::string_view read_into(std::span<char> buffer, const char* path) {
  const Descriptor file(retry_interrupted([&] { return ::open(path, O_RDONLY | O_CLOEXEC); }));
  std::size_t size = 0;
  while (file && size < buffer.size()) {
    const auto count = retry_interrupted(
        [&] { return ::read(file.get(), buffer.data() + size, buffer.size() - size); });
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  return {buffer.data(), size};
}

inline std::string first_of(std::string_view a, std::string_view b, std::string_view c) {
  return std::string(!a.empty() ? a : !b.empty() ? b : c);
}

}  // namespace detail

/// Memory that this process holds now; 0 where the system does not say. Does not allocate.
inline Bytes resident_bytes() {
  std::array<char, 256> buffer;
  std::string_view pages = detail::read_into(buffer, "/proc/self/statm");  // "size resident ..."
  pages.remove_prefix(std::min(pages.size(), pages.find(' ') + 1));
  return detail::number_or(pages, 0) * Bytes{::sysconf(_SC_PAGESIZE)};
}

/// The most memory that this process has held. Does not allocate.
inline Bytes peak_resident_bytes() {
  std::array<char, 8192> buffer;
  const Bytes peak = detail::kib_field(detail::read_into(buffer, "/proc/self/status"), "VmHWM");
  if (peak > 0) return peak;
  struct rusage usage {};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? Bytes{usage.ru_maxrss} * 1024 : 0;
}

inline std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

// What follows depends on the instruction set of the including file.
inline namespace FOUNT_CPU_NAMESPACE {

/// The instruction set that the including file is compiled for.
constexpr std::string_view compiled_instruction_set() {
#if FOUNT_HAS_BF16_BLOCKS
  return "AMX with BF16, AVX-512";
#elif defined(__AVX512BF16__)
  return "AVX-512 with BF16";
#elif defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__) && defined(__FMA__)
  return "AVX2 with FMA";
#elif defined(__x86_64__)
  return "SSE2 (portable)";
#elif defined(__aarch64__)
  return "AArch64 (portable)";
#else
  return "portable";
#endif
}

/// Asks the system; what it does not tell stays empty or 0.
inline Machine inspect_machine() {
  struct utsname system {};
  ::uname(&system);
  const std::string cpuinfo = detail::system_file("/proc/cpuinfo");
  const std::string meminfo = detail::system_file("/proc/meminfo");
  const std::string release = detail::system_file("/etc/os-release");
  const detail::MemoryLimit limit = detail::memory_limit();
  Machine machine;
  machine.processor = detail::first_of(detail::field(cpuinfo, "model name"),
                                       detail::field(cpuinfo, "Model"), system.machine);
  machine.available_threads = available_threads();
  machine.total_memory = std::min(detail::kib_field(meminfo, "MemTotal"), limit.limit);
  machine.available_memory = std::min(detail::kib_field(meminfo, "MemAvailable"), limit.available);
  machine.operating_system =
      detail::first_of(detail::field(release, "PRETTY_NAME"), system.sysname, "unknown");
  machine.kernel = std::string(system.sysname) + " " + system.release + " " + system.machine;
  machine.host = system.nodename;
  machine.compiler = compiler_name();
  machine.instruction_set = compiled_instruction_set();
  return machine;
}

}  // namespace FOUNT_CPU_NAMESPACE

/// Names and values for a report.
inline std::vector<KeyValue> describe(const Machine& machine) {
  return {{"processor", machine.processor},
          {"usable threads", std::to_string(machine.available_threads)},
          {"memory", format_bytes(machine.total_memory)},
          {"available memory", format_bytes(machine.available_memory)},
          {"operating system", machine.operating_system},
          {"kernel", machine.kernel},
          {"host", machine.host},
          {"compiler", machine.compiler},
          {"instruction set", machine.instruction_set}};
}

}  // namespace fount
