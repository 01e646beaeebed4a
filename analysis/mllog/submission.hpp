#pragma once
// Whether a row is a run of MLPerf Training's image classification (training 3.1.0, closed
// division, ResNet), and its log: what mlperf_logging's compliance checker reads.
// Source of the rules: MLCommons, training_rules.adoc of version 3.1 (October 2023).

#include <string>
#include <vector>

#include "core/result/row.hpp"
#include "core/result/run_header.hpp"

namespace assay::mllog {

/// The submitter's statements, which a result file does not contain.
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

}  // namespace assay::mllog
