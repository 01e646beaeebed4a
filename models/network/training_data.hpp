#pragma once
// The images of training and validation, as the flag --data names them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/network/batches.hpp"
#include "models/network/input_shape.hpp"

namespace assay {

/// The sources of images.
struct TrainingData {
  /// "synthetic": one batch that stays in memory. "learnable[:n60000v1000]": n generated images for
  /// training and v for validation (LearnableSamples). "generated[:n256c10w500h375]": generated
  /// JPEG files (models/input/input_sets.hpp). Else the path of files that datasets/images reads.
  std::string data = "synthetic";
  std::string validation;  ///< files for validation; empty: the files of `data`
  std::int64_t classes = 1000;
  InputShape input;
  Labels labels = Labels::per_sample;  ///< files have one a sample
  std::int64_t label_base = 0;
  std::int64_t max_bad_samples = 0;
  Augment augment = Augment::crop_and_flip;  ///< of files
  int threads = 1;                           ///< decoding threads
  int prefetch = 2;                          ///< batches that are decoded in advance
  std::uint64_t seed = 1;  ///< of generated images; BatchShare has the seed of their order
};

/// The name of the data in an id; for files it contains a hash. make_training_batches() also
/// accepts this name. InputError for unknown names, unusable files, and files with more than
/// `classes` classes.
std::string canonical_data(const std::string& data, std::int64_t label_base, std::int64_t classes);
/// InputError if folders of images for training and validation give the same label to classes with
/// different names. In other files, classes are numbers.
void expect_same_classes(const std::string& data, const std::string& validation,
                         std::int64_t label_base, std::int64_t classes);
/// InputError if the files of validation have more classes than the network. Call it at the
/// beginning of a run, because a training reads these files only after its first epoch.
void expect_validation(const TrainingData& data);
/// True if the data is "synthetic", one batch that stays in memory.
bool is_resident(const std::string& data);

bool is_files(const std::string& data);
/// The files that a training reads; empty for other data.
std::vector<std::string> list_files(const TrainingData& data);

std::unique_ptr<Batches> make_training_batches(const TrainingData& data, const BatchShare& share);
/// Null for resident data, which has no validation.
std::unique_ptr<Batches> make_validation_batches(const TrainingData& data, BatchShare share);

}  // namespace assay
