#include "runner/supervision/lost_ranks.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace {

/// The rank that a line belongs to, or -1. Launchers may put words before it.
int reporting_rank(const std::string& line, const std::vector<std::string>& hosts) {
  for (std::size_t at = line.find("rank "); at != std::string::npos;
       at = line.find("rank ", at + 1)) {
    int rank = -1;
    const char* const number = line.data() + at + 5;
    const auto [end, error] = std::from_chars(number, line.data() + line.size(), rank);
    if (error != std::errc() || rank < 0 || static_cast<std::size_t>(rank) >= hosts.size())
      continue;
    const std::string behind = " on " + hosts[static_cast<std::size_t>(rank)] + ": ";
    if (line.compare(static_cast<std::size_t>(end - line.data()), behind.size(), behind) == 0)
      return rank;
  }
  return -1;
}

std::string on_host(const std::vector<std::size_t>& ranks, const std::string& host) {
  constexpr std::size_t most = 8;
  std::vector<std::string> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(std::to_string(rank));
  if (numbers.size() == 1) return fmt::format("rank {} on {}", numbers[0], host);
  if (numbers.size() <= most) return fmt::format("ranks {} on {}", join(numbers, ", "), host);
  return fmt::format("ranks {}, … {} ({} of them) on {}", numbers.front(), numbers.back(),
                     numbers.size(), host);
}

}  // namespace

std::string list_silent_ranks(const std::filesystem::path& log,
                              const std::vector<std::string>& processes,
                              const std::vector<std::string>& hosts) {
  if (hosts.size() < 2) return "";
  std::set<std::size_t> reported;
  for (const std::string& line : split(log_of_case(log), '\n'))
    if (const int rank = reporting_rank(line, hosts); rank >= 0)
      reported.insert(static_cast<std::size_t>(rank));
  std::vector<std::pair<std::string, std::vector<std::size_t>>> silent;  // by host
  std::map<std::string, std::size_t> places;
  std::size_t count = 0, last = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (reported.contains(rank)) continue;
    ++count;
    last = rank;
    const auto [place, fresh] = places.emplace(hosts[rank], silent.size());
    if (fresh) silent.push_back({hosts[rank], {}});
    silent[place->second].second.push_back(rank);
  }
  if (count == 0) return "";
  if (count == 1 && processes.size() == hosts.size())
    return fmt::format("rank {} (process {} on {}) did not report", last, processes[last],
                       hosts[last]);
  std::vector<std::string> texts;
  for (const auto& [host, ranks] : silent) texts.push_back(on_host(ranks, host));
  return join(texts, " and ") + " did not report";
}

}  // namespace assay
