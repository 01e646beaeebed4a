#pragma once
// Compares a network with divided layers with the undivided network.

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// The network that compare_with_undivided() compares: the network itself, or its small form
/// (Network::make_small) if it has many parameters and the small form adds as many values over the
/// ranks.
Network make_compared_form(const TrainerSettings& settings, int ranks);

/// Makes a pass with divided layers and one with undivided layers, both in fp64, from equal
/// parameters and samples. Compares the losses and each rank's parts of all gradients. Collective.
void compare_with_undivided(const TrainerSettings& settings, Plugins& plugins, Communicator& ranks,
                            Verification& verification);

}  // namespace assay
