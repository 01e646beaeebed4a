#pragma once
// The list of nodes that `assay run --per-node` writes beside the folders of the nodes. Only this
// list shows a node without a result.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// File in the folder of such a run, written before its nodes begin: the names of all nodes, one
/// per line, including those that did not answer.
inline constexpr const char* node_list = "nodes.txt";

/// The names in a file, one per line, sorted, each once; lines that begin with # do not count.
/// InputError if it cannot be read, beginning with `what` ("--node-file nodes.txt").
std::vector<std::string> node_names(const std::filesystem::path& file, const std::string& what);

/// The names in all node lists in and below those of `inputs` that are folders (`inputs`: files and
/// folders of results).
std::vector<std::string> list_nodes(const std::vector<std::string>& inputs);

}  // namespace assay
