#pragma once
// The claims of a case about the images of its runs, apart from the settings of the pipeline that
// delivers them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/case.hpp"
#include "datasets/images/epoch_order.hpp"
#include "datasets/images/sample_decoder.hpp"
#include "datasets/images/sample_set.hpp"

namespace assay {

/// The demands of a case, read from its texts.
struct InputClaims {
  std::int64_t images = 0, batch = 0;  ///< of a run over all ranks, and of a batch of one rank
  int side = 0, ranks = 1, interleave = 0;
  bool training = true;
  ImageLayout layout = ImageLayout::nhwc;
  std::uint64_t seed = 1;
  int threads = 1, prefetch = 2;
  double step_seconds = 0;
  bool cold = false;
  InputClaims() = default;
  InputClaims(const Settings& settings, std::uint64_t of_seed);
};

/// The images that one rank takes in a run, in their order.
class InputAudit {
 public:
  /// `ranks` must outlive the audit.
  InputAudit(std::shared_ptr<const SampleSet> set, const InputClaims& claims, Communicator& ranks);

  const InputClaims& claims() const { return claims_; }
  /// Number of images of this rank in a run.
  std::int64_t images() const { return claims_.images / claims_.ranks; }
  DecodeSettings decode() const;

  struct Place {
    std::uint64_t epoch = 0;
    std::int64_t position = 0;  ///< in the order of the epoch; -1: none
    bool operator==(const Place&) const = default;
  };
  /// Image `i` of a run that begins at `first_epoch`.
  Place place(std::uint64_t first_epoch, std::int64_t i) const;
  /// Element `i` of the batch that is number `step` of this rank in an epoch.
  std::int64_t position(std::int64_t step, std::int64_t i) const;
  /// The sample that is there, unless it is bad.
  std::int64_t sample(const Place& place) const;

  /// Judges the numbers of the samples of all images of a run. "" if they agree with the settings:
  /// no sample occurs twice in an epoch, on any ranks; a whole epoch has all samples that fill its
  /// steps; without `training`, samples are in the order of the set; with it, in other orders,
  /// which differ between epochs. `replaced`: some samples replace bad ones. Collective.
  std::string fault_of_samples(std::uint64_t first_epoch, const std::vector<std::int64_t>& samples,
                               bool replaced);
  /// Judges some numbers of a decoded image by the definitions; "" if they are right.
  std::string fault_of_image(const Bytes& encoded, std::uint64_t epoch, std::int64_t sample,
                             const std::vector<float>& image) const;

 private:
  std::int64_t steps() const;
  std::string fault_of_order(std::uint64_t epoch, std::vector<std::int64_t> samples);

  std::shared_ptr<const SampleSet> set_;
  const InputClaims claims_;
  Communicator& ranks_;
  EpochOrder order_;
  std::uint64_t other_epoch_ = 0;            ///< epoch of the previously judged order
  std::vector<std::int64_t> other_samples_;  ///< its samples; empty: none was
};

}  // namespace assay
