#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay::environment {
namespace {

std::string trim(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  return from == std::string::npos ? ""
                                   : text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

/// All files of `name` from <mount><group> up to <mount>.
void climb(const std::string& mount, std::string group, const std::string& name,
           std::vector<std::string>& files) {
  for (;;) {
    std::string file = mount + (group == "/" ? "" : group) + "/" + name;
    std::error_code missing;
    if (std::filesystem::exists(file, missing)) files.push_back(std::move(file));
    if (group.empty() || group == "/") return;
    group.erase(group.rfind('/'));
  }
}

}  // namespace

std::optional<std::string> first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  if (!stream || !std::getline(stream, line)) return std::nullopt;
  line = trim(line);
  if (line.empty()) return std::nullopt;
  return line;
}

std::vector<std::string> lines(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> all;
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

std::optional<double> number_in(const std::string& file) {
  const auto line = first_line(file);
  return line ? parse_number(*line) : std::nullopt;
}

std::optional<std::string> field_in(const std::string& file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t end = line.find(':');
    if (end == std::string::npos) end = line.find_first_of(" \t");
    if (end != std::string::npos && trim(line.substr(0, end)) == key)
      return trim(line.substr(end + 1));
  }
  return std::nullopt;
}

std::vector<std::string> cgroup_files(const std::string& name, const std::string& controller,
                                      const std::string& legacy) {
  std::vector<std::string> files;
  for (const std::string& line :
       lines("/proc/self/cgroup")) {  // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    if (controllers.empty()) {
      climb("/sys/fs/cgroup", group, name, files);
      climb("/sys/fs/cgroup/unified", group, name, files);
      continue;
    }
    for (const std::string& listed : split(controllers, ','))
      if (listed == controller) {
        climb("/sys/fs/cgroup/" + controllers, group, legacy, files);
        if (controllers != listed) climb("/sys/fs/cgroup/" + listed, group, legacy, files);
      }
  }
  return files;
}

std::optional<double> cpu_quota() {
  std::optional<double> least;
  const auto take = [&](std::optional<double> quota, std::optional<double> period) {
    if (quota && period && *quota > 0 && *period > 0 && (!least || *quota / *period < *least))
      least = *quota / *period;
  };
  for (const std::string& file : cgroup_files("cpu.max", "cpu", "cpu.cfs_quota_us")) {
    const auto line = first_line(file);
    if (!line) continue;
    if (file.ends_with("cpu.max")) {  // "max 100000" or "150000 100000"
      const std::vector<std::string> parts = split(*line, ' ');
      if (parts.size() == 2) take(parse_number(parts[0]), parse_number(parts[1]));
    } else {
      take(parse_number(*line), number_in(file.substr(0, file.rfind('/')) + "/cpu.cfs_period_us"));
    }
  }
  return least;
}

namespace {

/// The processors of all OpenMP places, which are those that the process may use. The thread's own
/// mask is no help: with OMP_PROC_BIND, the runtime binds this thread to one place before main
/// begins.
std::vector<int> processors_of_places() {
  std::vector<int> all;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> its(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    if (!its.empty()) omp_get_place_proc_ids(place, its.data());
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

/// 0: the calling thread.
std::vector<int> affinity_mask(pid_t thread) {
  std::vector<int> allowed;
  for (int most = 1024; most <= (1 << 20);
       most *= 2) {  // the kernel refuses a mask that is smaller than its own
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(most));
    if (set == nullptr) return allowed;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
    CPU_ZERO_S(bytes, set);
    const bool done = ::sched_getaffinity(thread, bytes, set) == 0;
    for (int i = 0; done && i < most; ++i)
      if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, set)) allowed.push_back(i);
    CPU_FREE(set);
    if (done) return allowed;
  }
  return allowed;
}

}  // namespace

std::vector<int> list_allowed_processors() {
  std::vector<int> allowed = affinity_mask(0);
  const std::vector<int> places = processors_of_places();
  allowed.insert(allowed.end(), places.begin(), places.end());
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  return allowed;
}

std::set<int> processors_of_threads() {
  std::set<int> all;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone))
    if (const auto number = parse_number<pid_t>(thread.path().filename().string())) {
      const std::vector<int> its = affinity_mask(*number);
      all.insert(its.begin(), its.end());
    }
  return all;
}

void unbind_this_thread() {
  const std::vector<int> allowed = list_allowed_processors();
  if (allowed.empty()) return;
  const int most = allowed.back() + 1;
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(most));
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
  CPU_ZERO_S(bytes, set);
  for (const int processor : allowed) CPU_SET_S(static_cast<std::size_t>(processor), bytes, set);
  ::sched_setaffinity(0, bytes, set);  // refused (a cpuset has changed): it stays as it was
  CPU_FREE(set);
}

}  // namespace assay::environment
