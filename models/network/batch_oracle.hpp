#pragma once
// Judges the batches of a rank by what the parameters of a case say about its data.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/measure/case.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "models/network/definition.hpp"
#include "models/network/executor.hpp"
#include "models/network/learnable_oracle.hpp"

namespace assay {

/// The data that a case claims, from its texts alone.
struct DataClaims {
  /// `defined`: the input of the case's network by its definition. `seed`: that of the run, without
  /// its trial.
  DataClaims(const Settings& settings, const DefinedInput& defined, std::uint64_t seed);

  enum class Kind { one_batch, learnable, files };
  Kind kind = Kind::one_batch;
  std::string training, validation;  ///< names of sets of files
  std::int64_t classes = 0;
  InputShape input;
  Labels labels = Labels::per_sample;
  std::vector<double> class_factors;  ///< in the loss, of labels of pixels
  std::int64_t batch = 0, passes = 1, ranks = 1;
  std::int64_t train_images = 0, valid_images = 0;  ///< in the sets
  std::int64_t bad_samples = 0;                     ///< samples that may be missing, over all ranks
  std::int64_t label_base = 0;
  std::string augment;
  std::uint64_t image_seed = 1;  ///< of generated images
  std::uint64_t trial_seed = 1;  ///< of initial parameters, orders and views

  /// Steps of an epoch of training, each of `passes` batches of every rank.
  std::int64_t steps() const { return train_images / (batch * ranks) / passes; }
};

/// It shares no code with the sources of batches: it has its own formulas of pixels and labels,
/// evaluation orders, views and constants. It has no formula for the order of a training epoch:
/// EpochLedger checks the properties of that order. Messages name image, sample, epoch and step.
class BatchOracle {
 public:
  /// CaseError if a set of files cannot be opened.
  BatchOracle(const DataClaims& claims, int rank);

  const DataClaims& claims() const { return claims_; }
  /// The first fault of a batch that this rank has taken: numbers, labels, and some pixels of each
  /// image (of files, of 8 images); "" if there is none.
  std::string fault(const Batch& batch, bool training) const;
  /// A fast check for every training batch: the sample numbers, some labels, and for one generated
  /// image two pixels and its label (or about 64 labels of pixels). A batch of files is judged by
  /// fault() if some of its pixels equal those of one of the last 16 batches.
  std::string glance(const Batch& batch);
  /// The first difference between a batch and what an executor holds; "" if there is none.
  static std::string fault_of_copy(const Batch& batch, const Executor& executor);

 private:
  struct TakenSample {
    std::uint64_t epoch = 0;
    std::int64_t step = -1, sample = -1;
  };
  struct Place {
    std::int64_t image = 0, row = 0, column = 0, channel = 0;
  };
  std::string fault_of_numbers(const Batch& batch, bool training) const;
  std::string fault_of_image(const Batch& batch, std::int64_t image, bool training,
                             int pixels) const;
  std::string fault_of_file(const Batch& batch, std::int64_t image, bool training) const;
  std::size_t labels_of_image() const {
    return static_cast<std::size_t>(labels_of_sample(claims_.labels, claims_.input));
  }
  std::span<const std::int64_t> slice_labels(const Batch& batch, std::int64_t image) const {
    return batch.labels.subspan(static_cast<std::size_t>(image) * labels_of_image(),
                                labels_of_image());
  }
  /// The generated field of an image, if the image is one.
  std::optional<FieldOracle> field(const Batch& batch, std::int64_t image, bool training) const;
  std::int64_t label(const Batch& batch, const Place& at, bool training,
                     const std::optional<FieldOracle>& field) const;
  std::string fault_of_labels(const Batch& batch, std::int64_t image, bool training,
                              std::int64_t most, const std::optional<FieldOracle>& field) const;
  double compute(const Batch& batch, const Place& at, bool training,
                 const std::optional<FieldOracle>& field) const;
  std::string compare(const Batch& batch, const Place& at, double expected, double bound) const;

  const DataClaims claims_;
  const int rank_;
  std::shared_ptr<const SampleSet> training_, validation_;  ///< of files
  std::array<std::uint64_t, 16> taken_{};  ///< hashes of some pixels of the last batches
  std::size_t next_ = 0;                   ///< index in taken_
  TakenSample last_;                       ///< the first sample of the last batch
};

}  // namespace assay
