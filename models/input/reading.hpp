#pragma once
// What reading and decoding images cost while something was timed, for a row.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "datasets/images/process_io.hpp"

namespace assay {

/// Adds up what the pipeline and the system count between begin() and end(). Threads work ahead: in
/// a short time they may do less, or more, than what is taken in it needs.
class Reading {
 public:
  void begin(const PipelineCounters& counters);
  /// `seconds`: of what was timed. `counters` as in begin(), of the same start().
  void end(const PipelineCounters& counters, double seconds);

  bool any() const { return images_ > 0; }

  /// Of all ranks; nothing where no image was taken. Collective.
  std::map<std::string, Metric> metrics(Communicator& ranks, std::int64_t bad_samples) const;

 private:
  PipelineCounters before_;
  std::optional<ProcessIo> io_before_;
  double seconds_ = 0, images_ = 0, stall_s_ = 0, read_s_ = 0, decode_s_ = 0, bytes_ = 0;
  double requested_ = 0, from_device_ = 0;
  bool io_known_ = true;
};

/// Makes these files leave the page cache. CaseError where more than a tenth of them stays there: a
/// row that says `cold` must be so.
void make_cold(const std::vector<std::string>& files);

}  // namespace assay
