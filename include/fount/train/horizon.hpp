// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a run goes and when it saves, counted in steps, tokens, epochs or files.

#include <cstdint>
#include <string>

#include <fount/core/error.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/train/options.hpp>

namespace fount {

/// What a run has done, in everything that it can be counted in.
struct RunCounts {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  DataProgress data;
};

/// Whether `count` has passed a multiple of `interval` since it was `before`; 0: never.
constexpr bool passed_multiple(std::int64_t before, std::int64_t count, std::int64_t interval) {
  return interval > 0 && before / interval != count / interval;
}

/// Whether a checkpoint is due after a step that led from `before` to `now`.
constexpr bool checkpoint_due(const TrainOptions& options, const RunCounts& before,
                              const RunCounts& now) {
  return passed_multiple(before.steps, now.steps, options.checkpoint_interval) ||
         passed_multiple(before.tokens, now.tokens, options.checkpoint_tokens) ||
         passed_multiple(before.data.epoch, now.data.epoch, options.checkpoint_epochs) ||
         passed_multiple(before.data.files, now.data.files, options.checkpoint_files);
}

/// The steps of a run: the first that reach its tokens, epochs or files, or just `steps`.
/// @param step_samples samples of a step, of step_tokens tokens together
/// @throws ConfigError if more than one of tokens, epochs and files is given, or none gives a step
inline std::int64_t steps_of_run(const TrainOptions& options, SampleSource& data,
                                 std::int64_t step_samples, std::int64_t step_tokens) {
  const int given = (options.tokens > 0) + (options.epochs > 0) + (options.files > 0);
  if (given > 1) {
    throw ConfigError("tokens is " + std::to_string(options.tokens) + ", epochs " +
                      std::to_string(options.epochs) + " and files " +
                      std::to_string(options.files) + "; a run has one end, give one of them");
  }
  const auto steps_for = [](std::int64_t amount, std::int64_t per_step) {
    return amount / per_step + (amount % per_step != 0 ? 1 : 0);
  };
  if (options.tokens > 0) return steps_for(options.tokens, step_tokens);
  const std::int64_t files = options.epochs > 0 ? options.epochs * data.num_files() : options.files;
  if (files > 0) return steps_for(data.count_samples(files), step_samples);
  return options.steps;
}

}  // namespace fount
