#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "analysis/commands.hpp"
#include "analysis/gather/gather.hpp"
#include "analysis/load.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/outputs.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Names from --nodes and from the lines of --node-file, each once; a batch system's file has a
/// line for each processor of a node.
std::vector<std::string> expected_nodes(const Given& given) {
  std::vector<std::string> names = values_of(given, "nodes");
  if (const auto file = value_of(given, "node-file")) {
    std::ifstream stream(*file);
    if (!stream)
      throw InputError(
          fmt::format("--node-file {} cannot be read (does it exist?). Give a file with a node's "
                      "name on each line.",
                      *file));
    const std::size_t before = names.size();
    for (std::string line; std::getline(stream, line);) {
      const std::size_t from = line.find_first_not_of(" \t\r");
      if (from == std::string::npos || line[from] == '#') continue;
      names.push_back(line.substr(from, line.find_last_not_of(" \t\r") + 1 - from));
    }
    if (names.size() == before)
      throw InputError(
          fmt::format("--node-file {} names no node (it is empty). Give a file with a node's name "
                      "on each line.",
                      *file));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

int gather_results(const Given& given) {
  const std::vector<std::string> inputs = values_of(given, "FILE");
  const std::string out = *value_of(given, "out");
  check_output("--out", out, inputs);
  GatherOptions options;
  options.system = value_of(given, "system").value_or("");
  options.nodes = expected_nodes(given);
  options.command = fmt::format("assay gather {} --out {}", join(inputs, " "), out);
  const json run = gather(result_files(inputs), out, options);
  std::size_t rows = 0;
  for (const json& file : run["gathered"]) rows += file["rows"].get<std::size_t>();
  for (const json& node : run["missing_nodes"])
    std::cerr << fmt::format("assay gather: {}: MISSING: {}\n", node["host"].get<std::string>(),
                             node["reason"].get<std::string>());
  std::cerr << fmt::format("assay gather: wrote {} of {} to {}\n", counted(rows, "row"),
                           counted(run["gathered"].size(), "run"), out);
  return static_cast<int>(run["missing_nodes"].empty() ? ExitCode::ok : ExitCode::incomparable);
}

}  // namespace

Command gather_command() {
  return {
      "gather",
      "Make one result file of the results of many nodes.",
      {{"FILE", "result files, folders of runs, or folders with runs below", "FILE", "", true,
        true},
       {"--nodes", "nodes that must have rows; those without are recorded as MISSING", "NAME,...",
        "those with rows", false, true},
       {"--node-file", "the same from a file with a name on each line ($PBS_NODEFILE)", "FILE", ""},
       {"--system", "name of the system", "NAME", "the files'"},
       {"--out", "write to this file", "FILE", "", true, false, output_group}},
      &gather_results,
      {{"assay gather results --out fleet.json", "makes one result of those below results/"},
       {"assay gather results --system testbed --out fleet.json",
        "the same, with a name for the system that the nodes belong to"}},
      "0 all nodes have rows, 2 bad usage or input file, 6 a node has none"};
}

}  // namespace assay
