// SPDX-License-Identifier: Apache-2.0
// One third-party library, one door; and what headers must not do: print, exit, read the
// environment, start programs, spread threads' pragmas.

#include <regex>
#include <string>
#include <vector>

#include "repository/sources.hpp"
#include "support/catch.hpp"

namespace {

/// Includes that match `include` may stand in files whose path matches `door`.
struct Door {
  const char* library;
  std::regex include;
  std::regex door;
};

const std::vector<Door>& doors() {
  static const std::vector<Door> table = {
      {"Eigen", std::regex("<(unsupported/)?Eigen/.*"), std::regex("include/fount/ops/cpu/.*")},
      {"nlohmann-json", std::regex("<nlohmann/.*"), std::regex("include/fount/io/json\\.hpp")},
      {"zlib", std::regex("<zlib\\.h>"),
       std::regex("(include/fount/io/gzip|tests/support/compress)\\.hpp")},
      {"zstd", std::regex("<zstd.*"),
       std::regex("(include/fount/io/zstd|tests/support/compress)\\.hpp")},
      {"utf8proc", std::regex("<utf8proc.*"), std::regex("include/fount/text/unicode\\.hpp")},
      {"Apache Arrow", std::regex("<(arrow|parquet)/.*"),
       std::regex("(include/fount/io/parquet|tests/support/write_parquet)\\.hpp")},
      {"CLI11", std::regex("<CLI/.*"), std::regex("include/fount/app/.*")},
      {"Catch2", std::regex("<catch2/.*"), std::regex("tests/support/catch\\.hpp")},
      {"Google Benchmark", std::regex("<benchmark/.*"),
       std::regex("benchmarks/harness/program\\.hpp")},
      {"oneDNN", std::regex("<(oneapi/)?dnnl.*"), std::regex("benchmarks/libraries/onednn\\.cpp")},
      {"CBLAS", std::regex("<(open)?(c|f77)?blas.*"),
       std::regex("benchmarks/libraries/openblas\\.cpp")},
      {"OpenMP", std::regex("<omp\\.h>"), std::regex("(?!)")},  // backend/threads.hpp says why
      {"CUDA", std::regex("<(cuda|cub/|cublas|nvtx|cooperative_groups|mma\\.h).*"),
       std::regex("include/fount/(backend/cuda.*|ops/cuda/.*)")},
      {"NCCL", std::regex("<nccl.*"), std::regex("include/fount/dist/nccl.*")},
      {"MPI", std::regex("<mpi.*"), std::regex("include/fount/dist/mpi.*")},
  };
  return table;
}

/// The standard library, the operating system's and the compiler's own headers.
bool is_system(const std::string& include) {
  static const std::regex pattern(
      "<([a-z0-9_]+|(sys|linux)/[a-z_]+\\.h|(x86|imm|emm|arm_)[a-z0-9_]*\\.h|cpuid\\.h|"
      "(dirent|dlfcn|errno|fcntl|malloc|poll|pthread|pwd|sched|signal|spawn|stdlib|termios|time|"
      "unistd)"
      "\\.h)>");
  return std::regex_match(include, pattern);
}

std::vector<std::string> door_complaints(const sources::File& file) {
  std::vector<std::string> complaints;
  for (const std::string& include : sources::includes(file.text)) {
    if (include.front() == '"' || include.starts_with("<fount/") || is_system(include)) continue;
    bool known = false;
    for (const Door& door : doors()) {
      if (!std::regex_match(include, door.include)) continue;
      known = true;
      if (!std::regex_match(file.path, door.door)) {
        complaints.push_back(file.path + " includes " + include + ", but is not the door of " +
                             door.library);
      }
    }
    if (!known) {
      complaints.push_back(file.path + " includes " + include +
                           ", a library without a door in tests/repository/test_doors.cpp");
    }
  }
  return complaints;
}

/// Code that matches `pattern` may stand only in headers whose path matches `allowed`.
struct Ban {
  const char* what;
  std::regex pattern;
  std::regex allowed;
};

const std::vector<Ban>& bans() {
  static const std::regex nowhere("(?!)");
  static const std::regex app("include/fount/app/.*");
  static const std::vector<Ban> table = {
      {"an OpenMP pragma", std::regex("#\\s*pragma\\s+omp"), nowhere},
      {"starting a program", std::regex("\\b(system|popen)\\s*\\("), nowhere},
      {"ending the program", std::regex("(^|[^.>\\w])(exit|_exit|_Exit|quick_exit|abort)\\s*\\("),
       nowhere},
      {"reading the environment", std::regex("\\b(secure_)?getenv\\s*\\(|\\benviron\\b"), app},
      {"'using namespace'", std::regex("\\busing\\s+namespace\\b"), nowhere},
      {"printing",
       std::regex("\\b(printf|puts|putchar)\\s*\\(|\\bstd::(cout|cerr|clog)\\b|"
                  "\\b(stdout|stderr)\\b"),
       app},
      {"fast-math", std::regex("fast-math|fast_math"), nowhere},
  };
  return table;
}

std::vector<std::string> ban_complaints(const sources::File& file) {
  std::vector<std::string> complaints;
  // FileError::system(...) names an exception, it does not start a shell.
  static const std::regex constructor("\\bFileError(::|\\s+)system\\b");
  const std::string code = std::regex_replace(sources::code(file.text), constructor, "FileError");
  for (const Ban& ban : bans()) {
    std::smatch match;
    if (std::regex_match(file.path, ban.allowed) || !std::regex_search(code, match, ban.pattern)) {
      continue;
    }
    complaints.push_back(file.path + ": " + ban.what + " has no place here: " + match.str());
  }
  return complaints;
}

}  // namespace

TEST_CASE("each third-party library is included at its door only", "[repository][doors]") {
  for (const char* folder : {"include", "tests", "examples", "benchmarks"}) {
    for (const auto& file : sources::files(FOUNT_SOURCE_DIR, folder, {".hpp", ".cuh", ".cpp"})) {
      for (const auto& complaint : door_complaints(file)) FAIL_CHECK(complaint);
    }
  }
}

TEST_CASE("headers do not print, exit, start programs or read the environment",
          "[repository][doors]") {
  for (const auto& file : sources::files(FOUNT_SOURCE_DIR, "include", {".hpp", ".cuh"})) {
    for (const auto& complaint : ban_complaints(file)) FAIL_CHECK(complaint);
  }
}

TEST_CASE("the door rule notices what it forbids", "[repository][doors]") {
  const auto complaints = [](const std::string& path, const std::string& include) {
    return door_complaints({path, "#include " + include + "\n"}).size();
  };
  CHECK(complaints("include/fount/nn/a.hpp", "<Eigen/Core>") == 1);
  CHECK(complaints("include/fount/io/a.hpp", "<nlohmann/json.hpp>") == 1);
  CHECK(complaints("include/fount/train/a.hpp", "<CLI/CLI.hpp>") == 1);
  CHECK(complaints("tests/ops/a.cpp", "<catch2/catch.hpp>") == 1);
  CHECK(complaints("include/fount/ops/a.hpp", "<omp.h>") == 1);
  CHECK(complaints("include/fount/core/a.hpp", "<cuda_fp16.h>") == 1);
  CHECK(complaints("include/fount/data/a.hpp", "<zlib.h>") == 1);
  CHECK(complaints("benchmarks/a.cpp", "<benchmark/benchmark.h>") == 1);
  CHECK(complaints("benchmarks/a.cpp", "<oneapi/dnnl/dnnl.hpp>") == 1);
  CHECK(complaints("include/fount/ops/cpu/a.hpp", "<cblas.h>") == 1);
  CHECK(complaints("benchmarks/harness/program.hpp", "<benchmark/benchmark.h>") == 0);
  CHECK(complaints("include/fount/data/a.hpp", "<zstd.h>") == 1);
  CHECK(complaints("include/fount/text/a.hpp", "<utf8proc.h>") == 1);
  CHECK(complaints("include/fount/data/a.hpp", "<parquet/properties.h>") == 1);
  CHECK(complaints("include/fount/data/a.hpp", "<arrow/array.h>") == 1);
  CHECK(complaints("include/fount/data/a.hpp", "<lzma.h>") == 1);
  CHECK(complaints("include/fount/io/gzip.hpp", "<zlib.h>") == 0);
  CHECK(complaints("include/fount/text/unicode.hpp", "<utf8proc.h>") == 0);
  CHECK(complaints("include/fount/ops/cpu/a.hpp", "<Eigen/Core>") == 0);
  CHECK(complaints("include/fount/core/a.hpp", "<vector>") == 0);
  CHECK(complaints("include/fount/core/a.hpp", "<sys/mman.h>") == 0);
}

TEST_CASE("the rule on what headers do notices what it forbids", "[repository][doors]") {
  const auto complaints = [](const std::string& code, const std::string& folder = "core") {
    return ban_complaints({"include/fount/" + folder + "/a.hpp", code}).size();
  };
  CHECK(complaints("#pragma omp parallel for") == 1);
  CHECK(complaints("int r = system(\"ls\");") == 1);
  CHECK(complaints("std::exit(1);") == 1);
  CHECK(complaints("auto v = std::getenv(\"HOME\");") == 1);
  CHECK(complaints("using namespace std;") == 1);
  CHECK(complaints("std::cout << 1;") == 1);
  CHECK(complaints("std::fprintf(stderr, \"%d\", 1);") == 1);

  CHECK(complaints("auto v = std::getenv(\"HOME\");", "app") == 0);
  CHECK(complaints("return program.exit(error, out);") == 0);  // a member function of CLI11
  CHECK(complaints("throw FileError::system(\"open\", path, errno);") == 0);
  CHECK(complaints("// never call exit()\nint existing = 1'000;  /* std::cout */") == 0);
  CHECK(complaints("const char* text = \"exit(1)\"; char quote = '\"'; int x = 1;") == 0);
  CHECK(complaints("auto text = R\"(std::cout)\"; std::snprintf(a, 1, b);") == 0);
}
