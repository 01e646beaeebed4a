#pragma once
// Generated images, which the writers of image sets store.

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/image_files/image_files.hpp"

namespace assay {

/// An image of 8-bit colours R, G, B, row-major, with a class.
struct Picture {
  Bytes pixels;
  ImageSize size;
  std::int64_t label = 0;  ///< from 0
};

/// A numbered set of pictures. Any thread can call it at any time.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual std::int64_t size() const = 0;  ///< pictures
  virtual std::int64_t classes() const = 0;
  virtual Picture picture(std::int64_t index) const = 0;
  virtual std::string canonical() const = 0;
};

struct GeneratedImages {
  std::int64_t count = 0, classes = 10;
  ImageSize size{500, 375};
  std::uint64_t seed = 1;
  std::int64_t first = 0;  ///< number of the first picture; the number determines the picture
};
/// Pictures that are functions of (seed, number): a class determines two colours and the direction
/// and width of their stripes; the number determines the place of the stripes, the brightness,
/// blurred spots and noise. So a network can learn the classes, and a JPEG of quality 90 takes as
/// many bits per pixel as a photograph. All arithmetic is exact or correctly rounded, so the pixels
/// are the same on every machine. InputError for a number below 1 (first: below 0) or a side above
/// 16384.
std::unique_ptr<ImageSource> make_generated_images(const GeneratedImages& images);

/// The rows of a table in a file (datasets/file_table.hpp) as square grey pictures: 0 is black, the
/// table's largest value is white, and labels are classes. scikit-learn's digits are such a table.
/// `first`, `count`: the rows to use; count 0: all rows from `first` on. `side`: pixels are
/// repeated up to this side; 0: they are not. InputError if there are no labels, labels do not
/// count from 0, the number of features is not a square, values are negative, `side` is not a
/// multiple of the pictures' side, or the table does not have these rows.
std::unique_ptr<ImageSource> make_table_images(const std::string& path, std::int64_t first = 0,
                                               std::int64_t count = 0, int side = 0);

}  // namespace assay
