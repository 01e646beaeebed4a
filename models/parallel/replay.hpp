#pragma once
// Repeats recorded asynchronous steps, one after the other, on one rank.

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/step_oracle.hpp"
#include "models/parallel/gradient_pass.hpp"
#include "models/parallel/record.hpp"
#include "models/parallel/servers_part.hpp"

namespace assay {

/// The state on which a server's next update depends.
struct PartState {
  std::vector<std::vector<std::byte>> values;  ///< as PartUpdate::state()
  std::int64_t updates = 0;
};

struct ReplayInput {
  const AsyncRecord& record;
  const AsyncClaims& claims;
  const std::vector<WeightsPart>& parts;          ///< by server
  const std::vector<PartState>& begun;            ///< by server: before the first step
  const std::vector<std::byte>& weights;          ///< of the whole network, after the last step
  const std::vector<std::uint64_t>& states_left;  ///< state_sum() by server, after the last step
  std::int64_t epoch = 0, first_batch = 0;        ///< the batch of ticket 0
  /// By worker: its moving averages of statistics before the first step, and their checksums after
  /// the last one.
  const std::vector<std::vector<double>>& averages;
  const std::vector<std::uint64_t>& averages_left;
  double losses = 0;                 ///< the sum over all batches
  const StepClaims* step = nullptr;  ///< of the case; nullptr: it has none
};

/// Computes the gradients of the record again, each after the updates that made its weights, and
/// applies them in the order of each server. It does not depend on messages. Returns the first
/// difference from the weights and moments after the steps, from the checksum of a version that a
/// server sent, from the moving averages, or from the losses; "" if there is none. One update of
/// each server is also compared with the oracle of its operation (`verification`), and with the
/// claims of the case. Overwrites the weights of `whole`, whose backends it uses. Not collective.
std::string replay_fault(const ReplayInput& input, GradientPass& pass, Trainer& whole,
                         Plugins& plugins, Verification& verification);

}  // namespace assay
