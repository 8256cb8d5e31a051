// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output folder of a preparation: locked, with a staging folder inside that keeps what a killed
// run has done, and the step that moves finished files into place. What is written into it: see
// data/prepare.hpp.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/dataset.hpp>
#include <fount/io/files.hpp>
#include <fount/io/hash.hpp>
#include <fount/version.hpp>

namespace fount::detail {

class PrepareOutput {
 public:
  /// @param plan  names what is to be done: a staging folder of the same plan is gone on with, any
  ///              other is cleared. We hold the lock, so it belongs to a run that was stopped.
  /// @throws FileError if another preparation is running there, or if the folder cannot be made
  PrepareOutput(const std::filesystem::path& folder, std::uint64_t plan)
      : made_(ensure_directory(folder)), folder_(folder), lock_(folder, "another `fount prepare`") {
    const std::string wanted = to_hex(plan) + "\n";
    if (plan_in(staging()) == wanted) {
      resumed_ = true;
      return;
    }
    clear();
    std::error_code error;
    std::filesystem::create_directory(staging(), error);
    if (error) throw file_failure("cannot make the temporary folder", staging(), error.value());
    write_file_atomically(staging() / "plan", wanted);
  }
  PrepareOutput(const PrepareOutput&) = delete;
  PrepareOutput& operator=(const PrepareOutput&) = delete;
  ~PrepareOutput() {
    if (keep_) return;
    std::error_code ignored;  // a destructor has nobody to tell
    std::filesystem::remove_all(staging(), ignored);
    if (made_) std::filesystem::remove(folder_, ignored);  // not empty: others put files there
  }

  std::filesystem::path staging() const { return folder_ / staging_name; }
  /// Whether the staging folder is that of an earlier run with the same plan.
  bool resumed() const { return resumed_; }
  /// From now on the staging folder stays if the work ends early.
  void keep() { keep_ = true; }
  bool kept() const { return keep_; }

  /// Whether a run of this plan was stopped while it moved its result into `folder`.
  static bool is_publishing(const std::filesystem::path& folder, std::uint64_t plan) {
    return plan_in(folder / staging_name) == to_hex(plan) + "\n" &&
           is_prepared(folder / staging_name / "publish");
  }

  /// Moves the files into place. metadata.json goes first: from then on every reader compares each
  /// shard with it, so that a stop in between is found and never taken for a data set. The next run
  /// of the same plan finishes the move.
  void publish(const DatasetMetadata& metadata) {
    const std::vector<std::string> stale = stale_shards(metadata);
    const std::filesystem::path again = staging() / "publish";
    ensure_directory(again);
    write_file_atomically(again / DatasetMetadata::file_name, to_json(metadata, version));
    sync_folder(again);
    sync_folder(staging());
    move(std::string(DatasetMetadata::file_name));
    made_ = false;
    sync_folder(folder_);
    move("tokenizer.json");
    move("tokenizer_config.json");
    for (const DatasetShard& shard : metadata.shards) move(shard.file);
    std::error_code ignored;  // a stale shard that stays is listed nowhere: no harm
    for (const std::string& name : stale) std::filesystem::remove(folder_ / name, ignored);
    sync_folder(folder_);
    clear();
    keep_ = false;
  }
  /// The result whose move an earlier run of this plan has begun.
  DatasetMetadata finish_publishing() {
    const DatasetMetadata metadata = read_metadata(staging() / "publish");
    publish(metadata);
    return metadata;
  }

 private:
  static constexpr std::string_view staging_name = ".fount-prepare";

  static std::string plan_in(const std::filesystem::path& staging) {
    std::error_code ignored;
    const std::filesystem::path path = staging / "plan";
    return std::filesystem::exists(path, ignored) ? read_file(path, 100) : std::string();
  }
  void clear() const {
    std::error_code error;
    std::filesystem::remove_all(staging(), error);
    if (error) throw file_failure("cannot clear", staging(), error.value());
  }
  void move(const std::string& name) const {
    if (::rename((staging() / name).c_str(), (folder_ / name).c_str()) == 0) return;
    const int error = errno;
    std::error_code ignored;
    // A run that was stopped while it moved files has moved this one.
    if (error == ENOENT && std::filesystem::exists(folder_ / name, ignored)) return;
    throw file_failure("cannot rename a finished file to", folder_ / name, error);
  }
  /// Shards of an earlier preparation that the new one does not replace.
  std::vector<std::string> stale_shards(const DatasetMetadata& metadata) const {
    std::vector<std::string> stale;
    if (!is_prepared(folder_)) return stale;
    try {
      for (const DatasetShard& old : read_metadata(folder_).shards) {
        if (matches_pattern(old.file, "tokens_*_??????.bin") &&
            std::ranges::find(metadata.shards, old.file, &DatasetShard::file) ==
                metadata.shards.end()) {
          stale.push_back(old.file);
        }
      }
    } catch (const FileError&) {
      // --overwrite is the way out of a damaged folder; what cannot be read names nothing stale.
    }
    return stale;
  }

  bool made_;
  bool resumed_ = false;
  bool keep_ = false;
  std::filesystem::path folder_;
  FolderLock lock_;
};

}  // namespace fount::detail
