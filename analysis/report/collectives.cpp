// Collectives: bandwidth by size with the alpha-beta line, and by ranks.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/curves.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

/// "allreduce": what stands together in one plot.
std::string group_of(const Series& series) {
  const std::string collective = series.parameter("collective");
  return collective.empty() ? text_of(series.first(), "benchmark") : collective;
}

/// A line from which nothing can be concluded has its R² alone (Curve::fits).
json by_size(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const Curve& measured : curves_of(results, all)) {
    firsts.push_back(&all[measured.series.front()]);
    // The fit, and the best bandwidth, are made of all its sizes.
    std::string mark;
    for (const std::size_t i : measured.series) mark = worse_mark(mark, mark_of(all[i]));
    json curve = {{"group", group_of(*firsts.back())},
                  {"rows", measured.series},
                  {"bytes", measured.bytes},
                  {"seconds", measured.seconds},
                  {"busbw", measured.busbw},
                  {"mark", mark},
                  {"fit", nullptr},
                  {"r_squared", measured.fit ? json(measured.fit->r_squared) : json()},
                  {"rivals", measured.comparable ? measured.rivals : 0},
                  {"withheld", measured.rivals > 0 && !measured.comparable &&
                                   (measured.fit || measured.withholds)}};
    if (measured.fits())
      curve["fit"] = {
          {"alpha", measured.fit->alpha},
          {"beta", measured.fit->beta},
          {"worst", measured.fit->worst},
          {"held_out", measured.fit->held_out ? json(*measured.fit->held_out) : json()}};
    else
      curve["fit_reason"] =
          measured.fit ? fmt::format("R\u00b2 below {}", least_r_squared) : measured.reason;
    if (measured.least)
      curve["least"] = {measured.least->first, std::isfinite(measured.least->second)
                                                   ? json(measured.least->second)
                                                   : json()};
    curves.push_back(std::move(curve));
  }
  name_apart(curves, results, firsts, {"bytes"});
  return curves;
}

/// The largest message of each series of ranks: there bandwidth counts and not latency.
json by_ranks(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  std::map<std::string, std::map<double, std::map<double, std::size_t>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double ranks = parameter_number(all[i], "ranks");
    const auto bytes = message_bytes(all[i]);
    const json busbw = rate_of(all[i], "busbw");
    if (all[i].published || !busbw.is_number() || !(busbw > 0) || !bytes || !(ranks > 0)) continue;
    // All rows of a curve over ranks share the hardware, and every setting but the size.
    const std::string key =
        fmt::format("{} {} {} {}", all[i].result, text_of(all[i].first(), "benchmark"),
                    hardware_of(results, all[i]),
                    parameters_but(all[i], {"problem", "bytes", "ranks", "nodes"}));
    const auto [place, fresh] = groups[key][*bytes].emplace(ranks, i);
    if (!fresh && all[i].median < all[place->second].median) place->second = i;
  }
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const auto& [key, messages] : groups) {
    const auto largest = std::find_if(messages.rbegin(), messages.rend(),
                                      [](const auto& group) { return group.second.size() > 1; });
    if (largest == messages.rend()) continue;
    json points = json::array();
    const Series& fewest = all[largest->second.begin()->second];
    const double first = rate_of(fewest, "busbw");
    for (const auto& [ranks, i] : largest->second) {
      const double busbw = rate_of(all[i], "busbw");
      points.push_back({{"row", i},
                        {"count", ranks},
                        {"seconds", all[i].median},
                        {"busbw", busbw},
                        {"mark", mark_of(all[i], fewest)},
                        {"efficiency", busbw / first}});
    }
    firsts.push_back(&fewest);
    curves.push_back(
        {{"group", group_of(*firsts.back())}, {"bytes", largest->first}, {"points", points}});
  }
  name_apart(curves, results, firsts, {"ranks", "nodes"});
  return curves;
}

}  // namespace

json collectives_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  json sizes = by_size(results, all);
  if (sizes.empty()) return nullptr;
  return {{"sizes", std::move(sizes)},
          {"ranks", by_ranks(results, all)},
          {"least_r_squared", least_r_squared}};
}

}  // namespace assay::report
