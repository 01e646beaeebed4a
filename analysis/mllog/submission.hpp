#pragma once
// Decides whether a row is a run of MLPerf Training's image classification (training 3.1.0, closed
// division, ResNet), and writes its log for mlperf_logging's compliance checker. Source of the
// rules: MLCommons, training_rules.adoc of version 3.1 (October 2023).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result/row.hpp"
#include "core/result/run_header.hpp"

namespace assay::mllog {

/// The submitter's statements. A result file does not contain them.
struct Submitter {
  std::string organisation, platform;  ///< names for submission_org and submission_platform
  std::string status;                  ///< "onprem", "cloud", "preview", "research"
  bool cache_cleared = false;          ///< the file system's cache, before the run
};

/// The reasons why `row` does not meet the rules for such a submission; empty if it does.
std::vector<std::string> why_no_submission(const Row& row);

/// The log of a row for which why_no_submission() is empty: lines ":::MLLOG {…}". run_start is the
/// start of the process, before any data are read.
std::string make_log(const RunHeader& run, const Row& row, const Submitter& submitter);

/// A learning-rate schedule as in a row's parameters: "cosine", "poly:2:0.0001".
struct Schedule {
  std::string kind;
  double power = 0, end = 0;  ///< of "poly"
};
Schedule parse_schedule(const std::string& text);

/// The number of images of a set of files with 1000 classes: 50000 for "tfrecord:n50000c1000:1f…".
/// Nothing for other sets, and for generated images.
std::optional<std::int64_t> count_images(const std::string& set);

/// The facts about a training run, read from its row, in the terms of the rules.
class RunFacts {
 public:
  /// Keeps a reference to the row.
  explicit RunFacts(const Row& row) : row_(row) {}

  /// A parameter as it was given; "" if the row lacks it.
  std::string text(const char* parameter) const { return row_.parameter(parameter); }
  std::optional<double> number(const char* parameter) const;
  std::int64_t count(const char* parameter, std::int64_t otherwise) const;
  /// The number `name` of the row's "executed"; NaN if it has none.
  double execution(const char* name) const;

  std::int64_t global_batch() const;  ///< images of one update, over all ranks
  double base_rate() const;           ///< learning rate after the warm-up
  /// Updates in an epoch of `images` images.
  std::int64_t count_steps(std::int64_t images) const { return images / global_batch(); }
  /// Seconds from the start of the process to the start of training.
  std::optional<double> before_training() const;
  /// When the process was started, in seconds since 1970. Needs before_training() and an epoch.
  double start_time() const;

 private:
  const Row& row_;
};

}  // namespace assay::mllog
