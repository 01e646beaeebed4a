#pragma once
// Algorithms of our own for collectives. One is a Communicator over another (the transport): it
// takes the collectives that it implements, why_not() refuses the others, and messages, barrier and
// the rest go to the transport.
//
// A file comm/algorithms/<name>_algorithm.cpp has one (`AlgorithmEntry <name>_algorithm()`); the
// build collects them, so that adding one edits no file.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/backend.hpp"

namespace assay {

struct AlgorithmEntry {
  std::string_view name;  ///< the value of --algorithm
  std::string_view help;
  /// Collective. `transport` joins all ranks. `inside` is what a hybrid uses within a node in
  /// NCCL's place, over the same ranks (the transport itself where the user names none, and for
  /// inside=shared_memory, which the hybrid then makes for itself). Both must outlive the result.
  Result<std::unique_ptr<Communicator>> (*make)(Communicator& transport, Communicator& inside,
                                                const Options& options);
};

/// All of them, in the order of their names; `library`, the transport's own, is one.
const std::vector<AlgorithmEntry>& algorithms();

/// What every algorithm of ours says of itself in a row's "executed".
void describe_own(const std::string& how, const Call& call, Executed& executed);

/// Algorithms that reduce in host memory take no device buffers: the reason, or empty.
std::string why_not_host(std::string_view algorithm, const Options& options);

}  // namespace assay
