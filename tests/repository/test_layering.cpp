// SPDX-License-Identifier: Apache-2.0
// Dependencies point one way: a header includes its own folder and folders of lower tiers.

#include <optional>
#include <string>
#include <vector>

#include "repository/sources.hpp"
#include "support/catch.hpp"

namespace {

const std::vector<std::vector<std::string>> tiers = {
    {"core"},
    {"config", "backend", "io"},
    {"ops", "text", "dist"},
    {"nn", "optim", "data", "monitor"},
    {"models"},
    {"interchange"},
    {"train"},
    {"app"}};

std::optional<std::size_t> tier_of(const std::string& folder) {
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    if (std::ranges::find(tiers[tier], folder) != tiers[tier].end()) return tier;
  }
  return std::nullopt;
}

/// "include/fount/ops/cpu/x.hpp" -> "ops"; "" for a file directly in include/fount.
std::string folder_of(const std::string& path) {
  const std::string below = path.substr(std::string("include/fount/").size());
  const std::size_t slash = below.find('/');
  return slash == std::string::npos ? "" : below.substr(0, slash);
}

/// One sentence for each include of `file` that the order above does not allow.
std::vector<std::string> layering_complaints(const sources::File& file) {
  std::vector<std::string> complaints;
  const std::string folder = folder_of(file.path);
  const auto tier = tier_of(folder);
  if (!folder.empty() && !tier) {
    complaints.push_back(file.path + ": the folder '" + folder + "' has no tier");
    return complaints;
  }
  for (const std::string& include : sources::includes(file.text)) {
    if (include.front() == '"') {
      complaints.push_back(file.path + " includes " + include + "; write <fount/...>");
      continue;
    }
    if (!include.starts_with("<fount/")) continue;
    const std::string target =
        folder_of("include/" + include.substr(1, include.size() - 2));
    if (folder.empty() || target == folder || include == "<fount/version.hpp>") continue;
    const auto target_tier = tier_of(target);
    if (!target_tier || *target_tier >= *tier) {
      complaints.push_back(file.path + " includes " + include + ", which is not below '" + folder +
                           "'");
    }
  }
  return complaints;
}

}  // namespace

TEST_CASE("headers include only their own folder and lower tiers", "[repository][layering]") {
  const auto headers = sources::files(FOUNT_SOURCE_DIR, "include/fount", {".hpp", ".cuh"});
  REQUIRE_FALSE(headers.empty());
  for (const auto& header : headers) {
    for (const auto& complaint : layering_complaints(header)) FAIL_CHECK(complaint);
  }
}

TEST_CASE("every included header of the project exists", "[repository][layering]") {
  const std::filesystem::path include_folder =
      std::filesystem::path(FOUNT_SOURCE_DIR) / "include";
  for (const auto& header : sources::files(FOUNT_SOURCE_DIR, "include", {".hpp", ".cuh"})) {
    for (const auto& include : sources::includes(header.text)) {
      if (!include.starts_with("<fount/")) continue;
      INFO(header.path << " includes " << include);
      CHECK(std::filesystem::exists(include_folder / include.substr(1, include.size() - 2)));
    }
  }
}

TEST_CASE("the layering rule notices what it forbids", "[repository][layering]") {
  const auto complaints = [](const std::string& path, const std::string& include) {
    return layering_complaints({path, "#include " + include + "\n"}).size();
  };
  CHECK(complaints("include/fount/core/a.hpp", "<fount/ops/b.hpp>") == 1);
  CHECK(complaints("include/fount/config/a.hpp", "<fount/io/b.hpp>") == 1);
  CHECK(complaints("include/fount/nn/a.hpp", "<fount/optim/b.hpp>") == 1);
  CHECK(complaints("include/fount/train/a.hpp", "<fount/app/b.hpp>") == 1);
  CHECK(complaints("include/fount/train/a.hpp", "<fount/fount.hpp>") == 1);
  CHECK(complaints("include/fount/utils/a.hpp", "<vector>") == 1);
  CHECK(complaints("include/fount/ops/a.hpp", "\"b.hpp\"") == 1);

  CHECK(complaints("include/fount/ops/cpu/a.hpp", "<fount/ops/b.hpp>") == 0);
  CHECK(complaints("include/fount/ops/a.hpp", "<fount/backend/cpu.hpp>") == 0);
  CHECK(complaints("include/fount/app/a.hpp", "<fount/core/error.hpp>") == 0);
  CHECK(complaints("include/fount/app/a.hpp", "<fount/version.hpp>") == 0);
  CHECK(complaints("include/fount/fount.hpp", "<fount/app/model_main.hpp>") == 0);
}
