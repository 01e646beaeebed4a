#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "datasets/file_table.hpp"
#include "datasets/images/image_source.hpp"

namespace assay {
namespace {

constexpr double most_classes = 1 << 20;

class TableImages final : public ImageSource {
 public:
  TableImages(const std::string& path, std::int64_t first, std::int64_t count, int side)
      : path_(path) {
    const std::unique_ptr<DataTable> table = open_table(path);
    const auto refuse = [&](const std::string& problem) {
      throw InputError(fmt::format("{} holds no images: {}.", path, problem));
    };
    if (!table->has_labels()) refuse("it has no labels");
    features_ = table->features();
    own_side_ = static_cast<int>(std::lround(std::sqrt(static_cast<double>(features_))));
    if (std::int64_t{own_side_} * own_side_ != features_)
      refuse(fmt::format("its {} features are not a square image", features_));
    side_ = side == 0 ? own_side_ : side;
    if (side_ % own_side_ != 0)
      refuse(fmt::format("the side {} is not a multiple of {}", side_, own_side_));
    if (count == 0) count = table->rows() - first;
    if (first < 0 || count < 1 || count > table->rows() - first)
      refuse(fmt::format("{} rows from row {} are not in its {}", count, first, table->rows()));
    // Brightness and classes come from the whole table, whichever rows are used.
    values_.resize(static_cast<std::size_t>(table->rows() * features_));
    labels_.resize(static_cast<std::size_t>(table->rows()));
    table->read(0, values_, labels_);
    const auto [least, largest] = std::minmax_element(values_.begin(), values_.end());
    if (*least < 0) refuse("a value is negative");
    scale_ = *largest > 0 ? 255 / *largest : 0;
    for (const double label : labels_) {
      if (label < 0 || label >= most_classes || label != std::floor(label))
        refuse(fmt::format("the label {} is not a class (a whole number from 0)", label));
      classes_ = std::max(classes_, static_cast<std::int64_t>(label) + 1);
    }
    first_ = first;
    count_ = count;
  }
  std::int64_t size() const override { return count_; }
  std::int64_t classes() const override { return classes_; }
  std::string canonical() const override {
    return fmt::format("{} images of {}, from row {}", count_, path_, first_);
  }

  Picture picture(std::int64_t index) const override {
    Picture picture{{}, {side_, side_}, 0};
    const std::int64_t row = first_ + index;
    picture.label = static_cast<std::int64_t>(labels_.at(static_cast<std::size_t>(row)));
    const double* const values = values_.data() + row * features_;
    const int repeat = side_ / own_side_;
    for (int y = 0; y < side_; ++y)
      for (int x = 0; x < side_; ++x)
        picture.pixels.insert(picture.pixels.end(), 3,
                              static_cast<std::uint8_t>(std::lround(
                                  scale_ * values[y / repeat * own_side_ + x / repeat])));
    return picture;
  }

 private:
  std::string path_;
  std::int64_t features_ = 0, first_ = 0, count_ = 0, classes_ = 1;
  int own_side_ = 0, side_ = 0;
  double scale_ = 0;
  std::vector<double> values_, labels_;
};

}  // namespace

std::unique_ptr<ImageSource> make_table_images(const std::string& path, std::int64_t first,
                                               std::int64_t count, int side) {
  return std::make_unique<TableImages>(path, first, count, side);
}

}  // namespace assay
