// SPDX-License-Identifier: Apache-2.0
#include <fount/app/train_settings.hpp>

#include <cstdlib>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace fount;

namespace {

ModelEntry entry() {
  ModelEntry result;
  result.name = "test-model";
  result.config = presets::shakespeare_char;
  result.recipe = presets::find("shakespeare-char")->recipe;
  return result;
}

TrainOptions resolve(std::initializer_list<std::pair<std::string, std::string>> given,
                     std::vector<std::string>* notes = nullptr, const Settings& file = {},
                     const Settings& environment = {}) {
  Settings flags;
  for (const auto& [name, value] : given) {
    detail::put_setting(flags, "command line", name, value);
  }
  std::vector<std::string> ignored;
  return resolve_settings(entry(), file, environment, flags, notes == nullptr ? ignored : *notes);
}

/// A value that a working flag accepts.
std::string sample_value(std::string_view target) {
  if (target == "learning-rate") return "1e-3";
  return target == "output" || target == "resume" || target == "data" || target == "val-data"
             ? "somewhere"
             : "7";
}

}  // namespace

TEST_CASE("every flag of the table works, is accepted with a notice, or is refused by name",
          "[app][flags]") {
  for (const Flag& flag : flag_table) {
    for (const char separator : {'-', '_'}) {
      std::string name(flag.name);
      std::replace(name.begin(), name.end(), '-', separator);
      INFO(name);
      std::vector<std::string> notes;
      switch (flag.fate) {
        case FlagFate::works: {
          const std::string value = sample_value(flag.target);
          TrainOptions options = resolve({{name, value}}, &notes);
          std::string found;
          visit_options(options, [&](const char* option, auto& target, const char*) {
            if (flag.target == option) found = detail::to_text(target);
          });
          if (flag.target == "output") found = options.output;
          if (flag.target == "resume") found = options.resume;
          CHECK(found == (value == "1e-3" ? "0.001" : value));
          CHECK(notes.empty());
          break;
        }
        case FlagFate::notice:
          CHECK(resolve({{name, ""}}, &notes) == static_cast<const Recipe&>(resolve({})));
          REQUIRE(notes.size() == 1);
          CHECK_THAT(notes.front(), Catch::Contains(std::string(flag.name)));
          break;
        case FlagFate::refused:
          CHECK_FALSE(flag.text.empty());
          CHECK_THROWS_WITH(resolve({{name, "1"}}), Catch::Contains(std::string(flag.text)));
          break;
        case FlagFate::model:
          CHECK_NOTHROW(resolve({{name, std::to_string(detail::model_field(
                                            presets::shakespeare_char, flag.target))}}));
          CHECK_THROWS_WITH(resolve({{name, "12345"}}),
                            Catch::Contains("12345") && Catch::Contains("was built with"));
          break;
        case FlagFate::derived: break;  // each below
      }
    }
  }
}

TEST_CASE("derived flags do their sums", "[app][flags]") {
  CHECK(resolve({{"gradient_checkpointing", "true"}}).recompute == Recompute::block);
  CHECK(resolve({{"gradient_checkpointing", "0"}}).recompute == Recompute::none);
  const TrainOptions micro = resolve({{"batch_size", "128"}, {"micro_batch_size", "32"}});
  CHECK(micro.batch_size == 32);
  CHECK(micro.accumulate == 4);
  CHECK_THROWS_WITH(resolve({{"batch_size", "100"}, {"micro_batch_size", "32"}}),
                    Catch::Contains("not a multiple"));
  const TrainOptions total = resolve(
      {{"batch_size", "16"}, {"sequence_length", "64"}, {"total_batch_size", "4096"}});
  CHECK(total.accumulate == 4);
  CHECK_THROWS_WITH(resolve({{"batch_size", "16"}, {"total_batch_size", "1000"}}),
                    Catch::Contains("not a multiple"));
  const TrainOptions decay =
      resolve({{"learning_rate", "6e-4"}, {"learning_rate_decay_frac", "0.1"}});
  CHECK(decay.min_lr == Approx(6e-5));
  CHECK(resolve({{"dtype", "bfloat16"}}).precision == "bf16_mixed");
  CHECK(resolve({{"overfit_single_batch", "1"}}).overfit);
  CHECK_FALSE(resolve({{"overfit_single_batch", "0"}}).overfit);
  CHECK_NOTHROW(resolve({{"zero_stage", "0"}}));
  CHECK_THROWS_WITH(resolve({{"zero_stage", "1"}}), Catch::Contains("one process"));
  CHECK_THROWS_WITH(resolve({{"total_batch_size", "768"}, {"accumulate", "2"}}),
                    Catch::Contains("say the same thing"));
}

TEST_CASE("the recorded commands of other trainers are understood", "[app][flags]") {
  const TrainOptions options = resolve({{"num_iterations", "38146"},
                                        {"sequence_length", "64"},
                                        {"batch_size", "16"},
                                        {"total_batch_size", "4096"},
                                        {"compile", "1"},
                                        {"tensorcores", "1"},
                                        {"dtype", "float32"},
                                        {"flash", "1"},
                                        {"input_train_bin", "data/*_train_*.bin"},
                                        {"input_val_bin", "data/*_val_*.bin"},
                                        {"output_dir", "out"},
                                        {"learning_rate", "6e-4"},
                                        {"weight_decay", "0.1"},
                                        {"learning_rate_decay_frac", "0.1"},
                                        {"warmup_iters", "700"},
                                        {"overfit_single_batch", "0"},
                                        {"val_loss_every", "100"},
                                        {"sample_every", "1000"},
                                        {"zero_stage", "0"},
                                        {"save_every_niter", "2000"},
                                        {"wandb_log_iters", "1"},
                                        {"wandb_project_id", "gpt2-10BT"}});
  CHECK(options.steps == 38146);
  CHECK(options.accumulate == 4);
  CHECK(options.warmup_steps == 700);
  CHECK(options.checkpoint_interval == 2000);
  CHECK(options.data == "data/*_train_*.bin");
  CHECK(options.precision == "fp32");
}

TEST_CASE("numbers are read strictly", "[app][settings]") {
  CHECK(resolve({{"steps", "500k"}}).steps == 500'000);
  CHECK(resolve({{"steps", "1_000"}}).steps == 1000);
  CHECK(resolve({{"learning-rate", "1e-4"}}).learning_rate == 1e-4);
  for (const char* bad : {"", "x", "10x", "-1", "1.5", "1e99", "nan"}) {
    INFO(bad);
    CHECK_THROWS_AS(resolve({{"steps", bad}}), ConfigError);
  }
  for (const char* bad : {"", "0,1", "1e-4x", "inf", "nan"}) {
    INFO(bad);
    CHECK_THROWS_AS(resolve({{"learning-rate", bad}}), ConfigError);
  }
  CHECK_THROWS_WITH(resolve({{"schedule", "cosin"}}), Catch::Contains("warmup_stable_decay"));
  CHECK(resolve({{"schedule", "warmup-stable-decay"}}).schedule == Schedule::warmup_stable_decay);
}

TEST_CASE("an unknown option is refused with the nearest name", "[app][settings]") {
  Settings layer;
  CHECK_THROWS_WITH(detail::put_setting(layer, "command line", "stpes", "1"),
                    Catch::Contains("did you mean 'steps'"));
  detail::put_setting(layer, "command line", "steps", "1");
  CHECK_THROWS_WITH(detail::put_setting(layer, "command line", "max_steps", "2"),
                    Catch::Contains("given twice"));
}

TEST_CASE("flags win over environment, environment over file, file over recipe",
          "[app][settings]") {
  const Settings file = {{"steps", "10"}, {"batch-size", "10"}, {"seed", "10"}};
  const Settings environment = {{"steps", "20"}, {"batch-size", "20"}};
  const TrainOptions options = resolve({{"steps", "30"}}, nullptr, file, environment);
  CHECK(options.steps == 30);
  CHECK(options.batch_size == 20);
  CHECK(options.seed == 10);
  CHECK(options.beta2 == 0.99);  // of the preset's recipe
}

TEST_CASE("the environment is read by FOUNT_ names", "[app][settings]") {
  ::setenv("FOUNT_LEARNING_RATE", "0.25", 1);
  CHECK(settings_from_environment().at("learning-rate") == "0.25");
  ::unsetenv("FOUNT_LEARNING_RATE");
  CHECK(settings_from_environment().empty());
}

TEST_CASE("config files are TOML, with or without a [train] section", "[app][settings]") {
  const test::TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    return settings_from_file(folder.file("c.toml", text).string());
  };
  CHECK(read("learning_rate = 1e-4\n[train]\nsteps = 500 # c\n").size() == 2);
  CHECK(read("schedule = \"linear\"\n").at("schedule") == "linear");
  CHECK_THROWS_WITH(read("lrr = 1\n"), Catch::Contains("unknown option"));
  CHECK_THROWS_WITH(read("steps = 1\nsteps = 2\n"), Catch::Contains("steps"));
  CHECK_THROWS_WITH(read("[other]\nsteps = 1\n"), Catch::Contains("unknown section [other]"));
  CHECK_THROWS_AS(settings_from_file((folder / "missing.toml").string()), FileError);
}

TEST_CASE("printed options read back as the same run", "[app][settings]") {
  const test::TemporaryFolder folder;
  const TrainOptions options = resolve({{"steps", "123"},
                                        {"learning-rate", "0.00123"},
                                        {"data", "my data's folder"},
                                        {"schedule", "linear"},
                                        {"recompute", "block"},
                                        {"sample-prompt", "\\n"}});
  const auto path = folder.file("c.toml", to_toml(entry(), options));
  const TrainOptions again = resolve({}, nullptr, settings_from_file(path.string()));
  CHECK(static_cast<const Recipe&>(again) == static_cast<const Recipe&>(options));
  CHECK(again.data == options.data);
  CHECK(again.sample_prompt == options.sample_prompt);
}
