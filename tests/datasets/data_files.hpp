#pragma once
// Files that tests write.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "datasets/file_table.hpp"

namespace assay {

/// A folder of a test's own, removed with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "assay_datasets_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes the file `name` and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::filesystem::remove(path_ / name);  // a file that is cut and rewritten waits for the disk
    std::ofstream(path_ / name, std::ios::binary) << content;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

/// A text with zero bytes in it.
template <std::size_t size>
std::string bytes(const char (&text)[size]) {
  return {text, size - 1};
}

/// An NPY file of version `major`, as numpy.lib.format describes it.
inline std::string npy(const std::string& type, const std::string& fortran_order,
                       const std::string& shape, const std::string& data, int major = 1) {
  std::string header =
      "{'descr': " + type + ", 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
  const std::size_t before = major == 1 ? 10 : 12;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text = "\x93NUMPY" + std::string(1, static_cast<char>(major)) + std::string(1, '\0');
  for (std::size_t i = 0; i < before - 8; ++i)
    text += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return text + header + data;
}

/// The bytes of numbers in the order of this processor.
template <class Number>
std::string raw(std::initializer_list<Number> numbers) {
  std::string text(numbers.size() * sizeof(Number), '\0');
  std::memcpy(text.data(), numbers.begin(), text.size());
  return text;
}

struct Rows {
  std::vector<double> x, labels;
  bool operator==(const Rows&) const = default;
};

inline Rows read_rows(const DataTable& table, std::int64_t first, std::int64_t count) {
  Rows rows;
  rows.x.resize(static_cast<std::size_t>(count * table.features()));
  if (table.has_labels()) rows.labels.resize(static_cast<std::size_t>(count));
  table.read(first, rows.x, rows.labels);
  return rows;
}

inline Rows read_all(const DataTable& table) { return read_rows(table, 0, table.rows()); }

/// The message of the InputError that opening or reading the whole table throws; "" without one.
inline std::string error_of(const std::string& path, const DataTableOptions& options = {}) {
  try {
    read_all(*open_table(path, options));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline void expect_error(const std::string& path, const std::string& part,
                         const DataTableOptions& options = {}) {
  const std::string error = error_of(path, options);
  EXPECT_NE(error.find(part), error.npos) << path << " said: '" << error << "'";
  EXPECT_NE(error.find(std::filesystem::path(path).filename().string()), error.npos) << error;
  EXPECT_TRUE(error.ends_with('.')) << error;
}

}  // namespace assay
