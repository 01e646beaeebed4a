#include "analysis/table/field_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/repeat_command.hpp"
#include "analysis/trainings.hpp"
#include "core/base/units.hpp"
#include "core/result/result.hpp"

namespace assay {

namespace {

/// The largest value of the launches; nothing if no launch reports it.
std::optional<std::int64_t> wrong_elements(const Series& series) {
  std::optional<std::int64_t> most;
  for (const Row& row : series.rows)
    if (row.verification && row.verification->wrong)
      most = std::max(most.value_or(0), *row.verification->wrong);
  return most;
}

Cell format_interval_cell(const Series& series, bool tell_range, Legend& legend) {
  if (series.has_interval)
    return (series.is_range && tell_range ? "range " : "") +
           format_seconds_range(series.interval.low, series.interval.high);
  if (!series.published)
    legend.add(
        fmt::format("No interval (-): fewer than {} effective samples (autocorrelation counted).",
                    least_for_interval));
  return "-";
}

Cell format_energy_cell(const Series& series, Legend& legend) {
  if (const std::optional<double> joules = compute_energy(series)) {
    legend.add(
        fmt::format("energy: joules per run of {} (of the whole domain, so idle power and other "
                    "work are included).",
                    energy_domains(series)));
    return {format_with_unit(*joules, "J") + choose_mark(series), *joules};
  }
  std::string reason = "its launches measured the energy of different domains";
  for (const Row& row : series.rows)
    if (!row.energy_reason.empty()) reason = row.energy_reason;
  if (!series.published) legend.add(fmt::format("No energy (-): {}.", reason));
  return "-";
}

void add_what_was_measured(const FieldSource& source, std::vector<Field>& fields) {
  const SeriesList& all = source.all;
  // If all intervals are ranges, the head says so, otherwise each range does.
  const bool ranges_alone =
      std::ranges::any_of(all, &Series::is_range) && std::ranges::none_of(all, [](auto& series) {
        return series.has_interval && !series.is_range;
      });
  const auto add = [&](const std::string& key, const std::string& title, bool shown, int spare,
                       auto cell) {
    fields.push_back({{title, true, key, spare, true}, shown, cell});
  };
  add("time", "time", true, 0,
      [](auto& series, auto&) { return series.status == "ok" ? format_value_cell(series) : "-"; });
  add("interval", ranges_alone ? "range" : "95 % interval", true, 2,
      [ranges_alone](auto& series, auto& legend) {
        return format_interval_cell(series, !ranges_alone, legend);
      });
  const bool bandwidths = !all.empty() && std::ranges::all_of(all, [](auto& series) {
    return find_rate(series, "busbw") || !has_number(series);
  });
  // Some published rows have no other number.
  add("rate", "rate", !bandwidths, std::ranges::any_of(all, rate_alone) ? 0 : 1, format_rate_cell);
  for (const char* name : {"algbw", "busbw"})
    add(name, name, bandwidths, 0,
        [name](auto& series, auto& legend) { return format_bandwidth_cell(series, name, legend); });
  const auto trainings = std::make_shared<Trainings>(source.results);
  add("convergence", "convergence", true, 0, [trainings](auto& series, auto& legend) -> Cell {
    const std::string text = trainings->text(series);
    if (text.empty()) return "-";
    legend.add(convergence_note);
    return text;
  });
  add("ceiling", "of ceiling", true, spared_first, format_ceiling_cell);
  add("error", "error", true, 5, [](auto& series, auto& legend) {
    if (largest_error(series)) legend.add(error_note);
    return format_error_cell(series);
  });
  add("energy", "energy", false, 0, format_energy_cell);
  // Metrics of the first launch: launches of a case have equal metrics, except for rounding.
  std::set<std::string> metrics;
  for (const Series& series : all)
    for (const auto& [name, metric] : series.first().metrics) metrics.insert(name);
  for (const std::string& name : metrics)
    add(name, name, true, 7, [name](auto& series, auto&) -> Cell {
      const auto metric = series.first().metrics.find(name);
      if (metric == series.first().metrics.end()) return "-";
      return {format_metric(metric->second), metric->second.value};
    });
}

/// The numbers of a system for the series, each looked up once.
using Matches = std::map<std::string, std::pair<Match, std::string>>;

/// The match of a series. The legend gets its source, or why there is none. Both its column and
/// that of the ratio call this, because a table may have only one of them.
const Match& cite_match(const Matches& matches, const std::string& name, const Series& series,
                        Legend& legend) {
  const auto& [match, why] = matches.at(make_key(series));
  if (match) {
    if (match->published) legend.cite(name, match->citation);
    legend.note(name, match->note, true);
    explain_projection(name, *match, legend);
  } else if (!why.empty()) {
    legend.add(fmt::format("No ratio (-): {}{}.", why.starts_with(name) ? "" : name + ": ", why));
  }
  return match;
}

void add_other_systems(const FieldSource& source, std::vector<Field>& fields) {
  for (const System& system : source.systems) {
    const std::string& name = system.name;
    const auto matches = std::make_shared<Matches>();
    for (const Series& series : source.all) {
      auto& [match, why] = (*matches)[make_key(series)];
      match = beside(series, system, &why);
    }
    const auto add = [&](const std::string& key, const std::string& title, int spare, auto cell) {
      fields.push_back({{title, key != "ran", key, spare, true}, true, cell});
    };
    add(name, name, 3, [matches, name](auto& series, auto& legend) -> Cell {
      const Match& match = cite_match(*matches, name, series, legend);
      if (!match) return "-";
      return {format_quantity(make_quantity(*match)) + mark_published(*match) +
                  choose_mark(match->shared, match->throttled),
              match->value};
    });
    fields.back().explains_missing =
        system.baseline != nullptr;  // a requested system always gets an explanation
    add("ran", "ran", 6, [matches](auto& series, auto& legend) -> Cell {
      const Match& match = matches->at(make_key(series)).first;
      if (!match) return "";
      legend.add("ran: the other system's algorithm.");
      return match->algorithm;
    });
    add("speedup", source.systems.size() > 1 ? over("this", name) : "speedup", 0,
        [matches, name, absolutes = source.absolutes](auto& series, auto& legend) -> Cell {
          const Match& match = cite_match(*matches, name, series, legend);
          if (!match) return "-";
          const Quantity mine = make_quantity(series), theirs = make_quantity(*match);
          const std::string ratio = fmt::format("{:.3g}{}", match->speedup,
                                                format_ratio_marks(series, *match, name, legend));
          legend.add(format_speedup_header("this", name) + ".");
          const bool both = absolutes && mine.unit == "s" && theirs.unit == "s";
          return {format_ratio_cell(ratio, both, theirs, mine), match->speedup};
        });
  }
}

}  // namespace

std::string make_key(const Series& series) {
  return fmt::format("{} {} {}", series.result, series.environment, series.first().id);
}

std::string format_common_list(const SeriesList& all) {
  std::set<std::string> lists, problems;
  for (const Series& series : all) {
    const std::string problem = series.problem();
    const std::size_t slash = problem.find('/');
    const bool listed = !series.first().names.empty() && slash != std::string::npos;
    lists.insert(listed ? problem.substr(0, slash) : "");
    problems.insert(problem);
  }
  return problems.size() > 1 && lists.size() == 1 ? *lists.begin() : "";
}

std::vector<Field> fields_of_case(const Results& results, const SeriesList& all, const Axes& axes) {
  std::vector<Field> fields;
  const std::size_t list = format_common_list(all).size();
  const auto add = [&](const std::string& key, bool shown, auto cell) {
    fields.push_back(
        {{key, false, key}, shown, [cell](auto& series, auto&) -> Cell { return cell(series); }});
  };
  add("result", results.size() > 1,
      [&results](const Series& series) { return results[series.result].name; });
  add("id", false, [](const Series& series) { return series.first().id; });
  // The command is long, so it is shown only on request.
  add("repeat", false, [&results](const Series& series) {
    const NamedResult& result = results[series.result];
    return make_repeat_command(result.run(), result.environment(series.first()), series.first(),
                               series.rows.size());
  });
  fields.back().whole = true;
  add("benchmark", several_benchmarks(all),
      [](const Series& series) { return series.first().benchmark; });
  add("problem", true,
      [list](const Series& series) { return series.problem().substr(list == 0 ? 0 : list + 1); });
  for (const std::string& name : list_parameter_names(all))
    add(name, std::ranges::find(axes.shown, name) != axes.shown.end(),
        [name](const Series& series) { return format_axis(series, name); });
  add("environment", ids_repeat(all),
      [](const Series& series) { return std::to_string(series.first().environment); });
  add("launches",
      std::ranges::any_of(
          all, [&](const Series& series) { return series.rows.size() != all.front().rows.size(); }),
      [](const Series& series) { return std::to_string(series.rows.size()); });
  // It matters most for an incorrect row, which has no numbers, so it comes before the numbers.
  const bool any_wrong = std::ranges::any_of(
      all, [](const Series& series) { return wrong_elements(series).value_or(0) > 0; });
  add("wrong", any_wrong, [](const Series& series) {
    const auto wrong = wrong_elements(series);
    return wrong ? std::to_string(*wrong) : "";
  });
  fields.back().right = true;
  fields.back().spare = 6;
  return fields;
}

std::vector<Field> list_fields(const FieldSource& source) {
  std::vector<Field> fields = fields_of_case(source.results, source.all, source.axes), measured;
  add_what_was_measured(source, measured);
  add_other_systems(source, measured);
  // A parameter may have the name of a number: resnet50 has a learning rate.
  for (Field& field : fields)
    if (std::ranges::any_of(measured, [&](const Field& other) { return other.key == field.key; }))
      field.key = field.title = "parameters." + field.key;
  fields.insert(fields.end(), measured.begin(), measured.end());
  return fields;
}

}  // namespace assay
