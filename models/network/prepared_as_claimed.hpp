#pragma once
// Compares how a training or an inference was prepared with the parameters of its case.

#include "core/measure/case.hpp"
#include "models/network/training_workload.hpp"

namespace assay {

/// WrongResult if the network or its optimizer is not that of the case. Reads the texts of the case
/// again, independently of the code that made the settings from them.
void expect_network(const TrainerSettings& trainer, const Settings& claims);
/// WrongResult if the layers of the network, in any direction, are not those of the definition.
void expect_layers(const Network& network, const Settings& claims,
                   const NetworkDefinition& definition);
/// expect_network() for a whole training: number of steps, epochs, target, files.
void expect_training(const TrainingRun& run, const Settings& claims);

}  // namespace assay
