#pragma once
// Judges the update of one server's part by the parameters of the case. It shares no formula and no
// setting with the update node, nor with the code that cuts the weights into parts.

#include <span>
#include <string>
#include <vector>

#include "models/network/step_oracle.hpp"
#include "models/parallel/servers_part.hpp"

namespace assay {

/// The values of the whole network's elements in one part, before or after an update.
struct PartValues {
  std::vector<double> weights, velocity, second;  ///< second: empty where the rule has none
  static PartValues read(const PartUpdate& update);
};

struct ClaimedPartUpdate {
  const StepClaims& claims;
  const Graph& graph;  ///< of the whole network
  WeightsPart part;
  double rate = 0, scale = 1;
  std::int64_t number = 1;           ///< of this update of the part, without skipped ones
  std::span<const double> gradient;  ///< of the whole network, with the factor `scale`
};

/// Compares some elements of each parameter: the first one whose value after the update differs
/// from the claimed value; "" if there is none. Adds to `checked`.
std::string find_fault_of_update(const ClaimedPartUpdate& update, const PartValues& before,
                                 const PartValues& after, std::int64_t& checked);

}  // namespace assay
