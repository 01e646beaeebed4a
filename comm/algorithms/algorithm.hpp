#pragma once
// Assay's own algorithms for collectives. Each is a Communicator over another one (the transport):
// it runs the collectives that it implements, why_not() refuses the other collectives, and all else
// (messages, barrier) is forwarded to the transport.
//
// Each file comm/algorithms/<name>_algorithm.cpp defines one, `AlgorithmEntry <name>_algorithm()`.
// The build collects these files: to add an algorithm, add a file.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/backend.hpp"

namespace assay {

struct AlgorithmEntry {
  std::string_view name;  ///< the value of --algorithm
  std::string_view help;
  /// Collective. `transport` and `intra_node` both connect all ranks, and must outlive the result.
  /// A hybrid algorithm splits `intra_node` and uses it inside each node. --intra-node names it; by
  /// default, and with --intra-node shared_memory (which the hybrid creates itself), it is
  /// `transport`.
  Result<std::unique_ptr<Communicator>> (*make)(Communicator& transport, Communicator& intra_node,
                                                const Options& options);
};

/// All algorithms in the order of their names, including `library`, the transport's own
/// collectives.
const std::vector<AlgorithmEntry>& algorithms();

/// Fills in the fields of `execution` that all of Assay's own algorithms share: the implementation
/// ("Assay's " and `how`) and the types in which `call` reduces.
void describe_own(const std::string& how, const Call& call, Execution& execution);

/// Why an algorithm that reduces in host memory cannot run with these options (device buffers), or
/// empty.
std::string why_not_host(std::string_view algorithm, const Options& options);

}  // namespace assay
