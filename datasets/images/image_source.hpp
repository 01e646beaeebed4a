#pragma once
// Images that are made, not read: what the writers of image sets store.

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/image_files/image_files.hpp"

namespace assay {

/// 8-bit colours R, G, B, row-major, with a class.
struct Picture {
  Bytes pixels;
  ImageSize size;
  std::int64_t label = 0;  ///< from 0
};

/// Pictures that any thread can make at any time.
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
  std::int64_t first = 0;  ///< number of the first picture: other numbers are other pictures
};
/// Pictures that are functions of (seed, number): a class has two colours and the direction and
/// width of stripes between them; a picture has the place of its stripes, its brightness, blurred
/// spots and noise. So a network can learn the classes, and a JPEG of quality 90 takes as many bits
/// for a pixel as a photograph. All arithmetic is exact or correctly rounded: the pixels are the
/// same everywhere. InputError: a number below 1 (first: below 0), a side above 16384.
std::unique_ptr<ImageSource> generated_images(const GeneratedImages& images);

/// The rows of a table in a file (datasets/file_table.hpp) as square grey pictures: from 0, black,
/// to its largest value, white; the labels of the table are the classes. scikit-learn's digits are
/// such a table. `first`, `count`: the rows to take; count 0: all that follow. `side`: pixels are
/// repeated up to this side; 0: as they are.
/// InputError: no labels, labels that do not count from 0, features that are no square, negative
/// values, a side that is no multiple, rows that the table does not have.
std::unique_ptr<ImageSource> table_images(const std::string& path, std::int64_t first = 0,
                                          std::int64_t count = 0, int side = 0);

}  // namespace assay
