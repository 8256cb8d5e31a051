// SPDX-License-Identifier: Apache-2.0
// How long the compiler takes, and how much memory, for what users compile: the light headers, and a
// whole trainer, in the two parts of fount_add_trainer (the command line once for a project, a model
// for each program) and by hand in one file. Next to each figure stands its budget. Seconds are the
// processor's, so that what else runs on the machine disturbs them little.
// Usage: bench-compile-time

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

/// A translation unit: what is in it and how it is compiled.
struct Unit {
  std::vector<std::string> flags;
  std::string source;
};

struct Case {
  const char* name;
  std::vector<Unit> units;  // seconds add up, memory is that of the largest
  double budget_seconds;    // 0: none
  double budget_gib;
};

struct Usage {
  bool compiled = false;
  double seconds = 0;
  double peak_gib = 0;
};

/// Runs the compiler on `source` and waits for it; its children (cc1plus) are counted by the kernel.
Usage compile(const std::filesystem::path& source, const std::vector<std::string>& flags) {
  const std::string object = source.string() + ".o";
  std::vector<std::string> words = {FOUNT_CXX, "-std=c++20", "-c",
                                    source.string(), "-o", object,
                                    "-I" FOUNT_SOURCE_DIR "/include", FOUNT_EIGEN_FLAG};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const pid_t child = fork();
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return {};
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0,
          seconds(usage.ru_utime) + seconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0)};
}

std::string include_all(const std::vector<std::string>& folders) {
  const std::filesystem::path root = FOUNT_SOURCE_DIR "/include";
  std::string text;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(root / "fount" / folder)) {
      if (entry.path().extension() != ".hpp") continue;
      text += "#include <" + entry.path().lexically_relative(root).generic_string() + ">\n";
    }
  }
  return text;
}

}  // namespace

int main() {
  const std::string trainer =
      "#include <fount/fount.hpp>\n"
      "int main(int argc, char** argv) {\n"
      "  return fount::model_main<fount::presets::gpt2_124m, fount::fp32>(argc, argv, \"gpt2\");\n"
      "}\n";
  const std::string command_line =
      "#define FOUNT_APP_COMPILED 1\n#define FOUNT_APP_INLINE\n#include <fount/app/run_model.hpp>\n";
  const std::vector<std::string> light = {"core", "config"};
  const std::vector<std::string> models = {"core", "config", "backend", "ops",
                                           "nn",   "models", "optim"};
  const std::vector<Case> cases = {
      {"core and config headers", {{{"-O0"}, include_all(light)}}, 1, 1},
      {"core to models headers", {{{"-O0"}, include_all(models)}}, 5, 1},
      {"a trainer by fount_add_trainer",
       {{{"-O3", "-march=native", "-DFOUNT_APP_COMPILED"}, trainer},
        {{"-O1", "-march=native"}, command_line}},
       40,
       2},
      {"a trainer in one file", {{{"-O3", "-march=native"}, trainer}}, 40, 2},
  };

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("fount-compile-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::printf("compiler: %s\n", FOUNT_CXX);
  bool all_compiled = true;
  for (const Case& c : cases) {
    const std::filesystem::path source = folder / "case.cpp";
    Usage sum = {.compiled = true};
    for (const Unit& unit : c.units) {
      std::ofstream(source) << unit.source;
      const Usage usage = compile(source, unit.flags);
      sum.compiled = sum.compiled && usage.compiled;
      sum.seconds += usage.seconds;
      sum.peak_gib = std::max(sum.peak_gib, usage.peak_gib);
    }
    all_compiled = all_compiled && sum.compiled;
    std::printf("%-30s %6.1f s (budget %g)   %5.2f GiB (budget %g)%s\n", c.name, sum.seconds,
                c.budget_seconds, sum.peak_gib, c.budget_gib,
                sum.compiled ? "" : "   does not compile");
  }
  std::filesystem::remove_all(folder);
  return all_compiled ? 0 : 1;
}
