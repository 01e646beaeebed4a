#include "runner/nodes/per_node.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "analysis/gather/gather.hpp"
#include "analysis/gather/node_list.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/program/given.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/preflight.hpp"
#include "runner/launch/process_flags.hpp"
#include "runner/launch/site.hpp"
#include "runner/nodes/local_results.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/nodes/node_files.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr const char* did_not_answer = "-did-not-answer";  ///< ends the name of an unknown node

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
    return std::any_of(answered.begin(), answered.end(),
                       [&](const std::string& host) { return same_host(host, node); });
  };
  std::erase_if(names, is_of);
  // Of a larger allocation nobody knows which nodes were meant; that some are missing is known.
  if (names.size() + answered.size() != nodes) {
    names.clear();
    for (std::size_t node = answered.size() + 1; node <= nodes; ++node)
      names.insert(fmt::format("node-{}-of-{}{}", node, nodes, did_not_answer));
  }
  names.insert(answered.begin(), answered.end());
  return names;
}

/// Adds the nodes of an earlier run in this folder that have no result. Another allocation may not
/// have them: they stay missing.
void add_unfinished(std::set<std::string>& expected, const fs::path& folder) {
  if (!fs::exists(folder / node_list)) return;
  for (const std::string& node : node_names(folder / node_list, (folder / node_list).string()))
    if (!node.ends_with(did_not_answer) && !fs::exists(folder / node / "result.json") &&
        std::none_of(expected.begin(), expected.end(),
                     [&](const std::string& other) { return same_host(node, other); }))
      expected.insert(node);
}

/// The runs, to the end of all; each of them has its own time limits.
void run_nodes(const std::vector<std::string>& command, const fs::path& log) {
  const Ended ended = wait_for_end(command, log, "nodes");
  if (ended.signalled || ended.code != 0)
    std::cerr << fmt::format("assay run: the launcher {}: {}\n", ended.text(),
                             tail_of(log / "nodes.err.txt"));
}

}  // namespace

ExitCode report_nodes(const std::vector<LeftRun>& runs, const fs::path& folder,
                      const nlohmann::json& site) {
  const auto missing = std::count_if(runs.begin(), runs.end(),
                                     [](const LeftRun& run) { return run.result.is_null(); });
  std::cout << fmt::format(
                   "{0}{1} of {2} nodes have a result\naccept: assay accept {3} --criteria "
                   "acceptance\none file: assay gather {3} --out {3}.json\n",
                   report_of(runs, site), static_cast<std::ptrdiff_t>(runs.size()) - missing,
                   runs.size(), folder.string())
            << std::flush;
  return code_of(runs);
}

void refuse_beside_many(const Given& given) {
  const bool per_node = given.contains("per-node"), pairs = given.contains("pairs");
  if (!per_node && given.contains("local-results"))
    throw InputError(
        "--local-results needs --per-node (a single run writes where it is started). Give both.");
  if (per_node && pairs)
    throw InputError("--per-node and --pairs are two kinds of runs. Leave one of them out.");
  if (per_node)
    refuse_flags(given, {"ranks", "ranks-per-node", "threads-per-rank", "bind", "hosts", "against"},
                 "--per-node", "every node runs the single-node suite");
  if (per_node && values_of(given, "nodes").size() > 1)
    throw InputError(
        "--nodes with several numbers cannot be used with --per-node (every node runs the suite "
        "once). Give one number.");
  if (pairs)
    refuse_flags(given, {"ranks", "nodes", "against"}, "--pairs", "each run has two nodes");
  if (per_node || pairs)
    refuse_flags(given, {"list", "dry-run"}, per_node ? "--per-node" : "--pairs",
                 "it runs on other nodes");
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
    check_run_folder(folder, named_by(given));
    fs::create_directories(folder);
    end = ended_with(run(given));
  } catch (const std::exception& error) {
    end = error.what();
  }
  write_end(folder, end);
  return 0;
}

int run_on_every_node(const Given& given) {
  const Walltime walltime(given);
  const Launcher launcher = named_launcher(given, "--per-node");
  const fs::path folder = folder_of_many(given, "--per-node");
  const fs::path scratch = folder / "log" / "per-node";
  prepare_parent();
  const std::vector<std::string> allocated = launcher.allocated_nodes(scratch);
  const std::uint64_t nodes =
      whole_of(given, "nodes", 1, 1'000'000).value_or(std::max<std::size_t>(1, allocated.size()));
  const std::set<std::string> answered = nodes_of_preflight(launcher, nodes, scratch);
  std::set<std::string> expected = expected_nodes(allocated, answered, nodes);
  if (given.contains("resume")) add_unfinished(expected, folder);
  std::optional<LocalResults> local;
  if (const auto there = value_of(given, "local-results")) {
    local.emplace(launcher, fs::absolute(*there).lexically_normal(), folder);
    local->prepare(answered, nodes, given.contains("resume"));
  }
  std::vector<std::string> command = launcher.one_per_node(nodes);
  for (const std::string& word :
       words_of_run(given, {"per-node", "launcher", "nodes", "out", "local-results", "walltime"}))
    command.push_back(word);
  // The clocks of the nodes start now. With a second left they still list what they leave out.
  if (const auto left = walltime.left())
    command.insert(command.end(), {"--walltime", clock_text(std::max<std::uint64_t>(1, *left))});
  const fs::path written = local ? local->folder() : folder;
  command.insert(command.end(), {"--as-node", "--quiet", "--out", written.string()});
  std::cerr << fmt::format("assay run: on {}, into {}/<node>\n",
                           counted(static_cast<std::size_t>(nodes), "node"), written.string());
  std::map<std::string, Written> before;
  std::string names;
  for (const std::string& node : expected) {
    before[node] = before_run(folder / node);
    names += node + "\n";
  }
  write_text(folder / node_list, names);  // now: a job may be killed before its end
  run_nodes(command, folder / "log");
  ExitCode code = ExitCode::ok;
  if (local)
    code = local->collect([&] { return answering_nodes(launcher, nodes, scratch); }, nodes);
  std::vector<LeftRun> runs;
  for (const std::string& node : expected)
    runs.push_back(left_node(folder / node, before.at(node), local ? written / node : fs::path()));
  return static_cast<int>(gravest(code, report_nodes(runs, folder, site_document(given))));
}

}  // namespace assay
