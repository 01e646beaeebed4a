#include "runner/nodes/per_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "analysis/gather/node_list.hpp"
#include "analysis/host_names.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/program/given.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/preflight.hpp"
#include "runner/launch/processes.hpp"
#include "runner/launch/site.hpp"
#include "runner/nodes/node_files.hpp"
#include "runner/nodes/node_progress.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr const char* did_not_answer = "-did-not-answer";  ///< ends the name of an unknown node

/// The hosts that answer, with one process on each of `nodes`. CaseError if two are one host, and
/// if none answers.
std::set<std::string> answering_nodes(const Launcher& launcher, std::uint64_t nodes,
                                      const fs::path& scratch) {
  std::vector<std::string> command = launcher.one_per_node(nodes);
  command.insert(command.end(), {(executable_folder() / "assay").string(), "placement"});
  constexpr std::chrono::seconds patience(120);
  const FinishedCommand placement = finish_command(command, scratch, patience);
  std::set<std::string> answered;
  for (const PlacedProcess& process : read_placed_processes(placement.output)) {
    if (const std::string why = collecting::why_not_folder_name(process.host); !why.empty())
      throw CaseError(fmt::format("a node has the name '{}' ({})", visible(process.host), why));
    if (!answered.insert(process.host).second)
      throw CaseError(fmt::format("two of the processes, one for each node, are on {} (`{}`)",
                                  process.host, join(command, " ")));
  }
  if (answered.empty())
    throw CaseError(fmt::format("no node answers (`{}` {})", join(command, " "), placement.how()));
  return answered;
}

bool is_among(const std::string& node, const std::set<std::string>& hosts) {
  return std::ranges::any_of(hosts, [&](const std::string& host) { return same_host(host, node); });
}

/// The nodes that answered, and those of the allocation that did not and will be missing.
std::set<std::string> list_expected_nodes(const std::vector<std::string>& allocated,
                                          const std::set<std::string>& answered,
                                          std::uint64_t nodes) {
  std::set<std::string> names(allocated.begin(), allocated.end());
  // Names in an allocation may be long ("n1.cluster"), those of hosts short.
  std::erase_if(names, [&](const std::string& node) { return is_among(node, answered); });
  // If the allocation has more nodes than were requested, the names of the missing nodes are
  // unknown, but their number is known.
  if (names.size() + answered.size() != nodes) {
    names.clear();
    for (std::size_t node = answered.size() + 1; node <= nodes; ++node)
      names.insert(fmt::format("node-{}-of-{}{}", node, nodes, did_not_answer));
  }
  names.insert(answered.begin(), answered.end());
  return names;
}

/// Adds the nodes of an earlier run in this folder that have no result. Another allocation may lack
/// them; they then stay missing.
void add_unfinished(std::set<std::string>& expected, const fs::path& folder) {
  if (!fs::exists(folder / node_list)) return;
  for (const std::string& node : node_names(folder / node_list, (folder / node_list).string()))
    if (!node.ends_with(did_not_answer) && !fs::exists(folder / node / "result.json") &&
        !is_among(node, expected))
      expected.insert(node);
}

/// Time limits: nodes may wait in MPI for a node that could not begin, or that hangs, and no
/// launcher notices it. A node has some megabytes of files, so a slow network needs seconds for
/// them.
constexpr std::chrono::seconds patience(120), patience_of_a_node(10);
/// The time that a node has after --walltime to end its last case and to write its result.
constexpr std::chrono::seconds patience_after_walltime(30);

/// The output of `assay collect`, without the lines of the launcher around it; if there is none,
/// the launcher's lines.
std::string words_of_collect(const fs::path& log) {
  constexpr const char* own = "assay collect: ";
  constexpr std::size_t most_lines = 20;
  std::ifstream stream(log);
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find(own);  // some launchers put the rank before it
    if (at == std::string::npos) continue;
    const std::string said = line.substr(at + std::string(own).size());
    if (std::find(lines.begin(), lines.end(), said) != lines.end()) continue;
    if (lines.size() < most_lines)
      lines.push_back(said);
    else
      ++more;
  }
  if (more > 0)
    lines.push_back(fmt::format("and {} in {}", format_count(more, "more line"), log.string()));
  return lines.empty() ? read_tail(log) : join(lines, "\n");
}

/// The folders of --local-results, for nodes without a shared file system. Each node writes into a
/// folder on its local disk, and `assay collect` copies the folders to the first node over MPI.
class LocalResults final {
 public:
  /// `local`: a folder on every node. `out`: a folder that both this process and the first node can
  /// access. Both are absolute.
  LocalResults(const Launcher& launcher, fs::path local, fs::path out)
      : launcher_(launcher), local_(std::move(local)), out_(std::move(out)) {}

  const fs::path& folder() const { return local_; }

  /// Call it before anything is timed: CaseError if the results of `hosts` could not be collected
  /// afterwards. Removes the end marks of earlier runs on the nodes.
  void prepare(const std::set<std::string>& hosts, std::uint64_t nodes, bool resume) const {
    std::vector<std::string> words = command(hosts, nodes);
    words.emplace_back("--prepare");
    if (resume) words.emplace_back("--resume");
    std::string why;
    try {
      const ProcessEnd ended = run_logged(words, out_ / "log", "prepare-collect", patience);
      if (ended.is_success()) return;
      why = fmt::format("`{}` {}", join(words, " "), ended.text());
    } catch (const CaseError& late) {
      why = late.what();
    }
    throw CaseError(
        fmt::format("pre-flight failed: the nodes' results could not be collected at the end ({}): "
                    "{}\nNothing was timed.",
                    why, words_of_collect(out_ / "log" / "prepare-collect.err.txt")));
  }

  /// Collects the results of the nodes that answer now (`answering` finds their names), and reports
  /// missing results on stderr. Returns failed (7) if anything is missing; the missing files stay
  /// on their node.
  template <class Answering>
  ExitCode collect(const Answering& answering, std::uint64_t nodes) const {
    std::string why;
    try {
      const std::vector<std::string> words = command(answering(), nodes);
      const ProcessEnd ended = run_logged(words, out_ / "log", "collect",
                                          patience + static_cast<int>(nodes) * patience_of_a_node);
      const std::string said = words_of_collect(out_ / "log" / "collect.err.txt");
      if (ended.is_success()) {
        std::cerr << fmt::format("assay run: {}\n", said);
        return ExitCode::ok;
      }
      why = fmt::format("`{}` {}: {}", join(words, " "), ended.text(), said);
    } catch (const CaseError& error) {
      why = error.what();
    }
    std::cerr << fmt::format(
        "assay run: not all results are collected ({}).\nWhat the nodes have measured is still in "
        "{}/<node> there; the same command with --resume collects it.\n",
        why, local_.string());
    return ExitCode::failed;
  }

 private:
  std::vector<std::string> command(const std::set<std::string>& hosts, std::uint64_t nodes) const {
    ProcessShape shape{.nodes = hosts.size(), .ranks_per_node = 1};
    // If some nodes of the allocation do not answer, the shape names the others; a launcher that
    // cannot choose nodes is reported.
    if (hosts.size() < nodes)
      shape.hosts = join(std::vector<std::string>(hosts.begin(), hosts.end()), ",");
    std::vector<std::string> words = launcher_.command(shape);
    words.insert(words.end(), {(executable_folder() / "assay").string(), "collect", local_.string(),
                               "--out", out_.string()});
    return words;
  }

  const Launcher& launcher_;
  fs::path local_, out_;
};

}  // namespace

ExitCode report_nodes(const std::vector<RunRemains>& runs, const fs::path& folder,
                      const std::optional<Site>& site) {
  const auto present =
      std::ranges::count_if(runs, [](const RunRemains& run) { return run.result.has_value(); });
  std::cout << fmt::format(
                   "{0}{1} of {2} {4} a result\naccept: assay accept {3} --criteria "
                   "acceptance\none file: assay gather {3} --out {3}.json\n",
                   make_report(runs, site), present, runs.size(), folder.string(),
                   runs.size() == 1 ? "node has" : "nodes have")
            << std::flush;
  return find_exit_code(runs);
}

void refuse_beside_many(const Arguments& arguments) {
  const bool per_node = arguments.contains("per-node"), pairs = arguments.contains("pairs");
  if (!per_node && arguments.contains("local-results"))
    throw InputError(
        "--local-results needs --per-node (a single run writes where it is started). Give both.");
  if (per_node)
    refuse_flags(arguments,
                 {"ranks", "ranks-per-node", "threads-per-rank", "bind", "hosts", "against"},
                 "--per-node", "every node runs the single-node suite");
  else if (pairs)
    refuse_flags(arguments, {"ranks", "nodes", "against"}, "--pairs", "each run has two nodes");
  if (per_node && read_values(arguments, "nodes").size() > 1)
    throw InputError(
        "--nodes with several numbers cannot be used with --per-node (every node runs the suite "
        "once). Give one number.");
  if (per_node || pairs)
    refuse_flags(arguments, {"list", "dry-run"}, per_node ? "--per-node" : "--pairs",
                 "it runs on other nodes");
}

int run_as_node(Arguments arguments, const RunOfNode& run) {
  forget_launcher();
  arguments.erase("as-node");
  const std::string host = host_here();
  if (const std::string why = collecting::why_not_folder_name(host); !why.empty())
    throw CaseError(fmt::format("'{}' has no folder ({}).", visible(host), why));
  const fs::path folder = fs::path(*read_value(arguments, "out")) / host;
  arguments["out"] = {folder.string()};
  std::string end;
  try {
    check_run_folder(folder, list_names_in(arguments));
    fs::create_directories(folder);
    end = describe_end(run(arguments, host));
  } catch (const std::exception& error) {
    end = error.what();
  }
  write_end(folder, end);
  return 0;
}

int run_on_every_node(const Arguments& arguments) {
  const Walltime walltime(arguments);
  const Launcher launcher = read_launcher(arguments, "--per-node");
  const fs::path folder = folder_of_many(arguments, "--per-node");
  const fs::path scratch = folder / "log" / "per-node";
  prepare_parent();
  const std::vector<std::string> allocated = launcher.list_allocated_nodes(scratch);
  const std::uint64_t nodes = read_whole_number(arguments, "nodes", 1, 1'000'000)
                                  .value_or(std::max<std::size_t>(1, allocated.size()));
  std::set<std::string> answered;
  try {
    answered = answering_nodes(launcher, nodes, scratch);
  } catch (const CaseError& error) {
    throw CaseError(fmt::format("pre-flight failed: {}. Nothing was timed.", error.what()));
  }
  std::set<std::string> expected = list_expected_nodes(allocated, answered, nodes);
  if (arguments.contains("resume")) add_unfinished(expected, folder);
  std::optional<LocalResults> local;
  if (const auto there = read_value(arguments, "local-results")) {
    local.emplace(launcher, fs::absolute(*there).lexically_normal(), folder);
    local->prepare(answered, nodes, arguments.contains("resume"));
  }
  std::vector<std::string> command = launcher.one_per_node(nodes);
  for (const std::string& word : words_of_run(
           arguments, {"per-node", "launcher", "nodes", "out", "local-results", "walltime"}))
    command.push_back(word);
  // The clocks of the nodes start now. Each gets at least one second, in which it lists the cases
  // that it leaves out.
  if (const auto left = walltime.left_seconds())
    command.insert(command.end(), {"--walltime", format_clock(std::max<std::uint64_t>(1, *left))});
  const fs::path written = local ? local->folder() : folder;
  command.insert(command.end(), {"--as-node", "--out", written.string()});
  std::cerr << fmt::format("assay run: on {}, into {}/<node>\n",
                           format_count(static_cast<std::size_t>(nodes), "node"), written.string());
  std::map<std::string, WriteTime> before;
  std::string names;
  for (const std::string& node : expected) {
    before[node] = prepare_folder_of_run(folder / node);
    names += node + "\n";
  }
  write_text(folder / node_list, names);  // written now, because a job may be killed before its end
  // Waits for the end of all runs; each has its own time limits. With --walltime all have ended by
  // then, except a node that hangs.
  std::optional<std::chrono::seconds> limit;
  if (const auto left = walltime.left_seconds())
    limit = std::chrono::seconds(*left) + patience_after_walltime;
  NodeProgress progress(folder / "log" / "nodes.err.txt", answered);
  const auto tell = [&](bool last) {
    if (read_verbosity(arguments) != Verbosity::quiet)
      std::cerr << progress.news(NodeProgress::Clock::now(), last) << std::flush;
  };
  std::string how;
  try {
    const ProcessEnd ended =
        run_logged(command, folder / "log", "nodes", limit, [&] { tell(false); });
    if (!ended.is_success()) how = ended.text();
  } catch (const CaseError& late) {
    how = late.what();
  }
  tell(true);
  if (!how.empty())
    std::cerr << fmt::format("assay run: the launcher {}: {}\n", how,
                             read_tail(folder / "log" / "nodes.err.txt"));
  ExitCode code = ExitCode::ok;
  if (local)
    code = local->collect([&] { return answering_nodes(launcher, nodes, scratch); }, nodes);
  std::vector<RunRemains> runs;
  for (const std::string& node : expected)
    runs.push_back(
        read_node_remains(folder / node, before.at(node), local ? written / node : fs::path()));
  return static_cast<int>(find_gravest(code, report_nodes(runs, folder, find_site(arguments))));
}

int run_on_nodes_and_pairs(const Arguments& arguments) {
  const Walltime walltime(arguments);
  read_launcher(arguments, "--pairs").expect_choice_of_nodes("--pairs");
  Arguments alone = arguments, pairs = arguments;
  alone.erase("pairs");
  for (const char* flag : {"per-node", "nodes", "local-results"}) pairs.erase(flag);
  const auto code = static_cast<ExitCode>(run_on_every_node(alone));
  const fs::path folder = fs::absolute(*read_value(arguments, "out"));
  std::vector<std::string> nodes = node_names(folder / node_list, (folder / node_list).string());
  // A node that has not ended its own run is left out, because its partner in every pair would wait
  // for it.
  std::erase_if(nodes, [&](const std::string& node) { return !read_end_code(folder / node); });
  if (nodes.size() < 2) {
    std::cerr << "assay run: no pair is measured: fewer than two nodes have ended their runs\n";
    return static_cast<int>(find_gravest(code, ExitCode::failed));
  }
  pairs["hosts"] = {join(nodes, ",")};
  pairs["joint"] = {""};
  if (const auto left = walltime.left_seconds())
    pairs["walltime"] = {format_clock(std::max<std::uint64_t>(1, *left))};
  return static_cast<int>(find_gravest(code, static_cast<ExitCode>(run_on_pairs(pairs))));
}

}  // namespace assay
