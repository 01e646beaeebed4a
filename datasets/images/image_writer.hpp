#pragma once
// Writes sets of images as open_samples() reads them.

#include <filesystem>

#include "datasets/images/image_source.hpp"

namespace assay {

struct ImageSetFormat {
  bool tfrecord = true;         ///< TFRecord files; else a folder for each class
  bool png = false;             ///< PNG files; else JPEG
  int quality = 90;             ///< of JPEG, 1 to 100
  int files = 1;                ///< TFRecord files, at most one for each image
  std::int64_t label_base = 0;  ///< added to the labels in TFRecord files
};

/// Writes all pictures into the new folder `folder`: TFRecord files "NAME-00000-of-00008.tfrecord",
/// where NAME is that of the folder, with equal numbers of images in their order; or subfolders
/// "class_0003" with "00000017.jpeg". The folder gets its name when it is complete.
/// InputError if the folder exists, or for too many files. CaseError if the disk is full; nothing
/// is left behind.
void write_image_set(const ImageSource& source, const std::filesystem::path& folder,
                     const ImageSetFormat& format);

}  // namespace assay
