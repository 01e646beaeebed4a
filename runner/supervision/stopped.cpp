#include "runner/supervision/stopped.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

struct ProcessState {
  int parent = 0;
  char state = ' ';
};

std::string all_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Every process that can be seen, by its number.
std::map<int, ProcessState> processes() {
  std::map<int, ProcessState> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator("/proc", missing)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = all_of(entry.path() / "stat");
    const std::size_t behind = stat.rfind(')');  // a name may have anything in it
    if (behind == std::string::npos || behind + 4 >= stat.size()) continue;
    found[std::stoi(name)] = {std::atoi(stat.c_str() + behind + 4), stat[behind + 2]};
  }
  return found;
}

bool below(int process, int root, const std::map<int, ProcessState>& all) {
  for (auto ancestor = all.find(process); ancestor != all.end() && ancestor->first > 1;
       ancestor = all.find(ancestor->second.parent))
    if (ancestor->second.parent == root) return true;
  return false;
}

std::string rank_of(int process) {
  const std::string variables = all_of(fmt::format("/proc/{}/environ", process));
  for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="})
    for (const std::string& variable : split(variables, '\0'))
      if (variable.starts_with(name)) return variable.substr(variable.find('=') + 1);
  return "";
}

bool has_word(int process, const std::string& word) {
  const std::vector<std::string> words =
      split(all_of(fmt::format("/proc/{}/cmdline", process)), '\0');
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<int> descendants() {
  const std::map<int, ProcessState> all = processes();
  std::vector<int> found;
  for (const auto& [number, process] : all)
    if (below(number, getpid(), all)) found.push_back(number);
  return found;
}

std::vector<Stopped> stopped_here(const std::string& word) {
  const std::map<int, ProcessState> all = processes();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::vector<Stopped> stopped;
  for (const auto& [number, process] : all) {
    if (process.state != 'T' && process.state != 't') continue;
    if (word.empty() ? below(number, getpid(), all) : has_word(number, word))
      stopped.push_back({number, rank_of(number), host});
  }
  return stopped;
}

std::vector<std::string> asking(std::vector<std::string> launcher, const fs::path& assay,
                                const std::string& word) {
  const auto srun = std::find_if(launcher.begin(), launcher.end(), [](const std::string& word) {
    return fs::path(word).filename() == "srun";
  });
  if (srun != launcher.end()) launcher.insert(srun + 1, "--overlap");
  launcher.insert(launcher.end(), {assay.string(), "stopped", word});
  return launcher;
}

std::vector<Stopped> stopped_anywhere(const std::vector<std::string>& launcher,
                                      const fs::path& assay, const std::string& word,
                                      const fs::path& scratch,
                                      const std::vector<std::string>& rank_hosts,
                                      std::string& unknown) {
  constexpr std::chrono::seconds patience(10);
  std::string answer;
  try {
    Ended ended;
    std::string error;
    answer = output_of(asking(launcher, assay, word), scratch, patience, ended, error);
  } catch (const CaseError&) {   // nothing within that time
  } catch (const InputError&) {  // it cannot be started
  }
  std::vector<Stopped> stopped;
  std::set<std::string> asked;
  for (const std::string& line : split(answer, '\n')) {
    std::istringstream words(line);
    std::string host, what;
    Stopped stopped_process;
    if (!(words >> host >> what)) continue;
    if (what == "asked") asked.insert(host);
    if (what != "stopped" || !(words >> stopped_process.process)) continue;
    words >> stopped_process.rank;
    stopped_process.host = host;
    stopped.push_back(stopped_process);
  }
  std::map<std::string, std::string> silent;
  for (std::size_t rank = 0; rank < rank_hosts.size(); ++rank)
    if (const std::string& host = rank_hosts[rank]; !asked.contains(host))
      silent[host] += (silent[host].empty() ? "" : ", ") + std::to_string(rank);
  for (const auto& [host, theirs] : silent)
    unknown += fmt::format("{}whether rank {} on {} is stopped is unknown (no answer)",
                           unknown.empty() ? "" : "; ", theirs, host);
  return stopped;
}

std::string text_of(std::vector<Stopped> stopped, const std::vector<std::string>& rank_hosts) {
  std::vector<std::string> texts;
  for (Stopped& stopped_process : stopped) {
    const bool known = !stopped_process.rank.empty() &&
                       stopped_process.rank.find_first_not_of("0123456789") == std::string::npos;
    if (known && std::stoul(stopped_process.rank) < rank_hosts.size())
      stopped_process.host = rank_hosts[std::stoul(stopped_process.rank)];
    const std::string text =
        fmt::format("{} (process {} on {}) is stopped",
                    stopped_process.rank.empty() ? "a process" : "rank " + stopped_process.rank,
                    stopped_process.process, stopped_process.host);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return join(texts, ", ");
}

}  // namespace assay
