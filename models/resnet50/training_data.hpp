#pragma once
// What a network learns from, and what it is judged by, as options name them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/network/batches.hpp"

namespace assay {

/// Where images come from.
struct TrainingData {
  /// "synthetic": one batch that stays in memory; "learnable[:n60000v1000]": generated images, of
  /// which v validate; "generated[:n256c10w500h375]": the same as JPEG files; else files as
  /// datasets/images reads them.
  std::string data = "synthetic";
  std::string validation;  ///< files that validate; empty: the files of `data`
  std::int64_t classes = 1000;
  int size = 224;
  std::int64_t label_base = 0;
  std::int64_t max_bad_samples = 0;
  Augment augment = Augment::crop_and_flip;  ///< of files
  int threads = 1;                           ///< that decode
  int prefetch = 2;
  std::uint64_t seed = 1;  ///< of images that are generated; their order has BatchShare's
};

/// The name of the data in an id, with a hash of files: what training_batches() takes, too.
/// InputError for a name that is none, for files that cannot be used.
std::string canonical_data(const std::string& data, std::int64_t label_base, std::int64_t classes);
/// Whether it is the one batch that stays in memory.
bool is_resident(const std::string& data);

/// Whether it is read from files.
bool is_files(const std::string& data);
/// The files that a training reads; none of other data.
std::vector<std::string> files_of(const TrainingData& from);

std::unique_ptr<Batches> training_batches(const TrainingData& from, const BatchShare& share);
/// Null for resident data, which has none.
std::unique_ptr<Batches> validation_batches(const TrainingData& from, BatchShare share);

}  // namespace assay
