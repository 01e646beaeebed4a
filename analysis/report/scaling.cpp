// Rows that differ in ranks or threads alone: strong and weak scaling.

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <set>

#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

/// Fields of a problem that say how much of it there is, not what it is.
const std::set<std::string> of_size{"descriptor", "flops",  "bytes",
                                    "amounts",    "passes", "size",
                                    "shared_by",  "n",      "global_batch_size"};

/// The work of one run by the rate that a reader compares; nothing where the row does not tell it.
std::optional<double> amount_of(const Series& series) {
  const json amounts = series.first().at("problem").value("amounts", json::object());
  for (const char* const rate : {"images_per_s", "input_bytes_per_s", "flops_per_s", "bytes_per_s"})
    if (const json amount = amounts.value(rate, json()); amount.is_number()) return amount;
  for (const char* const whole : {"global_batch_size", "size"})  // of older programs
    if (const json amount = series.first().at("problem").value(whole, json()); amount.is_number())
      return amount;
  return std::nullopt;
}

/// Whether the problem is what all ranks do together; nothing for one rank, where both are true.
/// Older programs do not tell it, but those whose problem is a whole have these fields.
std::optional<bool> shared(const Series& series) {
  const json& problem = series.first().at("problem");
  if (parameter_number(series, "ranks") <= 1) return std::nullopt;
  if (const json sharers = problem.value("shared_by", json()); sharers.is_number())
    return sharers > 1;
  return problem.contains("size") || problem.contains("global_batch_size") ||
         problem.value("amounts", json::object()).contains("images_per_s");
}

std::string extents_of(const Series& series) {
  std::string text = series.first().at("benchmark").get<std::string>();
  for (const auto& [name, value] : series.first().at("problem").items())
    if (!of_size.contains(name)) text += fmt::format(" {}={}", name, value.dump());
  return text;
}

/// One way in which rows are comparable over a number of ranks or threads.
struct Kind {
  std::string over;
  bool weak = false;
  std::vector<std::string> along;  ///< parameters that may differ
  /// What must be equal; empty: the row is none of these.
  std::function<std::string(const Series&)> work;
};

std::vector<Kind> kinds() {
  const auto of_ranks = [](bool weak) {
    return [weak](const Series& series) -> std::string {
      const auto amount = amount_of(series);
      if (!amount || !shared(series).value_or(true)) return "";
      const double each = weak ? *amount / parameter_number(series, "ranks") : *amount;
      return fmt::format("{} {:.6g}", extents_of(series), each);
    };
  };
  return {{"threads", false, {"threads"}, work_of},
          // The batch of a rank is its part of the work, which others share.
          {"ranks", false, {"ranks", "nodes", "batch"}, of_ranks(false)},
          {"ranks", true, {"ranks", "nodes"}, of_ranks(true)},
          // Each rank has its own: the same of each is more in all.
          {"ranks", true, {"ranks", "nodes"}, [](const Series& series) {
             return shared(series).value_or(false) ? "" : work_of(series);
           }}};
}

json curve_of(const Kind& kind, const std::map<double, std::size_t>& group,
              const std::vector<Series>& all) {
  const auto& [least, first] = *group.begin();
  json points = json::array();
  for (const auto& [count, i] : group) {
    const double work = kind.weak ? count / least : 1;
    const double speedup = work * all[first].median / all[i].median;
    points.push_back({{"row", i},
                      {"count", count},
                      {"seconds", all[i].median},
                      {"speedup", speedup},
                      {"ideal", count / least},
                      {"mark", mark_of(all[i], all[first])},
                      {"efficiency", speedup * least / count}});
  }
  return {{"over", kind.over}, {"weak", kind.weak}, {"points", points}};
}

}  // namespace

json scaling_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  json curves = json::array();
  for (const Kind& kind : kinds()) {
    std::map<std::string, std::map<double, std::size_t>> groups;
    for (std::size_t i = 0; i < all.size(); ++i) {
      // The same message among more ranks is more work: collectives have curves of their own.
      if (!has_time(all[i]) || all[i].published || is_collective(all[i])) continue;
      const double count = parameter_number(all[i], kind.over);
      if (!(count > 0)) continue;
      const std::string work = kind.work(all[i]);
      if (work.empty()) continue;
      auto& group = groups[std::to_string(all[i].result) + " " + hardware_of(results, all[i]) +
                           " " + work + " " + parameters_but(all[i], kind.along)];
      const auto [place, fresh] = group.emplace(count, i);
      if (!fresh && all[i].median < all[place->second].median) place->second = i;
    }
    json mine = json::array();
    std::vector<const Series*> firsts;
    for (const auto& [key, group] : groups) {
      if (group.size() < 2) continue;
      mine.push_back(curve_of(kind, group, all));
      firsts.push_back(&all[group.begin()->second]);
    }
    name_apart(mine, results, firsts, kind.along);
    curves.insert(curves.end(), mine.begin(), mine.end());
  }
  return curves.empty() ? json() : curves;
}

}  // namespace assay::report
