#pragma once
// Sets of encoded images with classes, in TFRecord files or folders.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/image_files/image_files.hpp"

namespace assay {

/// An encoded image with its class.
struct Sample {
  Bytes encoded;
  std::int64_t label = 0;  ///< from 0 to classes - 1
};

/// A set of samples. Any thread can read any sample at any time.
class SampleSet {
 public:
  virtual ~SampleSet() = default;
  SampleSet() = default;
  SampleSet(const SampleSet&) = delete;
  SampleSet& operator=(const SampleSet&) = delete;

  virtual std::int64_t size() const = 0;     ///< samples, at least 1
  virtual std::int64_t classes() const = 0;  ///< at least 1
  /// The name of the set in the id of a result: "tfrecord:n1281167c1000:1f3c5a7e9b2d". Its last
  /// part is a hash; each open function below says what is hashed.
  virtual std::string canonical() const = 0;
  /// The first sample of each shard, ascending from 0. Samples of a shard are adjacent on the disk.
  /// One shard if no samples are adjacent.
  virtual std::vector<std::int64_t> shards() const = 0;
  /// Reads sample `index`, and reuses the memory of `sample`. BadSample "FILE, offset N: PROBLEM"
  /// if it cannot be used. InputError if a file cannot be read or has changed since it was opened.
  virtual void read(std::int64_t index, Sample& sample) const = 0;
  /// The place of sample `index`: "FILE, offset N", or "FILE".
  virtual std::string where(std::int64_t index) const = 0;
  /// Damaged parts of files from which no sample can be read, each with file and offset. The set
  /// does not contain them. They count as bad samples.
  virtual const std::vector<std::string>& faults() const = 0;
  virtual std::vector<std::string> files() const = 0;
  /// Names of the classes, in the order of their labels; empty if classes are only numbers.
  virtual std::vector<std::string> class_names() const { return {}; }
};

struct SampleSetOptions {
  /// Number of the first class in TFRecord files (1 in those of ImageNet).
  std::int64_t label_base = 0;
  /// Number of classes of TFRecord files; a folder has one class for each subfolder.
  std::int64_t classes = 1000;
};

/// TFRecord files (shard_files.hpp) with a tf.Example in each record, whose features
/// "image/encoded" and "image/class/label" are read. Opening reads the lengths of all records and
/// verifies their checksums (CRC-32C); the checksum of the data is verified when a sample is read.
/// The hash is of all lengths and all stored checksums of data. An empty file is a shard without
/// samples. InputError if no file matches or the files have no samples.
std::unique_ptr<SampleSet> open_tfrecords(const std::string& path,
                                          const SampleSetOptions& options = {});

/// A folder with a subfolder (not hidden) for each class, in the order of names (of bytes), with
/// files named .jpg, .jpeg or .png (upper or lower case). The hash is of names and sizes.
/// InputError if the folder does not exist, has no subfolder, or a subfolder has no image.
std::unique_ptr<SampleSet> open_image_folder(const std::string& path);

/// open_image_folder() for a folder with subfolders and no TFRecord file, else open_tfrecords().
/// InputError also if the build has no image libraries.
std::unique_ptr<SampleSet> open_samples(const std::string& path,
                                        const SampleSetOptions& options = {});

}  // namespace assay
