// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what a person wrote to TrainOptions: flags over environment (FOUNT_*) over config file over
// recipe. Every value is checked where it comes in, and every message says where that was.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fount/app/model_entry.hpp>
#include <fount/app/suggest.hpp>
#include <fount/app/train_flags.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/files.hpp>

#include <CLI/CLI.hpp>

namespace fount {

/// The values of one layer, by option name with '-'.
using Settings = std::map<std::string, std::string>;

namespace detail {

inline std::string dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

[[noreturn]] inline void refuse_value(const std::string& where, const std::string& text,
                                      const std::string& expected) {
  throw ConfigError(where + ": found '" + text + "', expected " + expected);
}

inline bool parse_flag(const std::string& where, const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "true" || lower == "1" || lower == "yes" || lower == "on" || lower.empty()) {
    return true;
  }
  if (lower == "false" || lower == "0" || lower == "no" || lower == "off") return false;
  refuse_value(where, text, "true or false");
}

template <class Enum>
Enum parse_name(const std::string& where, const std::string& text,
                std::initializer_list<Enum> values) {
  std::string names;
  std::string wanted = text;
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const Enum value : values) {
    if (wanted == name_of(value)) return value;
    names += (names.empty() ? "" : ", ") + std::string(name_of(value));
  }
  refuse_value(where, text, "one of " + names);
}

/// Strict: the whole text or an error; numbers as 500k and 1e-4, never by locale.
inline void parse_value(const std::string& where, const std::string& text, std::string& value) {
  (void)where;
  value = text;
}
inline void parse_value(const std::string& where, const std::string& text, double& value) {
  const char* const end = text.data() + text.size();
  double parsed = 0.0;
  const auto [rest, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc{} || rest != end || !std::isfinite(parsed)) {
    refuse_value(where, text, "a number such as 0.1 or 6e-4");
  }
  value = parsed;
}
inline void parse_value(const std::string& where, const std::string& text, bool& value) {
  value = parse_flag(where, text);
}
template <class Integer>
  requires std::is_integral_v<Integer>
void parse_value(const std::string& where, const std::string& text, Integer& value) {
  const auto parsed = parse_count(text);
  if (!parsed || *parsed < 0 ||
      static_cast<std::uint64_t>(*parsed) >
          static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) {
    refuse_value(where, text, "a whole number from 0 on, such as 2000 or 500k");
  }
  value = static_cast<Integer>(*parsed);
}
inline void parse_value(const std::string& where, const std::string& text, Schedule& value) {
  value = parse_name(
      where, text,
      {Schedule::constant, Schedule::linear, Schedule::cosine, Schedule::warmup_stable_decay});
}
inline void parse_value(const std::string& where, const std::string& text, Optimizer& value) {
  value = parse_name(where, text, {Optimizer::adamw, Optimizer::sgd});
}
inline void parse_value(const std::string& where, const std::string& text, Recompute& value) {
  value = parse_name(where, text, {Recompute::none, Recompute::block});
}

inline void parse_value(const std::string& where, const std::string& text,
                        PrepareDocuments& value) {
  using enum PrepareDocuments;
  value = parse_name(where, text, {automatic, file, blank_line, line, json_lines});
}

template <class T>
std::string to_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, double>) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else {
    return std::to_string(value);
  }
}

inline const Flag* find_flag(std::string_view name) {
  const auto found = std::ranges::find(flag_table, name, &Flag::name);
  return found == flag_table.end() ? nullptr : &*found;
}

/// Names of options and of known foreign flags, for suggestions.
inline std::vector<std::string> known_settings() {
  std::vector<std::string> names;
  TrainOptions options;
  visit_options(options, [&](const char* name, auto&, const char*) { names.emplace_back(name); });
  for (const char* name : {"output", "resume", "init", "stop-after", "overfit", "overwrite"}) {
    names.emplace_back(name);
  }
  for (const Flag& flag : flag_table) names.emplace_back(flag.name);
  return names;
}

/// Puts one value into a layer under the name it works by. @throws ConfigError if it is unknown or
/// there already
inline void put_setting(Settings& layer, const std::string& where, std::string name,
                        const std::string& value) {
  name = dashes(std::move(name));
  const std::vector<std::string> known = known_settings();
  if (std::ranges::find(known, name) == known.end()) {
    throw ConfigError(where + ": unknown option '" + name + "'" + suggestion(name, known));
  }
  if (const Flag* flag = find_flag(name); flag != nullptr && flag->fate == FlagFate::works) {
    name = flag->target;
  }
  if (!layer.emplace(name, value).second) {
    throw ConfigError(where + ": '" + name + "' is given twice");
  }
}

}  // namespace detail

/// A TOML file of options; a [train] section is the same as none.
inline Settings settings_from_file(const std::string& path) {
  read_file(path, MiB(1));  // says what is wrong with the file better than the parser would
  Settings layer;
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_file(path);
  } catch (const CLI::Error& error) {
    throw ConfigError("'" + path + "': " + error.what());
  }
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // the parser's marks of a section
    if (!item.parents.empty() && item.parents != std::vector<std::string>{"train"}) {
      throw ConfigError("'" + path + "': unknown section [" + item.parents.front() +
                        "]; options stand at the top or in [train]");
    }
    if (item.inputs.size() != 1) {
      throw ConfigError("'" + path + "': '" + item.name + "' has " +
                        std::to_string(item.inputs.size()) + " values, expected one");
    }
    detail::put_setting(layer, "'" + path + "'", item.name, item.inputs.front());
  }
  return layer;
}

/// FOUNT_LEARNING_RATE=1e-3 and so on; other variables are left alone.
inline Settings settings_from_environment() {
  Settings layer;
  TrainOptions options;
  visit_options(options, [&](const char* name, auto&, const char*) {
    std::string variable = "FOUNT_" + std::string(name);
    for (char& c : variable) {
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    if (const char* const value = std::getenv(variable.c_str())) layer[name] = value;
  });
  return layer;
}

namespace detail {

inline int model_field(const ModelConfig& config, std::string_view field) {
  if (field == "hidden_size") return config.hidden_size;
  if (field == "num_layers") return config.num_layers;
  if (field == "num_heads") return config.num_heads;
  if (field == "num_kv_heads") return config.kv_heads();
  return config.vocab_size;
}

inline void check_model_flag(const ModelEntry& entry, const Flag& flag, const std::string& value) {
  int asked = 0;
  parse_value("--" + std::string(flag.name), value, asked);
  const int built = model_field(entry.config, flag.target);
  if (asked != built) {
    throw ConfigError("--" + std::string(flag.name) + " " + value + ", but " +
                      std::string(entry.name) + " was built with " + std::string(flag.target) +
                      " = " + std::to_string(built) +
                      "; leave the option out, or build a trainer of that shape with "
                      "fount_add_trainer");
  }
}

/// The flags that need a calculation; `settings` has everything, `options` the plain values.
inline void apply_derived(const ModelEntry& entry, const Settings& settings,
                          TrainOptions& options) {
  const auto find = [&](const char* name) {
    const auto at = settings.find(name);
    return at == settings.end() ? nullptr : &at->second;
  };
  const auto only_one = [&](const char* flag, const char* option) {
    if (settings.contains(option)) {
      throw ConfigError("--" + std::string(flag) + " and --" + option +
                        " say the same thing; give one of them");
    }
  };
  if (const auto* text = find("gradient-checkpointing")) {
    only_one("gradient-checkpointing", "recompute");
    options.recompute =
        parse_flag("--gradient-checkpointing", *text) ? Recompute::block : Recompute::none;
  }
  if (const auto* text = find("micro-batch-size")) {
    only_one("micro-batch-size", "accumulate");
    int micro = 0;
    parse_value("--micro-batch-size", *text, micro);
    if (micro < 1 || options.batch_size % micro != 0) {
      throw ConfigError("--batch-size " + std::to_string(options.batch_size) +
                        " is not a multiple of --micro-batch-size " + *text +
                        "; with a micro-batch size, the batch size is the effective one");
    }
    options.accumulate = options.batch_size / micro;
    options.batch_size = micro;
  }
  if (const auto* text = find("total-batch-size")) {
    only_one("total-batch-size", "accumulate");
    std::int64_t total = 0;
    parse_value("--total-batch-size", *text, total);
    const std::int64_t seq_len = options.seq_len == 0 ? entry.config.max_seq_len : options.seq_len;
    const std::int64_t micro = options.batch_size * seq_len;
    if (total < 1 || micro < 1 || total % micro != 0) {
      throw ConfigError("--total-batch-size " + *text + " is not a multiple of batch size x " +
                        "sequence length = " + std::to_string(options.batch_size) + " x " +
                        std::to_string(seq_len) + " = " + std::to_string(micro) + " tokens");
    }
    options.accumulate = static_cast<int>(total / micro);
  }
  if (const auto* text = find("learning-rate-decay-frac")) {
    only_one("learning-rate-decay-frac", "min-lr");
    double part = 0.0;
    parse_value("--learning-rate-decay-frac", *text, part);
    options.min_lr = options.learning_rate * part;
  }
  if (const auto* text = find("dtype")) {
    only_one("dtype", "precision");
    options.precision = *text == "float32"    ? "fp32"
                        : *text == "bfloat16" ? "bf16_mixed"
                        : *text == "float16"  ? "fp16_mixed"
                                              : *text;
  }
  if (const auto* text = find("overfit-single-batch")) {
    options.overfit = parse_flag("--overfit-single-batch", *text);
  }
  if (const auto* text = find("zero-stage"); text != nullptr && *text != "0") {
    throw ConfigError("--zero-stage " + *text +
                      ": this version trains in one process, where there is nothing to shard; "
                      "`plan --zero-stage` shows what sharding would need");
  }
}

}  // namespace detail

namespace detail {

/// The highest layer that says where the run ends is the one that counts: an end in a lower layer
/// is forgotten. @throws ConfigError if a command line gives two
inline void settle_horizon(const Settings& file, const Settings& environment, const Settings& flags,
                           TrainOptions& options) {
  constexpr std::array ends = {"tokens", "epochs", "files"};
  const auto names_end = [&](const Settings& layer) {
    return layer.contains("steps") ||
           std::ranges::any_of(ends, [&](const char* name) { return layer.contains(name); });
  };
  const Settings& layer = names_end(flags) ? flags : names_end(environment) ? environment : file;
  for (const char* name : ends) {
    if (&layer == &flags && flags.contains(name) && flags.contains("steps")) {
      throw ConfigError("--steps and --" + std::string(name) +
                        " both say where the run ends; give one of them");
    }
  }
  const auto keep = [&](const char* name, std::int64_t& value) {
    if (!layer.contains(name)) value = 0;
  };
  keep("tokens", options.tokens);
  keep("epochs", options.epochs);
  keep("files", options.files);
}

}  // namespace detail

/// What a run is to do, from its layers. Notices about accepted flags go to `notes`.
inline TrainOptions resolve_settings(const ModelEntry& entry, const Settings& file,
                                     const Settings& environment, const Settings& flags,
                                     std::vector<std::string>& notes) {
  TrainOptions options;
  static_cast<Recipe&>(options) = entry.recipe;
  Settings merged = flags;
  merged.insert(environment.begin(), environment.end());
  merged.insert(file.begin(), file.end());
  const auto where = [&](const std::string& name) {
    return flags.contains(name)         ? "--" + name
           : environment.contains(name) ? "environment variable for '" + name + "'"
                                        : "config file, '" + name + "'";
  };
  for (const auto& [name, value] : merged) {
    const Flag* const flag = detail::find_flag(name);
    if (flag == nullptr) continue;
    const std::string spelled = "--" + std::string(flag->name);
    if (flag->fate == FlagFate::refused) {
      throw ConfigError(spelled + " is not used here: " + std::string(flag->text));
    }
    if (flag->fate == FlagFate::notice) {
      notes.push_back(spelled + " changes nothing: " + std::string(flag->text));
    }
    if (flag->fate == FlagFate::model) detail::check_model_flag(entry, *flag, value);
  }
  visit_options(options, [&](const char* name, auto& target, const char*) {
    if (const auto at = merged.find(name); at != merged.end()) {
      detail::parse_value(where(name), at->second, target);
    }
  });
  const auto text = [&](const char* name, std::string& target) {
    if (const auto at = merged.find(name); at != merged.end()) target = at->second;
  };
  text("output", options.output);
  text("resume", options.resume);
  text("init", options.init);
  if (const auto at = merged.find("stop-after"); at != merged.end()) {
    detail::parse_value(where("stop-after"), at->second, options.stop_after);
  }
  if (const auto at = merged.find("overwrite"); at != merged.end()) {
    options.overwrite = detail::parse_flag(where("overwrite"), at->second);
  }
  if (const auto at = merged.find("overfit"); at != merged.end()) {
    options.overfit = detail::parse_flag(where("overfit"), at->second);
  }
  detail::apply_derived(entry, merged, options);
  detail::settle_horizon(file, environment, flags, options);
  return options;
}

/// The resolved options as TOML: reading it back gives the same run.
inline std::string to_toml(const ModelEntry& entry, TrainOptions options) {
  std::string text = "# " + std::string(entry.name) + ": every option of this run\n";
  visit_options(options, [&](const char* name, auto& value, const char*) {
    std::string shown = detail::to_text(value);
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, std::string> ||
                  std::is_enum_v<std::remove_reference_t<decltype(value)>>) {
      // Literal strings have no escapes; only a text with a quote of its own needs the other kind.
      const char quote = shown.find('\'') == std::string::npos ? '\'' : '"';
      shown = quote + shown + quote;
    }
    text += std::string(name) + " = " + shown + "\n";
  });
  return text;
}

}  // namespace fount
