#pragma once
// Whether a row is a run of MLPerf Training's image classification (training 3.1.0, closed
// division, ResNet), and its log: what mlperf_logging's compliance checker reads.
// Source of the rules: MLCommons, training_rules.adoc of version 3.1 (October 2023).

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace assay::mllog {

/// What no result knows.
struct Submitter {
  std::string organisation, platform;
  std::string status;          ///< "onprem", "cloud", "preview", "research"
  bool cache_cleared = false;  ///< the file system's cache, before the run
};

/// The reasons why `row` is not a valid submission; empty if it is one.
std::vector<std::string> why_no_submission(const nlohmann::json& row);

/// The lines ":::MLLOG {…}" of such a row. The clock starts with the process, before anything has
/// read data.
std::string log_of(const nlohmann::json& result, const nlohmann::json& row,
                   const Submitter& submitter);

}  // namespace assay::mllog
