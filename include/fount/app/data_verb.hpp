// SPDX-License-Identifier: Apache-2.0
#pragma once
// `fount data inspect`: what a folder of token shards holds, ours or others'.

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <fount/app/tokenizer_verbs.hpp>
#include <fount/app/tool_verb.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/data/dataset.hpp>
#include <fount/data/shards.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/json.hpp>
#include <fount/text/load_tokenizer.hpp>
#include <fount/text/utf8.hpp>

#include <CLI/CLI.hpp>

namespace fount::detail {

struct InspectDataOptions {
  std::string data;
  std::string tokenizer;  // to decode with; empty: that of the folder
  std::int64_t tokens = 64;
  bool all = false;  // read every token, and verify the shards
};

/// What the tokens of shards are, counted.
struct TokenCounts {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;  // end-of-text tokens
  std::uint32_t largest = 0;
};

/// Adds the tokens of a shard. @param end_of_text -1: none is known
inline void count_tokens(const TokenShard& shard, std::int32_t end_of_text, TokenCounts& counts) {
  std::array<std::int32_t, 4096> ids{};
  for (std::int64_t at = 0; at < shard.count();) {
    const auto size = std::min<std::int64_t>(shard.count() - at, ids.size());
    shard.copy(at, size, static_cast<std::int32_t>(max_shard_tokens), ids.data());
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int32_t id = ids[static_cast<std::size_t>(i)];
      counts.documents += id == end_of_text ? 1 : 0;
      counts.largest = std::max(counts.largest, static_cast<std::uint32_t>(id));
    }
    at += size;
  }
  counts.tokens += shard.count();
}

inline void show_first_tokens(std::ostream& out, const TokenShard& shard, std::int64_t wanted,
                              const Tokenizer* tokenizer) {
  const std::int64_t count = std::min(wanted, shard.count());
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  shard.copy(0, count, static_cast<std::int32_t>(max_shard_tokens), ids.data());
  out << "             first:";
  for (const std::int32_t id : ids) out << ' ' << id;
  out << '\n';
  if (tokenizer == nullptr || ids.empty()) return;
  for (const std::int32_t id : ids) {
    if (id < tokenizer->vocab_size()) continue;
    out << "             token " << id << " is not in the vocabulary of the tokenizer, which has "
        << with_commas(tokenizer->vocab_size()) << '\n';
    return;
  }
  // A JSON string: line ends and control characters show.
  Utf8Stream text;
  std::string shown = text.push(tokenizer->decode(ids));
  out << "             " << dump_json(Json(shown + text.finish()), -1) << '\n';
}

inline void inspect_data(const InspectDataOptions& options, std::ostream& out) {
  namespace fs = std::filesystem;
  const fs::path data = options.data;
  std::error_code ignored;
  std::unique_ptr<Tokenizer> tokenizer;
  if (!options.tokenizer.empty()) {
    tokenizer = load_tokenizer(options.tokenizer);
  } else if (fs::exists(data / "tokenizer.json", ignored)) {
    tokenizer = load_tokenizer(data);
  }
  if (fs::is_directory(data, ignored) && is_prepared(data)) {
    const DatasetMetadata metadata = read_metadata(data);
    Bytes bytes = 0;
    for (const DatasetSource& source : metadata.sources) bytes += source.bytes;
    out << "prepared:    from " << with_commas(static_cast<std::int64_t>(metadata.sources.size()))
        << (metadata.sources.size() == 1 ? " file, " : " files, ") << format_bytes(bytes)
        << "\ndata set:    " << to_hex(metadata.dataset_hash)
        << "\ntokenizer:   " << metadata.tokenizer << ", " << with_commas(metadata.vocab_size)
        << " tokens, " << to_hex(metadata.tokenizer_hash) << '\n';
    if (options.all) {
      const std::int64_t verified = verify_shards(data);
      const auto shards = static_cast<std::int64_t>(metadata.shards.size());
      out << "verified:    " << with_commas(verified) << " of " << with_commas(shards)
          << (shards == 1 ? " shard" : " shards")
          << (verified == shards ? "" : "; the others have no hash in metadata.json") << '\n';
    }
    if (tokenizer && tokenizer->hash() != metadata.tokenizer_hash) {
      out << "             the tokenizer here is another: " << to_hex(tokenizer->hash()) << '\n';
    }
  } else if (tokenizer) {
    out << "tokenizer:   " << tokenizer->kind() << ", " << with_commas(tokenizer->vocab_size())
        << " tokens\n";
  }
  const std::int32_t end_of_text = tokenizer ? tokenizer->end_of_text().value_or(-1) : -1;
  bool any = false;
  std::string nothing;
  for (const Split split : {Split::train, Split::validation}) {
    std::vector<fs::path> paths;
    try {
      paths = find_shards(data, split);
    } catch (const FileError& e) {
      if (!fs::is_directory(data, ignored) || any) throw;
      if (nothing.empty()) nothing = e.what();
      if (split == Split::validation) throw FileError(nothing);
      continue;
    }
    const bool named = fs::is_directory(data, ignored);
    TokenCounts counts;
    Bytes bytes = 0;
    for (const fs::path& path : paths) {
      const TokenShard shard(path);
      bytes += shard.bytes();
      if (options.all) {
        count_tokens(shard, end_of_text, counts);
      } else {
        counts.tokens += shard.count();
      }
    }
    const std::string label = !named ? "shards:" : split == Split::train ? "train:" : "validation:";
    out << label << std::string(13 - label.size(), ' ') << with_commas(counts.tokens)
        << " tokens in " << with_commas(static_cast<std::int64_t>(paths.size()))
        << (paths.size() == 1 ? " shard, " : " shards, ") << format_bytes(bytes) << '\n';
    if (options.all) {
      out << "             largest id " << counts.largest;
      if (end_of_text >= 0) out << ", " << with_commas(counts.documents) << " documents";
      out << '\n';
    }
    show_first_tokens(out, TokenShard(paths.front()), options.tokens, tokenizer.get());
    any = true;
    if (!named) break;
  }
}

inline ToolVerb data_inspect_verb(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("inspect", "What token shards hold: counts, vocabulary, first tokens");
  const auto options = std::make_shared<InspectDataOptions>();
  app->add_option("data,--data", options->data,
                  "Folder that prepare wrote, a folder of llm.c's or nanoGPT's .bin files, a file, "
                  "or a pattern")
      ->required();
  app->add_option("--tokenizer", options->tokenizer,
                  "To show the first tokens as text (default: the tokenizer.json of the folder)");
  add_count(*app, "--tokens", options->tokens, "First tokens to show (64)");
  app->add_flag("--all", options->all,
                "Read every token: compares the shards with what metadata.json remembers, counts "
                "documents, finds the largest id");
  app->footer(
      "Examples:\n"
      "  fount data inspect data/shakespeare\n"
      "  fount data inspect 'data/fineweb_*.bin' --tokenizer data/gpt2 --all");
  return {app, [options](const ToolStreams& streams) { inspect_data(*options, streams.out); }};
}

/// `fount data` and the verbs below it.
inline ToolVerb data_verb(CLI::App& program) {
  CLI::App* app = program.add_subcommand("data", "Look at prepared data");
  return verb_group(app, {data_inspect_verb(*app)});
}

}  // namespace fount::detail
