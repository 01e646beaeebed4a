#pragma once
// Images with classes, as they are stored: TFRecord files and folders.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/image_files/image_files.hpp"

namespace assay {

/// An image as it is stored, with its class.
struct Sample {
  Bytes encoded;
  std::int64_t label = 0;  ///< from 0 to classes - 1
};

/// Samples that any thread can read at any time, in any order.
class SampleSet {
 public:
  virtual ~SampleSet() = default;
  SampleSet() = default;
  SampleSet(const SampleSet&) = delete;
  SampleSet& operator=(const SampleSet&) = delete;

  virtual std::int64_t size() const = 0;     ///< samples, at least 1
  virtual std::int64_t classes() const = 0;  ///< at least 1
  /// How the id of a row names the set: "tfrecord:n1281167c1000:1f3c5a7e9b2d", where the last part
  /// is a hash of what is said of the format below.
  virtual std::string canonical() const = 0;
  /// The first sample of each shard, ascending from 0: samples of a shard lie side by side on the
  /// disk. One shard where nothing does.
  virtual std::vector<std::int64_t> shards() const = 0;
  /// Reads sample `index` into memory that `sample` has. BadSample "FILE, offset N: PROBLEM": it
  /// cannot be used. InputError: a file cannot be read, or has changed since it was opened.
  virtual void read(std::int64_t index, Sample& sample) const = 0;
  /// Where sample `index` is stored: "FILE, offset N", or "FILE".
  virtual std::string where(std::int64_t index) const = 0;
  /// What is wrong with parts that are no samples therefore, each with file and offset: the set is
  /// smaller by them. They count as bad samples.
  virtual const std::vector<std::string>& faults() const = 0;
  virtual std::vector<std::string> files() const = 0;
};

struct SampleSetOptions {
  /// What the first class is numbered in TFRecord files (1 in ImageNet's).
  std::int64_t label_base = 0;
  /// Number of classes of TFRecord files; a folder has as many as it has subfolders.
  std::int64_t classes = 1000;
};

/// TFRecord files with a tf.Example in each record, whose features "image/encoded" and
/// "image/class/label" are read: a folder (its files named *.tfrecord*), a pattern of names
/// ("train-*") or the prefix of names ("train-"), in the order of names. Each file is read once by
/// its lengths: the checks of lengths (CRC-32C) are made then, those of the data when a sample is
/// read. The hash is of all lengths and all stored checks of data. A file without bytes is a shard
/// without samples.
/// InputError: no file, no sample.
std::unique_ptr<SampleSet> open_tfrecords(const std::string& path,
                                          const SampleSetOptions& options = {});

/// A folder with a subfolder for each class, in the order of names (of bytes), with files named
/// .jpg, .jpeg or .png (in any case). The hash is of names and sizes.
/// InputError: no folder, no subfolder, a subfolder without an image.
std::unique_ptr<SampleSet> open_image_folder(const std::string& path);

/// open_image_folder() for a folder that has subfolders, else open_tfrecords(). InputError also
/// where the build has no image libraries.
std::unique_ptr<SampleSet> open_samples(const std::string& path,
                                        const SampleSetOptions& options = {});

}  // namespace assay
