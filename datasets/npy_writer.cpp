#include "datasets/npy_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/result/whole_file.hpp"
#include "datasets/file_formats.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Magic, version 1.0, length, and a dictionary that ends with a newline at a multiple of 64 bytes.
std::string make_npy_header(const std::vector<std::int64_t>& shape) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{}, ", extent);
  std::string text = fmt::format("{{'descr': '{}f8', 'fortran_order': False, 'shape': ({}), }}",
                                 std::endian::native == std::endian::little ? '<' : '>', extents);
  const std::size_t before = npy_magic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string head(npy_magic);
  head += {'\1', '\0', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return head + text;
}

}  // namespace

NpyWriter::NpyWriter(const fs::path& file, const std::vector<std::int64_t>& shape)
    : file_(resolve_output(file)) {
  std::error_code missing;
  if (!fs::exists(file_, missing) || fs::is_regular_file(file_, missing))
    temporary_.emplace(temporary_beside(file_));
  out_.reset(std::fopen((temporary_ ? temporary_->path() : file_).c_str(), "wbe"));
  if (!out_) fail(errno);
  for (const std::int64_t extent : shape) left_ *= extent;
  const std::string head = make_npy_header(shape);
  if (std::fwrite(head.data(), 1, head.size(), out_.get()) != head.size()) fail(errno);
}

void NpyWriter::append(std::span<const double> values) {
  left_ -= std::ssize(values);
  if (left_ < 0) throw std::logic_error(file_.string() + ": more elements than its shape has");
  if (std::fwrite(values.data(), sizeof(double), values.size(), out_.get()) != values.size())
    fail(errno);
}

void NpyWriter::sync() {
  if (left_ != 0) throw std::logic_error(file_.string() + ": fewer elements than its shape has");
  if (std::fflush(out_.get()) != 0) fail(errno);
  if (temporary_ && ::fsync(::fileno(out_.get())) != 0) fail(errno);
}

void NpyWriter::finish() {
  if (temporary_) {
    if (std::rename(temporary_->path().c_str(), file_.c_str()) != 0) fail(errno);
    temporary_->keep();
  }
  out_.reset();
}

void NpyWriter::fail(int error) const {
  throw CaseError(
      fmt::format("{}: cannot be written ({}). Free space or choose another folder; "
                  "what was there before is unchanged.",
                  file_.string(), words_of_error(error)));
}

void write_npy(const DataTable& table, const fs::path& file, const fs::path& labels_file) {
  const std::int64_t rows = table.rows(), features = table.features();
  NpyWriter values(file, {rows, features});
  std::optional<NpyWriter> labels;
  if (!labels_file.empty()) labels.emplace(labels_file, std::vector<std::int64_t>{rows});
  const std::int64_t at_once =
      std::clamp<std::int64_t>((std::int64_t{1} << 20) / features, 1, rows);
  std::vector<double> x, y;
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const auto count = static_cast<std::size_t>(std::min(at_once, rows - first));
    x.resize(count * static_cast<std::size_t>(features));
    y.resize(labels ? count : 0);
    table.read(first, x, y);
    values.append(x);
    if (labels) labels->append(y);
  }
  values.sync();
  if (labels) labels->sync();
  if (labels) labels->finish();
  values.finish();
}

}  // namespace assay
