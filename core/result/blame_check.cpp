#include "core/result/blame_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/measure/blame.hpp"

namespace assay {

using nlohmann::json;

namespace {

bool agrees_with(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b));
}

bool same_blamed(const Blame::Culprit& a, const Blame::Culprit& b) {
  return a.rank == b.rank && a.host == b.host && a.place == b.place && a.did == b.did &&
         a.how == b.how && agrees_with(a.cost_s, b.cost_s) && agrees_with(a.cost, b.cost);
}

/// Names the numbers of a rank that contradict other numbers; "" if none do.
std::string why_not_rank(const Blame::Rank& rank, const Blame& blame) {
  if (!(rank.low_s <= rank.cost_s && rank.cost_s <= rank.high_s))
    return "cost_s: not in its interval";
  if (std::fabs(rank.cost_s) > blame.seconds) return "cost_s: more than all seconds";
  if (rank.cost_s > (rank.input_s + rank.compute_s) * (1 + clocks_differ))
    return "cost_s: more than all its work";
  if (!others_waited(blame, rank)) return "cost_s: more than the others waited";
  if (rank.high_s - rank.low_s < 2 * blame.events * blame.clock_error_s * (1 - 1e-9) &&
      blame.events >= 2)
    return "low_s: the interval is narrower than the clocks' error";
  if (rank.last > blame.events) return "last: more than all events";
  const double known = rank.input_s + rank.compute_s + rank.network_s + rank.wait_s;
  if (known > blame.seconds * (1 + clocks_differ))
    return "wait_s: its parts have more than all seconds";
  if (blame.network_s > rank.wait_s * (1 + clocks_differ))
    return "wait_s: less than every rank waited (network_s)";
  return "";
}

}  // namespace

void check_blame(const json& row, const std::string& where) {
  const Blame blame = row.at("blame").get<Blame>();
  if (!blame.unsupported.empty()) return;
  const auto refuse = [&](const std::string& what) {
    throw InputError(fmt::format("{}/blame/{}. The file was changed by hand.", where, what));
  };
  const auto ranks = row.at("parameters").find("ranks");
  if (ranks != row.at("parameters").end() && ranks->is_number() &&
      ranks->get<double>() != static_cast<double>(blame.ranks.size()))
    refuse(
        fmt::format("ranks: {}, but /parameters/ranks is {}", blame.ranks.size(), ranks->dump()));
  double last = 0;
  for (std::size_t i = 0; i < blame.ranks.size(); ++i) {
    if (blame.ranks[i].rank != static_cast<int>(i)) refuse(fmt::format("ranks/{}/rank", i));
    if (const std::string why = why_not_rank(blame.ranks[i], blame); !why.empty())
      refuse(fmt::format("ranks/{}/{}", i, why));
    last += blame.ranks[i].last;
  }
  if (blame.runs > blame.events) refuse("runs: more than events");
  if (last > blame.events) refuse("ranks: more events with a last rank than there are");
  Blame again = blame;
  judge(again);
  if (!agrees_with(blame.resolution, again.resolution))
    refuse(fmt::format("resolution: found {}, expected {} (the intervals of the ranks)",
                       blame.resolution, again.resolution));
  if (blame.undecided != again.undecided)
    refuse(
        fmt::format("undecided: found \"{}\", expected \"{}\"", blame.undecided, again.undecided));
  if (!std::ranges::equal(blame.blamed, again.blamed, same_blamed))
    refuse(fmt::format("blamed: found {}, expected {} (the numbers of the ranks)",
                       row.at("blame").at("blamed").dump(), json(again).at("blamed").dump()));
}

}  // namespace assay
