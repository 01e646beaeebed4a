#pragma once
// The time in which nodes stage a data set from shared storage to their own disks, from measured
// rates (assay-input --stage).

#include "core/base/unsupported.hpp"

namespace assay::scaling {

/// Bytes per second of one node, unless stated otherwise. A row of N nodes gives `read`, `pass` and
/// `keep` as its metrics stage_*_bytes_per_s divided by N.
struct StagingRates {
  double read = 0;    ///< from shared storage
  double shared = 0;  ///< of shared storage to all nodes together; 0: no limit
  double pass = 0;    ///< received by broadcasts from other nodes
  double keep = 0;    ///< written to the local disk, synced and read back
  double local = 0;   ///< read from the local disk afterwards
  double disk = 0;    ///< bytes of the local disk; 0: no limit
};

struct StagingTime {
  double seconds = 0;
  double read = 0, pass = 0, keep = 0;  ///< seconds of each part
  double node_bytes = 0;                ///< on each disk
  double delivered = 0;                 ///< bytes per second that all nodes together read
                                        ///< afterwards
};

/// `nodes` nodes together read each of `bytes` bytes once, in equal parts. Each node keeps the
/// fraction `part` of the set (1: all of it, as --stage does; less if each trains on a part). The
/// nodes read the next pieces while they pass on and store the previous ones
/// (models/input/stage.hpp):
///   read = bytes / min(nodes * read, shared)
///   pass = part * bytes * (1 - 1/nodes) / pass
///   keep = part * bytes / keep
///   seconds = max(read, pass + keep).
/// Broadcasts are assumed to have the same rate on any number of nodes, which nearly holds for long
/// messages; measure the rate on many nodes. Unsupported if the disks are too small, or if the
/// nodes together cannot store the set. InputError for values that are not positive, or a part
/// above 1.
Result<StagingTime> staging_time(double bytes, int nodes, const StagingRates& rates,
                                 double part = 1);

/// The fewest nodes whose disks together deliver `rate` bytes per second.
double nodes_for_rate(double rate, const StagingRates& rates);

}  // namespace assay::scaling
