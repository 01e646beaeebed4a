// A record for each series and each number beside it, as CSV or JSON. The fields do not depend on
// the options, so a script can always read the same fields.
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/page.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/precision_table.hpp"
#include "analysis/table/table.hpp"
#include "analysis/trainings.hpp"
#include "core/base/or_null.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Makes the records of a table. The results must outlive it.
class Records {
 public:
  Records(const Results& results, const SeriesList& all)
      : results_(results), all_(all), trainings_(results) {}

  std::vector<json> make(const std::vector<Baseline>& baselines, const TableOptions& options) {
    if (options.by.empty())
      add_rows(baselines);
    else if (!baselines.empty())
      add_crossed(baselines, options.by);
    else if (options.by == "precision")
      add_precisions(!options.sort.empty());
    else
      add_pivot(options.by);
    return std::move(records_);
  }

 private:
  /// The record of a series beside `match`. If there is no match, `why` gives the reason, provided
  /// that one was looked for.
  json& add(const Series& series, const std::string& against, const Match& match,
            const std::string& why) {
    const Row& row = series.first();
    const Quantity mine = make_quantity(series);
    const bool ok = has_number(series), interval = series.has_interval;
    const bool compared = match && match->speedup > 0;
    const auto of_ok = [&](const json& value) { return ok ? value : json(); };
    const auto of_match = [&](const auto& value) { return match ? json((*match).*value) : json(); };
    const auto type = [&](std::string RowExecution::*field) {
      return ok && row.execution ? or_null((*row.execution).*field) : json();
    };
    return records_.emplace_back(
        json{{"result", results_[series.result].name},
             {"system", name_system(results_, series)},
             {"id", row.id},
             {"benchmark", row.benchmark},
             {"problem", row.problem.descriptor},
             {"parameters", row.parameters},
             {"status", find_status(series)},
             {"reason", ok ? json() : json(series.reason)},
             {"published", series.published},
             {"shared", any_launch(series, was_shared)},
             {"throttled", any_launch(series, was_throttled)},
             {"launches", series.rows.size()},
             {"value", of_ok(mine.value)},
             {"unit", or_null(mine.unit)},
             {"low", interval ? json(series.interval.low) : json()},
             {"high", interval ? json(series.interval.high) : json()},
             {"interval", interval ? json(series.is_range ? "range" : "95 %") : json()},
             {"against", or_null(against)},
             {"against_value", of_match(&RowBaseline::value)},
             {"against_unit", of_match(&RowBaseline::unit)},
             {"against_published", of_match(&RowBaseline::published)},
             {"speedup", compared ? json(match->speedup) : json()},
             // The direction is that of the crossed tables and of sources: this time over the
             // other.
             {"ratio", compared ? json(1 / match->speedup) : json()},
             {"ratio_printed", match ? or_null(match->ratio_printed) : json()},
             {"note", or_null(match ? match->note : why)},
             {"citation", or_null(match ? match->citation : row.citation)},
             {"speedup_low", nullptr},
             {"speedup_high", nullptr},
             {"speedup_interval", nullptr},
             {"energy_ratio", nullptr},
             {"step_hash", or_null(trainings_.step_hash(series))},
             {"convergence", or_null(trainings_.text(series))},
             {"max_error", of_ok(number_or_null(largest_error(series)))},
             {"norm_error", of_ok(number_or_null(largest_norm_error(series)))},
             {"storage", type(&RowExecution::storage)},
             {"compute", type(&RowExecution::compute)},
             {"accumulate", type(&RowExecution::accumulate)},
             {"executed_precision", of_ok(or_null(find_executed_precision(series)))},
             {"ceiling_fraction", of_ok(number_or_null(ceiling_fraction(series)))},
             {"energy_j", of_ok(number_or_null(compute_energy(series)))}});
  }

  void add_rows(const std::vector<Baseline>& baselines) {
    const std::vector<System> systems = list_systems(all_, baselines);
    for (const Series& series : all_) {
      if (systems.empty()) add(series, "", std::nullopt, "");
      for (const System& system : systems) {
        std::string why;
        const Match match = beside(series, system, &why);
        add(series, system.name, match, why);
      }
    }
  }

  void add_precisions(bool sorted) {
    find_axes(all_, "precision");  // refuses rows without the parameter
    const SeriesList every = make_series(results_);
    for (const PrecisionGroup& group : choose_groups(every, all_, sorted))
      for (const PrecisionRow& row : group) {
        Match match;
        if (!row.is_reference() && row.speedup) {
          const Quantity base = make_quantity(*row.fp32);
          match = RowBaseline{.value = base.value,
                              .unit = base.unit,
                              .speedup = row.speedup->value,
                              .published = row.fp32->published,
                              .note = row.note};
        }
        json& record =
            add(*row.series, row.is_reference() ? "" : "precision fp32", match, row.note);
        if (row.speedup && row.speedup->interval) {
          record["speedup_low"] = row.speedup->interval->low;
          record["speedup_high"] = row.speedup->interval->high;
          record["speedup_interval"] = row.speedup->is_range ? "range" : "95 %";
        }
        if (row.energy) record["energy_ratio"] = row.energy->value;
      }
  }

  void add_pivot(const std::string& by) {
    find_axes(all_, by);  // refuses a parameter that no row has
    const Pivot pivot = make_pivot(results_, all_, by);
    for (const PivotLine& line : pivot.lines)
      for (const auto& [value, series] : line.series) {
        std::string why;
        const Match match = beside_first(line, pivot, *series, by, &why);
        const std::string& first = pivot.values.front();
        add(*series, value == first ? "" : by + " " + first, match, why);
      }
  }

  void add_crossed(const std::vector<Baseline>& baselines, const std::string& by) {
    const CrossTable crossed = cross(results_, all_, baselines, by);
    for (const CrossedLine& line : crossed.lines)
      for (std::size_t i = 0; i < line.matches.size(); ++i)
        add(*line.series, crossed.columns[i].system + " " + by + " " + crossed.columns[i].value,
            line.matches[i], line.why[i]);
  }

  const Results& results_;
  const SeriesList& all_;
  Trainings trainings_;
  std::vector<json> records_{};
};

}  // namespace

json table_document(const Results& results, const std::vector<Baseline>& baselines,
                    const TableOptions& options) {
  const SeriesList all = select_series(results, options);
  return {{"schema", "assay-table/1"}, {"rows", Records(results, all).make(baselines, options)}};
}

std::string render_csv(const Results& results, const std::vector<Baseline>& baselines,
                       const TableOptions& options) {
  const SeriesList all = select_series(results, options);
  std::vector<json> records = Records(results, all).make(baselines, options);
  std::set<std::string> parameters;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().parameters) parameters.insert(name);
  Texts fields{"result", "system", "id", "benchmark", "problem"};
  for (const std::string& name : parameters) {
    fields.push_back("parameter " + name);
    for (json& record : records) record[fields.back()] = read_field(record["parameters"], name);
  }
  for (const std::string& field : split(
           "status reason published shared launches value unit low high interval max_error "
           "against against_value against_unit against_published speedup ratio ratio_printed note "
           "citation norm_error storage compute accumulate executed_precision ceiling_fraction "
           "energy_j speedup_low speedup_high speedup_interval energy_ratio step_hash convergence "
           "throttled",
           ' '))
    fields.push_back(field);
  return make_csv({fields, records});
}

}  // namespace assay
