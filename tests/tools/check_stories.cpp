// SPDX-License-Identifier: Apache-2.0
//
// Judges sampled text by the grammar of the built-in stories: which words and sentences belong to
// it. Also tells how much of a sample is copied, and whether training and validation share a story.
// It judges text only; sampling is the business of the programs under test.

#include <fount/data/stories.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using fount::data::is_story_word;
using fount::data::parses_as_story_sentence;
using fount::data::split_story_sentences;

constexpr std::string_view usage_text =
    "usage: check_stories FILE [--min-words SHARE] [--min-sentences SHARE] [--take-words COUNT]\n"
    "                          [--reference TRAIN_TEXT] [--validation VAL_TEXT]\n"
    "       check_stories --disjoint TRAIN_TEXT VAL_TEXT\n"
    "FILE holds samples, a line `---` between two of them; `-` is the standard input.\n"
    "Exit code: 0 passed, 1 failed, 2 wrong arguments or an unreadable file.\n";

struct Options {
  std::string file;
  std::string reference;
  std::string validation;
  std::string disjoint_train;
  double min_words = 0.0;
  double min_sentences = 0.0;
  std::size_t take_words = 0;  // 0: all
};

struct Tally {
  std::size_t words = 0;
  std::size_t known_words = 0;
  std::size_t sentences = 0;
  std::size_t parsed = 0;
  std::vector<std::string_view> judged;
  std::vector<std::string_view> bad_words;
  std::vector<std::string_view> bad_sentences;
};

double parse_number(const std::string& option, const std::string& text) {
  std::size_t used = 0;
  double value = -1.0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !(value >= 0.0 && value <= 1e9)) {
    throw std::invalid_argument(option + " needs a number that is not negative, got '" + text +
                                "'");
  }
  return value;
}

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (++i == arguments.size()) throw std::invalid_argument(name + " needs a value");
      return arguments[i];
    };
    if (name == "--min-words") {
      options.min_words = parse_number(name, value());
    } else if (name == "--min-sentences") {
      options.min_sentences = parse_number(name, value());
    } else if (name == "--take-words") {
      options.take_words = static_cast<std::size_t>(parse_number(name, value()));
    } else if (name == "--reference") {
      options.reference = value();
    } else if (name == "--validation") {
      options.validation = value();
    } else if (name == "--disjoint") {
      options.disjoint_train = value();
      options.validation = value();
    } else if (name.starts_with("--")) {
      throw std::invalid_argument("unknown option " + name);
    } else if (options.file.empty()) {
      options.file = name;
    } else {
      throw std::invalid_argument("one FILE only, got '" + name + "' too");
    }
  }
  if (options.file.empty() == options.disjoint_train.empty()) {
    throw std::invalid_argument("give either FILE or --disjoint");
  }
  return options;
}

std::string read_text(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot open '" + path + "'");
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw std::runtime_error("cannot read '" + path + "'");
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  return text;
}

/// The pieces of a text between lines that equal `separator`, which may be empty; no empty pieces.
std::vector<std::string_view> split_at_lines(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> pieces;
  std::size_t piece = 0;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    if (text.substr(line, end - line) == separator) {
      if (line > piece) pieces.push_back(text.substr(piece, line - piece));
      piece = end + 1;
    }
    line = end + 1;
  }
  if (piece < text.size()) pieces.push_back(text.substr(piece));
  return pieces;
}

bool begins_a_sentence(std::string_view text) {
  return text[0] == '"' || (text[0] >= 'A' && text[0] <= 'Z');
}

bool ends_a_sentence(std::string_view text) {
  if (std::count(text.begin(), text.end(), '"') % 2 != 0) return false;
  if (text.back() == '"') text.remove_suffix(1);
  return !text.empty() && (text.back() == '.' || text.back() == '!' || text.back() == '?');
}

/// The sentences of one sample, less a first and a last one that the sampling cut.
std::vector<std::string_view> whole_sentences(std::string_view sample) {
  std::vector<std::string_view> sentences = split_story_sentences(sample);
  if (!sentences.empty() && !ends_a_sentence(sentences.back())) sentences.pop_back();
  if (!sentences.empty() && !begins_a_sentence(sentences.front())) {
    sentences.erase(sentences.begin());
  }
  return sentences;
}

std::vector<std::string_view> words_of(std::string_view sentence) {
  constexpr std::string_view marks = ".,!?\"";
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', at), sentence.size());
    std::string_view word = sentence.substr(at, end - at);
    word.remove_prefix(std::min(word.find_first_not_of(marks), word.size()));
    word.remove_suffix(word.size() - std::min(word.find_last_not_of(marks) + 1, word.size()));
    if (!word.empty()) words.push_back(word);
    at = end + 1;
  }
  return words;
}

Tally judge(std::string_view text, std::size_t take_words) {
  Tally tally;
  for (const std::string_view sample : split_at_lines(text, "---")) {
    for (const std::string_view sentence : whole_sentences(sample)) {
      if (take_words != 0 && tally.words >= take_words) return tally;
      for (const std::string_view word : words_of(sentence)) {
        ++tally.words;
        if (is_story_word(word)) {
          ++tally.known_words;
        } else {
          tally.bad_words.push_back(word);
        }
      }
      ++tally.sentences;
      tally.judged.push_back(sentence);
      if (parses_as_story_sentence(sentence)) {
        ++tally.parsed;
      } else {
        tally.bad_sentences.push_back(sentence);
      }
    }
  }
  return tally;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Up to ten, each cut to a line's length, with `?` for what a terminal might take for a command.
void print_examples(const char* title, const std::vector<std::string_view>& examples) {
  for (std::size_t i = 0; i < std::min<std::size_t>(examples.size(), 10); ++i) {
    std::string example(examples[i].substr(0, 80));
    std::replace_if(
        example.begin(), example.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    std::cout << "  " << title << ": " << example << '\n';
  }
}

void print_copied(const Tally& tally, const std::string& path, const char* what) {
  if (path.empty()) return;
  const std::string text = read_text(path);
  const auto sentences = split_story_sentences(text);
  const std::set<std::string_view> known(sentences.begin(), sentences.end());
  const auto copied = std::count_if(tally.judged.begin(), tally.judged.end(),
                                    [&](std::string_view s) { return known.contains(s); });
  std::cout << "sentences standing in the " << what << " text: " << copied << " ("
            << share(static_cast<std::size_t>(copied), tally.sentences) << ")\n";
}

/// Fails too when there is nothing to judge, or less than was asked for.
bool check_sample(const Options& options) {
  const std::string text = read_text(options.file);
  const Tally tally = judge(text, options.take_words);
  const double words = share(tally.known_words, tally.words);
  const double sentences = share(tally.parsed, tally.sentences);
  std::cout << std::fixed << std::setprecision(4);
  std::cout << "words: " << tally.words << "\nstory words: " << tally.known_words << " (" << words
            << ", at least " << options.min_words << ")\nsentences: " << tally.sentences
            << "\nsentences that parse: " << tally.parsed << " (" << sentences << ", at least "
            << options.min_sentences << ")\n";
  print_copied(tally, options.reference, "reference");
  print_copied(tally, options.validation, "validation");
  print_examples("unknown word", tally.bad_words);
  print_examples("no story sentence", tally.bad_sentences);
  const bool enough = tally.sentences > 0 && tally.words >= options.take_words;
  if (!enough) std::cout << "too little text: " << options.take_words << " words were asked for\n";
  return enough && words >= options.min_words && sentences >= options.min_sentences;
}

/// A story that the cut between the two texts goes through counts as a story of both.
bool check_disjoint(const Options& options) {
  const std::string train = read_text(options.disjoint_train);
  const std::string validation = read_text(options.validation);
  const auto stories = split_at_lines(train, "");
  const std::set<std::string_view> known(stories.begin(), stories.end());
  std::size_t shared = 0;
  const auto candidates = split_at_lines(validation, "");
  for (const std::string_view candidate : candidates) {
    if (!known.contains(candidate)) continue;
    if (++shared <= 10) std::cout << "  in both texts: " << candidate.substr(0, 70) << "...\n";
  }
  std::cout << "training stories: " << stories.size()
            << "\nvalidation stories: " << candidates.size() << "\nin both: " << shared << '\n';
  return shared == 0 && !stories.empty() && !candidates.empty();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options({argv + 1, argv + argc});
    const bool passed =
        options.disjoint_train.empty() ? check_sample(options) : check_disjoint(options);
    std::cout << (passed ? "passed\n" : "failed\n");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::cerr << "check_stories: " << error.what() << '\n' << usage_text;
    return 2;
  }
}
