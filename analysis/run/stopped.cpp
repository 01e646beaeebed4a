#include "analysis/run/stopped.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "core/text.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

struct Process {
  int parent = 0;
  char state = ' ';
};

std::string all_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Every process that can be seen, by its number.
std::map<int, Process> processes() {
  std::map<int, Process> found;
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

bool below(int process, int root, const std::map<int, Process>& all) {
  for (auto one = all.find(process); one != all.end() && one->first > 1;
       one = all.find(one->second.parent))
    if (one->second.parent == root) return true;
  return false;
}

std::string rank_of(int process) {
  const std::string variables = all_of(fmt::format("/proc/{}/environ", process));
  for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="})
    for (const std::string& variable : split(variables, '\0'))
      if (variable.starts_with(name)) return "rank " + variable.substr(variable.find('=') + 1);
  return "a process";
}

}  // namespace

std::string stopped_processes() {
  const std::map<int, Process> all = processes();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::vector<std::string> stopped;
  for (const auto& [number, process] : all)
    if ((process.state == 'T' || process.state == 't') && below(number, getpid(), all))
      stopped.push_back(
          fmt::format("{} (process {} on {}) is stopped", rank_of(number), number, host));
  return join(stopped, ", ");
}

}  // namespace assay
