#pragma once
// Reads the state of a training from its device, and compares it with what it must be.

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

/// The fingerprints of all that a step changes, by name ("velocity", "weights", "rounded weights",
/// "waiting gradients", "running statistics", "loss scale"), as read from the device. No sum may be
/// in progress. It does not use Trainer::save().
using Fingerprints = std::map<std::string, std::string>;
Fingerprints take_fingerprints(Trainer& trainer);
/// Adds the fingerprints of the numbers that are not on the device.
void add_fingerprints(std::span<const double> running, const LossScaleState& scale,
                      Fingerprints& fingerprints);
std::string fingerprint_text(std::span<const std::byte> bytes);
/// The first difference; "" if there is none.
std::string difference(const Fingerprints& fingerprints, const Fingerprints& expected);

/// The first fault of the state in which a training of `problem` begins: layers that its definition
/// does not have (fault_of_layers()), elements of them that are not those of the generator with
/// `seed` (32 of each), rounded copies that are not theirs, velocities that are not 0, moving
/// averages that are not 0 and 1.
/// "" if there is none.
std::string fault_of_start(Trainer& trainer, const std::string& problem,
                           const NetworkDefinition& network, std::uint64_t seed);

/// "" if all ranks have equal weights and velocities, but for the rounding of their sums.
/// Collective.
std::string fault_of_ranks(const Executor& executor, Communicator& ranks);

}  // namespace assay
