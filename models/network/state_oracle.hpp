#pragma once
// Reads the state of a training from its device, and compares it with the required state.

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/api/communicator.hpp"
#include "core/measure/case.hpp"
#include "models/network/definition.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// 64 bits that depend on all bytes and their order.
std::uint64_t fingerprint(std::span<const std::byte> bytes);

/// The fingerprints of all data that a step changes, by name ("velocity", "weights", "rounded
/// weights", "waiting gradients", "running statistics", "loss scale"), read from the device without
/// Trainer::save(). No sum may be in progress.
using Fingerprints = std::map<std::string, std::string>;
Fingerprints take_fingerprints(Trainer& trainer);
/// Adds the fingerprints of the numbers that are not on the device.
void add_fingerprints(std::span<const double> running, const LossScaleState& scale,
                      Fingerprints& fingerprints);
std::string format_fingerprint(std::span<const std::byte> bytes);
/// The first difference; "" if there is none.
std::string difference(const Fingerprints& fingerprints, const Fingerprints& expected);

/// The first fault of the initial state of a training of `problem`: layers that differ from its
/// definition (find_fault_of_layers()), elements that differ from the generator with `seed` (32 of
/// each parameter are compared), wrong rounded copies, velocities other than 0, moving averages
/// other than 0 and 1. "" if there is none.
std::string find_fault_of_start(Trainer& trainer, const std::string& problem,
                                const NetworkDefinition& network, std::uint64_t seed);

/// "" if all ranks have equal weights and velocities, except for the rounding of their sums.
/// Collective.
std::string find_fault_of_ranks(const Executor& executor, Communicator& ranks);

}  // namespace assay
