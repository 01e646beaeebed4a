// `assay run --pairs`: a bad link between two nodes, or a bad node, shows up in the pairs that use
// it.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <list>
#include <map>

#include "analysis/accept/pair_rows.hpp"
#include "analysis/text_table.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/program/given.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/processes.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/nodes/per_node.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;
using Pair = std::pair<std::string, std::string>;
using Rounds = std::vector<std::vector<Pair>>;

namespace {

std::string make_name(const Pair& pair) { return pair.first + "+" + pair.second; }

/// Runs the pairs of a round at the same time; a node is in at most one of them.
void run_round(const std::vector<Pair>& round, const std::vector<std::string>& words,
               const fs::path& folder) {
  std::list<Child> children;
  for (const Pair& pair : round) {
    const fs::path own = folder / make_name(pair);
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--nodes", "2", "--hosts", pair.first + "," + pair.second,
                                   "--quiet", "--out", own.string()});
    children.emplace_back(command, folder / "log" / (make_name(pair) + ".out.txt"),
                          folder / "log" / (make_name(pair) + ".err.txt"));
  }
  wait_for_end(children, {}, grace_of_runs);
}

/// Runs the rounds one after the other, each with the remaining `walltime`. Returns whether there
/// was time for all pairs, and lists those that were left out.
bool run_rounds(const Rounds& rounds, const std::vector<std::string>& words, const fs::path& folder,
                const Walltime& walltime, std::vector<RunRemains>& runs) {
  bool all = true;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    std::vector<std::string> own = words;
    if (const auto left = walltime.left_seconds()) {
      if (*left == 0) {
        all = false;
        for (const Pair& pair : rounds[i])
          std::cout << fmt::format("left out: {} (--walltime; --resume runs it)\n",
                                   visible(make_name(pair)));
        continue;
      }
      own.insert(own.end(), {"--walltime", format_clock(*left)});
    }
    std::cerr << fmt::format("assay run: round {} of {}, {}\n", i + 1, rounds.size(),
                             format_count(rounds[i].size(), "pair"));
    std::map<std::string, WriteTime> before;
    for (const Pair& pair : rounds[i])
      before[make_name(pair)] = prepare_folder_of_run(folder / make_name(pair));
    run_round(rounds[i], own, folder);
    for (const auto& [name, written] : before)
      runs.push_back(read_run_remains(folder / name, written));
  }
  return all;
}

/// The time of each pair that has one, by case.
std::map<std::string, std::map<std::string, double>> collect_times(
    const std::vector<RunRemains>& runs) {
  std::map<std::string, std::map<std::string, std::vector<double>>> samples;
  for (const RunRemains& run : runs) {
    if (!run.result) continue;
    for (const Row& row : run.result->rows)
      if (row.is_ok() && row.number("nodes") == 2)
        samples[row.id][run.name].push_back(row.median());
  }
  std::map<std::string, std::map<std::string, double>> times;
  for (const auto& [id, pairs] : samples)
    for (const auto& [pair, launches] : pairs) times[id][pair] = median(launches);
  return times;
}

/// The ratio of each pair's time to that of a typical pair, by its slowest case.
std::map<std::string, Pair> find_slowest(const std::vector<RunRemains>& runs,
                                         std::map<std::string, double>& ratios) {
  std::map<std::string, Pair> where;
  for (const auto& [id, pairs] : collect_times(runs)) {
    const double typical = typical_time(pairs);
    for (const auto& [pair, time] : pairs)
      if (const double ratio = time / typical; ratio > ratios[pair]) {
        ratios[pair] = ratio;
        where[pair] = {id, fmt::format("{:.3g} times the typical time of {}", ratio,
                                       format_count(pairs.size(), "pair"))};
      }
  }
  return where;
}

/// The nodes with slow pairs. A node is bad if even its best pair is slow. A slow pair with a bad
/// node does not count against the other node. With a single pair it is unknown which node is bad.
std::string by_node(const std::map<std::string, double>& ratios, double limit) {
  std::map<std::string, std::map<std::string, double>> nodes;  // each with its partners
  for (const auto& [pair, ratio] : ratios) {
    const std::vector<std::string> ends = split(pair, '+');
    nodes[ends.front()][ends.back()] = nodes[ends.back()][ends.front()] = ratio;
  }
  std::map<std::string, double> bad;  // each with its best pair
  for (const auto& [node, partners] : nodes) {
    double best = partners.begin()->second;
    for (const auto& [partner, ratio] : partners) best = std::min(best, ratio);
    if (partners.size() > 1 && best > limit) bad[node] = best;
  }
  // In a single case the typical pair is not slow, so this happens only over several cases, if each
  // pair is slow in one of them.
  if (!bad.empty() && bad.size() == nodes.size())
    return fmt::format(
        "every pair of the {} nodes is slow in some case: this is noise, or more slow links than "
        "good ones, and no node can be named. Repeat it with more --launches, or with nothing else "
        "on the nodes.\n",
        nodes.size());
  std::string text;
  for (const auto& [node, partners] : nodes) {
    std::size_t slow = 0;
    for (const auto& [partner, ratio] : partners)
      if (ratio > limit && !bad.contains(partner)) ++slow;
    if (const auto best = bad.find(node); best != bad.end())
      text += fmt::format("{}: all of its {} pairs are slow, the best {:.3g} times{}\n",
                          visible(node), partners.size(), best->second,
                          partners.size() + 1 == nodes.size() ? " (the node rather than a link)"
                                                              : ", of those that were measured");
    else if (slow > 0)
      text += partners.size() == 1
                  ? fmt::format("{}: its only pair is slow\n", visible(node))
                  : fmt::format("{}: {} of its {} pairs {} slow\n", visible(node), slow,
                                partners.size(), by_count(slow, "is", "are"));
  }
  return text;
}

/// The nodes that --hosts names, else those of the allocation. There must be at least two.
std::vector<std::string> nodes_to_pair(const Arguments& arguments, const Launcher& launcher,
                                       const fs::path& scratch) {
  const auto hosts = read_value(arguments, "hosts");
  const std::vector<std::string> nodes =
      hosts ? split(*hosts, ',') : launcher.list_allocated_nodes(scratch);
  if (nodes.size() >= 2) return nodes;
  const std::string why =
      hosts ? "--hosts names a single node"
      : nodes.empty()
          ? fmt::format("the launcher {} does not know the names of the allocated nodes",
                        launcher.name())
          : "the allocation has a single node";
  throw InputError(fmt::format(
      "--pairs needs at least two nodes ({}). {}", why,
      hosts || nodes.empty() ? "Name them all with --hosts A,B,..." : "Get a larger allocation."));
}

}  // namespace

int report_pairs(const std::vector<RunRemains>& runs, double tolerance) {
  std::map<std::string, double> ratios;
  std::vector<Line> lines;
  const auto where = find_slowest(runs, ratios);
  for (const auto& [pair, slowest] : where)
    if (ratios[pair] > 1 + tolerance) lines.push_back({{pair, slowest.second}, slowest.first});
  std::cout << make_report(runs);
  if (!lines.empty())
    std::cout << render_terminal_table({{{"slow pair"}, {"slowest case"}}, lines});
  std::cout << by_node(ratios, 1 + tolerance)
            << fmt::format("slower than {:g} times the typical time: {} of {}\n", 1 + tolerance,
                           lines.size(), format_count(runs.size(), "pair"))
            << std::flush;
  const ExitCode code = find_exit_code(runs);
  return static_cast<int>(lines.empty() ? code : find_gravest(code, ExitCode::slower));
}

std::vector<std::vector<Pair>> rounds_of_pairs(std::vector<std::string> nodes) {
  if (nodes.size() % 2 != 0) nodes.emplace_back();  // its partner has no pair in that round
  const std::size_t count = nodes.size();
  std::vector<std::vector<Pair>> rounds;
  for (std::size_t round = 0; round + 1 < count; ++round) {
    rounds.emplace_back();
    for (std::size_t i = 0; i < count / 2; ++i) {
      const auto &first = nodes[i], &second = nodes[count - 1 - i];
      if (!first.empty() && !second.empty())
        rounds.back().emplace_back(std::min(first, second), std::max(first, second));
    }
    std::rotate(nodes.begin() + 1, nodes.end() - 1, nodes.end());  // the first node stays in place
  }
  return rounds;
}

int run_on_pairs(const Arguments& arguments) {
  const Walltime walltime(arguments);
  const Launcher launcher = read_launcher(arguments, "--pairs");
  const fs::path folder = folder_of_many(arguments, "--pairs");
  prepare_parent();
  const std::vector<std::string> nodes =
      nodes_to_pair(arguments, launcher, folder / "log" / "nodes");
  launcher.expect_choice_of_nodes("--pairs");
  std::vector<std::string> words = words_of_run(arguments, {"pairs", "hosts", "out", "walltime"});
  if (!arguments.contains("ranks-per-node")) words.insert(words.end(), {"--ranks-per-node", "1"});
  const Rounds rounds = rounds_of_pairs(nodes);
  std::string names;
  for (const std::vector<Pair>& round : rounds)
    for (const Pair& pair : round) names += make_name(pair) + "\n";
  write_text(folder / pair_list, names);  // written now, because a job may be killed before its end
  std::vector<RunRemains> runs;
  const bool all = run_rounds(rounds, words, folder, walltime, runs);
  const int code = report_pairs(runs, read_suite_settings(arguments).tolerance);
  return all ? code
             : static_cast<int>(find_gravest(static_cast<ExitCode>(code), ExitCode::incomparable));
}

}  // namespace assay
