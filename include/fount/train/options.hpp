// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything a training run can be told, resolved: the recipe plus where data and results are. The
// command line fills it (app/); nothing here knows how the values were given.

#include <cstdint>
#include <string>

#include <fount/config/recipe.hpp>

namespace fount {

struct TrainOptions : Recipe {
  std::string data;    // folder of shards, or a pattern; see data/loader.hpp
  std::string val_data;  // validation shards; empty: those of the data folder
  std::string output;    // the run folder
  std::int64_t stop_after = 0;  // end this process after that step, with a checkpoint; 0: at steps
  std::string resume;           // "", "latest", or a checkpoint folder
  std::string init;             // a checkpoint folder to take the weights from, and nothing else
  bool overwrite = false;       // delete what a previous run left in the output folder
  bool overfit = false;         // train on the first batch only; fail unless the loss falls
  int threads = 0;              // 0: what affinity and the control group allow
  std::string precision = "fp32";
  std::string sample_prompt = "\\n";  // backslash and n stand for a new line
  std::int64_t sample_tokens = 200;
};

}  // namespace fount
