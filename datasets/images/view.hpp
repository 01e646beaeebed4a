#pragma once
// What a network sees of an image: which part, how large, mirrored or not. All choices are
// functions of (seed, epoch, sample).

#include <cstdint>

#include "core/base/name_table.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {

/// A part of an image, in its pixels.
struct Crop {
  double x = 0, y = 0, width = 0, height = 0;
};

struct View {
  Crop crop;
  bool flip = false;  ///< mirrored left to right
};

/// How what is seen of an image in training differs from epoch to epoch.
enum class Augment { crop_and_flip, crop, shift, none };
inline const NameTable<Augment> augment_names({"crop+flip", "crop", "shift", "none"});

/// Of training.
/// crop: torchvision's RandomResizedCrop. The crop has 8 % to 100 % of the area and an aspect ratio
/// of 3/4 to 4/3 (uniform in its logarithm), sides and place in whole pixels; after ten tries that
/// do not fit, the largest centred one.
/// crop+flip: torchvision's RandomHorizontalFlip, too: mirrored with probability 1/2.
/// shift: a square as large as evaluation's, anywhere in the image: for what mirrored, or in part,
/// is of another class (digits).
/// none: as in evaluation.
View training_view(ImageSize image, std::uint64_t seed, std::uint64_t epoch, std::int64_t sample,
                   Augment augment = Augment::crop_and_flip);

/// Of evaluation: the centred square of 224/256 of the shorter side. So it is what resizing the
/// shorter side to 256 and cutting the central 224 gives, without the rounding between.
View evaluation_view(ImageSize image);

/// How far the sides of an image may be divided (1, 2, 4 or 8) before a crop is resized to `size`:
/// no side of the crop falls below it.
int reduction_for(const Crop& crop, int size);

}  // namespace assay
