#include "analysis/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "analysis/ratio.hpp"
#include "analysis/series.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

SideTimes side_times(const Launches& launches) {
  SideTimes times;
  times.median = launches.median;
  times.shared = any_launch(launches, was_shared);
  times.throttled = any_launch(launches, was_throttled);
  if (launches.published) return times;
  times.launches = launches.medians.size();
  times.variation = launch_variation(launches.medians);
  return times;
}

TimeRatio time_ratio(const LaunchComparison& launches) {
  return {launches.ratio, launches.interval, launches.p};
}

/// True if the row has no result because of an error, not because it is unsupported.
bool has_gone_wrong(const SideRow& row) {
  return row.launches.status != "ok" && row.launches.status != "unsupported";
}

/// Why a row of a side, `name`, cannot be compared, or "".
std::string obstacle(const SideRow& side, const std::string& name,
                     const std::vector<std::string>& varied) {
  if (side.variants > 1)
    return fmt::format(
        "{} has {} rows that differ in {} alone: leave others out by --filter '{}!=VALUE'", name,
        side.variants, join(varied, " or "), varied.empty() ? "NAME" : varied.front());
  if (side.launches.status != "ok")
    return fmt::format("{} is {}: {}", name, side.launches.status, side.launches.reason);
  if (side.environments > 1)
    return fmt::format("the launches of {} ran in {} different environments", name,
                       side.environments);
  if (const std::string& reason = side.row().incomparable; !reason.empty())
    return fmt::format("{}: {}", name, reason);
  if (!(std::ranges::min(side.launches.medians) > 0))
    return fmt::format("the time of {} is below the resolution of the timer", name);
  return "";
}

/// The number of runs of base that do the work of one timed run of new, from the FLOPs and from all
/// amounts (a parallelisation may need several steps in a run). Nothing if these do not agree.
std::optional<double> work_ratio(const RowProblem& base, const RowProblem& updated) {
  if (!base.flops || !updated.flops || *base.flops == *updated.flops) return 1;
  if (!base.amounts || !updated.amounts || base.amounts->size() != updated.amounts->size())
    return std::nullopt;
  const double ratio = *updated.flops / *base.flops;
  for (const auto& [name, was] : *base.amounts) {
    const auto is = updated.amounts->find(name);
    if (is == updated.amounts->end() || !was || !is->second ||
        !(std::abs(*is->second - ratio * *was) <= 1e-9 * *is->second))
      return std::nullopt;
  }
  return ratio > 0 ? std::optional(ratio) : std::nullopt;
}

/// Why two rows with the same key cannot be compared, or "".
std::string obstacle(const SideRow& base, const SideRow& updated, const Variation& vary) {
  const std::vector<std::string>& varied = vary.parameters;
  if (const std::string why = obstacle(base, "base", varied); !why.empty()) return why;
  if (const std::string why = obstacle(updated, "new", varied); !why.empty()) return why;
  if (!varied.empty() && base.row().id == updated.row().id)
    return fmt::format("both sides have the same {}", join(varied, " and "));
  const RowProblem &was = base.row().problem, &is = updated.row().problem;
  constexpr const char* differs = "problem/{} is {} in base and {} in new";
  if (was.descriptor != is.descriptor)
    return fmt::format(differs, "descriptor", json(was.descriptor).dump(),
                       json(is.descriptor).dump());
  if (const auto ratio = work_ratio(was, is); !ratio || (varied.empty() && *ratio != 1))
    return fmt::format(differs, "flops", json(*was.flops).dump(), json(*is.flops).dump());
  return "";
}

std::vector<std::string> row_notes(const SideRow& base, const SideRow& updated) {
  const RowExecution none, &was = base.row().execution ? *base.row().execution : none,
                           &is = updated.row().execution ? *updated.row().execution : none;
  std::vector<std::string> notes;
  if (const double ratio = work_ratio(base.row().problem, updated.row().problem).value_or(1);
      ratio != 1)
    notes.push_back(fmt::format(
        "a timed run of new has {:.4g} times the work of one of base: its times are divided by it",
        ratio));
  for (const auto& [name, field] : {std::pair{"algorithm", &RowExecution::algorithm},
                                    {"implementation", &RowExecution::implementation},
                                    {"compute", &RowExecution::compute}})
    if (was.*field != is.*field)
      notes.push_back(fmt::format("{} is {} in base and {} in new", name,
                                  (was.*field).empty() ? "unknown" : was.*field,
                                  (is.*field).empty() ? "unknown" : is.*field));
  return notes;
}

/// The tolerance of the command line, else of the row, or the default.
double find_tolerance(const SideRow& base, const std::optional<double>& option) {
  return option ? *option : base.row().tolerance.value_or(usual_tolerance);
}

/// A row that both sides have, and the launches on which its verdict is based: those of the screen,
/// or fresh launches of a flagged row.
struct Pair {
  std::string key;
  const SideRow* base;
  const SideRow* updated;
  double tolerance;
  LaunchComparison screen{}, launches{};
  Judgement judgement{};
  bool flagged = false, confirmed = false;
  bool measured() const { return base->measured() && updated->measured(); }
};

/// Geometric mean over the rows of each launch; empty if the rows have different launches.
std::vector<double> launch_means(const std::vector<const SideRow*>& rows) {
  std::map<std::int64_t, std::pair<double, std::size_t>> sums;
  for (const SideRow* row : rows)
    for (std::size_t i = 0; i < row->launches.rows.size(); ++i) {
      auto& [sum, count] = sums[row->launches.rows[i]->launch];
      sum += std::log(row->launches.medians[i]);
      ++count;
    }
  std::vector<double> means;
  for (const auto& [launch, part] : sums) {
    if (part.second != rows.size()) return {};
    means.push_back(std::exp(part.first / static_cast<double>(part.second)));
  }
  return means;
}

/// The mean of the speedups of measured pairs. It uses the launches of the screen, because every
/// row has them and none was selected by its time. The interval is based on launches: each launch
/// gives a geometric mean over its rows, and these means are compared like the launches of a row.
/// Samples and rows are not resampled, because a disturbance of a launch affects all of its rows.
MeanSpeedup geometric_mean(const std::vector<const Pair*>& pairs) {
  double sum = 0;
  std::vector<const SideRow*> base, updated;
  for (const Pair* pair : pairs) {
    sum -= std::log(pair->screen.ratio);
    base.push_back(pair->base);
    updated.push_back(pair->updated);
  }
  MeanSpeedup mean{.speedup = std::exp(sum / static_cast<double>(pairs.size()))};
  mean.rows = pairs.size();
  const std::vector<double> before = launch_means(base), after = launch_means(updated);
  if (before.empty() || after.empty()) {
    mean.interval_reason = "the rows have different launches";
    return mean;
  }
  mean.interval = compare_launches(after, before, compare_confidence).interval;
  if (!mean.interval) {
    mean.interval_reason = "too few launches for a 95 % interval";
    return mean;
  }
  // The mean of the rows' estimates may lie just outside of the interval; then the interval is
  // extended to include it.
  mean.interval->low = std::min(mean.interval->low, mean.speedup);
  mean.interval->high = std::max(mean.interval->high, mean.speedup);
  return mean;
}

class Comparer {
 public:
  Comparer(const Side& base, const Side& updated, const Side* fresh_base, const Side* fresh_new,
           const CompareOptions& options)
      : base_(base),
        updated_(updated),
        fresh_base_(fresh_base),
        fresh_new_(fresh_new),
        options_(options) {}

  Comparison compare() {
    document_.command = options_.command;
    document_.base = base_.summary();
    document_.updated = updated_.summary();
    document_.vary = options_.vary.name;
    document_.allow_mismatch = options_.allow_mismatch;
    document_.settings.false_alarm_rate = options_.false_alarm_rate;
    document_.settings.tolerance = options_.tolerance.value_or(usual_tolerance);
    for (const std::string& name : compare_verdicts.names()) document_.summary[name] = 0;
    for (const char* name : {without_verdict, "needs_confirmation"}) document_.summary[name] = 0;
    document_.notes = check_runs(base_, updated_, fresh_base_, fresh_new_, options_.vary);
    if (!options_.vary.note.empty()) document_.notes.push_back(options_.vary.note);
    document_.mismatches = find_mismatches(base_, updated_, options_.vary, "");
    if (options_.vary.other_libraries)
      if (std::string note = note_lone_software(base_, updated_); !note.empty())
        document_.notes.push_back(std::move(note));
    if (fresh_base_ != nullptr) {
      document_.stage = LaunchStage::confirmed;
      document_.fresh_base = fresh_base_->summary();
      document_.fresh_new = fresh_new_->summary();
      // Fresh launches must have the same build and machine as their side.
      for (auto& more : {find_mismatches(base_, *fresh_base_, "nothing", "fresh-base/"),
                         find_mismatches(updated_, *fresh_new_, "nothing", "fresh-new/")})
        document_.mismatches.insert(document_.mismatches.end(), more.begin(), more.end());
    }
    document_.refused = !document_.mismatches.empty() && !options_.allow_mismatch;
    if (!document_.refused) {
      pair_up();
      if (flagged() > 0) document_.settings.confirmed_p = limit();
      add_mean();
      for (Pair& pair : pairs_) judge(pair);
      if (!wrong_.empty()) withhold_mean();
    }
    const std::size_t compared = document_.rows.size();
    if (compared == 0)
      raise(ExitCode::incomparable);
    else if (compared == document_.summary[without_verdict])
      raise(ExitCode::inconclusive);  // published numbers are shown, but they decide nothing
    return std::move(document_);
  }

 private:
  static constexpr const char* without_verdict = "without_verdict";

  void raise(ExitCode code) { document_.exit_code = find_gravest(document_.exit_code, code); }
  std::size_t& flagged() { return document_.settings.flagged; }
  double limit() {
    return options_.false_alarm_rate / static_cast<double>(std::max<std::size_t>(flagged(), 1));
  }

  /// The row of new, with its times scaled to the work of a timed run of base.
  const SideRow& choose_row_for_work(const SideRow& base, const SideRow& updated) {
    const double ratio = work_ratio(base.row().problem, updated.row().problem).value_or(1);
    if (ratio == 1) return updated;
    SideRow& scaled = scaled_.emplace_back(updated);
    for (double& median : scaled.launches.medians) median /= ratio;
    scaled.launches.median /= ratio;
    return scaled;
  }

  void pair_up() {
    for (const auto& [key, row] : base_.rows()) {
      const SideRow* other = updated_.find(key);
      if (other == nullptr) {
        raise(ExitCode::incomparable);
        document_.only_base.push_back({key, row.row().names, row.launches.status});
        if (row.launches.status == "ok") add_lost(key, row, "the row is missing");
      } else if (const std::string why = obstacle(row, *other, options_.vary); !why.empty()) {
        not_compared(key, row, *other, why);
      } else {
        Pair pair{key, &row, &choose_row_for_work(row, *other),
                  find_tolerance(row, options_.tolerance)};
        if (pair.measured()) {
          pair.screen = compare_launches(row.launches.medians, pair.updated->launches.medians,
                                         compare_confidence);
          pair.flagged = is_flagged(pair.screen, pair.tolerance);
          flagged() += pair.flagged;
        }
        pairs_.push_back(std::move(pair));
      }
    }
    for (const auto& [key, row] : updated_.rows())
      if (base_.find(key) == nullptr) {
        raise_status(row);
        document_.only_new.push_back({key, row.row().names, row.launches.status});
      }
  }

  /// A result that base has and new lacks is reported separately.
  void add_lost(const std::string& key, const SideRow& base, const std::string& why) {
    document_.lost.push_back({.id = key, .names = base.row().names, .reason = why});
  }

  void raise_status(const SideRow& row) {
    const std::string& status = row.launches.status;
    if (status == "incorrect")
      raise(ExitCode::incorrect);
    else if (status == "target missed")
      raise(ExitCode::target_missed);
    else if (has_gone_wrong(row) || (status == "unsupported" && row.row().required))
      raise(ExitCode::failed);
  }

  void not_compared(const std::string& key, const SideRow& base, const SideRow& updated,
                    const std::string& why) {
    document_.not_compared.push_back({.id = key,
                                      .base_status = base.launches.status,
                                      .new_status = updated.launches.status,
                                      .reason = why});
    raise_status(updated);
    // A failure of base alone does not count against new, because an improvement never fails. A
    // result of base that new lacks, or that cannot be compared, counts.
    if (base.launches.status == "ok") raise(ExitCode::incomparable);
    if (base.launches.status == "ok" && updated.launches.status == "unsupported")
      add_lost(key, base, updated.launches.reason);
    if (has_gone_wrong(base) || has_gone_wrong(updated)) wrong_.push_back(key);
  }

  void judge(Pair& pair) {
    if (pair.measured()) {
      pair.launches = pair.screen;
      pair.judgement = judge_screen(pair.screen, pair.tolerance);
      if (pair.flagged && fresh_base_ != nullptr && !use_fresh_launches(pair)) return;
    }
    ComparedRow row;
    row.id = pair.key;
    row.names =
        pair.updated->row().names.empty() ? pair.base->row().names : pair.updated->row().names;
    row.base = side_times(pair.base->launches);
    row.updated = side_times(pair.updated->launches);
    row.tolerance = pair.tolerance;
    row.flagged = pair.flagged;
    row.published = !pair.measured();
    row.notes = row_notes(*pair.base, *pair.updated);
    if (row.published) {
      // Published numbers have a ratio, but no launches that could decide anything.
      row.times.ratio = row.updated.median / row.base.median;
      row.reason = "published number, no launches";
      ++document_.summary[without_verdict];
    } else {
      add_verdict(row, pair);
    }
    row.speedup = compute_speedup(std::optional(row.times.ratio));
    row.speedup_interval = compute_speedup(row.times.interval);
    document_.rows.push_back(std::move(row));
  }

  void add_verdict(ComparedRow& row, const Pair& pair) {
    const Judgement& judgement = pair.judgement;
    row.times = time_ratio(pair.launches);
    row.p_limit = pair.confirmed ? limit() : screen_p;
    row.minimum_detectable = (pair.confirmed ? fresh_detectable : minimum_detectable)(
        pair.base->launches.medians, pair.updated->launches.medians, *row.p_limit, compare_power);
    row.detected = judgement.detected;
    row.verdict = judgement.verdict;
    row.reason = judgement.reason;
    if (pair.confirmed) {
      row.stage = LaunchStage::confirmed;
      row.screen = time_ratio(pair.screen);
      if (judgement.detected && (row.times.ratio > 1) != (row.screen->ratio > 1))
        row.notes.push_back("the screen showed a change in the opposite direction");
    }
    ++document_.summary[compare_verdicts[judgement.verdict]];
    document_.summary["needs_confirmation"] += judgement.needs_confirmation;
    if (judgement.verdict == Verdict::slower) raise(ExitCode::slower);
    if (judgement.verdict == Verdict::inconclusive) raise(ExitCode::inconclusive);
  }

  /// Replaces the screen's launches of a flagged row by its fresh ones. False if these give no
  /// ratio; the row is then not compared.
  bool use_fresh_launches(Pair& pair) {
    const SideRow *base = fresh_base_->find(pair.key), *updated = fresh_new_->find(pair.key);
    if (base == nullptr || updated == nullptr) {
      pair.judgement.reason += " (the fresh results do not have this row)";
      return true;
    }
    if (const std::string why = obstacle(*base, *updated, options_.vary); !why.empty()) {
      not_compared(pair.key, *base, *updated, "fresh launches: " + why);
      return false;
    }
    pair.base = base;
    pair.updated = &choose_row_for_work(*base, *updated);
    pair.confirmed = true;
    pair.launches =
        compare_fresh(base->launches.medians, pair.updated->launches.medians, compare_confidence);
    pair.judgement = judge_fresh(pair.launches, pair.tolerance, limit());
    return true;
  }

  void add_mean() {
    std::vector<const Pair*> measured;
    for (const Pair& pair : pairs_)
      if (pair.measured()) measured.push_back(&pair);
    if (measured.empty()) {
      document_.geometric_mean_reason = "no row was measured on both sides";
      return;
    }
    document_.geometric_mean = geometric_mean(measured);
    document_.geometric_mean->base_rows = base_.rows().size();
  }

  void withhold_mean() {
    document_.geometric_mean.reset();
    document_.geometric_mean_reason =
        fmt::format("withheld: {}{} is incorrect or failed, or missed its target", wrong_.front(),
                    wrong_.size() > 1 ? fmt::format(" (and {} more)", wrong_.size() - 1) : "");
  }

  const Side &base_, &updated_;
  const Side *fresh_base_, *fresh_new_;
  const CompareOptions& options_;
  std::deque<SideRow> scaled_;  ///< created by choose_row_for_work()
  std::vector<Pair> pairs_;
  std::vector<std::string> wrong_;
  Comparison document_;
};

}  // namespace

Comparison compare_sides(const Side& base, const Side& updated, const Side* fresh_base,
                         const Side* fresh_new, const CompareOptions& options) {
  return Comparer(base, updated, fresh_base, fresh_new, options).compare();
}

std::vector<std::string> list_flagged_ids(const Comparison& comparison, const Side& side) {
  std::vector<std::string> ids;
  for (const ComparedRow& row : comparison.rows)
    if (row.flagged && row.stage == LaunchStage::screen) ids.push_back(side.find(row.id)->row().id);
  return ids;
}

}  // namespace assay
