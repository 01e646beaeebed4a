#include "runner/nodes/local_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "runner/nodes/node_files.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Some nodes may wait in MPI for one that could not begin, or that hangs, and no launcher knows.
/// Files of a node are some megabytes, so a network that is slow needs seconds for them.
constexpr std::chrono::seconds patience(120), patience_of_a_node(10);

/// What `assay collect` said, without the words of the launcher around it; those alone where it
/// said nothing.
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
  if (more > 0) lines.push_back(fmt::format("and {} lines more in {}", more, log.string()));
  return lines.empty() ? tail_of(log) : join(lines, "\n");
}

}  // namespace

std::vector<std::string> LocalResults::command(const std::set<std::string>& hosts,
                                               std::uint64_t nodes) const {
  ProcessShape shape;
  shape.nodes = hosts.size();
  shape.ranks_per_node = 1;
  // Some nodes of the allocation do not answer: a launcher that can leave them out is told.
  if (hosts.size() < nodes)
    shape.hosts = join(std::vector<std::string>(hosts.begin(), hosts.end()), ",");
  std::vector<std::string> words = launcher_.command(shape);
  words.insert(words.end(), {(executable_folder() / "assay").string(), "collect", local_.string(),
                             "--out", out_.string()});
  return words;
}

void LocalResults::prepare(const std::set<std::string>& hosts, std::uint64_t nodes,
                           bool resume) const {
  std::vector<std::string> words = command(hosts, nodes);
  words.emplace_back("--prepare");
  if (resume) words.emplace_back("--resume");
  const auto fail = [&](const std::string& why) {
    throw CaseError(
        fmt::format("pre-flight failed: the nodes' results could not be collected at the end ({}): "
                    "{}\nNothing was timed.",
                    why, words_of_collect(out_ / "log" / "prepare-collect.err.txt")));
  };
  Ended ended;
  try {
    ended = wait_for_end(words, out_ / "log", "prepare-collect", patience);
  } catch (const CaseError& late) {
    fail(late.what());
  }
  if (ended.signalled || ended.code != 0)
    fail(fmt::format("`{}` {}", join(words, " "), ended.text()));
}

ExitCode LocalResults::collect(const std::function<std::set<std::string>()>& answering,
                               std::uint64_t nodes) const {
  std::string why;
  try {
    const std::vector<std::string> words = command(answering(), nodes);
    const Ended ended = wait_for_end(words, out_ / "log", "collect",
                                     patience + static_cast<int>(nodes) * patience_of_a_node);
    const std::string said = words_of_collect(out_ / "log" / "collect.err.txt");
    if (!ended.signalled && ended.code == 0) {
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

}  // namespace assay
