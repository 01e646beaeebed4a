// Collectives: bandwidth by size with the alpha-beta line, and by ranks.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

/// The settings of a curve by size or by ranks: all but what runs along it. Rows of one curve are
/// of one hardware and, by size, of one software.
std::string key_of(const std::vector<NamedResult>& results, const Series& series,
                   const std::vector<std::string>& along) {
  return fmt::format("{} {} {} {}", series.result, text_of(series.first(), "benchmark"),
                     hardware_of(results, series), parameters_but(series, along));
}

/// "allreduce": what stands together in one plot.
std::string group_of(const Series& series) {
  const std::string collective = series.parameter("collective");
  return collective.empty() ? text_of(series.first(), "benchmark") : collective;
}

bool usable(const Series& series) {
  const json busbw = rate_of(series, "busbw"), bytes = problem_number(series, "bytes");
  return has_time(series) && !series.published && busbw.is_number() && busbw > 0 &&
         bytes.is_number() && bytes > 0;
}

json by_size(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  std::map<std::string, std::vector<std::tuple<double, double, double, std::size_t>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (usable(all[i]))
      groups[key_of(results, all[i], {"problem", "bytes"}) + all[i].environment].emplace_back(
          problem_number(all[i], "bytes").get<double>(), all[i].median,
          rate_of(all[i], "busbw").get<double>(), i);
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (auto& [key, points] : groups) {
    std::sort(points.begin(), points.end());
    std::vector<double> bytes, seconds;
    json rows = json::array(), busbw = json::array();
    for (const auto& [size, time, rate, i] : points) {
      bytes.push_back(size);
      seconds.push_back(time);
      busbw.push_back(rate);
      rows.push_back(i);
    }
    firsts.push_back(&all[rows[0].get<std::size_t>()]);
    json curve = {{"group", group_of(*firsts.back())},
                  {"rows", rows},
                  {"bytes", bytes},
                  {"seconds", seconds},
                  {"busbw", busbw},
                  {"fit", nullptr}};
    if (std::set<double>(bytes.begin(), bytes.end()).size() < 3) {
      curve["fit_reason"] = "fewer than 3 sizes";
    } else {
      const AlphaBeta fit = fit_alpha_beta(bytes, seconds);
      curve["fit"] = {{"alpha", fit.alpha}, {"beta", fit.beta}, {"worst", fit.worst}};
    }
    curves.push_back(std::move(curve));
  }
  name_apart(curves, results, firsts, {"bytes"});
  return curves;
}

/// Of each series of ranks its largest message: where bandwidth counts and not latency.
json by_ranks(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  std::map<std::string, std::map<double, std::map<double, std::size_t>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double ranks = parameter_number(all[i], "ranks");
    if (!usable(all[i]) || !(ranks > 0)) continue;
    auto& message = groups[key_of(results, all[i], {"problem", "bytes", "ranks", "nodes"})]
                          [problem_number(all[i], "bytes").get<double>()];
    const auto [place, fresh] = message.emplace(ranks, i);
    if (!fresh && all[i].median < all[place->second].median) place->second = i;
  }
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const auto& [key, messages] : groups) {
    const auto largest = std::find_if(messages.rbegin(), messages.rend(),
                                      [](const auto& one) { return one.second.size() > 1; });
    if (largest == messages.rend()) continue;
    json points = json::array();
    const double first = rate_of(all[largest->second.begin()->second], "busbw");
    for (const auto& [ranks, i] : largest->second) {
      const double busbw = rate_of(all[i], "busbw");
      points.push_back({{"row", i},
                        {"count", ranks},
                        {"seconds", all[i].median},
                        {"busbw", busbw},
                        {"efficiency", busbw / first}});
    }
    firsts.push_back(&all[largest->second.begin()->second]);
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
  return {{"sizes", std::move(sizes)}, {"ranks", by_ranks(results, all)}};
}

}  // namespace assay::report
