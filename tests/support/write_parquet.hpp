// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parquet files for tests of what reads them. Only where Arrow is there.

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fount/core/macros.hpp>

#if FOUNT_HAS_PARQUET
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

namespace fount::test {

using Rows = std::vector<std::optional<std::string>>;

inline void must(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

/// The rows as an array of any kind of strings or bytes.
template <class Builder>
std::shared_ptr<arrow::Array> text_array(const Rows& rows) {
  Builder builder;
  for (const auto& row : rows) must(row ? builder.Append(*row) : builder.AppendNull());
  return builder.Finish().ValueOrDie();
}

/// A file of the columns, `group_rows` rows in a row group.
inline void write_parquet(
    const std::filesystem::path& path,
    const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>& columns,
    std::int64_t group_rows = 100,
    parquet::Compression::type packed = parquet::Compression::SNAPPY) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  const auto properties =
      parquet::WriterProperties::Builder().compression(packed)->enable_page_checksum()->build();
  must(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, group_rows,
                                  properties));
  must(file->Close());
}

}  // namespace fount::test
#endif
