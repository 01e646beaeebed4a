#include "analysis/run/per_node.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "analysis/commands.hpp"
#include "analysis/launch/preflight.hpp"
#include "analysis/run/child.hpp"
#include "analysis/run/interrupted.hpp"
#include "analysis/run/many_runs.hpp"
#include "analysis/text_table.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// The nodes that answer, one process on each; those that the allocation names and that do not
/// answer are among them, too: they will be missing.
std::set<std::string> expected_nodes(const Launcher& launcher, std::uint64_t nodes,
                                     const fs::path& scratch) {
  std::set<std::string> names;
  for (const std::string& node : launcher.allocated_nodes(scratch)) names.insert(node);
  std::vector<std::string> command = launcher.one_per_node(nodes);
  command.insert(command.end(), {(executable_folder() / "assay").string(), "placement"});
  Ended ended;
  std::string said;
  constexpr std::chrono::seconds patience(120);
  const auto found = placed_processes(output_of(command, scratch, patience, ended, said));
  std::set<std::string> answered;
  for (const PlacedProcess& process : found)
    if (!answered.insert(process.host).second)
      throw CaseError(fmt::format(
          "pre-flight failed: two of the processes, one for each node, are on {} (`{}`). Nothing "
          "was timed.",
          process.host, join(command, " ")));
  if (answered.empty())
    throw CaseError(fmt::format("pre-flight failed: no node answers (`{}` {}{}{}).",
                                join(command, " "), ended.text(), said.empty() ? "" : ": ", said));
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

/// Waits for the launcher's end, however long the runs take; each of them has its own time limits.
void wait_for_all(const std::vector<std::string>& command, const fs::path& log) {
  prepare_parent();
  Child child(command, log / "nodes.out.txt", log / "nodes.err.txt");
  constexpr std::chrono::milliseconds look(200), grace(10'000);
  for (;;) {
    if (const int number = wait_for_signal(look)) {
      child.kill(grace);
      throw Interrupted{number};
    }
    if (const auto ended = child.poll()) {
      if (ended->signalled || ended->code != 0)
        std::cerr << fmt::format("assay run: the launcher {}: {}\n", ended->text(),
                                 tail_of(log / "nodes.err.txt"));
      return;
    }
  }
}

std::string report_of(const std::vector<LeftRun>& runs, const fs::path& folder) {
  std::string text;
  std::size_t missing = 0;
  for (const LeftRun& run : runs)
    if (run.result.is_null()) {
      ++missing;
      text += fmt::format("MISSING: {} ({})\n", visible(run.name), visible(run.missing));
    }
  return fmt::format(
      "{0}{1} of {2} nodes have a result\naccept: assay accept {3}\none file: assay gather {3} "
      "--node-file {3}/nodes.txt --out {3}.json\n",
      text, runs.size() - missing, runs.size(), folder.string());
}

}  // namespace

int run_as_node(Given given, const std::function<int(const Given&)>& run) {
  forget_launcher();
  given.erase("as-node");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const fs::path folder = fs::path(*value_of(given, "out")) / host;
  given["out"] = {folder.string()};
  std::string end;
  try {
    fs::create_directories(folder);
    end = fmt::format("ended with exit code {}", run(given));
  } catch (const std::exception& error) {
    end = error.what();
  }
  std::ofstream(folder / "end.txt") << end << "\n";
  return 0;
}

int run_on_every_node(const Given& given) {
  refuse_flags(given, {"ranks", "ranks-per-node", "threads-per-rank", "bind", "hosts", "against"},
               "--per-node", "every node runs the single-node suite");
  const Launcher launcher = named_launcher(given, "--per-node");
  const fs::path folder = folder_of_many(given, "--per-node");
  const fs::path scratch = folder / "log" / "per-node";
  prepare_parent();
  const std::size_t allocated = launcher.allocated_nodes(scratch).size();
  const std::uint64_t nodes =
      whole_of(given, "nodes", 1, 1'000'000).value_or(std::max<std::size_t>(1, allocated));
  const std::set<std::string> expected = expected_nodes(launcher, nodes, scratch);
  std::vector<std::string> command = launcher.one_per_node(nodes);
  for (const std::string& word : words_of_run(given, {"per-node", "launcher", "nodes", "out"}))
    command.push_back(word);
  command.insert(command.end(), {"--as-node", "--quiet", "--out", folder.string()});
  std::cerr << fmt::format("assay run: on {} nodes, into {}/<node>\n", nodes, folder.string());
  std::map<std::string, Written> before;
  for (const std::string& node : expected) {
    before[node] = written_in(folder / node);
    std::error_code absent;
    fs::remove(folder / node / "end.txt", absent);  // of an earlier run
  }
  wait_for_all(command, folder / "log");
  std::vector<LeftRun> runs;
  std::string names;
  for (const std::string& node : expected) {
    runs.push_back(left_run(folder / node, before.at(node)));
    names += node + "\n";
  }
  write_text(folder / "nodes.txt", names);
  std::cout << report_of(runs, folder) << std::flush;
  return static_cast<int>(code_of(runs));
}

}  // namespace assay
