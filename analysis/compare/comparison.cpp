#include "analysis/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/compare/spreads.hpp"
#include "analysis/compare/verdict.hpp"
#include "analysis/ratio.hpp"
#include "analysis/series.hpp"
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
      {"shared", std::any_of(launches.rows.begin(), launches.rows.end(), was_shared)}};
}

LaunchComparison compared(const SideRow& base, const SideRow& updated) {
  return compare_launches(base.launches.medians, updated.launches.medians, compare_confidence);
}

/// Whether nothing is known of the row because of what went wrong, not because nobody has it.
bool went_wrong(const SideRow& row) {
  return row.launches.status != "ok" && row.launches.status != "unsupported";
}

/// Why two rows of one key give no ratio, or "".
std::string obstacle(const SideRow& base, const SideRow& updated, const std::string& vary) {
  for (const auto& [side, name] : {std::pair{&base, "base"}, std::pair{&updated, "new"}}) {
    if (side->launches.status != "ok")
      return fmt::format("{} is {}: {}", name, side->launches.status, side->launches.reason);
    if (side->environments > 1)
      return fmt::format("the launches of {} ran in {} environments", name, side->environments);
    if (side->precisions > 1)
      return fmt::format("{} has {} precisions of it: give results of one", name, side->precisions);
    if (side->row().contains("incomparable"))
      return fmt::format("{}: {}", name, side->row()["incomparable"].get<std::string>());
    if (!(*std::min_element(side->launches.medians.begin(), side->launches.medians.end()) > 0))
      return fmt::format("the time of {} is below the clock's resolution", name);
  }
  if (vary == "precision" && base.row().at("id") == updated.row().at("id"))
    return "both sides have the same precision";
  const auto problem = [](const SideRow& side, const char* field) {
    return side.row().at("problem").value(field, json());
  };
  for (const char* field : {"descriptor", "flops"}) {
    const json was = problem(base, field), is = problem(updated, field);
    if (!was.is_null() && !is.is_null() && was != is)
      return fmt::format("problem/{} was {}, is {}", field, was.dump(), is.dump());
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
      notes.push_back(fmt::format("{} was {}, is {}", field, was.empty() ? "unknown" : was,
                                  is.empty() ? "unknown" : is));
  for (const auto& [side, name] : {std::pair{&base, "base"}, std::pair{&updated, "new"}})
    if (std::any_of(side->launches.rows.begin(), side->launches.rows.end(), was_shared))
      notes.push_back(fmt::format("other work wanted the processors while {} was timed", name));
  return notes;
}

/// The one given on the command line, else the row's own, its run's, or the usual one.
double tolerance_of(const SideRow& base, const std::optional<double>& given) {
  if (given) return *given;
  for (const json* place : {&base.row(), &base.result->at("run")})
    if (const auto found = place->find("tolerance"); found != place->end() && found->is_number())
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
    check_fresh();
    Mismatches mismatches;
    mismatches.add(base_, updated_, options_.vary, "");
    if (fresh_base_ != nullptr) {
      // A side's fresh launches are of the same build on the same machine, or they confirm nothing.
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
    // Published numbers are shown beside each other; nothing is decided by them.
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

  /// Fresh means other launches than the screen's.
  void check_fresh() {
    // From the first start to the last end of a side's runs; RFC 3339 in UTC sorts as text.
    const auto span_of = [](const Side& side) {
      std::pair<std::string, std::string> span;
      for (const NamedResult& named : side.results()) {
        const json& run = named.result.at("run");
        const std::string started = text_of(run, "started"), finished = text_of(run, "finished");
        if (started.empty() || finished.empty()) return std::pair<std::string, std::string>();
        if (span.first.empty() || started < span.first) span.first = started;
        span.second = std::max(span.second, finished);
      }
      return span;
    };
    const auto note_order = [&](const Side& one, const Side& other, const std::string& what) {
      const auto was = span_of(one), is = span_of(other);
      if (was.first.empty() || is.first.empty()) return;
      if (was.second >= is.first && is.second >= was.first) return;
      document_["notes"].push_back(fmt::format(
          "{} were not interleaved: what the machine did meanwhile looks like a difference (assay "
          "run --against interleaves two builds)",
          what));
    };
    const auto refuse_same = [](const Side& one, const Side& other, const std::string& why) {
      for (const NamedResult& a : one.results())
        for (const NamedResult& b : other.results()) {
          const json &was = a.result.at("run"), &is = b.result.at("run");
          if (was.at("id") == is.at("id") && was.at("started") == is.at("started"))
            throw InputError(fmt::format("{} is the run {} of {} ({}", other.name(),
                                         was.at("id").get<std::string>(), one.name(), why));
        }
    };
    if (options_.vary != "precision")  // one run may hold both precisions
      refuse_same(base_, updated_, "a run equals itself). Name two runs.");
    if (options_.vary != "hardware") note_order(base_, updated_, "the launches of base and new");
    if (fresh_base_ == nullptr) return;
    if (options_.vary != "precision")
      refuse_same(*fresh_base_, *fresh_new_, "a run equals itself). Name two runs.");
    if (options_.vary != "hardware")
      note_order(*fresh_base_, *fresh_new_, "the fresh launches of base and new");
    const std::string how =
        fmt::format("Launch afresh, with `assay run --launches {} --cases FILE`.", fresh_launches);
    for (const Side* screen : {&base_, &updated_})
      for (const Side* fresh : {fresh_base_, fresh_new_})
        refuse_same(*screen, *fresh,
                    "it was screened: a row is flagged for looking changed, the same launches "
                    "confirm it whatever is true). " +
                        how);
    // By each side's own clock. What was measured before may be of another state of the build, and
    // may have been chosen for its outcome.
    for (const auto& [screen, fresh] :
         {std::pair(&base_, fresh_base_), std::pair(&updated_, fresh_new_)}) {
      const auto was = span_of(*screen), is = span_of(*fresh);
      if (!was.first.empty() && !is.first.empty() && is.first < was.second)
        throw InputError(fmt::format(
            "{} began at {}, before the screen {} had ended at {} (its launches are not fresh). {}",
            fresh->name(), is.first, screen->name(), was.second, how));
    }
  }

  void pair_up() {
    for (const auto& [key, row] : base_.rows()) {
      const SideRow* other = find(&updated_, key);
      if (other == nullptr) {
        raise(ExitCode::incomparable);
        add_lone("only_base", key, row);
        if (row.launches.status == "ok") add_lost(key, row, "there is no such row");
      } else if (const std::string why = obstacle(row, *other, options_.vary); !why.empty()) {
        not_compared(key, row, *other, why);
      } else {
        Pair pair{key, &row, other, tolerance_of(row, options_.tolerance), {}, false};
        if (row.measured() && other->measured()) {
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
        add_lone("only_new", key, row);
      }
  }

  void add_lone(const char* list, const std::string& key, const SideRow& row) {
    document_[list].push_back(
        {{"id", key}, {"names", names_of(row)}, {"status", row.launches.status}});
  }

  /// A number that disappears is a finding.
  void add_lost(const std::string& key, const SideRow& base, const std::string& why) {
    document_["lost"].push_back({{"id", key}, {"names", names_of(base)}, {"reason", why}});
  }

  void raise_status(const SideRow& row) {
    const std::string& status = row.launches.status;
    if (status == "incorrect")
      raise(ExitCode::incorrect);
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
    // What base could not do is no fault of new: an improvement never fails. A number that is lost,
    // or cannot be compared, is.
    if (base.launches.status == "ok") raise(ExitCode::incomparable);
    if (base.launches.status == "ok" && updated.launches.status == "unsupported")
      add_lost(key, base, updated.launches.reason);
    if (went_wrong(base) || went_wrong(updated)) wrong_.push_back(key);
  }

  void judge(const Pair& pair) {
    const SideRow* base = pair.base;
    const SideRow* updated = pair.updated;
    json row = {{"id", pair.key},
                {"names", names_of(*updated).empty() ? names_of(*base) : names_of(*updated)},
                {"unit", "s"},
                {"tolerance", pair.tolerance},
                {"flagged", pair.flagged},
                {"screen", nullptr},
                {"published", !base->measured() || !updated->measured()}};
    if (row["published"]) {
      row.update({{"base", launches_json(base->launches)},
                  {"new", launches_json(updated->launches)},
                  {"ratio", updated->launches.median / base->launches.median},
                  {"interval", nullptr},
                  {"p", nullptr},
                  {"p_limit", nullptr},
                  {"minimum_detectable", nullptr},
                  {"stage", "screen"},
                  {"detected", false},
                  {"verdict", nullptr},
                  {"reason", "published: no launches"},
                  {"notes", row_notes(*base, *updated)}});
      count("without_verdict");
      add_row(std::move(row));
      return;
    }
    LaunchComparison launches = pair.screen;
    Judgement judgement = judge_screen(pair.screen, pair.tolerance);
    bool confirmed = false;
    if (pair.flagged && fresh_base_ != nullptr) {
      const SideRow *fresh_base = find(fresh_base_, pair.key),
                    *fresh_new = find(fresh_new_, pair.key);
      if (fresh_base == nullptr || fresh_new == nullptr) {
        judgement.reason += " (the fresh results lack it)";
      } else if (const std::string why = obstacle(*fresh_base, *fresh_new, options_.vary);
                 !why.empty()) {
        not_compared(pair.key, *fresh_base, *fresh_new, "fresh launches: " + why);
        return;
      } else {
        confirmed = true;
        launches = compare_fresh(fresh_base->launches.medians, fresh_new->launches.medians,
                                 compare_confidence);
        judgement = judge_fresh(launches, pair.tolerance, limit());
        row["screen"] = {{"ratio", pair.screen.ratio},
                         {"interval", interval_json(pair.screen.interval)},
                         {"p", pair.screen.p}};
        base = fresh_base;
        updated = fresh_new;
      }
    }
    const double p_limit = confirmed ? limit() : screen_p;
    row.update({{"base", launches_json(base->launches)},
                {"new", launches_json(updated->launches)},
                {"ratio", launches.ratio},
                {"interval", interval_json(launches.interval)},
                {"p", launches.p},
                {"p_limit", p_limit},
                {"minimum_detectable",
                 number((confirmed ? fresh_detectable : minimum_detectable)(
                     base->launches.medians, updated->launches.medians, p_limit, compare_power))},
                {"stage", confirmed ? "confirmed" : "screen"},
                {"detected", judgement.detected},
                {"verdict", name_of(judgement.verdict)},
                {"reason", judgement.reason.empty() ? json(nullptr) : json(judgement.reason)},
                {"notes", row_notes(*base, *updated)}});
    if (confirmed && judgement.detected && (launches.ratio > 1) != (pair.screen.ratio > 1))
      row["notes"].push_back("the screen pointed the other way");
    count(name_of(judgement.verdict));
    if (judgement.needs_confirmation) count("needs_confirmation");
    if (judgement.verdict == Verdict::slower) raise(ExitCode::slower);
    if (judgement.verdict == Verdict::inconclusive) raise(ExitCode::inconclusive);
    add_row(std::move(row));
  }

  /// With what people read: ratio and interval are of times, as in documents of before.
  void add_row(json row) {
    row["speedup"] = speedup_json(row["ratio"]);
    row["speedup_interval"] = speedup_json(row["interval"]);
    document_["rows"].push_back(std::move(row));
  }

  void count(const char* what) { summary_[what] = summary_[what].get<int>() + 1; }

  /// Over the screen's launches: every row has them, and none was chosen by its time.
  void add_mean() {
    std::vector<std::pair<const SideRow*, const SideRow*>> rows;
    std::vector<double> ratios;
    for (const Pair& pair : pairs_) {
      if (!pair.base->measured() || !pair.updated->measured()) continue;
      rows.emplace_back(pair.base, pair.updated);
      ratios.push_back(pair.screen.ratio);
    }
    const std::size_t of = base_.rows().size();
    if (!wrong_.empty())
      mean_reason_ =
          fmt::format("withheld: {}{} is incorrect or failed", wrong_.front(),
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
