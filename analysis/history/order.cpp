#include "analysis/history/order.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace assay {

using nlohmann::json;

namespace {

struct Span {
  std::string file, host, began;
  double begin = 0, end = 0;  ///< seconds since 1970, by the clock of the host
};

/// By the run's id.
std::map<std::string, Span> spans_of(const std::vector<NamedResult>& results) {
  std::map<std::string, Span> spans;
  for (const NamedResult& named : results) {
    const json& run = named.result.at("run");
    if (!run.at("started").is_string()) continue;
    Span span{shown_name(named), named.result.at("environments").at(0).at("host"),
              run.at("started")};
    span.begin = span.end = time_of(span.began, span.file);
    if (run.at("finished").is_string()) span.end = time_of(run.at("finished"), span.file);
    spans.emplace(run.at("id"), std::move(span));
  }
  return spans;
}

std::set<std::string> runs_of(const RowHistory& series) {
  std::set<std::string> runs;
  for (const Point& point : series.points) runs.insert(point.run);
  for (const Gap& gap : series.gaps) runs.insert(gap.run);
  return runs;
}

}  // namespace

std::vector<std::string> doubts_of_order(const std::vector<NamedResult>& results,
                                         const Histories& histories, double now) {
  const std::map<std::string, Span> spans = spans_of(results);
  std::set<std::string> doubts;
  for (const RowHistory& series : histories.series) {
    const Span* last = nullptr;
    const std::set<std::string> runs = runs_of(series);
    for (const std::string& run : runs)
      if (const Span& span = spans.at(run); last == nullptr || span.begin > last->begin)
        last = &span;
    if (last->begin > now)
      doubts.insert(fmt::format("{} began in the future of this machine's clock ({} on {})",
                                last->file, last->began, last->host));
    for (const std::string& run : runs)
      if (const Span& span = spans.at(run); span.host != last->host && span.end > last->begin)
        doubts.insert(fmt::format(
            "{} counts as the last run, since it began last ({} on {}), but {} on {} had not ended "
            "then: only if their clocks agree is this the order",
            last->file, last->began, last->host, span.file, span.host));
  }
  constexpr std::size_t most = 3;  // the nodes of a fleet run at once, each with a clock of its own
  std::vector<std::string> told(doubts.begin(), doubts.end());
  if (told.size() > most) {
    told.resize(most);
    told.push_back(fmt::format("... and {} more such runs", doubts.size() - most));
  }
  return told;
}

}  // namespace assay
