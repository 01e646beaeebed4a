#pragma once
// Simulates allreduces message by message, for algorithms whose ranks do not proceed in step.

#include <vector>

#include "analysis/scaling/allreduce_cost.hpp"

namespace assay::scaling {

/// The end of each allreduce in `asked`, in seconds. A rank begins its next round when it has
/// completed its send and its receive of this round; a port serves messages in the order in which
/// they begin. `sizes`: [allreduce][round].
std::vector<double> followed_ends(const Network& network, int ranks,
                                  const std::vector<AllreduceCost::Round>& rounds,
                                  const std::vector<Asked>& asked,
                                  const std::vector<std::vector<AllreduceCost::Size>>& sizes);

}  // namespace assay::scaling
