// SPDX-License-Identifier: Apache-2.0
#pragma once
// The training loop: the one function that sees the whole river, from shard to checkpoint. It works
// on interfaces, so its text is the same for every model, precision and number of threads.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/sample_source.hpp>
#include <fount/monitor/console.hpp>
#include <fount/monitor/machine.hpp>
#include <fount/monitor/metrics.hpp>
#include <fount/monitor/metrics_reader.hpp>
#include <fount/monitor/report.hpp>
#include <fount/optim/clip.hpp>
#include <fount/optim/schedule.hpp>
#include <fount/train/checkpoint.hpp>
#include <fount/train/horizon.hpp>
#include <fount/train/model.hpp>
#include <fount/train/options.hpp>
#include <fount/train/run_data.hpp>
#include <fount/train/run_folder.hpp>
#include <fount/train/text_generation.hpp>

namespace fount {

/// What the program knows about itself and the run only passes on.
struct RunInfo {
  std::string model_name;
  std::string program;           // how the user called it, for the line that says how to go on
  std::string resolved_config;   // TOML
  std::vector<KeyValue> config;  // the same as pairs, for the report
  double peak_flops = 0.0;       // measured; 0: not known
  std::FILE* out = nullptr;      // what the person sees; null: silence
  bool interactive = false;      // whether `out` is a terminal that can redraw a line
};

/// How a run ended.
struct RunResult {
  std::int64_t step = 0;
  double first_loss = std::numeric_limits<double>::quiet_NaN();
  double last_loss = std::numeric_limits<double>::quiet_NaN();
  double first_val_loss = std::numeric_limits<double>::quiet_NaN();
  double last_val_loss = std::numeric_limits<double>::quiet_NaN();
  bool interrupted = false;
};

class Trainer {
 public:
  /// Steps in a row without a finite gradient after which the run gives up.
  static constexpr std::int64_t max_skipped_in_a_row = 10;

  /// @param model draws the samples too, if it has a generator
  /// @param stop set by a signal handler: the run finishes its step, saves and returns
  /// @throws ConfigError for options that cannot be met, FileError for data or an output folder
  ///         that cannot be used; nothing has been written or deleted by then, except that
  ///         overwrite empties the run folder
  Trainer(TrainableModel& model, TrainOptions options, RunInfo info, const std::atomic<bool>& stop)
      : model_(model),
        generator_(model.generator()),
        options_(std::move(options)),
        info_(std::move(info)),
        stop_(stop) {
    check_options();
    data_.emplace(options_, model_, info_.model_name, info_.out);
    if (options_.document_mask) model_.use_documents(true);
    settle_horizon();
    folder_.emplace(options_.output, how_to_open(options_));
    log_.reset(std::fopen(folder_->log().c_str(), options_.resume.empty() ? "w" : "a"));
    if (log_ == nullptr) throw FileError::system("cannot write", folder_->log().string(), errno);
    console_.emplace(info_.out, log_.get(), info_.interactive);
  }

  /// Trains to the horizon, to stop_after, or until asked to stop.
  RunResult run() {
    start();
    console_->begin(state_.step, options_.steps);
    console_->header(header());
    if (state_.step == 0) {
      validate();
      sample();
    }
    started_ = Clock::now();
    first_step_here_ = state_.step;
    const std::int64_t end =
        options_.stop_after > 0 ? std::min(options_.stop_after, options_.steps) : options_.steps;
    while (state_.step < end && !stop_) {
      const RunCounts before = counts();
      if (!step_or_save()) continue;
      const bool last = state_.step == options_.steps;
      if (last || due(options_.eval_interval)) validate();
      if (last || due(options_.sample_interval)) sample();
      if (!last && checkpoint_due(options_, before, counts())) save();
    }
    finish();
    return result_;
  }

  const TrainerState& state() const { return state_; }
  const RunFolder& folder() const { return *folder_; }

 private:
  using Clock = std::chrono::steady_clock;

  static RunFolder::Open how_to_open(const TrainOptions& options) {
    if (!options.resume.empty()) return RunFolder::Open::resume;
    return options.overwrite ? RunFolder::Open::overwrite : RunFolder::Open::fresh;
  }

  std::int64_t micro_slots() const { return model_.shape().tokens(); }
  std::int64_t step_slots() const { return micro_slots() * options_.accumulate; }
  bool due(std::int64_t interval) const { return interval > 0 && state_.step % interval == 0; }

  void check_options() const {
    const auto refuse = [](const std::string& text) { throw ConfigError(text); };
    if (options_.steps < 1) refuse("steps is " + std::to_string(options_.steps) + "; at least 1");
    if (options_.accumulate < 1) {
      refuse("accumulate is " + std::to_string(options_.accumulate) + "; at least 1");
    }
    if (!(options_.learning_rate > 0) || !std::isfinite(options_.learning_rate)) {
      refuse("learning_rate must be positive");
    }
    if (!(options_.min_lr >= 0 && options_.min_lr <= options_.learning_rate)) {
      refuse("min_lr must lie between 0 and learning_rate");
    }
    if (!(options_.dropout >= 0 && options_.dropout < 1)) {
      refuse("dropout must be at least 0 and below 1");
    }
    if (!(options_.beta1 >= 0 && options_.beta1 < 1 && options_.beta2 >= 0 && options_.beta2 < 1)) {
      refuse("beta1 and beta2 must be at least 0 and below 1");
    }
    if (model_.config().head != Head::language_model) {
      refuse(
          "this version trains next-token models; the masked-language-model objective is not "
          "there yet");
    }
  }

  void settle_horizon() {
    const std::int64_t samples = std::int64_t{options_.accumulate} * model_.shape().batch_size;
    options_.steps = steps_of_run(options_, *data_->train, samples, step_slots());
    schedule_ = {.kind = options_.schedule,
                 .peak = options_.learning_rate,
                 .floor = options_.min_lr,
                 .warmup_steps = options_.warmup_steps,
                 .total_steps = options_.steps};
  }

  // --- before the first step -----------------------------------------------------------------

  void start() {
    if (!options_.resume.empty()) {
      resume();
    } else {
      model_.initialize(options_.seed);
      if (!options_.init.empty()) {
        const ParameterBuffer master = model_.master_weights();
        const ParameterBuffer weights = master.data != nullptr ? master : model_.weights();
        read_hugging_face(options_.init, model_.config(), model_.parameters(), weights.dtype,
                          weights.data);
        model_.round_master_weights();
        notes_.push_back("weights from '" + options_.init + "', everything else new");
      }
      if (model_.precision().loss_scaling) state_.loss_scale.factor = LossScale::first;
      state_.run_id = make_run_id();
      state_.seed = options_.seed;
      state_.data_hash = data_->train->list_hash();
      state_.seq_len = model_.shape().seq_len;
      state_.optimizer = options_.optimizer;
      state_.precision = name_of(model_.precision());
    }
    if (!info_.resolved_config.empty()) {
      write_file_atomically(folder_->config(), info_.resolved_config);
    }
    metrics_.open(folder_->metrics(), !options_.resume.empty());
    if (!options_.tokenizer.empty()) {
      data_->tokenizer->save(folder_->path());
      data_->tokenizer_folder = folder_->path();
    }
    for (const std::string& note : data_->notes) console_->note(note);
    for (const std::string& note : notes_) console_->note(note);
    tell_data_notes();
  }

  std::string make_run_id() const {
    Hash64 hash;
    hash.add(info_.model_name).add(options_.output).add(options_.seed);
    hash.add(
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
    return to_hex(hash.value());
  }

  void resume() {
    if (options_.resume == "latest") {
      bool found = false;
      for (const auto& [step, path] : list_checkpoints(folder_->checkpoints())) {
        try {
          state_ = load_checkpoint(path, model_);
          found = true;
          break;
        } catch (const FileError& error) {
          console_->warning(std::string("checkpoint left out: ") + error.what());
        }
      }
      if (!found) {
        throw FileError("'" + folder_->checkpoints().string() +
                        "' holds no checkpoint that can be used; start anew with --overwrite");
      }
    } else {
      state_ = load_checkpoint(options_.resume, model_);
    }
    const auto differs = [](const std::string& what, const std::string& saved,
                            const std::string& now) {
      throw ConfigError("cannot resume: " + what + " was " + saved + " and is now " + now +
                        "; use the same value, or start a new run with --init CHECKPOINT");
    };
    if (state_.seq_len != model_.shape().seq_len) {
      differs("seq_len", std::to_string(state_.seq_len), std::to_string(model_.shape().seq_len));
    }
    if (state_.seed != options_.seed) {
      differs("seed", std::to_string(state_.seed), std::to_string(options_.seed));
    }
    if (state_.optimizer != options_.optimizer) {
      differs("optimizer", std::string(name_of(state_.optimizer)),
              std::string(name_of(options_.optimizer)));
    }
    if (state_.data_hash != data_->train->list_hash()) {
      differs(options_.tokenizer.empty() ? "the list of training shards"
                                         : "the training text, or how it is read,",
              to_hex(state_.data_hash), to_hex(data_->train->list_hash()));
    }
    data_->train->seek(state_.stream);
    truncate_after(folder_->metrics(), state_.step);
    notes_.push_back("resumed after step " + std::to_string(state_.step));
  }

  std::vector<KeyValue> header() const {
    std::vector<KeyValue> rows;
    const auto add = [&rows](std::string key, std::string value) {
      rows.emplace_back(std::move(key), std::move(value));
    };
    add("model", info_.model_name + ", " + with_commas(model_.num_parameters()) + " parameters, " +
                     std::string(name_of(model_.precision())));
    add("data", options_.data + ", " + data_->train->describe());
    if (data_->validation) {
      add("validation", data_->validation->describe() + ", " + with_commas(validation_windows()) +
                            " windows each time");
    }
    add("step", std::to_string(options_.accumulate) + " x " +
                    std::to_string(model_.shape().batch_size) + " x " +
                    std::to_string(model_.shape().seq_len) + " = " + with_commas(step_slots()) +
                    " tokens");
    add("run", with_commas(options_.steps) + " steps, " +
                   with_commas(options_.steps * step_slots()) + " tokens, seed " +
                   std::to_string(options_.seed));
    add("memory", format_bytes(model_.allocated_bytes()) + " planned and allocated");
    add("machine",
        std::to_string(model_.backend().threads()) + " threads" +
            (info_.peak_flops > 0
                 ? ", peak " + std::to_string(static_cast<long long>(info_.peak_flops / 1e9)) +
                       " GFLOP/s measured"
                 : std::string()));
    add("output", folder_->path().string());
    return rows;
  }

  // --- one step ------------------------------------------------------------------------------

  RunCounts counts() const {
    return {state_.step, state_.tokens, data_->train->progress(state_.samples)};
  }

  void tell_data_notes() {
    for (const std::string& note : data_->train->take_notes()) console_->warning(note);
  }

  /// Row b of the batch.
  SampleRow row(std::int64_t b) const {
    const std::int64_t at = b * model_.shape().seq_len;
    return {model_.inputs() + at, model_.labels() + at,
            options_.document_mask ? model_.documents() + at : nullptr};
  }

  /// A step; where the data turn out to be damaged, what has been learned so far is saved.
  bool step_or_save() {
    try {
      const bool applied = train_step();
      tell_data_notes();
      return applied;
    } catch (const FileError&) {
      if (state_.step > first_step_here_ && saved_step_ != state_.step) {
        console_->erase_bar();
        save();
      }
      throw;
    }
  }

  /// @return whether an update was applied
  bool train_step() {
    const auto began = Clock::now();
    const int B = model_.shape().batch_size;
    model_.zero_gradients();
    double loss_sum = 0.0;
    std::int64_t valid = 0;
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      for (int b = 0; b < B; ++b) {
        const std::int64_t in_step = std::int64_t{micro} * B + b;
        data_->train->fill(share_.sample(options_.overfit ? 0 : state_.samples, in_step), row(b));
      }
      valid += count_valid();
      loss_sum += model_.forward(
          {.loss_scale = state_.loss_scale.factor / static_cast<double>(step_slots()),
           .dropout = static_cast<float>(options_.dropout),
           .seed = options_.seed,
           .step = static_cast<std::uint32_t>(state_.attempts),
           .micro_batch = static_cast<std::uint32_t>(micro)});
      model_.backward();
    }
    state_.samples = share_.after(state_.samples, std::int64_t{B} * options_.accumulate);
    ++state_.attempts;
    // Gradients are those of sum * loss_scale / slots: one factor turns them into those of
    // sum / valid.
    const double weighting = valid > 0 ? static_cast<double>(step_slots()) /
                                             static_cast<double>(valid) / state_.loss_scale.factor
                                       : 0.0;
    const double loss = valid > 0 ? loss_sum / static_cast<double>(valid) : 0.0;
    const double norm = model_.gradient_norm() * weighting;
    if (valid == 0 || !std::isfinite(norm) || !std::isfinite(loss)) {
      skip(valid, loss, norm);
      return false;
    }
    state_.skipped_in_a_row = 0;
    if (model_.precision().loss_scaling) state_.loss_scale.applied();
    const double rate = schedule_.at(state_.step);
    model_.update({.optimizer = options_.optimizer,
                   .learning_rate = rate,
                   .beta1 = options_.beta1,
                   .beta2 = options_.beta2,
                   .eps = options_.eps,
                   .momentum = options_.momentum,
                   .weight_decay = options_.weight_decay,
                   .gradient_scale = weighting * optim::clip_factor(norm, options_.grad_clip),
                   .step = state_.step + 1,
                   .seed = options_.seed});
    ++state_.step;
    state_.tokens += valid;
    record(loss, norm, rate, std::chrono::duration<double>(Clock::now() - began).count());
    return true;
  }

  std::int64_t count_valid() const {
    const std::int32_t* const labels = model_.labels();
    return std::count_if(labels, labels + micro_slots(), [](std::int32_t id) { return id >= 0; });
  }

  void skip(std::int64_t valid, double loss, double norm) {
    ++state_.skipped;
    char text[160];
    if (model_.precision().loss_scaling && valid > 0 && std::isfinite(loss) &&
        state_.loss_scale.overflowed()) {
      // The usual way to find the largest scale whose gradients fit into 16 bits.
      std::snprintf(text, sizeof text,
                    "step %lld left out: gradients overflowed, loss scale now %g",
                    static_cast<long long>(state_.step + 1), state_.loss_scale.factor);
      console_->note(text);
      return;
    }
    ++state_.skipped_in_a_row;
    std::snprintf(text, sizeof text, "step %lld left out: loss %g, gradient norm %g, %lld labels",
                  static_cast<long long>(state_.step + 1), loss, norm,
                  static_cast<long long>(valid));
    console_->warning(std::string(text) + "; first bad tensor: " + first_bad_tensor());
    if (state_.skipped_in_a_row < max_skipped_in_a_row) return;
    throw Error(std::to_string(state_.skipped_in_a_row) +
                " steps in a row had no finite gradient; resume from the last checkpoint with a "
                "lower --learning-rate, a smaller --grad-clip, or other data");
  }

  /// The name of the first parameter whose gradient or weight is not finite.
  std::string first_bad_tensor() const {
    for (const Parameter& parameter : model_.parameters()) {
      if (!all_finite(model_.gradients(), parameter)) return "gradient of " + parameter.name;
      if (!all_finite(model_.weights(), parameter)) return parameter.name;
    }
    return "none (the loss itself, or no label was valid)";
  }

  static bool all_finite(const ParameterBuffer& buffer, const Parameter& parameter) {
    const auto check = [&]<class T>(const T* values) {
      return std::all_of(values + parameter.offset,
                         values + parameter.offset + parameter.elements(),
                         [](T value) { return std::isfinite(value_of(value)); });
    };
    if (buffer.dtype == DType::float64) return check(reinterpret_cast<const double*>(buffer.data));
    if (buffer.dtype == DType::float32) return check(reinterpret_cast<const float*>(buffer.data));
    if (buffer.dtype == DType::bfloat16) return check(reinterpret_cast<const bf16*>(buffer.data));
    return check(reinterpret_cast<const fp16*>(buffer.data));
  }

  void record(double loss, double norm, double rate, double seconds) {
    if (state_.step == first_step_here_ + 1) result_.first_loss = loss;
    result_.last_loss = loss;
    mean_loss_.add(loss);
    // Samples, validation and checkpoints are not training time: throughput counts steps only.
    interval_seconds_ += seconds;
    ++interval_steps_;
    StepRecord record{.step = state_.step,
                      .tokens = state_.tokens,
                      .loss = loss,
                      .loss_mean = mean_loss_.mean(),
                      .lr = rate,
                      .grad_norm = norm,
                      .tokens_per_second = static_cast<double>(step_slots()) / seconds,
                      .step_ms = seconds * 1e3,
                      .memory_bytes = resident_bytes(),
                      .skipped = state_.skipped};
    metrics_.write(record);
    if (!due(options_.log_interval) && state_.step != options_.steps &&
        state_.step != first_step_here_ + 1) {
      console_->progress(state_.step, elapsed());
      return;
    }
    record.step_ms = interval_seconds_ * 1e3 / static_cast<double>(interval_steps_);
    record.tokens_per_second = static_cast<double>(step_slots()) / (record.step_ms * 1e-3);
    StepProgress progress{.elapsed_seconds = elapsed()};
    if (info_.peak_flops > 0) {
      progress.share_of_peak =
          record.tokens_per_second * model_.flops_per_token() / info_.peak_flops;
    }
    console_->step(record, progress);
    interval_seconds_ = 0.0;
    interval_steps_ = 0;
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  // --- beside the steps ----------------------------------------------------------------------

  std::int64_t validation_windows() const {
    if (!data_->validation) return 0;
    return std::min(data_->validation_all, options_.eval_batches * model_.shape().batch_size);
  }

  /// Mean loss over the validation windows, each at most once, spread evenly over the data.
  void validate() {
    const std::int64_t count = validation_windows();
    if (count < 1) return;
    const std::int64_t B = model_.shape().batch_size;
    const std::int64_t T = model_.shape().seq_len;
    double sum = 0.0;
    for (std::int64_t first = 0; first < count; first += B) {
      for (std::int64_t b = 0; b < B; ++b) {
        // The last batch may be short: rows beyond the data repeat a window and count nothing.
        const std::int64_t window = std::min(first + b, count - 1) * data_->validation_all / count;
        data_->validation->fill(window, row(b));
        if (first + b >= count) std::fill_n(row(b).labels, T, -1);
      }
      sum += model_.evaluate();
    }
    const double loss = sum / static_cast<double>(count * T);
    const bool best = std::isfinite(loss) && loss < state_.best_val_loss;
    if (best) {
      state_.best_val_loss = loss;
      state_.best_step = state_.step;
      Json mark;
      mark["step"] = state_.step;
      mark["val_loss"] = loss;
      write_file_atomically(folder_->best(), dump_json(mark) + "\n");
    }
    if (std::isnan(result_.first_val_loss)) result_.first_val_loss = loss;
    result_.last_val_loss = loss;
    metrics_.write(ValidationRecord{state_.step, loss, best});
    console_->validation({state_.step, loss, best});
  }

  void sample() {
    if (generator_ == nullptr || data_->tokenizer == nullptr) return;
    std::string text;
    const TextRequest request{.prompt = with_new_lines(options_.sample_prompt),
                              .max_new_tokens = options_.sample_tokens,
                              .sampling = {.temperature = 0.5, .seed = options_.seed}};
    try {
      generate_text(*generator_, *data_->tokenizer, request,
                    [&](const std::string& piece) { text += piece; });
    } catch (const Error& error) {
      console_->warning(std::string("no samples: ") + error.what());
      generator_ = nullptr;
      return;
    }
    write_file_atomically(folder_->samples() / (checkpoint_name(state_.step) + ".txt"),
                          request.prompt + text + "\n");
    console_->sample({state_.step, request.prompt + text});
  }

  void save() {
    state_.stream = data_->train->cursor();
    const auto path = save_checkpoint(folder_->checkpoints(), model_, state_,
                                      data_->tokenizer_folder, options_.dropout);
    saved_step_ = state_.step;
    prune_checkpoints(folder_->checkpoints(), options_.keep, state_.best_step);
    console_->note("checkpoint " + path.string());
  }

  void finish() {
    console_->erase_bar();
    result_.step = state_.step;
    result_.interrupted = stop_ && state_.step < options_.steps;
    if (saved_step_ != state_.step) save();
    write_run_report();
    if (state_.step < options_.steps) {
      console_->note((result_.interrupted ? "interrupted" : "stopped") +
                     std::string(" after step ") + std::to_string(state_.step) + " of " +
                     std::to_string(options_.steps) + "; go on with: " + info_.program +
                     " train --data " + options_.data + " --output " + options_.output +
                     " --resume latest");
    }
  }

  void write_run_report() {
    metrics_.flush();
    ReportInput report;
    report.title = info_.model_name;
    report.history = read_metrics(folder_->metrics());
    for (const std::string& name : list_files(folder_->samples(), "step-*.txt")) {
      std::string_view stem = name;
      stem.remove_suffix(4);
      const auto step = checkpoint_step(stem);
      if (step) report.samples.push_back({*step, read_file(folder_->samples() / name, MiB(4))});
    }
    report.config = info_.config;
    report.machine = describe(inspect_machine());
    write_report(folder_->report(), report);
  }

  TrainableModel& model_;
  TokenGenerator* generator_;  // null: no samples
  TrainOptions options_;
  RunInfo info_;
  const std::atomic<bool>& stop_;
  optim::LearningRate schedule_;
  RankShare share_;  // of the samples: all of them
  std::optional<RunData> data_;
  std::vector<std::string> notes_;
  std::optional<RunFolder> folder_;
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, CloseFile> log_;
  std::optional<Console> console_;
  MetricsWriter metrics_;
  RunningMean mean_loss_;
  TrainerState state_;
  RunResult result_;
  Clock::time_point started_;
  std::int64_t first_step_here_ = 0;
  std::int64_t saved_step_ = -1;
  double interval_seconds_ = 0.0;
  std::int64_t interval_steps_ = 0;
};

}  // namespace fount
