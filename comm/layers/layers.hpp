#pragma once
// The settings of assay-collectives for the layers over an algorithm: wire compression and fusion,
// each of which is a communicator over the one below, and the gradient replay over both.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/replay_workload.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

/// wire (none, fp16 or bf16), replay (a list of problems, or none), fusion (bytes; 0: none),
/// compute (seconds of the replay's computation) and progress. The id omits each at its default.
std::vector<Dimension> layer_dimensions();

/// Normalises the settings, so that equal work has equal settings, and returns the replay that they
/// name; nothing if they name none. fusion, compute and progress
/// apply to a replay only; the problem of a replay is the total number of elements of its tensors
/// ("n25557032"). InputError for values that are not numbers, for unknown lists, and for a replay
/// of another collective than allreduce.
std::optional<ReplaySettings> complete_layers(const Benchmark& benchmark, Settings& settings);

/// Elements of each tensor of a list of problems, in the order of the list.
std::vector<std::int64_t> replay_counts(const Benchmark& benchmark, const std::string& list);

/// `algorithm` with the wire compression and fusion that `options` ask for; `algorithm` itself
/// where they ask for neither.
std::unique_ptr<Communicator> add_layers(std::unique_ptr<Communicator> algorithm,
                                         const Options& options);

}  // namespace assay
