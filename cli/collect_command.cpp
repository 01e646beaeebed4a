#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "core/base/message.hpp"
#include "core/program/launched_ranks.hpp"
#include "runner/nodes/collect.hpp"

namespace assay {

namespace {

int collect_runs(const Arguments& arguments) {
  namespace fs = std::filesystem;
  CollectOptions options;
  options.local = fs::absolute(*read_value(arguments, "LOCAL")).lexically_normal();
  options.out = fs::absolute(*read_value(arguments, "out")).lexically_normal();
  options.prepare = arguments.contains("prepare");
  options.resume = arguments.contains("resume");
  Plugins plugins;
  std::unique_ptr<Communicator> ranks;
  try {
    ranks = connect_launched_ranks(plugins);
  } catch (const CaseError& error) {
    std::cerr << "assay collect: unsupported: " << error.what() << std::endl;
    return static_cast<int>(ExitCode::failed);
  }
  const Collection collected = collect(*ranks, options);
  for (const std::string& line : collected.lines)
    std::cerr << "assay collect: " + message_text(line) + "\n" << std::flush;  // a single write
  return static_cast<int>(collected.code);
}

}  // namespace

Command collect_command() {
  return {
      "collect",
      "Copy the runs in the nodes' local folders into one folder, over MPI.\nA process on each "
      "node sends LOCAL/<host name>, the first one writes DIR/<host name>. `assay run "
      "--per-node --local-results LOCAL` starts it by itself.",
      {{"LOCAL", "folder on every node with a run in LOCAL/<host name>", "LOCAL", "", true},
       {"--prepare", "before a run: check whether its files could be collected, and send nothing"},
       {"--resume", "with --prepare: the run may continue the one in LOCAL/<host name>"},
       {"--out", "existing folder that the first process sees", "DIR", "", true, false,
        output_group}},
      &collect_runs,
      {{"assay collect /tmp/assay --out results",
        "copies /tmp/assay/<host name> of each node to results/<host name>; a launcher starts "
        "it on every node"}},
      "0 all nodes are collected, 2 bad usage, or host names that are equal or cannot be names "
      "of folders, 7 a node has no files, or they cannot be read or written",
      internal_group};
}

}  // namespace assay
