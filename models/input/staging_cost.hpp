#pragma once
// The cost of staging a set, and the evidence that each shared file was read once.

#include <map>
#include <string>

#include "core/measure/workload.hpp"

namespace assay {

/// Sums over the nodes, and times of the slowest node.
struct StagingCost {
  double nodes = 1;
  double set_bytes = 0, staged_bytes = 0;  ///< of the set; of the files that some node lacked
  double lacking_bytes = 0;                ///< sum of the bytes that each node lacked
  double replaced_files = 0;               ///< files that were staged before, but had changed
  /// Bytes that the nodes have read from shared files, as the kernel counts them (ReadCounter), and
  /// those of them that came from devices.
  double read_bytes = 0, device_bytes = 0;
  double cached_bytes = 0;  ///< of those files, in page caches before; NaN if unknown
  double passed_bytes = 0;  ///< that nodes have received from others
  double kept_bytes = 0;    ///< that nodes have written and read back
  double seconds = 0, read_s = 0, pass_s = 0, keep_s = 0;
};

/// The cost of a case whose set an earlier case of its process has staged: nothing.
StagingCost of_later_row(const StagingCost& cost);
/// Bytes read from shared files over bytes staged; 1 if none had to be.
double staging_read_ratio(const StagingCost& cost);
/// Why this ratio is not 1 (within 0.005, and 4 KiB of each node), or why nodes keep other bytes
/// than they lacked; or "".
std::string find_fault_of_staging(const StagingCost& cost);
/// The metrics stage_* of a row; stage_s only if time was spent.
std::map<std::string, Metric> staging_metrics(const StagingCost& cost);

}  // namespace assay
