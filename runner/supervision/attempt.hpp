#pragma once
// One process of a campaign.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "runner/run/campaign.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

/// What is known of one process.
struct Campaign::Attempt {
  const PlannedBenchmark& benchmark;
  int launch = 0, number = 0;
  std::vector<std::string> remaining;  ///< ids without a row, in the order of the plan
  std::string open;                    ///< id of the case that was begun and has no row
  bool began = false;                  ///< it has begun a case
  bool timed_out = false;
  std::size_t rows = 0;                ///< rows that it wrote itself before it was ended
  std::string waited_for;              ///< ranks that were stopped when the time was over
  std::vector<std::string> processes;  ///< process ids by rank, once they are reported
  std::string silent;                  ///< ranks that did not report how they ended
  std::string said;                    ///< output on stderr since its open case began
  int deaths = 0;                      ///< successive attempts that died outside any case
  Ended ended;
  std::filesystem::path out, err;
};

}  // namespace assay
