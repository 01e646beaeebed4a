#pragma once
// Compares a network whose layers are divided among ranks with the undivided one.

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// The network that compare_with_undivided() compares: the network itself, or its small form
/// (Network::make_small) if it has many parameters and the small form adds as many values over the
/// ranks.
Network make_compared_form(const TrainerSettings& settings, int ranks);

/// A pass of the divided layers and of the undivided ones, both in fp64, from equal parameters and
/// samples: compares the losses and each rank's parts of all gradients. Collective.
void compare_with_undivided(const TrainerSettings& settings, Plugins& plugins, Communicator& ranks,
                            Verification& verification);

}  // namespace assay
