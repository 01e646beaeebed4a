#include "runner/supervision/process_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

ProcessEntry process_at(pid_t number) {
  const std::string text = readable_text(fmt::format("/proc/{}/stat", number));
  const std::size_t name_end = text.rfind(") ");  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return {};
  const std::vector<std::string> fields = split(text.substr(name_end + 2), ' ');
  constexpr std::size_t start = 19;  // field 22 of all; two fields precede the split text
  if (fields.size() <= start || fields[0].empty()) return {};
  return {parse_number<pid_t>(fields[1]).value_or(0), fields[0][0], fields[start]};
}

std::map<pid_t, ProcessEntry> visible_processes() {
  std::map<pid_t, ProcessEntry> all;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", missing))
    if (const auto number = parse_number<pid_t>(entry.path().filename().string()))
      if (ProcessEntry process = process_at(*number); !process.start.empty())
        all[*number] = std::move(process);
  return all;
}

std::string readable_text(const std::filesystem::path& file) {
  try {
    return read_text_file(file);
  } catch (const InputError&) {
    return "";
  }
}

std::string host_here() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

namespace fs = std::filesystem;

namespace {

bool below(int process, int root, const std::map<pid_t, ProcessEntry>& all) {
  for (auto ancestor = all.find(process); ancestor != all.end() && ancestor->first > 1;
       ancestor = all.find(ancestor->second.parent))
    if (ancestor->second.parent == root) return true;
  return false;
}

std::string find_rank(int process) {
  const std::string variables = readable_text(fmt::format("/proc/{}/environ", process));
  for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="})
    for (const std::string& variable : split(variables, '\0'))
      if (variable.starts_with(name)) return variable.substr(variable.find('=') + 1);
  return "";
}

bool has_word(int process, const std::string& word) {
  const std::vector<std::string> words =
      split(readable_text(fmt::format("/proc/{}/cmdline", process)), '\0');
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<int> descendants() {
  const std::map<pid_t, ProcessEntry> all = visible_processes();
  std::vector<int> numbers;
  for (const auto& [number, process] : all)
    if (below(number, getpid(), all)) numbers.push_back(number);
  return numbers;
}

std::vector<StoppedProcess> find_stopped_here(const std::string& word) {
  const std::map<pid_t, ProcessEntry> all = visible_processes();
  std::vector<StoppedProcess> stopped;
  for (const auto& [number, process] : all) {
    if (process.state != 'T' && process.state != 't') continue;
    if (word.empty() ? below(number, getpid(), all) : has_word(number, word))
      stopped.push_back({number, find_rank(number), host_here()});
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

std::vector<StoppedProcess> find_stopped_anywhere(const std::vector<std::string>& launcher,
                                                  const fs::path& assay, const std::string& word,
                                                  const fs::path& scratch,
                                                  const std::vector<std::string>& rank_hosts,
                                                  std::string& unknown) {
  constexpr std::chrono::seconds patience(10);
  std::string answer;
  try {
    answer = finish_command(asking(launcher, assay, word), scratch, patience).output;
  } catch (const CaseError&) {   // nothing within that time
  } catch (const InputError&) {  // it cannot be started
  }
  std::vector<StoppedProcess> stopped;
  std::set<std::string> asked_hosts;
  for (const std::string& line : split(answer, '\n')) {
    std::istringstream words(line);
    std::string host, what;
    StoppedProcess stopped_process;
    if (!(words >> host >> what)) continue;
    if (what == "asked") asked_hosts.insert(host);
    if (what != "stopped" || !(words >> stopped_process.process)) continue;
    words >> stopped_process.rank;
    stopped_process.host = host;
    stopped.push_back(stopped_process);
  }
  std::map<std::string, std::string> silent;
  for (std::size_t rank = 0; rank < rank_hosts.size(); ++rank)
    if (const std::string& host = rank_hosts[rank]; !asked_hosts.contains(host))
      silent[host] += (silent[host].empty() ? "" : ", ") + std::to_string(rank);
  for (const auto& [host, theirs] : silent)
    unknown += fmt::format("{}whether rank {} on {} is stopped is unknown (no answer)",
                           unknown.empty() ? "" : "; ", theirs, host);
  return stopped;
}

std::string to_text(std::vector<StoppedProcess> stopped,
                    const std::vector<std::string>& rank_hosts) {
  std::vector<std::string> texts;
  for (StoppedProcess& stopped_process : stopped) {
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

namespace {

const std::string folder = "/dev/shm/";

/// Names in /dev/shm that a process has mapped.
void add_mapped(int process, std::set<std::string>& names) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t at = line.find(" " + folder); at != std::string::npos) {
      const std::string name = line.substr(at + 1 + folder.size());
      if (name.find(" (deleted)") == std::string::npos) names.insert(name);
    }
}

}  // namespace

LeftSegments::LeftSegments() {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    before_.insert(entry.path().filename().string());
}

void LeftSegments::look() {
  for (const int process : descendants()) add_mapped(process, mapped_);
}

std::vector<std::string> LeftSegments::remove() const {
  std::set<std::string> in_use;
  for (const auto& [number, process] : visible_processes()) add_mapped(number, in_use);
  std::vector<std::string> removed;
  for (const std::string& name : mapped_)
    if (!before_.contains(name) && !in_use.contains(name) && unlink((folder + name).c_str()) == 0)
      removed.push_back(name);
  return removed;
}

}  // namespace assay
