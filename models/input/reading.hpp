#pragma once
// The cost of reading and decoding images during the timed regions, as metrics of a row.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "datasets/images/process_io.hpp"

namespace assay {

/// Adds up the counters of the pipeline and of the operating system between begin() and end().
/// Threads read ahead, so in an interval they may decode fewer or more images than are taken.
class Reading {
 public:
  void begin(const PipelineCounters& counters);
  /// `seconds`: length of the timed region. `counters`: of the same pipeline as in begin(), not
  /// restarted in between.
  void end(const PipelineCounters& counters, double seconds);

  bool any() const { return images_ > 0; }

  /// All images over all seconds (of the slowest rank). Over many successive regions this is the
  /// rate of reading; in a single region, batches may have been ready before. 0 if no image was
  /// taken. Collective.
  double images_per_s(Communicator& ranks) const;

  /// stall_percent (of the time, the largest of the ranks), and means over all ranks per image that
  /// was decoded meanwhile, if one was: encoded bytes, seconds of reading and of decoding, and,
  /// where the system reports it, bytes from the device; and `bad_samples`, of all ranks
  /// (count_samples()). Empty if no image was taken. Collective.
  std::map<std::string, Metric> metrics(Communicator& ranks, std::int64_t bad_samples) const;

 private:
  PipelineCounters before_;
  std::optional<ProcessIo> io_before_;
  double seconds_ = 0, images_ = 0, stall_s_ = 0;
  double decoded_ = 0, read_s_ = 0, decode_s_ = 0, bytes_ = 0;
  double requested_ = 0, from_device_ = 0;
  bool io_known_ = true;
};

/// The parts of a set that could not be used.
struct BadSamples {
  std::string set;                    ///< its canonical name
  std::int64_t faults = 0;            ///< of the set as a whole: the same on all ranks
  std::vector<std::int64_t> samples;  ///< that this rank has found
  std::string message{};              ///< of one, with its place; empty if this rank has none
};
/// Number of faults and bad samples, each counted once: several ranks, or training and validation,
/// may have found the same. Collective.
std::int64_t count_samples(const std::vector<BadSamples>& mine, Communicator& ranks);
/// count_samples(). InputError on all ranks if it exceeds `most`, which no rank alone may have
/// noticed; it has the message of one of the samples. Collective.
std::int64_t number_within(std::int64_t most, const std::vector<BadSamples>& mine,
                           Communicator& ranks);
/// The last of the messages that a rank has kept; empty if there is none.
std::string last_message(const std::vector<std::string>& messages);

/// Drops these files from the page cache. CaseError if more than a tenth of their pages stays
/// there, since a row with page_cache=cold must not be measured with cached files.
void make_cold(const std::vector<std::string>& files);
/// The same without dropping them.
void expect_cold(const std::vector<std::string>& files);

}  // namespace assay
