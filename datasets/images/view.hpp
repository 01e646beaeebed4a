#pragma once
// The view of an image that a network gets: which part, mirrored or not. All choices are functions
// of (seed, epoch, sample).

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

/// The variation of an image's view in training from epoch to epoch.
enum class Augment { crop_and_flip, crop, shift, none };
inline const NameTable<Augment> augment_names({"crop+flip", "crop", "shift", "none"}, "augment");

/// The view in training.
/// crop: torchvision's RandomResizedCrop. The crop has 8 % to 100 % of the area and an aspect ratio
/// of 3/4 to 4/3 (uniform in its logarithm), sides and place in whole pixels; after ten tries that
/// do not fit, the largest centred one.
/// crop+flip: like crop, and mirrored with probability 1/2 (torchvision's RandomHorizontalFlip).
/// shift: a square as large as evaluation's, anywhere in the image; for images that would belong to
/// another class if they were mirrored or cut (digits).
/// none: as in evaluation.
View training_view(ImageSize image, std::uint64_t seed, std::uint64_t epoch, std::int64_t sample,
                   Augment augment = Augment::crop_and_flip);

/// The view in evaluation: the centred square of 224/256 of the shorter side. It equals resizing
/// the shorter side to 256 and cropping the central 224, without the intermediate rounding.
View evaluation_view(ImageSize image);

/// The largest divisor (1, 2, 4 or 8) of the sides of an image before a crop is resized to `size`,
/// so that no side of the crop becomes smaller than `size`; else 1.
int reduction_for(const Crop& crop, int size);

}  // namespace assay
