#include "analysis/run/per_node.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "analysis/collect/node_files.hpp"
#include "analysis/commands.hpp"
#include "analysis/launch/preflight.hpp"
#include "analysis/run/child.hpp"
#include "analysis/run/local_results.hpp"
#include "analysis/run/many_runs.hpp"
#include "analysis/text_table.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// The hosts that answer, one process on each of `nodes`. CaseError where two are one host, and
/// where none answers.
std::set<std::string> answering_nodes(const Launcher& launcher, std::uint64_t nodes,
                                      const fs::path& scratch) {
  std::vector<std::string> command = launcher.one_per_node(nodes);
  command.insert(command.end(), {(executable_folder() / "assay").string(), "placement"});
  Ended ended;
  std::string said;
  constexpr std::chrono::seconds patience(120);
  const auto found = placed_processes(output_of(command, scratch, patience, ended, said));
  std::set<std::string> answered;
  for (const PlacedProcess& process : found) {
    if (const std::string why = collecting::why_not_folder_name(process.host); !why.empty())
      throw CaseError(fmt::format("a node has the name '{}' ({})", visible(process.host), why));
    if (!answered.insert(process.host).second)
      throw CaseError(fmt::format("two of the processes, one for each node, are on {} (`{}`)",
                                  process.host, join(command, " ")));
  }
  if (answered.empty())
    throw CaseError(fmt::format("no node answers (`{}` {}{}{})", join(command, " "), ended.text(),
                                said.empty() ? "" : ": ", said));
  return answered;
}

std::set<std::string> nodes_of_preflight(const Launcher& launcher, std::uint64_t nodes,
                                         const fs::path& scratch) {
  try {
    return answering_nodes(launcher, nodes, scratch);
  } catch (const CaseError& error) {
    throw CaseError(fmt::format("pre-flight failed: {}. Nothing was timed.", error.what()));
  }
}

/// The nodes that answered, and those that the allocation names and that did not: they will be
/// missing.
std::set<std::string> expected_nodes(const std::vector<std::string>& allocated,
                                     const std::set<std::string>& answered, std::uint64_t nodes) {
  std::set<std::string> names(allocated.begin(), allocated.end());
  // An allocation's names may be long ("n1.cluster"), a host's short.
  const auto is_of = [&](const std::string& node) {
    return std::any_of(answered.begin(), answered.end(), [&](const std::string& host) {
      return host == node || node.starts_with(host + ".") || host.starts_with(node + ".");
    });
  };
  std::erase_if(names, is_of);
  // Of a larger allocation nobody knows which nodes were meant; that some are missing is known.
  if (names.size() + answered.size() != nodes) {
    names.clear();
    for (std::size_t node = answered.size() + 1; node <= nodes; ++node)
      names.insert(fmt::format("node-{}-of-{}-did-not-answer", node, nodes));
  }
  names.insert(answered.begin(), answered.end());
  return names;
}

/// The runs, to the end of all; each of them has its own time limits.
void run_nodes(const std::vector<std::string>& command, const fs::path& log) {
  const Ended ended = wait_for_end(command, log, "nodes");
  if (ended.signalled || ended.code != 0)
    std::cerr << fmt::format("assay run: the launcher {}: {}\n", ended.text(),
                             tail_of(log / "nodes.err.txt"));
}

}  // namespace

std::string report_of_nodes(const std::vector<LeftRun>& runs, const fs::path& folder) {
  std::string text;
  std::size_t missing = 0;
  for (const LeftRun& run : runs)
    if (run.result.is_null()) {
      ++missing;
      text += fmt::format("MISSING: {} ({})\n", visible(run.name), visible(run.missing));
    }
  return fmt::format(
      "{0}{1} of {2} nodes have a result\naccept: assay accept {3} --criteria acceptance\none "
      "file: "
      "assay gather {3} --node-file {3}/nodes.txt --out {3}.json\n",
      text, runs.size() - missing, runs.size(), folder.string());
}

int run_as_node(Given given, const std::function<int(const Given&)>& run) {
  forget_launcher();
  given.erase("as-node");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  if (const std::string why = collecting::why_not_folder_name(host); !why.empty())
    throw CaseError(fmt::format("'{}' has no folder ({}).", visible(host), why));
  const fs::path folder = fs::path(*value_of(given, "out")) / host;
  given["out"] = {folder.string()};
  std::string end;
  try {
    fs::create_directories(folder);
    end = fmt::format("ended with exit code {}", run(given));
  } catch (const std::exception& error) {
    end = error.what();
  }
  std::ofstream(folder / collecting::end_name) << end << "\n";
  return 0;
}

int run_on_every_node(const Given& given) {
  refuse_flags(given, {"ranks", "ranks-per-node", "threads-per-rank", "bind", "hosts", "against"},
               "--per-node", "every node runs the single-node suite");
  const Launcher launcher = named_launcher(given, "--per-node");
  const fs::path folder = folder_of_many(given, "--per-node");
  const fs::path scratch = folder / "log" / "per-node";
  prepare_parent();
  const std::vector<std::string> allocated = launcher.allocated_nodes(scratch);
  const std::uint64_t nodes =
      whole_of(given, "nodes", 1, 1'000'000).value_or(std::max<std::size_t>(1, allocated.size()));
  const std::set<std::string> answered = nodes_of_preflight(launcher, nodes, scratch);
  const std::set<std::string> expected = expected_nodes(allocated, answered, nodes);
  std::optional<LocalResults> local;
  if (const auto there = value_of(given, "local-results")) {
    local.emplace(launcher, fs::absolute(*there).lexically_normal(), folder);
    local->prepare(answered, nodes);
  }
  std::vector<std::string> command = launcher.one_per_node(nodes);
  for (const std::string& word :
       words_of_run(given, {"per-node", "launcher", "nodes", "out", "local-results"}))
    command.push_back(word);
  const fs::path written = local ? local->folder() : folder;
  command.insert(command.end(), {"--as-node", "--quiet", "--out", written.string()});
  std::cerr << fmt::format("assay run: on {}, into {}/<node>\n",
                           counted(static_cast<std::size_t>(nodes), "node"), written.string());
  std::map<std::string, Written> before;
  for (const std::string& node : expected) {
    before[node] = written_in(folder / node);
    std::error_code absent;
    fs::remove(folder / node / collecting::end_name, absent);  // of an earlier run
  }
  run_nodes(command, folder / "log");
  ExitCode code = ExitCode::ok;
  if (local)
    code = local->collect([&] { return answering_nodes(launcher, nodes, scratch); }, nodes);
  std::vector<LeftRun> runs;
  std::string names;
  for (const std::string& node : expected) {
    runs.push_back(left_node(folder / node, before.at(node), local ? written / node : fs::path()));
    names += node + "\n";
  }
  write_text(folder / node_list, names);
  std::cout << report_of_nodes(runs, folder) << std::flush;
  return static_cast<int>(gravest(code, code_of(runs)));
}

}  // namespace assay
