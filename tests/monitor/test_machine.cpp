// SPDX-License-Identifier: Apache-2.0
#include <fount/monitor/machine.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;
using fount::test::TemporaryFolder;

TEST_CASE("fields of the system's files are found", "[monitor][machine]") {
  const std::string text = "model\t\t: 1\nmodel name\t: AMD EPYC 7B13  \nMemTotal:  16 kB\n"
                           "PRETTY_NAME=\"Debian 12\"\nEmpty:\nMemTotalExtra: 5 kB";
  CHECK(detail::field(text, "model name") == "AMD EPYC 7B13");
  CHECK(detail::field(text, "PRETTY_NAME") == "Debian 12");
  CHECK(detail::field(text, "Empty").empty());
  CHECK(detail::field(text, "absent").empty());
  CHECK(detail::field("", "absent").empty());
  CHECK(detail::kib_field(text, "MemTotal") == 16 * 1024);
  CHECK(detail::kib_field(text, "MemTotalExtra") == 5 * 1024);
  CHECK(detail::kib_field(text, "model name") == 0);
  CHECK(detail::number_or("max", 7) == 7);
  CHECK(detail::number_or("", 7) == 7);
  CHECK(detail::system_file("/nonexistent/file").empty());
}

TEST_CASE("the lowest limit above this process's control group counts", "[monitor][machine]") {
  constexpr Bytes none = std::numeric_limits<Bytes>::max();
  const TemporaryFolder root;
  const auto group = [&](const std::string& name) {
    std::filesystem::create_directories(root / name);
    return name + "/";
  };
  group("job");
  group("job/step");
  root.file("job/memory.max", "1000000\n");
  root.file("job/memory.current", "600000\n");
  root.file("job/memory.stat", "anon 300000\ninactive_file 100000\n");
  root.file("job/step/memory.max", "max\n");
  auto memory = detail::memory_limit(root.path(), "0::/job/step\n");
  CHECK(memory.limit == 1'000'000);
  CHECK(memory.available == 500'000);

  memory = detail::memory_limit(root.path(), "0::/\n");
  CHECK(memory.limit == none);
  CHECK(memory.available == none);
  CHECK(detail::memory_limit(root.path(), "").limit == none);
  CHECK(detail::memory_limit(root.path(), "nonsense\n:\n").limit == none);
  CHECK(detail::memory_limit(root.path(), "0::/gone/away\n").limit == none);

  // Version 1, with "no limit" further up.
  group("memory");
  group("memory/docker");
  root.file("memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.file("memory/docker/memory.limit_in_bytes", "4000\n");
  root.file("memory/docker/memory.usage_in_bytes", "5000\n");
  memory = detail::memory_limit(root.path(), "5:cpu,cpuacct:/docker\n4:memory:/docker\n");
  CHECK(memory.limit == 4000);
  CHECK(memory.available == 0);
}

TEST_CASE("the machine is described", "[monitor][machine]") {
  const Machine machine = inspect_machine();
  CHECK_FALSE(machine.processor.empty());
  CHECK(machine.available_threads >= 1);
  CHECK(machine.total_memory > MiB(64));
  CHECK(machine.available_memory > 0);
  CHECK(machine.available_memory <= machine.total_memory);
  CHECK_FALSE(machine.operating_system.empty());
  CHECK_FALSE(machine.kernel.empty());
  CHECK_FALSE(machine.compiler.empty());
  CHECK_FALSE(machine.instruction_set.empty());
  for (const auto& [name, value] : describe(machine)) {
    INFO(name);
    CHECK_FALSE(value.empty());
  }
}

TEST_CASE("resident memory grows when memory is touched", "[monitor][machine]") {
  const Bytes before = resident_bytes();
  CHECK(before > MiB(1));
  std::vector<char> block(static_cast<std::size_t>(MiB(48)));
  for (std::size_t i = 0; i < block.size(); i += 4096) block[i] = static_cast<char>(i);
  CHECK(resident_bytes() > before + MiB(40));
  CHECK(peak_resident_bytes() >= resident_bytes() - MiB(1));
  CHECK(block[4096] == 0);
}
