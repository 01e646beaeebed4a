#include "analysis/run/rank_ends.hpp"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>

#include "core/rank_file.hpp"

namespace assay {

// The kernel keeps the notices in order until they are read, however late that is: what this
// process and its terminal do meanwhile cannot mix them up.
RankEnds::RankEnds(const std::filesystem::path& journal, const Process& job)
    : folder_(journal.parent_path()), job_(job), notices_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  inotify_add_watch(notices_, folder_.c_str(), IN_CREATE | IN_CLOSE_WRITE);
}

RankEnds::~RankEnds() {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, gone))
    if (entry.path().filename().string().starts_with(beginning()))
      std::filesystem::remove(entry.path(), gone);
  if (notices_ >= 0) close(notices_);
}

std::string RankEnds::first(const std::vector<std::string>& processes,
                            const std::vector<std::string>& hosts) {
  read_notices();
  if (processes.size() < 2 || processes.size() != hosts.size()) return "";
  const auto& [benchmark, launch, attempt] = job_;
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    names.push_back(rank_file_name(benchmark, launch, attempt, static_cast<int>(rank)));
    if (!begun_.contains(names.back())) return "";
  }
  for (const std::string& name : ended_)
    if (const auto found = std::find(names.begin(), names.end(), name); found != names.end()) {
      const auto rank = static_cast<std::size_t>(found - names.begin());
      return fmt::format("rank {} (process {} on {}) ended first", rank, processes[rank],
                         hosts[rank]);
    }
  return "";
}

std::string RankEnds::beginning() const {
  const auto& [benchmark, launch, attempt] = job_;
  const std::string of_rank_0 = rank_file_name(benchmark, launch, attempt, 0);
  return of_rank_0.substr(0, of_rank_0.size() - 1);
}

void RankEnds::read_notices() {
  const std::string ours = beginning();
  alignas(inotify_event) char buffer[65536];
  for (ssize_t size; (size = read(notices_, buffer, sizeof buffer)) > 0;)
    for (const char* at = buffer; at < buffer + size;) {
      const auto& notice = *reinterpret_cast<const inotify_event*>(at);
      at += sizeof notice + notice.len;
      const std::string name = notice.len > 0 ? notice.name : "";
      if (!name.starts_with(ours)) continue;
      if ((notice.mask & IN_CREATE) != 0) begun_.insert(name);
      if ((notice.mask & IN_CLOSE_WRITE) != 0) ended_.push_back(name);
    }
}

}  // namespace assay
