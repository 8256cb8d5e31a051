// SPDX-License-Identifier: Apache-2.0
#include "support/tiny_run.hpp"

namespace fount::test {

RunResult run_trainer(TrainableModel& model, const TrainOptions& options) {
  const std::atomic<bool> stop = false;
  RunInfo info;
  info.model_name = "tiny";
  info.program = "tiny";
  return Trainer(model, options, info, stop).run();
}

}  // namespace fount::test
