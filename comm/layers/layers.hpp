#pragma once
// What can lie over an algorithm: wire compression, fusion, replay, in this order. Dimensions of
// assay-collectives, with their settings.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

/// wire (none | fp16 | bf16), fusion (bytes, 0: none), replay (a list of problems, or none) and
/// compute (seconds of a replay's computation), all left out of the id where they do nothing.
std::vector<Dimension> layer_dimensions();

/// Brings the layers' settings to one form: compute and fusion have a meaning in a replay alone,
/// whose problem is all its tensors ("n25557032"). InputError for texts that are no numbers, lists
/// that there are not, and for a replay that is no blocking allreduce.
void complete_layers(const Benchmark& benchmark, Settings& settings);

/// Elements of each tensor of a list of problems, in its order.
std::vector<std::int64_t> replay_counts(const Benchmark& benchmark, const std::string& list);

/// The algorithm with the layers that `options` ask for; itself where they ask for none.
std::unique_ptr<Communicator> layered(std::unique_ptr<Communicator> algorithm,
                                      const Benchmark& benchmark, const Options& options);

}  // namespace assay
