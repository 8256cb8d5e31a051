// SPDX-License-Identifier: Apache-2.0
// Texts of any bytes are cut in documents in bounded pieces, the same from every place in them.
#include <string>
#include <utility>
#include <vector>

#include <fount/data/documents.hpp>

#include "fuzz/fuzz.hpp"

using namespace fount;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text = test::as_text(data + 2, size - 2);
  const test::MemoryFile file(text);
  DocumentOptions options;
  constexpr PrepareDocuments rules[] = {PrepareDocuments::file, PrepareDocuments::blank_line,
                                        PrepareDocuments::line, PrepareDocuments::json_lines};
  options.records.piece_bytes = 16 + data[0] / 4 * 4;
  options.records.line_bytes = 16 + std::size_t{data[0]} * 16;
  options.records.any_bytes = (data[1] & 4U) != 0;
  options.min_words = data[1] >> 6U;
  std::vector<TextSource> sources(2);
  for (TextSource& source : sources) {
    source.path = file.path();
    source.name = "fuzz";
    source.file_bytes = static_cast<Bytes>(text.size());
  }
  apply_documents(rules[data[1] & 3U], sources, options.records);
  try {
    DocumentReader reader(sources, options);
    std::vector<std::pair<TextPosition, std::string>> documents;
    while (auto record = reader.next()) {
      documents.emplace_back(record->at, std::move(record->text));
    }
    const std::size_t stride = documents.size() / 8 + 1;
    for (std::size_t from = 0; from < documents.size(); from += stride) {
      DocumentReader second(sources, options);
      second.seek(documents[from].first);
      const auto record = second.next();
      test::must(record.has_value() && record->text == documents[from].second &&
                     record->at == documents[from].first,
                 "a reader goes on from every place");
    }
  } catch (const Error&) {
  }
  return 0;
}
