#include "analysis/history/confirm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <map>

#include "analysis/compare/side.hpp"
#include "analysis/compare/verdict.hpp"
#include "analysis/load.hpp"
#include "analysis/software_difference.hpp"
#include "core/base/hash.hpp"
#include "core/machine/environment.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A lower bound of the median of the launches, with the error probability `limit`. It is never
/// below the smallest launch, whose error probability is 2.4e-4 for 12 launches.
double lower_bound_of_median(std::span<const double> launches, double limit) {
  std::vector<double> sorted(launches.begin(), launches.end());
  std::ranges::sort(sorted);
  const boost::math::binomial_distribution<> half(static_cast<double>(sorted.size()), 0.5);
  std::size_t k = 0;
  while (k + 1 < sorted.size() && boost::math::cdf(half, static_cast<double>(k + 1)) <= limit) ++k;
  return sorted[k];
}

/// A suspect row and the promotion of its baseline.
struct Suspect {
  RowHistory* series;
  const Anchor* promoted;  ///< nullptr: none
  const PromotedBuild* build() const {
    return promoted != nullptr && promoted->build ? &*promoted->build : nullptr;
  }
};

std::vector<Suspect> find_suspects(History& history, const Anchors& anchors,
                                   const std::string& run) {
  std::vector<Suspect> suspects;
  for (RowHistory& series : history.series)
    if (series.verdict.state == "suspect" && series.points.back().run == run)
      suspects.push_back({&series, anchors.find(series)});
  return suspects;
}

/// Why the promoted build of this row cannot be launched, or "".
std::string find_obstacle(const Suspect& suspect, const fs::path& programs,
                          const std::string& hash) {
  static const ResultEnvironment here = capture_environment();
  if (suspect.series->hardware != here.hashes.hardware)
    return "it ran on other hardware than that of this machine";
  if (suspect.promoted == nullptr)
    return "no build was promoted for this row, so none can be measured beside the new one "
           "(docs/history.md, Promoting a level)";
  if (suspect.build() == nullptr)
    return "its promotion names no build, since it was not made with the assay of the build that "
           "made the promoted run (docs/history.md, Promoting a level)";
  if (hash.empty())
    return fmt::format("the promoted installation is missing (there is no benchmark in {})",
                       programs.string());
  if (hash != suspect.build()->hash)
    return fmt::format("{} is not the promoted build any more (its files have changed)",
                       programs.string());
  return "";
}

const RunHeader& header(const Side& side) { return side.results().front().result.run; }

/// The answer that the launches of both builds give.
Confirmation judge_sides(const Suspect& suspect, const std::vector<Side>& sides, double limit) {
  constexpr const char* names[] = {"promoted", "new"};
  const SideRow* rows[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    rows[i] = sides[i].find(suspect.series->id);
    if (rows[i] == nullptr)
      return {"unconfirmed", fmt::format("the {} build does not have this row", names[i])};
    const Launches& launches = rows[i]->launches;
    if (launches.status != "ok")
      return {"unconfirmed", fmt::format("with the {} build it is {}: {}", names[i],
                                         launches.status, launches.reason)};
    if (rows[i]->environments > 1)
      return {"unconfirmed",
              fmt::format("the launches of the {} build ran in {} different environments", names[i],
                          rows[i]->environments)};
  }
  const int before = header(sides[0]).statistics, after = header(sides[1]).statistics;
  if (before != after)
    return {"unconfirmed",
            fmt::format("the times of the promoted build have version {} of the statistics, those "
                        "of the new build version {}",
                        before, after)};
  if (const std::string other =
          describe_software_difference(suspect.build()->software, rows[0]->environment->software);
      !other.empty())
    return {
        "unconfirmed",
        "the promoted installation loads other software than when it was promoted (" + other + ")"};
  return judge_launches(rows[0]->launches.medians, rows[1]->launches.medians,
                        suspect.promoted->value.value(), suspect.series->verdict.tolerance, limit);
}

void launch(const std::vector<Suspect>& suspects, const fs::path& programs,
            const ConfirmRequest& request, double limit) {
  // Each pair of builds has its own folder, so that launches of another build are never used.
  const std::string builds = content_hash(
      "builds", {request.compute_hash(programs), request.compute_hash(request.new_build)});
  std::vector<std::string> ids;
  for (const Suspect& suspect : suspects) ids.push_back(suspect.series->id);
  std::vector<Side> sides;
  for (RunResult& result : request.launch(programs, ids, request.folder / builds.substr(0, 8)))
    sides.emplace_back("", Results{{"", std::move(result)}}, "nothing");
  for (const Suspect& suspect : suspects)
    suspect.series->confirmation = judge_sides(suspect, sides, limit);
}

/// The launches of the promoted and of the new build that a confirmation left in this folder; empty
/// if it did not finish.
std::vector<Side> read_kept_launches(const fs::path& folder) {
  std::vector<Side> sides;
  for (const char* build : {"promoted", "new"}) {
    const fs::path file = folder / build / "result.json";
    if (!fs::exists(file)) return {};
    sides.emplace_back("", load_results({file.string()}), "nothing");
  }
  return sides;
}

void recall(const std::vector<Suspect>& suspects, const std::vector<Side>& sides) {
  // With --filter fewer rows may be suspect now than were launched; all that were launched share
  // the rate.
  const auto count = static_cast<double>(std::max(suspects.size(), sides[0].rows().size()));
  const double launched = parse_time(header(sides[0]).started.value(), "/run/started");
  for (const Suspect& suspect : suspects) {
    const bool complete = std::ranges::all_of(sides, [&](const Side& side) {
      const SideRow* row = side.find(suspect.series->id);
      return row != nullptr &&
             row->launches.rows.size() >= static_cast<std::size_t>(fresh_launches);
    });
    // An earlier promotion may have been of another build, or of another level.
    if (!complete || suspect.build() == nullptr ||
        launched < parse_time(suspect.promoted->time, "/time"))
      continue;
    const Confirmation answer = judge_sides(suspect, sides, confirm_rate / count);
    if (answer.answer != "unconfirmed") suspect.series->confirmation = answer;
  }
}

void raise_exit_code(History& history, const std::vector<Suspect>& suspects) {
  for (const Suspect& suspect : suspects)
    if (const auto& confirmation = suspect.series->confirmation)
      history.code =
          find_gravest(history.code, confirmation->answer == "unconfirmed" ? ExitCode::unconfirmed
                                     : confirmation->answer == "noise"     ? ExitCode::ok
                                                                           : ExitCode::slower);
}

}  // namespace

Confirmation judge_launches(std::span<const double> promoted_build,
                            std::span<const double> new_build, double level, double tolerance,
                            double limit) {
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
  const double base = median(promoted_build), updated = median(new_build),
               machine = percent(base / level), machine_new = percent(updated / level);
  Confirmation answer{"noise", "", launches.ratio, {}, launches.p, base, updated, level};
  if (launches.interval) answer.interval = {launches.interval->low, launches.interval->high};
  if (judgement.detected && launches.ratio > 1 && !tolerated) {
    answer.answer = "software slower";
    answer.reason = fmt::format(
        "the new build takes {:.1f} % longer than the promoted build, by {} interleaved launches "
        "of each{}",
        percent(launches.ratio), new_build.size(),
        both ? fmt::format("; the machine is slower as well ({:+.1f} %)", machine) : "");
  } else if (both) {
    answer.answer = "machine slower";
    answer.reason = fmt::format(
        "both builds are slower than the promoted level (promoted build {:+.1f} %, new build "
        "{:+.1f} %)",
        machine, machine_new);
  } else {
    answer.reason = fmt::format(
        "no slowdown {}is shown: the time of the new build is {:+.1f} % relative to the promoted "
        "build; relative to the promoted level it is {:+.1f} %, and that of the promoted build "
        "{:+.1f} %",
        judgement.detected && tolerated ? "beyond the tolerance " : "", percent(launches.ratio),
        machine_new, machine);
  }
  return answer;
}

void confirm(History& history, const Anchors& anchors, const ConfirmRequest& request) {
  const std::vector<Suspect> suspects = find_suspects(history, anchors, request.run);
  std::map<fs::path, std::vector<Suspect>> builds;
  for (const Suspect& suspect : suspects) {
    const fs::path promoted = suspect.build() == nullptr ? "" : suspect.build()->programs,
                   programs = request.build.value_or(promoted);
    if (const std::string why = find_obstacle(suspect, programs, request.compute_hash(programs));
        !why.empty())
      suspect.series->confirmation = {"unconfirmed", why};
    else
      builds[programs].push_back(suspect);
  }
  for (const auto& [programs, group] : builds)
    launch(group, programs, request, confirm_rate / static_cast<double>(suspects.size()));
  raise_exit_code(history, suspects);
}

void recall_answers(History& history, const Anchors& anchors, const Results& results) {
  for (const NamedResult& result : results) {
    const std::vector<Suspect> suspects = find_suspects(history, anchors, result.run().id);
    if (suspects.empty()) continue;
    std::map<std::string, std::vector<Side>> kept;  // by start, so that the last answer counts
    std::error_code none;
    for (const auto& folder : fs::directory_iterator(confirm_folder(result.name), none))
      if (std::vector<Side> sides = read_kept_launches(folder.path()); !sides.empty())
        kept.emplace(header(sides.front()).started.value(), std::move(sides));
    for (const auto& [start, sides] : kept) recall(suspects, sides);
    raise_exit_code(history, suspects);
  }
}

fs::path confirm_folder(const fs::path& result) { return result.parent_path() / "confirm"; }

}  // namespace assay
