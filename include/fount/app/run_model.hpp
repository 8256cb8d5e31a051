// SPDX-License-Identifier: Apache-2.0
#pragma once
// The commands of a trainer: train, generate, plan, benchmark. Written against ModelEntry, so that
// one compiled copy serves every model of a build (cmake/FountAddTrainer.cmake); FOUNT_APP_INLINE
// is empty in that one.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fount/app/model_main.hpp>
#include <fount/app/plan_report.hpp>
#include <fount/app/train_settings.hpp>
#include <fount/core/random.hpp>
#include <fount/io/json.hpp>
#include <fount/monitor/machine.hpp>
#include <fount/train/trainer.hpp>
#include <fount/version.hpp>

#include <CLI/CLI.hpp>

#if !defined(FOUNT_APP_INLINE)
#define FOUNT_APP_INLINE inline
#endif

namespace fount {
namespace detail {

/// Set by SIGINT and SIGTERM while a run goes on; a second signal ends the program at once.
inline std::atomic<bool> stop_requested{false};

extern "C" inline void fount_request_stop(int signal_number) {
  stop_requested = true;
  std::signal(signal_number, SIG_DFL);
}

/// What the verbs share.
struct Program {
  const ModelEntry& entry;
  std::string name;  // as the user called it
};

inline const ComputeEntry& compute_in(const Program& program, const std::string& precision) {
  std::string built;
  for (const ComputeEntry& compute : program.entry.computes) {
    if (name_of(compute.precision) == precision) return compute;
    built += (built.empty() ? "" : ", ") + std::string(name_of(compute.precision));
  }
  throw ConfigError("--precision " + precision + ": this program was built for " + built +
                    "; name others in PRECISIONS of fount_add_trainer");
}

inline const PlanEntry& plan_in(const Program& program, const std::string& precision) {
  std::string known;
  for (const PlanEntry& plan : program.entry.plans) {
    if (name_of(plan.precision) == precision) return plan;
    known += (known.empty() ? "" : ", ") + std::string(name_of(plan.precision));
  }
  throw ConfigError("--precision " + precision + ": found no such precision, expected one of " +
                    known);
}

/// One verb of the command line: its options, all read as text and checked by whoever uses them.
class Verb {
 public:
  Verb(CLI::App& program, const std::string& name, const std::string& about)
      : app_(program.add_subcommand(name, about)) {}

  enum class Value : std::uint8_t { required, optional };

  void add(const std::string& name, const std::string& help, Value value = Value::required) {
    const std::string text = help;
    CLI::Option* const option = app_->add_option("--" + name, text);
    option->expected(value == Value::required ? 1 : 0, 1);
    option->type_name(value == Value::required ? "VALUE" : "");
    options_.emplace_back(name, option);
  }
  /// Known, but not worth a line of --help.
  void add_hidden(const std::string& name, Value value) {
    add(name, "", value);
    options_.back().second->group("");
  }
  void footer(const std::string& text) { app_->footer(text); }

  bool chosen() const { return app_->parsed(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result = {"--help"};
    for (const auto& [name, option] : options_) result.push_back("--" + name);
    return result;
  }
  /// What was given, by option name.
  Settings settings() const {
    Settings result;
    for (const auto& [name, option] : options_) {
      if (option->count() == 0) continue;
      result[name] = option->results().empty() ? std::string() : option->results().front();
    }
    return result;
  }

 private:
  CLI::App* app_;
  std::vector<std::pair<std::string, CLI::Option*>> options_;
};

template <class T>
T setting(const Settings& settings, const std::string& name, T value) {
  if (const auto at = settings.find(name); at != settings.end()) {
    parse_value("--" + name, at->second, value);
  }
  return value;
}
inline bool flag_setting(const Settings& settings, const std::string& name) {
  const auto at = settings.find(name);
  return at != settings.end() && parse_flag("--" + name, at->second);
}

// --- train -----------------------------------------------------------------------------------

inline void declare_train(Verb& verb, const ModelEntry& entry) {
  TrainOptions recipe;
  static_cast<Recipe&>(recipe) = entry.recipe;
  verb.add("output", "run folder: checkpoints, metrics, log, samples, report");
  visit_options(recipe, [&](const char* name, auto& value, const char* help) {
    const std::string shown = to_text(value);
    verb.add(name, std::string(help) + (shown.empty() ? "" : " [" + shown + "]"));
  });
  verb.add("stop-after", "end this process after that step, with a checkpoint");
  verb.add("resume", "latest, or a checkpoint folder: go on where it ended");
  verb.add("init", "a checkpoint folder: begin with its weights and nothing else");
  verb.add("config", "a TOML file of these options");
  verb.add("overfit", "train on the first batch only; fail unless the loss falls",
           Verb::Value::optional);
  verb.add("overwrite", "replace the run that the output folder holds", Verb::Value::optional);
  verb.add("print-config", "print every option of this run as TOML and end",
           Verb::Value::optional);
  verb.add("dry-run", "check options, data and memory, and end", Verb::Value::optional);
  for (const Flag& flag : flag_table) verb.add_hidden(std::string(flag.name), Verb::Value::optional);
  verb.footer(
      "Flags over environment (FOUNT_LEARNING_RATE=...) over --config over the model's recipe,\n"
      "which stands in brackets. Numbers may be written 500k or 1e-4.\n"
      "Example:\n  train --data data/shakespeare --output runs/first --steps 2000");
}

inline TrainOptions train_options(const Program& program, const Settings& given,
                                  std::vector<std::string>& notes) {
  Settings flags;
  std::string config;
  for (const auto& [name, value] : given) {
    if (name == "config") {
      config = value;
    } else if (name != "print-config" && name != "dry-run") {
      put_setting(flags, "command line", name, value);
    }
  }
  // A run that goes on uses the options it began with, unless it is told others.
  if (config.empty() && flags.contains("resume") && flags.contains("output")) {
    const auto saved = std::filesystem::path(flags.at("output")) / "config.toml";
    std::error_code error;
    if (std::filesystem::exists(saved, error)) config = saved.string();
  }
  return resolve_settings(program.entry, config.empty() ? Settings{} : settings_from_file(config),
                          settings_from_environment(), flags, notes);
}

inline std::vector<KeyValue> config_rows(TrainOptions options) {
  std::vector<KeyValue> rows;
  visit_options(options, [&](const char* name, auto& value, const char*) {
    rows.emplace_back(name, to_text(value));
  });
  return rows;
}

inline RunShape run_shape(const TrainOptions& options) {
  return {.batch_size = options.batch_size,
          .seq_len = options.seq_len,
          .recompute = options.recompute,
          .dropout = options.dropout > 0,
          .samples = true,
          .optimizer = options.optimizer};
}

inline void check_batch(const ModelEntry& entry, const RunShape& shape) {
  if (shape.batch_size < 1 || shape.seq_len > entry.config.max_seq_len) {
    throw ConfigError("a batch of " + std::to_string(shape.batch_size) + " x " +
                      std::to_string(shape.seq_len) + " tokens: " + std::string(entry.name) +
                      " takes at least 1 sequence of at most max_seq_len = " +
                      std::to_string(entry.config.max_seq_len) + " tokens");
  }
}

inline Bytes kernel_reserve(int threads) { return threads * Cpu::workspace_bytes_per_thread; }

inline int run_train(const Program& program, const Settings& given) {
  std::vector<std::string> notes;
  TrainOptions options = train_options(program, given, notes);
  const ModelEntry& entry = program.entry;
  if (flag_setting(given, "print-config")) {
    std::cout << to_toml(entry, options);
    return 0;
  }
  const ComputeEntry& compute = compute_in(program, options.precision);
  const int threads = options.threads > 0 ? options.threads : available_threads();
  const RunShape shape = run_shape(options);
  check_batch(entry, shape);
  const Bytes memory = inspect_machine().total_memory;
  const PlanQuestion question{plan_in(program, options.precision).train(shape),
                              entry.num_parameters, memory, kernel_reserve(threads)};
  if (flag_setting(given, "dry-run")) {
    std::cout << to_toml(entry, options) << '\n' << plan_report(question);
    if (!options.data.empty()) find_shards(options.data, Split::train);
    return is_feasible(question) ? 0 : 1;
  }
  if (options.data.empty()) {
    throw ConfigError("no data: say --data FOLDER; make one with `fount prepare --input FILE "
                      "--tokenizer char --output FOLDER`");
  }
  if (memory > 0 && question.plan.total() + question.reserve > memory) {
    throw ConfigError("this run needs " + format_bytes(question.plan.total()) +
                      ", the machine has " + format_bytes(memory) + "; `" + program.name +
                      " plan` says which batch fits");
  }
  for (const std::string& note : notes) std::cout << "note: " << note << '\n';
  const auto model = compute.train(shape, threads);
  RunInfo info;
  info.model_name = std::string(entry.name);
  info.program = program.name;
  info.resolved_config = to_toml(entry, options);
  info.config = config_rows(options);
  for (int i = 0; i < 3; ++i) {  // another program may disturb one measurement, hardly all
    info.peak_flops = std::max(
        info.peak_flops, measure_peak_flops(model->backend(), compute.precision.activation));
  }
  info.out = stdout;
  const char* const term = std::getenv("TERM");
  info.interactive = is_interactive(stdout, term == nullptr ? "" : term);
  stop_requested = false;
  std::signal(SIGINT, fount_request_stop);
  std::signal(SIGTERM, fount_request_stop);
  Trainer trainer(*model, options, info, stop_requested);
  const RunResult result = trainer.run();
  std::cout << "run folder " << trainer.folder().path().string() << ", report "
            << trainer.folder().report().string() << '\n';
  if (options.overfit && !result.interrupted && !(result.last_loss < result.first_loss)) {
    throw Error("--overfit: the loss on one batch did not fall (" +
                std::to_string(result.first_loss) + " at first, " +
                std::to_string(result.last_loss) + " at last)");
  }
  return result.interrupted ? 130 : 0;
}

// --- generate --------------------------------------------------------------------------------

inline void declare_generate(Verb& verb) {
  verb.add("checkpoint", "checkpoint folder, or the run folder it is in");
  verb.add("prompt", "text to go on from; - reads standard input; \\n is a new line");
  verb.add("max-new-tokens", "length of each sample [200]");
  verb.add("num-samples", "how many [1]");
  verb.add("temperature", "0: always the likeliest token [1.0]");
  verb.add("top-k", "draw among the k likeliest; 0: all [0]");
  verb.add("top-p", "draw among the likeliest that reach this probability together [1.0]");
  verb.add("seed", "equal seeds give equal text [1]");
  verb.add("precision", "one of the precisions this program was built for");
  verb.add("threads", "0: as many as affinity and control group allow");
  verb.footer("Example:\n  generate --checkpoint runs/first --prompt \"Once upon\" "
              "--temperature 0.8");
}

/// The checkpoint that a path means: itself, or the newest of a run folder.
inline std::filesystem::path find_checkpoint(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path.empty()) throw ConfigError("no checkpoint: say --checkpoint FOLDER");
  if (fs::exists(fs::path(path) / "config.json", error)) return path;
  for (const auto& folder : {fs::path(path) / "checkpoints", fs::path(path)}) {
    const auto found = list_checkpoints(folder);
    if (!found.empty()) return found.front().second;
  }
  throw FileError("'" + path +
                  "' is no checkpoint (it has no config.json) and no run folder with checkpoints");
}

inline int run_generate(const Program& program, const Settings& given) {
  const auto text = [&](const char* name, std::string otherwise) {
    const auto at = given.find(name);
    return at == given.end() ? otherwise : at->second;
  };
  const auto folder = find_checkpoint(text("checkpoint", ""));
  const int threads = setting(given, "threads", 0);
  const auto model =
      compute_in(program, text("precision", std::string(name_of(
                                                program.entry.computes.front().precision))))
          .generate(threads > 0 ? threads : available_threads());
  const ParameterBuffer weights = model->weights();
  read_hugging_face(folder, model->config(), model->parameters(), weights.dtype, weights.data);
  const auto tokenizer = load_tokenizer(folder);
  TextRequest request;
  request.prompt = with_new_lines(text("prompt", "\\n"));
  if (request.prompt == "-") {
    request.prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  request.max_new_tokens = setting(given, "max-new-tokens", request.max_new_tokens);
  request.sampling.temperature = setting(given, "temperature", 1.0);
  request.sampling.top_k = setting(given, "top-k", 0);
  request.sampling.top_p = setting(given, "top-p", 1.0);
  request.sampling.seed = setting(given, "seed", request.sampling.seed);
  const int samples = setting(given, "num-samples", 1);
  for (int i = 0; i < samples; ++i) {
    if (i > 0) std::cout << "---\n";
    request.sample = static_cast<std::uint32_t>(i);
    encode_prompt(*model, *tokenizer, request.prompt);  // refuse before printing it
    std::cout << request.prompt << std::flush;
    generate_text(*model, *tokenizer, request,
                  [](const std::string& piece) { std::cout << piece << std::flush; });
    std::cout << '\n';
  }
  if (!std::cout.flush()) throw FileError("cannot write the text to standard output");
  return 0;
}

// --- plan ------------------------------------------------------------------------------------

inline void declare_plan(Verb& verb) {
  verb.add("purpose", "train, evaluate or generate [train]");
  verb.add("batch-size", "sequences of one micro-batch");
  verb.add("seq-len", "tokens of a sequence; 0: the model's max_seq_len");
  verb.add("recompute", "none or block");
  verb.add("dropout", "above 0: with the buffers that dropout needs");
  verb.add("optimizer", "adamw or sgd");
  verb.add("precision", "fp32, bf16_mixed, bf16_grad16, bf16_lean, fp16_mixed or fp64");
  verb.add("zero-stage", "0 to 3: what is sharded over --world-size processes");
  verb.add("world-size", "processes [1]");
  verb.add("memory", "of the machine, such as 80GiB [this machine's]");
  verb.add("threads", "whose workspaces are counted; 0: as many as there are");
  verb.footer("Exit status 0: it fits; 1: it does not.\nExample:\n"
              "  plan --batch-size 2 --seq-len 2048 --precision bf16_lean --memory 80GiB");
}

inline int run_plan(const Program& program, const Settings& given) {
  const ModelEntry& entry = program.entry;
  const auto text = [&](const char* name, const char* otherwise) {
    const auto at = given.find(name);
    return at == given.end() ? std::string(otherwise) : at->second;
  };
  RunShape shape;
  shape.batch_size = setting(given, "batch-size", entry.recipe.batch_size);
  shape.seq_len = setting(given, "seq-len", entry.recipe.seq_len);
  if (shape.seq_len == 0) shape.seq_len = entry.config.max_seq_len;
  shape.recompute = setting(given, "recompute", entry.recipe.recompute);
  shape.dropout = setting(given, "dropout", entry.recipe.dropout) > 0;
  shape.samples = true;  // as `train` draws them
  shape.optimizer = setting(given, "optimizer", entry.recipe.optimizer);
  shape.zero_stage = setting(given, "zero-stage", 0);
  shape.world_size = setting(given, "world-size", 1);
  if (shape.zero_stage > 3 || shape.world_size < 1) {
    throw ConfigError("--zero-stage is 0 to 3 and --world-size at least 1; found " +
                      std::to_string(shape.zero_stage) + " and " +
                      std::to_string(shape.world_size));
  }
  check_batch(entry, shape);
  const PlanEntry& plans = plan_in(program, text("precision", "fp32"));
  const std::string purpose = text("purpose", "train");
  const auto plan_of = [&](const RunShape& with) {
    if (purpose == "train") return plans.train(with);
    if (purpose == "evaluate") return plans.evaluate(with);
    if (purpose == "generate") return plans.generate(with.batch_size);
    throw ConfigError("--purpose " + purpose + ": expected train, evaluate or generate");
  };
  Bytes memory = inspect_machine().total_memory;
  if (const auto at = given.find("memory"); at != given.end()) {
    const auto parsed = parse_bytes(at->second);
    if (!parsed || *parsed <= 0) refuse_value("--memory", at->second, "a size such as 80GiB");
    memory = *parsed;
  }
  const int threads = setting(given, "threads", 0);
  const PlanQuestion question{plan_of(shape), entry.num_parameters, memory,
                              kernel_reserve(threads > 0 ? threads : available_threads())};
  std::cout << entry.name << ", " << purpose << ", " << text("precision", "fp32")
            << ", batch size " << shape.batch_size << ", sequence length " << shape.seq_len
            << ", recompute " << name_of(shape.recompute);
  if (shape.world_size > 1) {
    std::cout << ", ZeRO stage " << shape.zero_stage << " over " << shape.world_size
              << " processes (communication buckets not counted)";
  }
  std::cout << "\n\n" << plan_report(question);
  const auto fits = [&](RunShape with) {
    PlanQuestion other = question;
    other.plan = plan_of(with);
    return is_feasible(other);
  };
  const int batch = largest_that_fits(1 << 16, [&](int n) {
    RunShape with = shape;
    with.batch_size = n;
    return n == 0 || fits(with);
  });
  const int length = largest_that_fits(entry.config.max_seq_len, [&](int n) {
    RunShape with = shape;
    with.seq_len = n;
    return n == 0 || fits(with);
  });
  const auto offer = [](int n) { return n == 0 ? std::string("none") : std::to_string(n); };
  std::cout << "\nLargest that fits:\n  batch size at sequence length " << shape.seq_len << ": "
            << offer(batch) << "\n  sequence length at batch size " << shape.batch_size << ": "
            << offer(length) << (length == entry.config.max_seq_len ? " (the model's limit)" : "")
            << '\n';
  return is_feasible(question) ? 0 : 1;
}

// --- benchmark -------------------------------------------------------------------------------

inline void declare_benchmark(Verb& verb) {
  verb.add("batch-size", "sequences of one micro-batch");
  verb.add("seq-len", "tokens of a sequence; 0: the model's max_seq_len");
  verb.add("steps", "steps to time, after two that are not [10]");
  verb.add("precision", "one of the precisions this program was built for");
  verb.add("recompute", "none or block");
  verb.add("threads", "0: as many as affinity and control group allow");
  verb.add("json", "print one JSON object as the last line", Verb::Value::optional);
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline int run_benchmark(const Program& program, const Settings& given) {
  const ModelEntry& entry = program.entry;
  RunShape shape;
  shape.batch_size = setting(given, "batch-size", entry.recipe.batch_size);
  shape.seq_len = setting(given, "seq-len", entry.recipe.seq_len);
  shape.recompute = setting(given, "recompute", entry.recipe.recompute);
  const int steps = std::max(1, setting(given, "steps", 10));
  int threads = setting(given, "threads", 0);
  if (threads == 0) threads = available_threads();
  check_batch(entry, shape);
  const ComputeEntry& compute = compute_in(
      program,
      setting(given, "precision", std::string(name_of(entry.computes.front().precision))));
  const auto model = compute.train(shape, threads);
  model->initialize(1);
  const RandomStream random{1, 0, 0, RandomPurpose::shuffle};
  for (std::int64_t i = 0; i < model->shape().tokens(); ++i) {
    const auto words = random.block(static_cast<std::uint64_t>(i));
    const auto vocab_size = static_cast<std::uint32_t>(entry.config.vocab_size);
    model->inputs()[i] = static_cast<std::int32_t>(words[0] % vocab_size);
    model->labels()[i] = static_cast<std::int32_t>(words[1] % vocab_size);
  }
  std::vector<double> milliseconds;
  std::vector<double> peaks;
  constexpr int warm_up = 2;
  for (int step = 0; step < steps + warm_up; ++step) {
    // The peak is taken between the steps, so that both see the same machine.
    peaks.push_back(measure_peak_flops(model->backend(), compute.precision.activation));
    const auto began = std::chrono::steady_clock::now();
    model->zero_gradients();
    model->forward({.loss_scale = 1.0 / static_cast<double>(model->shape().tokens())});
    model->backward();
    const double norm = model->gradient_norm();
    model->update({.learning_rate = 1e-4,
                   .weight_decay = 0.1,
                   .gradient_scale = optim::clip_factor(norm, 1.0),
                   .step = step + 1});
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - began;
    if (step >= warm_up) milliseconds.push_back(took.count());
  }
  const double step_ms = median(milliseconds);
  const double peak = median(peaks);
  const double speed = static_cast<double>(model->shape().tokens()) / (step_ms * 1e-3);
  const double share = speed * model->flops_per_token() / peak;
  std::cout << entry.name << ", " << name_of(compute.precision) << ", " << threads
            << " threads, batch " << model->shape().batch_size << " x " << model->shape().seq_len
            << "\n  step      " << step_ms << " ms (median of " << steps << ")\n  speed     "
            << speed << " tokens/s\n  compute   " << speed * model->flops_per_token() / 1e9
            << " of " << peak / 1e9 << " GFLOP/s, " << 100.0 * share << " %\n  memory    "
            << format_bytes(peak_resident_bytes()) << " resident, "
            << format_bytes(model->plan().total()) << " planned\n";
  if (flag_setting(given, "json")) {
    Json json;
    json["model"] = entry.name;
    json["parameters"] = entry.num_parameters;
    json["precision"] = name_of(compute.precision);
    json["threads"] = threads;
    json["batch_size"] = model->shape().batch_size;
    json["seq_len"] = model->shape().seq_len;
    json["step_ms"] = step_ms;
    json["tokens_per_second"] = speed;
    json["flops_per_token"] = model->flops_per_token();
    json["peak_flops"] = peak;
    json["share_of_peak"] = share;
    json["peak_rss_bytes"] = peak_resident_bytes();
    json["planned_bytes"] = model->plan().total();
    std::cout << dump_json(json, -1) << '\n';
  }
  return 0;
}

/// Option names may be spelled with '_' as with '-'; a model's options are the same either way.
inline std::vector<std::string> spelled_with_dashes(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--")) {
      const std::size_t end = std::min(argument.find('='), argument.size());
      std::replace(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// "--stpes" -> a sentence that names --steps; empty if every option is known.
inline std::string unknown_option(const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& known) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() < 3 || !name.starts_with("--")) continue;
    if (std::ranges::find(known, name) == known.end()) {
      return "unknown option '" + name + "'" + suggestion(name, known);
    }
  }
  return {};
}

inline std::string about(const ModelEntry& entry) {
  const ModelConfig& c = entry.config;
  return std::string(entry.name) + ": " + with_commas(entry.num_parameters) + " parameters" +
         (entry.description.empty() ? "" : ", " + std::string(entry.description)) + "\n" +
         std::to_string(c.num_layers) + " layers, hidden size " + std::to_string(c.hidden_size) +
         ", " + std::to_string(c.num_heads) + " heads (" + std::to_string(c.kv_heads()) +
         " key-value), vocabulary " + std::to_string(c.vocab_size) + ", context " +
         std::to_string(c.max_seq_len);
}

}  // namespace detail

FOUNT_APP_INLINE int run_model(const ModelEntry& entry, int argc, char** argv) {
  const detail::Program program{entry, argc > 0 ? argv[0] : std::string(entry.name)};
  CLI::App app(detail::about(entry), std::string(entry.name));
  app.set_version_flag("--version", "fount " + std::string(version));
  app.require_subcommand(1);
  app.footer("Each command explains itself: " + std::string(entry.name) + " train --help");
  detail::Verb train(app, "train", "train the model on prepared data");
  detail::Verb generate(app, "generate", "text from a checkpoint");
  detail::Verb plan(app, "plan", "the memory of a run, without running it");
  detail::Verb benchmark(app, "benchmark", "time of a training step on random tokens");
  detail::declare_train(train, entry);
  detail::declare_generate(generate);
  detail::declare_plan(plan);
  detail::declare_benchmark(benchmark);
  const std::vector<std::pair<std::string, const detail::Verb*>> verbs = {
      {"train", &train}, {"generate", &generate}, {"plan", &plan}, {"benchmark", &benchmark}};

  std::vector<std::string> arguments = detail::spelled_with_dashes(argc, argv);
  const auto refuse = [&](const std::string& what) {
    std::cerr << entry.name << ": error: " << what << "\nTry '" << program.name << " --help'.\n";
    return 2;
  };
  if (!arguments.empty()) {
    for (const auto& [name, verb] : verbs) {
      if (arguments.front() != name) continue;
      const std::string what = detail::unknown_option(arguments, verb->names());
      if (!what.empty()) return refuse(what);
    }
  }
  try {
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
  } catch (const CLI::Success& done) {  // --help and --version
    return app.exit(done);
  } catch (const CLI::Error& error) {
    return refuse(error.what());
  }
  try {
    if (train.chosen()) return detail::run_train(program, train.settings());
    if (generate.chosen()) return detail::run_generate(program, generate.settings());
    if (plan.chosen()) return detail::run_plan(program, plan.settings());
    return detail::run_benchmark(program, benchmark.settings());
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << entry.name << ": error: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace fount
