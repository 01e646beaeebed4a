// NPY files: whole ranges of rows by one pread (C order), or one for each column (Fortran order).

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "datasets/file_formats.hpp"
#include "datasets/npy_header.hpp"

namespace assay {
namespace {

/// out[i * stride] = element i of `bytes`.
template <class Element>
void convert(std::span<const char> bytes, bool swapped, std::int64_t stride, double* out) {
  const auto count = static_cast<std::int64_t>(bytes.size() / sizeof(Element));
  for (std::int64_t i = 0; i < count; ++i) {
    char raw[sizeof(Element)];
    std::memcpy(raw, bytes.data() + static_cast<std::size_t>(i) * sizeof(Element), sizeof(raw));
    if (swapped) std::reverse(std::begin(raw), std::end(raw));
    out[i * stride] = static_cast<double>(std::bit_cast<Element>(raw));
  }
}

using Convert = void (*)(std::span<const char>, bool, std::int64_t, double*);

Convert conversion(const NpyHeader& header) {
  if (header.kind == 'f') return header.item_size == 4 ? convert<float> : convert<double>;
  const bool is_signed = header.kind == 'i';
  switch (header.item_size) {
    case 1:
      return is_signed ? convert<std::int8_t> : convert<std::uint8_t>;
    case 2:
      return is_signed ? convert<std::int16_t> : convert<std::uint16_t>;
    case 4:
      return is_signed ? convert<std::int32_t> : convert<std::uint32_t>;
    default:
      return is_signed ? convert<std::int64_t> : convert<std::uint64_t>;
  }
}

/// An array of rows and columns; a one-dimensional array is a column.
class NpyArray {
 public:
  explicit NpyArray(const DataFile& file)
      : file_(file), header_(read_npy_header(file)), convert_(conversion(header_)) {}

  std::size_t dimensions() const { return header_.shape.size(); }
  std::int64_t rows() const { return header_.shape.at(0); }
  std::int64_t columns() const { return dimensions() > 1 ? header_.shape[1] : 1; }

  /// x[count * columns], row-major. InputError: an element is not finite.
  void read(std::int64_t first, std::int64_t count, double* x) const {
    // Bytes and numbers of a piece stay in the caches.
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, 32768 / columns());
    for (std::int64_t done = 0; done < count; done += rows_at_once)
      read_piece(first + done, std::min(rows_at_once, count - done), x + done * columns());
  }

 private:
  void read_piece(std::int64_t first, std::int64_t count, double* x) const {
    const std::int64_t width = columns(), size = header_.item_size;
    const bool plain = header_.kind == 'f' && size == 8 && !header_.swapped;
    const auto fetch = [&](std::int64_t element, std::int64_t elements, std::int64_t stride,
                           double* out) {
      if (plain && stride == 1)
        return file_.read(
            header_.data_offset + element * size,
            {reinterpret_cast<char*>(out), static_cast<std::size_t>(elements * size)});
      std::vector<char> bytes(static_cast<std::size_t>(elements * size));
      file_.read(header_.data_offset + element * size, bytes);
      convert_(bytes, header_.swapped, stride, out);
    };
    if (header_.fortran_order)
      for (std::int64_t j = 0; j < width; ++j) fetch(j * rows() + first, count, width, x + j);
    else
      fetch(first * width, count * width, 1, x);
    const auto wrong =
        std::find_if(x, x + count * width, [](double v) { return !std::isfinite(v); });
    if (wrong != x + count * width)
      refuse(file_, first + (wrong - x) / width, (wrong - x) % width,
             fmt::format("{} is not finite (only finite numbers can be computed with). Replace it, "
                         "or drop the row.",
                         *wrong));
  }

  const DataFile& file_;
  NpyHeader header_;
  Convert convert_;
};

class NpyTable final : public FileTable {
 public:
  NpyTable(std::unique_ptr<DataFile> data, std::unique_ptr<DataFile> labels_file)
      : FileTable(std::move(data)), array_(file()), labels_file_(std::move(labels_file)) {
    if (array_.dimensions() != 2)
      refuse(file(), fmt::format("it has {} dimensions (rows and features are two). Reshape the "
                                 "array.",
                                 array_.dimensions()));
    check_size(file(), array_.rows(), array_.columns());
    if (!labels_file_) return;
    labels_.emplace(*labels_file_);
    if (labels_->dimensions() < 1 || labels_->dimensions() > 2 ||
        labels_->rows() != array_.rows() || labels_->columns() != 1)
      refuse(*labels_file_, fmt::format("it does not have one label for each of the {} rows of {}. "
                                        "Give an array of that length.",
                                        array_.rows(), file().path()));
  }
  std::int64_t rows() const override { return array_.rows(); }
  std::int64_t features() const override { return array_.columns(); }
  bool has_labels() const override { return labels_.has_value(); }

 private:
  void read_unchecked(std::int64_t first, std::int64_t count, double* x,
                      double* labels) const override {
    array_.read(first, count, x);
    if (labels == nullptr) return;
    try {
      labels_->read(first, count, labels);
    } catch (const InputError&) {
      labels_file_->check_unchanged();
      throw;
    }
    labels_file_->check_unchanged();
  }
  std::string labels_hash() const override {
    return labels_file_ ? DataFile::content_hash(labels_file_->hashes({})) : "";
  }

  NpyArray array_;
  std::unique_ptr<DataFile> labels_file_;
  std::optional<NpyArray> labels_;
};

}  // namespace

std::unique_ptr<FileTable> open_npy(std::unique_ptr<DataFile> file,
                                    const DataTableOptions& options) {
  std::unique_ptr<DataFile> labels;
  if (!options.labels.empty()) labels = std::make_unique<DataFile>(options.labels);
  return std::make_unique<NpyTable>(std::move(file), std::move(labels));
}

}  // namespace assay
