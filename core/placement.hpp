#pragma once
// Where on a machine of several memories a case runs.

#include <optional>
#include <string>

namespace assay {

/// Binds this process (all its threads, and those that they start) to the processors of a NUMA node
/// and the next `threads` OpenMP threads' memory to that node's; "any" takes an earlier binding
/// back. Why it cannot, or nothing. InputError for a text that is no node.
std::optional<std::string> why_not_node(const std::string& node, int threads);

}  // namespace assay
