#include "analysis/history/confirm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <map>

#include "analysis/compare/side.hpp"
#include "analysis/compare/verdict.hpp"
#include "analysis/history/times.hpp"
#include "analysis/load.hpp"
#include "analysis/software_difference.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A lower bound of the median of the launches, with the error probability `limit`. At least the
/// smallest launch, whose error probability is 2.4e-4 for 12 launches.
double lower_bound_of_median(std::span<const double> launches, double limit) {
  std::vector<double> sorted(launches.begin(), launches.end());
  std::sort(sorted.begin(), sorted.end());
  const boost::math::binomial_distribution<> half(static_cast<double>(sorted.size()), 0.5);
  std::size_t k = 0;
  while (k + 1 < sorted.size() && boost::math::cdf(half, static_cast<double>(k + 1)) <= limit) ++k;
  return sorted[k];
}

json unconfirmed(const std::string& why) {
  return {{"answer", "unconfirmed"}, {"reason", why},     {"ratio", nullptr},
          {"interval", nullptr},     {"p", nullptr},      {"base_s", nullptr},
          {"new_s", nullptr},        {"level_s", nullptr}};
}

/// A suspect row and the promotion of its baseline.
struct Suspect {
  json* series;
  json promoted;
  std::string id;
};

std::vector<Suspect> suspects_of(json& document, const Histories& histories, const Anchors& anchors,
                                 const std::string& run) {
  std::vector<Suspect> all;
  // The document has the series in the order of the histories.
  for (std::size_t i = 0; i < histories.series.size(); ++i) {
    const RowHistory& series = histories.series[i];
    json& judged = document["series"][i];
    if (judged["state"] != "suspect" || series.points.back().run != run) continue;
    all.push_back({&judged, anchors.of(series).value_or(json()), series.id});
  }
  return all;
}

/// Why the promoted build of this row cannot be launched, or "".
std::string obstacle(const Suspect& suspect, const fs::path& programs, const std::string& hash,
                     const json& here) {
  if ((*suspect.series)["hardware"] != here.at("hashes").at("hardware"))
    return "it ran on other hardware than that of this machine";
  if (suspect.promoted.is_null())
    return "no build was promoted for this row, so none can be measured beside the new one "
           "(docs/history.md, Promoting a level)";
  if (!suspect.promoted.contains("installation"))
    return "its promotion names no build, since it was not made with the assay of the build that "
           "made the promoted run (docs/history.md, Promoting a level)";
  if (hash.empty())
    return fmt::format("the promoted installation is missing (there is no benchmark in {})",
                       programs.string());
  if (hash != suspect.promoted["installation"]["hash"])
    return fmt::format("{} is not the promoted build any more (its files have changed)",
                       programs.string());
  return "";
}

/// The answer from the launches of both builds.
json judged(const Suspect& suspect, const Side& base, const Side& updated, double limit) {
  const auto find = [&](const Side& side) -> const SideRow* {
    const auto found = side.rows().find(suspect.id);
    return found == side.rows().end() ? nullptr : &found->second;
  };
  const SideRow *was = find(base), *is = find(updated);
  for (const auto& [row, name] : {std::pair{was, "promoted"}, std::pair{is, "new"}}) {
    if (row == nullptr)
      return unconfirmed(fmt::format("the {} build does not have this row", name));
    if (row->launches.status != "ok")
      return unconfirmed(fmt::format("with the {} build it is {}: {}", name, row->launches.status,
                                     row->launches.reason));
    if (row->environments > 1)
      return unconfirmed(
          fmt::format("the launches of the {} build ran in {} different environments", name,
                      row->environments));
  }
  const auto version = [](const Side& side) {
    return statistics_of(side.results().front().result.at("run"));
  };
  if (version(base) != version(updated))
    return unconfirmed(fmt::format(
        "the times of the promoted build have version {} of the statistics, those of the new build "
        "version {}",
        version(base), version(updated)));
  if (const std::string other = software_difference(suspect.promoted["installation"]["software"],
                                                    was->environment->at("software"));
      !other.empty())
    return unconfirmed(
        "the promoted installation loads other software than when it was promoted (" + other + ")");
  return answer_of(was->launches.medians, is->launches.medians, suspect.promoted["value"],
                   (*suspect.series)["tolerance"], limit);
}

void answer(const std::vector<Suspect>& rows, const fs::path& programs,
            const ConfirmRequest& request, double limit) {
  // A folder for each pair of builds, so that launches of another build are never used.
  const std::string builds =
      content_hash("builds", {request.hash_of(programs), request.hash_of(request.new_build)});
  std::vector<std::string> ids;
  for (const Suspect& row : rows) ids.push_back(row.id);
  std::vector<json> results = request.launch(programs, ids, request.folder / builds.substr(0, 8));
  std::vector<Side> sides;
  for (json& result : results) {
    std::vector<NamedResult> named;
    named.push_back({"", std::move(result)});
    sides.emplace_back("", std::move(named), "nothing");
  }
  for (const Suspect& row : rows)
    (*row.series)["confirmation"] = judged(row, sides[0], sides[1], limit);
}

/// The launches of the promoted and of the new build that a confirmation left in this folder;
/// empty where it did not finish.
std::vector<Side> kept_launches(const fs::path& folder) {
  std::vector<Side> sides;
  for (const char* build : {"promoted", "new"}) {
    const fs::path file = folder / build / "result.json";
    if (!fs::exists(file)) return {};
    sides.emplace_back("", load_results({file.string()}), "nothing");
  }
  return sides;
}

std::string start_of(const Side& side) {
  return side.results().front().result.at("run").at("started");
}

void recall(const std::vector<Suspect>& suspects, const std::vector<Side>& sides) {
  // With --filter fewer rows are suspect now than were launched; the rate is for all of them.
  const std::size_t rows = std::max(suspects.size(), sides[0].rows().size());
  const double launched = time_of(start_of(sides[0]), "/run/started");
  for (const Suspect& suspect : suspects) {
    const bool complete = std::all_of(sides.begin(), sides.end(), [&](const Side& side) {
      const auto row = side.rows().find(suspect.id);
      return row != side.rows().end() &&
             row->second.launches.rows.size() >= static_cast<std::size_t>(fresh_launches);
    });
    // An earlier promotion may have been of another build, or of another level.
    if (!complete || !suspect.promoted.contains("installation") ||
        launched < time_of(suspect.promoted["time"], "/time"))
      continue;
    const json answer =
        judged(suspect, sides[0], sides[1], confirm_rate / static_cast<double>(rows));
    if (answer["answer"] != "unconfirmed") (*suspect.series)["confirmation"] = answer;
  }
}

void raise_exit_code(json& document, const std::vector<Suspect>& suspects) {
  auto code = static_cast<ExitCode>(document["exit_code"].get<int>());
  for (const Suspect& suspect : suspects) {
    if (!suspect.series->contains("confirmation")) continue;
    const std::string answer = (*suspect.series)["confirmation"]["answer"];
    if (answer == "software slower" || answer == "machine slower")
      code = gravest(code, ExitCode::slower);
    if (answer == "unconfirmed") code = gravest(code, ExitCode::unconfirmed);
  }
  document["exit_code"] = static_cast<int>(code);
}

}  // namespace

json answer_of(std::span<const double> promoted_build, std::span<const double> new_build,
               double level, double tolerance, double limit) {
  const LaunchComparison launches = compare_launches(promoted_build, new_build, compare_confidence);
  // A slowdown is tolerated only if the launches show that it is within the tolerance. The error
  // probability is the same as for the slowdown itself.
  const Judgement judgement =
      judge_fresh(compare_launches(promoted_build, new_build, 1 - limit), tolerance, limit);
  const bool tolerated = judgement.verdict == Verdict::same;
  const double beyond = level * (1 + tolerance);
  const bool both = lower_bound_of_median(promoted_build, limit) > beyond &&
                    lower_bound_of_median(new_build, limit) > beyond;
  const auto percent = [](double ratio) { return 100 * (ratio - 1); };
  const double base = median(promoted_build), updated = median(new_build);
  std::string
      answer = "noise",
      reason = fmt::format(
          "no slowdown {}is shown: the time of the new build is {:+.1f} % relative to the promoted "
          "build; relative to the promoted level it is {:+.1f} %, and that of the promoted build "
          "{:+.1f} %",
          judgement.detected && tolerated ? "beyond the tolerance " : "", percent(launches.ratio),
          percent(updated / level), percent(base / level));
  if (judgement.detected && launches.ratio > 1 && !tolerated) {
    answer = "software slower";
    reason = fmt::format(
        "the new build takes {:.1f} % longer than the promoted build, by {} interleaved launches "
        "of "
        "each",
        percent(launches.ratio), new_build.size());
    if (both)
      reason += fmt::format("; the machine is slower as well ({:+.1f} %)", percent(base / level));
  } else if (both) {
    answer = "machine slower";
    reason = fmt::format(
        "both builds are slower than the promoted level (promoted build {:+.1f} %, new build "
        "{:+.1f} %)",
        percent(base / level), percent(updated / level));
  }
  const json interval =
      launches.interval ? json{launches.interval->low, launches.interval->high} : json();
  return {{"answer", answer}, {"reason", reason}, {"ratio", launches.ratio}, {"interval", interval},
          {"p", launches.p},  {"base_s", base},   {"new_s", updated},        {"level_s", level}};
}

void confirm(json& document, const Histories& histories, const Anchors& anchors,
             const ConfirmRequest& request) {
  static const json here = capture_environment();
  const std::vector<Suspect> all = suspects_of(document, histories, anchors, request.run);
  std::map<fs::path, std::vector<Suspect>> builds;
  for (const Suspect& suspect : all) {
    fs::path programs = request.build.value_or(fs::path());
    if (!request.build && suspect.promoted.contains("installation"))
      programs = suspect.promoted["installation"]["programs"].get<std::string>();
    if (const std::string why = obstacle(suspect, programs, request.hash_of(programs), here);
        !why.empty())
      (*suspect.series)["confirmation"] = unconfirmed(why);
    else
      builds[programs].push_back(suspect);
  }
  for (const auto& [programs, rows] : builds)
    answer(rows, programs, request, confirm_rate / static_cast<double>(all.size()));
  raise_exit_code(document, all);
}

void recall_answers(json& document, const Histories& histories, const Anchors& anchors,
                    const std::vector<NamedResult>& results) {
  for (const NamedResult& result : results) {
    const std::string run = result.result.at("run").at("id");
    const std::vector<Suspect> suspects = suspects_of(document, histories, anchors, run);
    if (suspects.empty()) continue;
    std::map<std::string, std::vector<Side>> kept;  // by start, so that the last answer counts
    std::error_code none;
    for (const auto& folder : fs::directory_iterator(confirm_folder(result.name), none))
      if (std::vector<Side> sides = kept_launches(folder.path()); !sides.empty())
        kept.emplace(start_of(sides.front()), std::move(sides));
    for (const auto& [start, sides] : kept) recall(suspects, sides);
    raise_exit_code(document, suspects);
  }
}

fs::path confirm_folder(const fs::path& result) { return result.parent_path() / "confirm"; }

}  // namespace assay
