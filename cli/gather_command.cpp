#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "analysis/gather/gather.hpp"
#include "analysis/gather/node_list.hpp"
#include "analysis/load.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/outputs.hpp"

namespace assay {

namespace {

/// The names in --nodes and --node-file, else those in the node lists of the folders.
std::vector<std::string> list_expected_nodes(const Arguments& arguments,
                                             const std::vector<std::string>& inputs) {
  std::vector<std::string> names = read_values(arguments, "nodes");
  const auto file = read_value(arguments, "node-file");
  if (names.empty() && !file) return list_nodes(inputs);
  if (file)
    for (std::string& name : node_names(*file, "--node-file " + *file))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

int gather_results(const Arguments& arguments) {
  const std::vector<std::string> inputs = read_values(arguments, "FILE");
  const std::string out = *read_value(arguments, "out");
  std::vector<std::string> read = inputs;
  if (const auto file = read_value(arguments, "node-file")) read.push_back(*file);
  check_output("--out", out, read);
  GatherOptions options;
  options.system = read_value(arguments, "system").value_or("");
  options.nodes = list_expected_nodes(arguments, inputs);
  options.command = fmt::format("assay gather {} --out {}", join(inputs, " "), out);
  const GatheredNodes nodes = gather(list_result_files(inputs), out, options);
  for (const MissingNode& node : nodes.missing)
    std::cerr << fmt::format("assay gather: {}: MISSING: {}\n", node.host, node.reason);
  std::cerr << fmt::format("assay gather: wrote {} of {} to {}\n", format_count(nodes.rows, "row"),
                           format_count(nodes.runs, "run"), out);
  return static_cast<int>(nodes.missing.empty() ? ExitCode::ok : ExitCode::incomparable);
}

}  // namespace

Command gather_command() {
  return {"gather",
          "Make one result file of the results of many nodes.",
          {{"FILE", "result files, folders of runs, or folders with runs below", "FILE", "", true,
            true},
           {"--nodes", "nodes that must have rows; those without are recorded as MISSING",
            "NAME,...", "those of FILE/nodes.txt, else those with rows", false, true},
           {"--node-file", "the same from a file with a name on each line ($PBS_NODEFILE)", "FILE"},
           {"--system", "name of the system", "NAME", "the files'"},
           {"--out", "write to this file", "FILE", "", true, false, output_group}},
          &gather_results,
          {{"assay gather results --out fleet.json", "makes one result of those below results/"},
           {"assay gather results --system testbed --out fleet.json",
            "the same, with a name for the system that the nodes belong to"}},
          "0 all nodes have rows, 2 bad usage or input file, 6 a node has none"};
}

}  // namespace assay
