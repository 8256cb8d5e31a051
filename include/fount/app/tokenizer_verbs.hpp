// SPDX-License-Identifier: Apache-2.0
#pragma once
// `fount tokenizer encode | decode | inspect`: what a tokenizer does with text, on the command
// line; `train` is in app/tokenizer_train_verb.hpp. Texts come from standard input; as JSON lines,
// so that texts with line ends stay apart, or as one plain text.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <istream>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fount/app/tokenizer_train_verb.hpp>
#include <fount/app/tool_verb.hpp>
#include <fount/backend/threads.hpp>
#include <fount/core/error.hpp>
#include <fount/core/units.hpp>
#include <fount/io/hash.hpp>
#include <fount/io/json.hpp>
#include <fount/text/load_tokenizer.hpp>
#include <fount/text/parallel_encoding.hpp>
#include <fount/text/utf8.hpp>

#include <CLI/CLI.hpp>

namespace fount {

namespace detail {

struct TokenizerOptions {
  std::string tokenizer;
  std::string encoding;
  std::string allow_special = "none";
  bool jsonl = false;
  int threads = 0;
};

inline AllowedSpecial parse_allowed_special(const std::string& text) {
  if (text == "none") return AllowedSpecial::none();
  if (text == "all") return AllowedSpecial::all();
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return AllowedSpecial::names(std::move(names));
}

inline void append_ids(std::string& text, std::span<const std::int32_t> ids, char separator) {
  char digits[16];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += separator;
    text.append(digits, std::to_chars(digits, digits + sizeof digits, ids[i]).ptr);
  }
}

/// Reads lines, hands blocks of them to all threads, and writes the answers in order.
/// @param answer from (line, its name for messages) to a line of output; may throw
inline void for_each_line(
    std::istream& in, std::ostream& out, ThreadPool& pool,
    const std::function<std::string(const std::string&, const std::string&)>& answer) {
  constexpr std::size_t block_bytes = std::size_t{1} << 22U;
  std::vector<std::string> lines;
  std::int64_t first = 1;  // number of the block's first line
  for (bool more = true; more;) {
    lines.clear();
    for (std::size_t bytes = 0; bytes < block_bytes;) {
      std::string line;
      more = static_cast<bool>(std::getline(in, line));
      if (!more) break;
      bytes += line.size() + 1;
      lines.push_back(std::move(line));
    }
    std::vector<std::exception_ptr> failures(lines.size());
    const auto work = [&](std::int64_t index, int) {
      const auto at = static_cast<std::size_t>(index);
      try {
        lines[at] = answer(lines[at], "standard input, line " + std::to_string(first + index));
      } catch (...) {
        failures[at] = std::current_exception();  // a loop of the pool must not throw
      }
    };
    pool.run(static_cast<std::int64_t>(lines.size()), work);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (failures[i]) std::rethrow_exception(failures[i]);
      out << lines[i] << '\n';
    }
    first += static_cast<std::int64_t>(lines.size());
  }
  if (in.bad()) throw FileError("cannot read standard input");
}

inline std::string read_all(std::istream& in) {
  std::string text;
  std::string piece(std::size_t{1} << 16U, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw FileError("cannot read standard input");
  return text;
}

/// The text of one line: a JSON string, or an object with "text".
inline std::string text_of_line(const std::string& line, const std::string& where) {
  const Json json = parse_json(line, where);
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object()) return json_string(json, "text", where);
  throw FileError::content(where, std::string("JSON of type ") + json.type_name(),
                           "a string, or an object with \"text\"");
}

inline std::vector<std::int32_t> ids_of_line(const std::string& line, const std::string& where) {
  const Json json = parse_json(line, where);
  std::vector<std::int32_t> ids;
  for (const Json& id : json) {
    if (!json.is_array() || !id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7FFFFFFF) {
      ids.clear();
      break;
    }
    ids.push_back(id.get<std::int32_t>());
  }
  if (json.is_array() && ids.size() == json.size()) return ids;
  throw FileError::content(where, line.substr(0, 60), "a JSON array of token ids");
}

inline void encode_input(const TokenizerOptions& options, std::istream& in, std::ostream& out) {
  const auto tokenizer = load_tokenizer(options.tokenizer, options.encoding);
  const AllowedSpecial allowed = parse_allowed_special(options.allow_special);
  for (const std::string& name : allowed.names()) tokenizer->find_special(name);
  ThreadPool pool(options.threads > 0 ? options.threads : available_threads());
  if (!options.jsonl) {
    std::string line;
    append_ids(line, encode_parallel(*tokenizer, read_all(in), allowed, pool), ' ');
    out << line << '\n';
    return;
  }
  for_each_line(in, out, pool, [&](const std::string& line, const std::string& where) {
    std::vector<std::int32_t> ids;
    const std::string text = text_of_line(line, where);
    try {
      tokenizer->encode(text, allowed, ids);
    } catch (const Error& e) {
      throw FileError(where + ": " + e.what());
    }
    std::string answer = "[";
    append_ids(answer, ids, ',');
    return answer += ']';
  });
}

/// Numbers with white space between. @throws FileError naming the first that is none.
inline std::vector<std::int32_t> parse_ids(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  std::vector<std::int32_t> ids;
  for (std::size_t at = text.find_first_not_of(space); at != std::string_view::npos;
       at = text.find_first_not_of(space, at)) {
    const std::size_t end = std::min(text.find_first_of(space, at), text.size());
    std::int32_t id = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, id);
    if (error != std::errc{} || stop != text.data() + end || id < 0) {
      throw FileError::content(
          "standard input",
          "'" + std::string(text.substr(at, std::min<std::size_t>(end - at, 40))) + "' at byte " +
              std::to_string(at),
          "token ids with white space between", "for JSON lines add --jsonl");
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

inline void decode_input(const TokenizerOptions& options, std::istream& in, std::ostream& out,
                         std::ostream& err) {
  const auto tokenizer = load_tokenizer(options.tokenizer, options.encoding);
  if (!options.jsonl) {
    out << tokenizer->decode(parse_ids(read_all(in)));
    return;
  }
  ThreadPool pool(options.threads > 0 ? options.threads : available_threads());
  std::atomic<std::int64_t> torn{0};
  for_each_line(in, out, pool, [&](const std::string& line, const std::string& where) {
    const std::vector<std::int32_t> ids = ids_of_line(line, where);
    std::string bytes;
    try {
      bytes = tokenizer->decode(ids);
    } catch (const Error& e) {
      throw FileError(where + ": " + e.what());
    }
    Utf8Stream stream;
    std::string text = stream.push(bytes);
    text += stream.finish();
    if (text != bytes) ++torn;
    return dump_json(Json(text), -1);
  });
  if (torn > 0) {
    err << "fount tokenizer decode: " << torn << (torn == 1 ? " line was" : " lines were")
        << " not UTF-8, which JSON cannot hold: U+FFFD stands for what was not; without --jsonl "
           "the bytes come out as they are\n";
  }
}

/// A token as people read it: a JSON string, or its bytes where it is no text of its own.
inline std::string readable_token(std::string_view token) {
  Utf8Stream stream;
  std::string text = stream.push(token);
  text += stream.finish();
  if (text == token) return dump_json(Json(text), -1);
  std::string bytes = "bytes";
  for (const char c : token) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    bytes += {' ', digits[byte >> 4U], digits[byte & 15U]};
  }
  return bytes;
}

inline void inspect_bpe(std::ostream& out, const BpeModel& model) {
  const auto empty = std::ranges::count(model.tokens, std::string());
  out << "ordinary:    " << with_commas(static_cast<std::int64_t>(model.tokens.size()) - empty)
      << " tokens\nsplit:       " << name_of(model.split) << " (Unicode " << unicode_version()
      << ")\nmerges:      ";
  if (model.merge_by_id) {
    out << "by rank, as tiktoken does; a piece that is a token is that token\n";
    return;
  }
  out << with_commas(static_cast<std::int64_t>(model.merges.size()))
      << (model.ignore_merges ? "; a piece that is a token is that token\n" : "\n");
}

inline void inspect_tokenizer(const TokenizerOptions& options, std::ostream& out) {
  const auto tokenizer = load_tokenizer(options.tokenizer, options.encoding);
  const std::int32_t size = tokenizer->vocab_size();
  out << "kind:        " << tokenizer->kind() << "\nvocabulary:  " << with_commas(size) << " ids\n";
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(tokenizer.get())) {
    inspect_bpe(out, bpe->model());
  }
  const std::vector<SpecialToken> special = tokenizer->special_tokens();
  out << "special:     " << special.size() << '\n';
  for (std::size_t i = 0; i < special.size(); ++i) {
    if (i == 16) {
      out << "             ... and " << special.size() - i << " more\n";
      break;
    }
    out << "             " << special[i].id << ' ' << readable_token(special[i].content) << '\n';
  }
  if (const auto end = tokenizer->end_of_text()) out << "end of text: " << *end << '\n';
  constexpr std::int32_t shown = 5;
  for (std::int32_t id = 0; id < size; ++id) {
    if (id == shown && size > 2 * shown) id = size - shown;
    out << (id == 0 ? "tokens:      " : "             ") << id << ' '
        << (tokenizer->token(id).empty() ? "not used" : readable_token(tokenizer->token(id)))
        << '\n';
  }
  out << "hash:        " << to_hex(tokenizer->hash()) << '\n';
}

inline std::shared_ptr<TokenizerOptions> add_tokenizer_options(CLI::App& app) {
  const auto options = std::make_shared<TokenizerOptions>();
  app.add_option("--tokenizer", options->tokenizer,
                 "tokenizer.json, a .tiktoken file, vocab.bpe with encoder.json, vocab.txt, or "
                 "their folder")
      ->required();
  app.add_option("--encoding", options->encoding,
                 "What a rank file is for: gpt2, r50k_base, cl100k_base, o200k_base or llama3 "
                 "(default: by the file's name)");
  return options;
}
inline void add_line_options(CLI::App& app, TokenizerOptions& options, const char* jsonl) {
  app.add_flag("--jsonl", options.jsonl, jsonl);
  app.add_option("--threads", options.threads, "Threads (default: all; the result is the same)")
      ->check(CLI::Range(1, 1024));
}

inline ToolVerb tokenizer_encode_verb(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("encode", "Text on standard input to token ids");
  const auto options = add_tokenizer_options(*app);
  app->add_option("--allow-special", options->allow_special,
                  "Special tokens to recognise: none (their spelling is text), all, or NAME,NAME")
      ->capture_default_str();
  add_line_options(*app, *options,
                   "A line is a JSON string, or an object with \"text\"; a line of ids for each");
  app->footer(
      "Without --jsonl, all of standard input is one text and its ids are one line.\n"
      "Examples:\n"
      "  echo 'Hello world' | fount tokenizer encode --tokenizer cl100k_base.tiktoken\n"
      "  fount tokenizer encode --tokenizer data/books --jsonl < texts.jsonl > ids.jsonl\n"
      "  echo '\"<|endoftext|>\"' | fount tokenizer encode --tokenizer gpt2/tokenizer.json \\\n"
      "      --jsonl --allow-special '<|endoftext|>'");
  return {app,
          [options](const ToolStreams& streams) { encode_input(*options, std::cin, streams.out); }};
}

inline ToolVerb tokenizer_decode_verb(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("decode", "Token ids on standard input to text");
  const auto options = add_tokenizer_options(*app);
  add_line_options(*app, *options, "A line is a JSON array of ids; a JSON string for each");
  app->footer(
      "Without --jsonl, ids have white space between and the bytes of the text come out as they "
      "are.\n"
      "Examples:\n"
      "  echo 9906 1917 | fount tokenizer decode --tokenizer cl100k_base.tiktoken\n"
      "  fount tokenizer decode --tokenizer data/books --jsonl < ids.jsonl > texts.jsonl");
  return {app, [options](const ToolStreams& streams) {
            decode_input(*options, std::cin, streams.out, streams.err);
          }};
}

inline ToolVerb tokenizer_inspect_verb(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("inspect", "What a tokenizer is: size, rules, tokens, hash");
  const auto options = add_tokenizer_options(*app);
  app->footer(
      "Example:\n  fount tokenizer inspect --tokenizer runs/first/checkpoints/step-00002000");
  return {app, [options](const ToolStreams& streams) { inspect_tokenizer(*options, streams.out); }};
}

/// `fount tokenizer` and the verbs below it.
inline ToolVerb tokenizer_verb(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("tokenizer", "Encode, decode, look at tokenizers, and train them");
  return verb_group(app, {tokenizer_encode_verb(*app), tokenizer_decode_verb(*app),
                          tokenizer_inspect_verb(*app), tokenizer_train_verb(*app)});
}

}  // namespace detail

}  // namespace fount
