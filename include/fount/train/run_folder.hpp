// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a run keeps its things, and who may write there: a folder that holds a run is never
// overwritten unless that was asked for, and only one process at a time trains into it.

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fount/core/error.hpp>
#include <fount/io/file_writer.hpp>
#include <fount/io/paths.hpp>

namespace fount {

class RunFolder {
 public:
  enum class Open : std::uint8_t { fresh, overwrite, resume };

  /// @throws FileError if the folder holds a run and `how` is fresh, or cannot be written
  RunFolder(std::filesystem::path path, Open how) : path_(std::move(path)) {
    if (path_.empty()) {
      throw ConfigError("no run folder: say where results go with --output FOLDER");
    }
    ensure_directory(path_);
    lock_.emplace(path_, "another training process");
    if (how == Open::fresh && holds_run()) {
      throw FileError("'" + path_.string() +
                      "' already holds a run; continue it with --resume latest, replace it with "
                      "--overwrite, or choose another --output");
    }
    if (how == Open::overwrite) {
      for (const std::string_view name : contents) {
        std::error_code error;
        std::filesystem::remove_all(path_ / name, error);
        if (error) {
          throw FileError::system("cannot remove", (path_ / name).string(), error.value());
        }
      }
    }
    ensure_directory(checkpoints());
    ensure_directory(samples());
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path log() const { return path_ / "train.log"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  std::filesystem::path best() const { return path_ / "best.json"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path samples() const { return path_ / "samples"; }

 private:
  /// The names that a run makes; nothing else in the folder is ever touched.
  static constexpr std::array<std::string_view, 7> contents = {
      "config.toml", "train.log", "metrics.jsonl", "report.html",
      "best.json",   "samples",   "checkpoints"};

  bool holds_run() const {
    std::error_code error;
    return std::filesystem::exists(metrics(), error) ||
           (std::filesystem::exists(checkpoints(), error) &&
            !std::filesystem::is_empty(checkpoints(), error));
  }

  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
};

}  // namespace fount
