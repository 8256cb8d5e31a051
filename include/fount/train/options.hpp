// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything a training run can be told, resolved: the recipe plus where data and results are. The
// command line fills it (app/); nothing here knows how the values were given.

#include <cstdint>
#include <string>

#include <fount/config/recipe.hpp>
#include <fount/data/documents.hpp>

namespace fount {

struct TrainOptions : Recipe {
  std::string data;      // folder of shards, or a pattern; with a tokenizer: text
  std::string val_data;  // validation shards, or text; empty: those of the data folder
  // Of text that is read while training; see data/text_stream.hpp.
  std::string tokenizer;  // its file or folder, or "byte"; empty: the data are shards
  PrepareDocuments documents = PrepareDocuments::automatic;
  std::string text_field = "text";
  std::int64_t max_samples = 0;  // documents of an epoch; 0: all
  std::int64_t min_words = 0;
  double max_bad = 0.01;
  int tokenizer_workers = 0;   // 0: as many as threads, and at most 4
  int prefetch = 4;            // blocks of samples that are ready ahead
  std::int64_t stride = 0;     // of prepared tokens: from one sequence to the next; 0: seq_len
  bool document_mask = false;  // attention stays within documents
  // The end of the run in other counts than steps; 0: not used.
  std::int64_t tokens = 0;
  std::int64_t epochs = 0;
  std::int64_t files = 0;
  // Checkpoints by other counts than steps, beside checkpoint_interval; 0: not used.
  std::int64_t checkpoint_tokens = 0;
  std::int64_t checkpoint_epochs = 0;
  std::int64_t checkpoint_files = 0;
  std::string output;           // the run folder
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
