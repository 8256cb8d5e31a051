// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the texts are that people train on, how large they are, and on what terms: for `fount
// fetch`. Nothing is fetched here. Sizes and licences as their pages gave them in November 2026.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fount/core/units.hpp>

namespace fount {

/// A collection of text, or a tokenizer, that others publish.
struct KnownData {
  std::string_view name;
  std::string_view about;
  Bytes bytes;  // to download: all of it, or one file of several
  int files;    // 1: `url` is the whole; more: the %d in it is the number of a file
  int first;    // that number
  std::string_view licence;
  std::string_view page;
  std::string_view url;
  std::string_view file;  // the name it gets here; of several: with the same %d
  std::string_view next;  // commands that use it; DIR stands for its folder
};

inline constexpr std::array known_data = {
    KnownData{"tinyshakespeare", "40,000 lines of Shakespeare's plays", 1'115'394, 1, 0,
              "public domain", "https://github.com/karpathy/char-rnn",
              "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/"
              "input.txt",
              "input.txt",
              "fount prepare --input DIR/input.txt --tokenizer char --output data/shakespeare\n"
              "shakespeare-char train --data data/shakespeare --output runs/shakespeare"},
    KnownData{"tinystories", "2 million short stories in the words of small children",
              1'924'281'556, 1, 0, "CDLA-Sharing-1.0",
              "https://huggingface.co/datasets/roneneldan/TinyStories",
              "https://huggingface.co/datasets/roneneldan/TinyStories/resolve/main/"
              "TinyStories-train.txt",
              "TinyStories-train.txt",
              "fount tokenizer train --input DIR --vocab-size 8k --output tokenizers/stories\n"
              "fount prepare --input DIR/TinyStories-train.txt --tokenizer tokenizers/stories "
              "--output data/stories"},
    KnownData{
        "c4", "English web pages, cleaned; 356,000 a file", 319'000'000, 1024, 0, "ODC-BY 1.0",
        "https://huggingface.co/datasets/allenai/c4",
        "https://huggingface.co/datasets/allenai/c4/resolve/main/en/"
        "c4-train.%05d-of-01024.json.gz",
        "c4-train.%05d-of-01024.json.gz",
        "fount fetch gpt2 | sh\n"
        "fount prepare --input 'DIR/*.json.gz' --tokenizer data/gpt2 --output data/c4-tokens\n"
        "gpt2-124m train --data 'DIR/*.json.gz' --tokenizer data/gpt2 --output runs/c4  "
        "# or without preparing"},
    KnownData{"imdb", "50,000 film reviews, one a file", 84'125'825, 1, 0,
              "none stated; for research, with its citation",
              "https://ai.stanford.edu/~amaas/data/sentiment/",
              "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
              "aclImdb_v1.tar.gz",
              "tar -xzf DIR/aclImdb_v1.tar.gz -C DIR\n"
              "fount prepare --input DIR/aclImdb/train --documents file --tokenizer data/gpt2 "
              "--output data/imdb-tokens"},
    KnownData{"enwik8", "the first 100 MB of a copy of the English Wikipedia of 2006, with markup",
              36'445'475, 1, 0, "CC BY-SA 3.0 and GFDL", "http://mattmahoney.net/dc/textdata.html",
              "http://mattmahoney.net/dc/enwik8.zip", "enwik8.zip",
              "unzip DIR/enwik8.zip -d DIR\n"
              "fount prepare --input DIR/enwik8 --tokenizer byte --output data/enwik8-tokens"},
    KnownData{"fineweb-tokens", "FineWeb in GPT-2's tokens: llm.c's shards, 100 million in each",
              200'001'024, 103, 1, "ODC-BY 1.0",
              "https://huggingface.co/datasets/kjj0/fineweb10B-gpt2",
              "https://huggingface.co/datasets/kjj0/fineweb10B-gpt2/resolve/main/"
              "fineweb_train_%06d.bin",
              "fineweb_train_%06d.bin",
              "gpt2-124m train --data 'DIR/fineweb_train_*.bin' --output runs/fineweb"},
    KnownData{"gpt2", "GPT-2's tokenizer: 50,257 tokens", 1'355'256, 1, 0, "MIT (modified)",
              "https://huggingface.co/openai-community/gpt2",
              "https://huggingface.co/openai-community/gpt2/resolve/main/tokenizer.json",
              "tokenizer.json", "fount tokenizer inspect --tokenizer DIR"},
    KnownData{"cl100k", "the tokenizer of GPT-4: 100,277 tokens", 1'681'126, 1, 0, "MIT",
              "https://github.com/openai/tiktoken",
              "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
              "cl100k_base.tiktoken", "fount tokenizer inspect --tokenizer DIR"},
    KnownData{"o200k", "the tokenizer of GPT-4o: 200,019 tokens", 3'613'922, 1, 0, "MIT",
              "https://github.com/openai/tiktoken",
              "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
              "o200k_base.tiktoken", "fount tokenizer inspect --tokenizer DIR"},
    KnownData{"bert", "BERT's tokenizer, without case: 30,522 tokens", 231'508, 1, 0, "Apache-2.0",
              "https://huggingface.co/google-bert/bert-base-uncased",
              "https://huggingface.co/google-bert/bert-base-uncased/resolve/main/vocab.txt",
              "vocab.txt", "fount tokenizer inspect --tokenizer DIR"},
};

/// A text with its "%05d" (any width) replaced by a number, and without one as it is.
inline std::string numbered(std::string_view text, int number) {
  const std::size_t at = text.find("%0");
  if (at == std::string_view::npos || at + 3 >= text.size()) return std::string(text);
  std::string digits = std::to_string(number);
  const auto width = static_cast<std::size_t>(text[at + 2] - '0');
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return std::string(text.substr(0, at)) + digits + std::string(text.substr(at + 4));
}

}  // namespace fount
