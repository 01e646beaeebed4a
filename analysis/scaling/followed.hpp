#pragma once
// Allreduces followed message by message, for algorithms whose ranks get out of step.

#include <vector>

#include "analysis/scaling/allreduce_cost.hpp"

namespace assay::scaling {

/// When each of `asked` ends. A rank begins its next round when it has sent and received what the
/// round has for it; a port serves messages in the order in which they begin. `sizes`: by
/// allreduce and round.
std::vector<double> followed_ends(const Network& network, int ranks,
                                  const std::vector<AllreduceCost::Round>& rounds,
                                  const std::vector<Asked>& asked,
                                  const std::vector<std::vector<AllreduceCost::Size>>& sizes);

}  // namespace assay::scaling
