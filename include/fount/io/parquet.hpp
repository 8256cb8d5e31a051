// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading one column of text of a Parquet file, as lines of JSON: a string a row, null where there
// is none. The only door to Apache Arrow; without it this header offers nothing but `has_parquet`.
// https://parquet.apache.org/docs/file-format; RFC 8259; the library is Arrow, 20 or later.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/core/macros.hpp>
#include <fount/core/units.hpp>
#include <fount/io/byte_stream.hpp>

#if FOUNT_HAS_PARQUET
#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/config.h>
#include <parquet/arrow/reader.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#if ARROW_VERSION_MAJOR < 20
#error \
    "Fount reads Parquet files with Apache Arrow 20 or later: take that, or leave out FOUNT_HAS_PARQUET"
#endif
#endif

namespace fount {

inline constexpr bool has_parquet = FOUNT_HAS_PARQUET != 0;

/// Only the name says it: the first bytes of such a file could be those of a text.
constexpr bool is_parquet_name(std::string_view name) { return name.ends_with(".parquet"); }

#if FOUNT_HAS_PARQUET
/// Memory holds a page and a few rows, however large the file is: rows of some 4 MiB, or one.
class ParquetStream final : public ByteStream {
 public:
  /// @throws FileError if it is no Parquet file, or has no such column of text
  ParquetStream(std::filesystem::path path, std::string_view column) : path_(std::move(path)) {
    guarded([&] {
      const auto file = take(arrow::io::ReadableFile::Open(path_.string()));
      file_bytes_ = static_cast<Bytes>(take(file->GetSize()));
      parquet::ReaderProperties bytes = parquet::default_reader_properties();
      bytes.enable_buffered_stream();  // a page at a time, not a row group
      bytes.set_page_checksum_verification(true);
      parquet::ArrowReaderProperties rows;
      rows.set_pre_buffer(false);
      parquet::arrow::FileReaderBuilder builder;
      check(builder.Open(file, bytes));
      file_ = take(builder.properties(rows)->Build());
      const parquet::FileMetaData& metadata = *file_->parquet_reader()->metadata();
      rows_ = metadata.num_rows();
      const int index = metadata.schema()->ColumnIndex(std::string(column));
      if (index < 0) no_column(column, *metadata.schema());
      std::vector<int> groups(static_cast<std::size_t>(metadata.num_row_groups()));
      std::iota(groups.begin(), groups.end(), 0);
      double text_bytes = 0;
      for (const int group : groups) {
        text_bytes += static_cast<double>(
            metadata.RowGroup(group)->ColumnChunk(index)->total_uncompressed_size());
      }
      const double fitting =
          4.0 * 1024 * 1024 / std::max(text_bytes, 1.0) * static_cast<double>(rows_);
      file_->set_batch_size(static_cast<std::int64_t>(std::clamp(fitting, 1.0, 1024.0)));
      reader_ = take(file_->GetRecordBatchReader(groups, {index}));
      check_type(column, *reader_->schema()->field(0)->type());
    });
  }

  std::size_t read(char* to, std::size_t size) override {
    if (used_ == lines_.size() && !next_lines()) return 0;
    const std::size_t count = std::min(size, lines_.size() - used_);
    std::memcpy(to, lines_.data() + used_, count);
    used_ += count;
    return count;
  }
  /// As many bytes of the file as rows of it are read.
  Bytes consumed() const override {
    if (row_ >= rows_) return file_bytes_;
    return static_cast<Bytes>(static_cast<double>(file_bytes_) * static_cast<double>(row_) /
                              static_cast<double>(rows_));
  }

 private:
  static constexpr std::size_t enough_bytes = std::size_t{1} << 16U;  // of lines at a time

  /// Errors of the library, which come in three ways, as one of ours.
  template <class Work>
  void guarded(Work&& work) const {
    try {
      work();
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      damaged(e.what());
    }
  }
  void check(const arrow::Status& status) const {
    if (!status.ok()) damaged(status.ToString());
  }
  template <class T>
  T take(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }
  [[noreturn]] void damaged(const std::string& why) const {
    throw FileError::content(path_.string(), why + ", behind row " + std::to_string(row_),
                             "a whole Parquet file",
                             "fetch it again, or rename it if it is something else");
  }
  [[noreturn]] void no_column(std::string_view column,
                              const parquet::SchemaDescriptor& schema) const {
    std::string names;
    for (int i = 0; i < std::min(schema.num_columns(), 20); ++i) {
      names += (i == 0 ? "" : ", ") + schema.Column(i)->path()->ToDotString();
    }
    if (schema.num_columns() > 20) names += ", ...";
    throw FileError::content(path_.string(), "the columns " + names,
                             "a column '" + std::string(column) + "'",
                             "name the column of the texts with --text-field");
  }
  void check_type(std::string_view column, const arrow::DataType& type) const {
    switch (type.id()) {
      case arrow::Type::STRING:
      case arrow::Type::BINARY:
      case arrow::Type::LARGE_STRING:
      case arrow::Type::LARGE_BINARY:
      case arrow::Type::STRING_VIEW:
      case arrow::Type::BINARY_VIEW: return;
      default: break;
    }
    throw FileError::content(path_.string(),
                             "a column '" + std::string(column) + "' of " + type.ToString(),
                             "a column of strings", "name another one with --text-field");
  }

  /// Lines of the next rows. @return whether there are any
  bool next_lines() {
    lines_.clear();
    used_ = 0;
    while (lines_.size() < enough_bytes && next_batch()) {
      const arrow::Array& texts = *batch_->column(0);
      switch (texts.type_id()) {
        case arrow::Type::STRING:
        case arrow::Type::BINARY: add(static_cast<const arrow::BinaryArray&>(texts)); break;
        case arrow::Type::LARGE_STRING:
        case arrow::Type::LARGE_BINARY:
          add(static_cast<const arrow::LargeBinaryArray&>(texts));
          break;
        default: add(static_cast<const arrow::BinaryViewArray&>(texts)); break;
      }
    }
    return !lines_.empty();
  }
  /// Has a batch with rows that are not lines yet.
  bool next_batch() {
    while (!batch_ || batch_row_ == batch_->num_rows()) {
      guarded([&] { batch_ = take(reader_->Next()); });
      batch_row_ = 0;
      if (batch_) continue;
      // A damaged page header ends a column early, and the library says nothing.
      if (row_ != rows_) damaged("the end of the column, of " + std::to_string(rows_) + " rows");
      return false;
    }
    return true;
  }
  template <class Array>
  void add(const Array& texts) {
    for (; batch_row_ < texts.length() && lines_.size() < enough_bytes; ++batch_row_, ++row_) {
      if (texts.IsNull(batch_row_)) {
        lines_ += "null\n";
      } else {
        add_string(texts.GetView(batch_row_));
      }
    }
  }
  /// Bytes that are not UTF-8 stay: who reads the line says that they are broken.
  void add_string(std::string_view text) {
    lines_ += '"';
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20) {
        char code[8];
        std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
        lines_ += code;
        continue;
      }
      if (c == '"' || c == '\\') lines_ += '\\';
      lines_ += c;
    }
    lines_ += "\"\n";
  }

  std::filesystem::path path_;
  Bytes file_bytes_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t row_ = 0;                              // so many have been read
  std::unique_ptr<parquet::arrow::FileReader> file_;  // outlives its reader
  std::unique_ptr<arrow::RecordBatchReader> reader_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t batch_row_ = 0;  // of the batch, so many are lines
  std::string lines_;           // of the last rows
  std::size_t used_ = 0;
};
#endif

}  // namespace fount
