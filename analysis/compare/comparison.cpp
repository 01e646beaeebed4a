#include "analysis/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/compare/freshness.hpp"
#include "analysis/compare/spreads.hpp"
#include "analysis/compare/verdict.hpp"
#include "analysis/ratio.hpp"
#include "analysis/series.hpp"
#include "core/base/text.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

json number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json interval_json(const std::optional<Interval>& interval) {
  return interval ? json{interval->low, interval->high} : json(nullptr);
}

json names_of(const SideRow& row) { return row.row().value("names", json::array()); }

json launches_json(const Launches& launches) {
  return {
      {"median", launches.median},
      {"launches", launches.published ? 0 : launches.medians.size()},
      {"variation", number(launches.published ? std::nullopt : launch_variation(launches.medians))},
      {"shared", std::any_of(launches.rows.begin(), launches.rows.end(), was_shared)},
      {"throttled", std::any_of(launches.rows.begin(), launches.rows.end(), was_throttled)}};
}

LaunchComparison compared(const SideRow& base, const SideRow& updated) {
  return compare_launches(base.launches.medians, updated.launches.medians, compare_confidence);
}

/// Whether the row has no result because of an error, not because it is unsupported.
bool went_wrong(const SideRow& row) {
  return row.launches.status != "ok" && row.launches.status != "unsupported";
}

/// Why two rows with the same key cannot be compared, or "".
std::string obstacle(const SideRow& base, const SideRow& updated, const std::string& vary) {
  const std::vector<std::string> varied = varied_parameters(vary);
  for (const auto& [side, name] : {std::pair{&base, "base"}, std::pair{&updated, "new"}}) {
    if (side->launches.status != "ok")
      return fmt::format("{} is {}: {}", name, side->launches.status, side->launches.reason);
    if (side->environments > 1)
      return fmt::format("the launches of {} ran in {} different environments", name,
                         side->environments);
    if (side->variants > 1)
      return fmt::format(
          "{} has {} rows that differ in {} alone: give results with one of them (`--filter` of "
          "`assay run`)",
          name, side->variants, join(varied, " or "));
    if (side->row().contains("incomparable"))
      return fmt::format("{}: {}", name, side->row()["incomparable"].get<std::string>());
    if (!(*std::min_element(side->launches.medians.begin(), side->launches.medians.end()) > 0))
      return fmt::format("the time of {} is below the resolution of the timer", name);
  }
  if (!varied.empty() && base.row().at("id") == updated.row().at("id"))
    return fmt::format("both sides have the same {}", join(varied, " and "));
  const auto problem = [](const SideRow& side, const char* field) {
    return side.row().at("problem").value(field, json());
  };
  for (const char* field : {"descriptor", "flops"}) {
    const json was = problem(base, field), is = problem(updated, field);
    if (!was.is_null() && !is.is_null() && was != is)
      return fmt::format("problem/{} is {} in base and {} in new", field, was.dump(), is.dump());
  }
  return "";
}

json row_notes(const SideRow& base, const SideRow& updated) {
  json notes = json::array();
  const auto executed = [](const SideRow& side, const char* field) {
    const json all = side.row().value("executed", json());
    return all.is_object() ? text_of(all, field) : "";
  };
  for (const char* field : {"algorithm", "implementation", "compute"})
    if (const std::string was = executed(base, field), is = executed(updated, field); was != is)
      notes.push_back(fmt::format("{} is {} in base and {} in new", field,
                                  was.empty() ? "unknown" : was, is.empty() ? "unknown" : is));
  return notes;
}

/// The tolerance of the command line, else of the row, of its run, or the default.
double tolerance_of(const SideRow& base, const std::optional<double>& given) {
  if (given) return *given;
  for (const json* source : {&base.row(), &base.result->at("run")})
    if (const auto found = source->find("tolerance"); found != source->end() && found->is_number())
      return *found;
  return usual_tolerance;
}

const SideRow* find(const Side* side, const std::string& key) {
  if (side == nullptr) return nullptr;
  const auto found = side->rows().find(key);
  return found == side->rows().end() ? nullptr : &found->second;
}

/// A row that both sides have.
struct Pair {
  std::string key;
  const SideRow* base;
  const SideRow* updated;
  double tolerance;
  LaunchComparison screen;
  bool flagged = false;
  bool measured() const { return base->measured() && updated->measured(); }
};

/// The launches that a verdict is based on: the screen's, or the fresh launches of a flagged row.
struct Evidence {
  const SideRow* base;
  const SideRow* updated;
  LaunchComparison launches;
  Judgement judgement;
  bool confirmed = false;
};

class Comparison {
 public:
  Comparison(const Side& base, const Side& updated, const Side* fresh_base, const Side* fresh_new,
             const CompareOptions& options)
      : base_(base),
        updated_(updated),
        fresh_base_(fresh_base),
        fresh_new_(fresh_new),
        options_(options) {}

  json document() {
    for (const char* list : {"rows", "only_base", "only_new", "not_compared", "notes", "lost"})
      document_[list] = json::array();
    for (const std::string& note :
         check_runs(base_, updated_, fresh_base_, fresh_new_, options_.vary))
      document_["notes"].push_back(note);
    Mismatches mismatches;
    mismatches.add(base_, updated_, options_.vary, "");
    if (fresh_base_ != nullptr) {
      // Fresh launches must be of the same build on the same machine as their side.
      mismatches.add(base_, *fresh_base_, "nothing", "fresh-base/");
      mismatches.add(updated_, *fresh_new_, "nothing", "fresh-new/");
    }
    const bool refused = !mismatches.empty() && !options_.allow_mismatch;
    if (!refused) {
      pair_up();
      for (const Pair& pair : pairs_) judge(pair);
      add_mean();
    }
    const std::size_t compared = document_["rows"].size();
    if (compared == 0) raise(ExitCode::incomparable);
    // Published numbers are shown, but they decide nothing.
    if (compared > 0 && compared == summary_["without_verdict"]) raise(ExitCode::inconclusive);
    document_.update({{"schema", "assay-comparison/1"},
                      {"command", options_.command},
                      {"base", base_.described()},
                      {"new", updated_.described()},
                      {"fresh_base", fresh_base_ ? fresh_base_->described() : json(nullptr)},
                      {"fresh_new", fresh_new_ ? fresh_new_->described() : json(nullptr)},
                      {"vary", options_.vary},
                      {"allow_mismatch", options_.allow_mismatch},
                      {"refused", refused},
                      {"mismatches", mismatches.described()},
                      {"stage", fresh_base_ ? "confirmed" : "screen"},
                      {"settings",
                       {{"false_alarm_rate", options_.false_alarm_rate},
                        {"tolerance", options_.tolerance.value_or(usual_tolerance)},
                        {"confidence", compare_confidence},
                        {"screen_p", screen_p},
                        {"flagged", flagged_},
                        {"confirmed_p", flagged_ > 0 ? json(limit()) : json(nullptr)},
                        {"power", compare_power}}},
                      {"geometric_mean", mean_},
                      {"geometric_mean_reason", mean_reason_},
                      {"summary", summary_},
                      {"exit_code", static_cast<int>(code_)}});
    return std::move(document_);
  }

 private:
  void raise(ExitCode code) { code_ = gravest(code_, code); }
  double limit() const {
    return options_.false_alarm_rate / static_cast<double>(std::max<std::size_t>(flagged_, 1));
  }

  void pair_up() {
    for (const auto& [key, row] : base_.rows()) {
      const SideRow* other = find(&updated_, key);
      if (other == nullptr) {
        raise(ExitCode::incomparable);
        add_unpaired("only_base", key, row);
        if (row.launches.status == "ok") add_lost(key, row, "the row is missing");
      } else if (const std::string why = obstacle(row, *other, options_.vary); !why.empty()) {
        not_compared(key, row, *other, why);
      } else {
        Pair pair{key, &row, other, tolerance_of(row, options_.tolerance), {}, false};
        if (pair.measured()) {
          pair.screen = compared(row, *other);
          pair.flagged = is_flagged(pair.screen, pair.tolerance);
          flagged_ += pair.flagged;
        }
        pairs_.push_back(std::move(pair));
      }
    }
    for (const auto& [key, row] : updated_.rows())
      if (find(&base_, key) == nullptr) {
        raise_status(row);
        add_unpaired("only_new", key, row);
      }
  }

  void add_unpaired(const char* list, const std::string& key, const SideRow& row) {
    document_[list].push_back(
        {{"id", key}, {"names", names_of(row)}, {"status", row.launches.status}});
  }

  /// A result that base has and new does not is reported on its own.
  void add_lost(const std::string& key, const SideRow& base, const std::string& why) {
    document_["lost"].push_back({{"id", key}, {"names", names_of(base)}, {"reason", why}});
  }

  void raise_status(const SideRow& row) {
    const std::string& status = row.launches.status;
    if (status == "incorrect")
      raise(ExitCode::incorrect);
    else if (status == "target missed")
      raise(ExitCode::target_missed);
    else if (went_wrong(row) || (status == "unsupported" && row.row().value("required", false)))
      raise(ExitCode::failed);
  }

  void not_compared(const std::string& key, const SideRow& base, const SideRow& updated,
                    const std::string& why) {
    document_["not_compared"].push_back({{"id", key},
                                         {"base_status", base.launches.status},
                                         {"new_status", updated.launches.status},
                                         {"reason", why}});
    raise_status(updated);
    // A failure of base alone is not held against new: an improvement never fails. A result of base
    // that new does not have, or that cannot be compared, is.
    if (base.launches.status == "ok") raise(ExitCode::incomparable);
    if (base.launches.status == "ok" && updated.launches.status == "unsupported")
      add_lost(key, base, updated.launches.reason);
    if (went_wrong(base) || went_wrong(updated)) wrong_.push_back(key);
  }

  void judge(const Pair& pair) {
    if (!pair.measured()) {
      add_published(pair);
      return;
    }
    Evidence evidence{pair.base, pair.updated, pair.screen,
                      judge_screen(pair.screen, pair.tolerance)};
    if (pair.flagged && fresh_base_ != nullptr && !use_fresh_launches(pair, evidence)) return;
    const auto& [base, updated, launches, judgement, confirmed] = evidence;
    const double p_limit = confirmed ? limit() : screen_p;
    json row = row_of(pair, *base, *updated);
    row.update({{"ratio", launches.ratio},
                {"interval", interval_json(launches.interval)},
                {"p", launches.p},
                {"p_limit", p_limit},
                {"minimum_detectable",
                 number((confirmed ? fresh_detectable : minimum_detectable)(
                     base->launches.medians, updated->launches.medians, p_limit, compare_power))},
                {"stage", confirmed ? "confirmed" : "screen"},
                {"detected", judgement.detected},
                {"verdict", name_of(judgement.verdict)},
                {"reason", judgement.reason.empty() ? json(nullptr) : json(judgement.reason)}});
    if (confirmed)
      row["screen"] = {{"ratio", pair.screen.ratio},
                       {"interval", interval_json(pair.screen.interval)},
                       {"p", pair.screen.p}};
    if (confirmed && judgement.detected && (launches.ratio > 1) != (pair.screen.ratio > 1))
      row["notes"].push_back("the screen showed a change in the opposite direction");
    count(name_of(judgement.verdict));
    if (judgement.needs_confirmation) count("needs_confirmation");
    if (judgement.verdict == Verdict::slower) raise(ExitCode::slower);
    if (judgement.verdict == Verdict::inconclusive) raise(ExitCode::inconclusive);
    add_row(std::move(row));
  }

  /// The fields that every row has, with the launches that its numbers are from.
  static json row_of(const Pair& pair, const SideRow& base, const SideRow& updated) {
    const json names = names_of(*pair.updated);
    return {{"id", pair.key},
            {"names", names.empty() ? names_of(*pair.base) : names},
            {"unit", "s"},
            {"tolerance", pair.tolerance},
            {"flagged", pair.flagged},
            {"screen", nullptr},
            {"published", !pair.measured()},
            {"base", launches_json(base.launches)},
            {"new", launches_json(updated.launches)},
            {"notes", row_notes(base, updated)}};
  }

  /// Published numbers have a ratio, but no launches that could decide anything.
  void add_published(const Pair& pair) {
    json row = row_of(pair, *pair.base, *pair.updated);
    row.update({{"ratio", pair.updated->launches.median / pair.base->launches.median},
                {"interval", nullptr},
                {"p", nullptr},
                {"p_limit", nullptr},
                {"minimum_detectable", nullptr},
                {"stage", "screen"},
                {"detected", false},
                {"verdict", nullptr},
                {"reason", "published number, no launches"}});
    count("without_verdict");
    add_row(std::move(row));
  }

  /// Replaces the screen's evidence for a flagged row by its fresh launches. False where these give
  /// no ratio: the row is then not compared.
  bool use_fresh_launches(const Pair& pair, Evidence& evidence) {
    const SideRow *base = find(fresh_base_, pair.key), *updated = find(fresh_new_, pair.key);
    if (base == nullptr || updated == nullptr) {
      evidence.judgement.reason += " (the fresh results do not have this row)";
      return true;
    }
    if (const std::string why = obstacle(*base, *updated, options_.vary); !why.empty()) {
      not_compared(pair.key, *base, *updated, "fresh launches: " + why);
      return false;
    }
    const LaunchComparison launches =
        compare_fresh(base->launches.medians, updated->launches.medians, compare_confidence);
    evidence = {base, updated, launches, judge_fresh(launches, pair.tolerance, limit()), true};
    return true;
  }

  /// Adds the speedups that people read; ratio and interval are of times, as in earlier documents.
  void add_row(json row) {
    row["speedup"] = speedup_json(row["ratio"]);
    row["speedup_interval"] = speedup_json(row["interval"]);
    document_["rows"].push_back(std::move(row));
  }

  void count(const char* what) { summary_[what] = summary_[what].get<int>() + 1; }

  /// Computed from the screen's launches: every row has them, and none was selected by its time.
  void add_mean() {
    std::vector<std::pair<const SideRow*, const SideRow*>> rows;
    std::vector<double> ratios;
    for (const Pair& pair : pairs_) {
      if (!pair.measured()) continue;
      rows.emplace_back(pair.base, pair.updated);
      ratios.push_back(pair.screen.ratio);
    }
    const std::size_t of = base_.rows().size();
    if (!wrong_.empty())
      mean_reason_ =
          fmt::format("withheld: {}{} is incorrect or failed, or missed its target", wrong_.front(),
                      wrong_.size() > 1 ? fmt::format(" (and {} more)", wrong_.size() - 1) : "");
    else if (rows.empty())
      mean_reason_ = "no row was measured on both sides";
    else
      mean_ = geometric_mean(rows, ratios, of);
  }

  const Side &base_, &updated_;
  const Side *fresh_base_, *fresh_new_;
  const CompareOptions& options_;
  std::vector<Pair> pairs_;
  std::size_t flagged_ = 0;
  std::vector<std::string> wrong_;
  json document_ = json::object();
  json summary_ = {{"faster", 0},       {"slower", 0},          {"same", 0},
                   {"inconclusive", 0}, {"without_verdict", 0}, {"needs_confirmation", 0}};
  json mean_, mean_reason_;
  ExitCode code_ = ExitCode::ok;
};

}  // namespace

json comparison_document(const Side& base, const Side& updated, const Side* fresh_base,
                         const Side* fresh_new, const CompareOptions& options) {
  return Comparison(base, updated, fresh_base, fresh_new, options).document();
}

std::vector<std::string> flagged_ids(const json& document, const Side& side) {
  std::vector<std::string> ids;
  for (const json& row : document.at("rows"))
    if (row.at("flagged") == true && row.at("stage") == "screen")
      ids.push_back(find(&side, row.at("id"))->row().at("id"));
  return ids;
}

}  // namespace assay
