#include "analysis/table/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/rate_cells.hpp"
#include "analysis/trainings.hpp"
#include "core/base/units.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

bool any_of(const std::vector<Series>& all, bool (*holds)(const Series&)) {
  return std::any_of(all.begin(), all.end(), holds);
}

/// The most of a launch; none where no launch tells it.
std::optional<std::int64_t> wrong_elements(const Series& series) {
  std::optional<std::int64_t> most;
  for (const json& row : series.rows) {
    const json verification = row.value("verification", json());
    if (!verification.is_object() || !verification.contains("wrong")) continue;
    most = std::max(most.value_or(0), verification["wrong"].get<std::int64_t>());
  }
  return most;
}

void add_what_was_run(const FieldSource& source, std::vector<Field>& fields) {
  const std::vector<NamedResult>& results = source.results;
  const std::size_t list = common_list(source.all).size();
  const auto add = [&](const std::string& key, bool shown, auto cell) {
    fields.push_back({key, key, false, shown, false, 0,
                      [cell](const Series& series, Legend&) { return cell(series); }});
  };
  add("result", results.size() > 1,
      [&results](const Series& series) { return results[series.result].name; });
  add("id", false, [](const Series& series) { return text_of(series.first(), "id"); });
  add("benchmark", several_benchmarks(source.all),
      [](const Series& series) { return text_of(series.first(), "benchmark"); });
  add("problem", true,
      [list](const Series& series) { return series.problem().substr(list == 0 ? 0 : list + 1); });
  for (const std::string& name : parameter_names(source.all)) {
    const auto& shown = source.axes.shown;
    add(name, std::find(shown.begin(), shown.end(), name) != shown.end(),
        [name](const Series& series) { return axis_text(series, name); });
  }
  add("environment", ids_repeat(source.all), [](const Series& series) {
    return std::to_string(series.first().at("environment").get<std::size_t>());
  });
  const std::size_t launches = source.all.empty() ? 1 : source.all.front().rows.size();
  add("launches",
      std::any_of(source.all.begin(), source.all.end(),
                  [&](const Series& series) { return series.rows.size() != launches; }),
      [](const Series& series) { return std::to_string(series.rows.size()); });
  // Of an incorrect row above all: so it stands before the numbers, which that has not.
  const bool any_wrong = any_of(
      source.all, [](const Series& series) { return wrong_elements(series).value_or(0) > 0; });
  fields.push_back({"wrong", "wrong", true, any_wrong, false, 6,
                    [](const Series& series, Legend&) -> std::string {
                      const auto wrong = wrong_elements(series);
                      return wrong ? std::to_string(*wrong) : "";
                    }});
}

std::string interval_cell(const Series& series, bool tell_range, Legend& legend) {
  if (series.has_interval)
    return (series.is_range && tell_range ? "range " : "") +
           human_range(series.interval.low, series.interval.high);
  if (!series.published)
    legend.add(
        fmt::format("No interval (-): fewer than {} effective samples (autocorrelation counted).",
                    least_for_interval));
  return "-";
}

std::string energy_cell(const Series& series, Legend& legend) {
  const json joules = energy_of(series);
  if (joules.is_number()) {
    legend.add(
        fmt::format("energy: joules per run of {} (of the whole domain, so idle power and other "
                    "work are included).",
                    energy_domains(series)));
    return human(joules, "J") + mark_of(series);
  }
  std::string reason = "its launches measured the energy of different domains";
  for (const json& row : series.rows)
    if (const std::string own = text_of(row, "energy_reason"); !own.empty()) reason = own;
  if (!series.published) legend.add(fmt::format("No energy (-): {}.", reason));
  return "-";
}

void add_what_was_measured(const FieldSource& source, std::vector<Field>& fields) {
  const std::vector<Series>& all = source.all;
  // Where all are ranges the head says it, else each range does.
  const bool ranges_alone =
      any_of(all, [](const Series& series) { return series.is_range; }) &&
      !any_of(all, [](const Series& series) { return series.has_interval && !series.is_range; });
  const auto add = [&](const std::string& key, const std::string& title, bool shown, int spare,
                       auto cell) {
    fields.push_back({key, title, true, shown, true, spare, cell});
  };
  add("time", "time", true, 0, [](const Series& series, Legend&) -> std::string {
    return series.status == "ok" ? marked_quantity(series) : "-";
  });
  add("interval", ranges_alone ? "range" : "95 % interval", true, 2,
      [ranges_alone](const Series& series, Legend& legend) {
        return interval_cell(series, !ranges_alone, legend);
      });
  const bool bandwidths =
      !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& series) {
        return has_bandwidth(series) || status_of(series) != "ok";
      });
  // Some published rows have no other number.
  const bool rates_alone = std::any_of(all.begin(), all.end(), rate_alone);
  add("rate", "rate", !bandwidths, rates_alone ? 0 : 1, rate_cell);
  for (const char* name : {"algbw", "busbw"})
    add(name, name, bandwidths, 0, [name](const Series& series, Legend& legend) {
      return bandwidth_cell(series, name, legend);
    });
  const auto trainings = std::make_shared<Trainings>(source.results);
  add("convergence", "convergence", true, 0,
      [trainings](const Series& series, Legend& legend) -> std::string {
        const std::string text = trainings->text(series);
        if (text.empty()) return "-";
        legend.add(convergence_note);
        return text;
      });
  add("ceiling", "of ceiling", true, spared_first, ceiling_cell);
  add("error", "error", true, 5, [](const Series& series, Legend& legend) {
    if (has_error(series)) legend.add(error_note);
    return error_cell(series);
  });
  add("energy", "energy", false, 0, energy_cell);
}

/// Metrics of the first launch: launches of one case have the same, up to rounding.
void add_metrics(const FieldSource& source, std::vector<Field>& fields) {
  std::set<std::string> names;
  for (const Series& series : source.all) {
    const json metrics = series.first().value("metrics", json::object());
    for (const auto& [name, metric] : metrics.items()) names.insert(name);
  }
  for (const std::string& name : names)
    fields.push_back(
        {name, name, true, true, true, 7, [name](const Series& series, Legend&) -> std::string {
           const json all = series.first().value("metrics", json::object());
           return all.contains(name) ? human_metric(all.at(name)) : "-";
         }});
}

/// A system's numbers for the series, each looked for once.
class System {
 public:
  System(std::string name, const Baseline* baseline)
      : name_(std::move(name)), baseline_(baseline) {}
  const std::string& name() const { return name_; }
  const std::pair<json, std::string>& match(const Series& series) {
    const auto [place, fresh] = matches_.try_emplace(
        text_of(series.first(), "id") + " " + std::to_string(series.result) + series.environment);
    auto& [match, why] = place->second;
    if (fresh) match = beside(series, baseline_, name_, &why);
    return place->second;
  }

 private:
  std::string name_;
  const Baseline* baseline_;
  std::map<std::string, std::pair<json, std::string>> matches_;
};

/// Where the other system's number comes from, or why there is none: its column and that of the
/// ratio need it, of which a table may have one alone.
void explain_match(System& system, const Series& series, Legend& legend) {
  const auto& [match, why] = system.match(series);
  if (!match.is_object()) {
    if (!why.empty())
      legend.add(fmt::format("No ratio (-): {}{}.",
                             why.starts_with(system.name()) ? "" : system.name() + ": ", why));
    return;
  }
  if (match.at("published") == true) legend.cite(system.name(), text_of(match, "citation"));
  legend.note(system.name(), text_of(match, "note"), true);
  explain_projected(system.name(), match, legend);
}

std::string system_cell(System& system, const Series& series, Legend& legend) {
  explain_match(system, series, legend);
  const json& match = system.match(series).first;
  if (!match.is_object()) return "-";
  return human_quantity(quantity_of(match)) + published_mark(match) + mark_told(match);
}

std::string speedup_cell(System& system, const Series& series, bool absolutes, Legend& legend) {
  explain_match(system, series, legend);
  const json& match = system.match(series).first;
  if (!match.is_object()) return "-";
  const Quantity mine = quantity_of(series), theirs = quantity_of(match);
  std::string ratio =
      fmt::format("{:.3g}{}", match.at("speedup").get<double>(), ratio_mark(series, match));
  if (match.contains("ratio_printed")) {
    ratio += printed_mark;
    legend.add(printed_note(series, match));
  }
  explain_not_given(system.name(), match, legend);
  legend.add(speedup_header("this", system.name()) + ".");
  return theirs.unit == mine.unit ? ratio_cell(ratio, absolutes && theirs.unit == "s", theirs, mine)
                                  : ratio;
}

void add_other_systems(const FieldSource& source, std::vector<Field>& fields) {
  const bool several = source.systems.size() > 1;
  for (const auto& [name, baseline] : source.systems) {
    const auto system = std::make_shared<System>(name, baseline);
    fields.push_back(
        {name, name, true, true, true, 3, [system](const Series& series, Legend& legend) {
           return system_cell(*system, series, legend);
         }});
    fields.back().told = baseline != nullptr;  // who asks for a system gets an answer
    fields.push_back({"ran", "ran", false, true, true, 6,
                      [system](const Series& series, Legend& legend) -> std::string {
                        const json& match = system->match(series).first;
                        if (!match.is_object()) return "";
                        legend.add("ran: the other system's algorithm.");
                        return text_of(match, "algorithm");
                      }});
    fields.push_back({"speedup", several ? over("this", name) : "speedup", true, true, true, 0,
                      [system, absolutes = source.absolutes](const Series& series, Legend& legend) {
                        return speedup_cell(*system, series, absolutes, legend);
                      }});
  }
}

}  // namespace

std::string common_list(const std::vector<Series>& all) {
  std::set<std::string> lists, problems;
  for (const Series& series : all) {
    const std::string problem = series.problem();
    const std::size_t slash = problem.find('/');
    const bool of_list = series.first().value("names", json::array()).empty() == false;
    lists.insert(of_list && slash != std::string::npos ? problem.substr(0, slash) : "");
    problems.insert(problem);
  }
  return problems.size() > 1 && lists.size() == 1 ? *lists.begin() : "";
}

std::vector<Field> fields_of_case(const FieldSource& source) {
  std::vector<Field> fields;
  add_what_was_run(source, fields);
  return fields;
}

std::vector<Field> fields_of(const FieldSource& source) {
  std::vector<Field> fields = fields_of_case(source), measured;
  add_what_was_measured(source, measured);
  add_metrics(source, measured);
  add_other_systems(source, measured);
  // A parameter may be called like a number: resnet50 has a learning rate.
  for (Field& field : fields)
    if (std::any_of(measured.begin(), measured.end(),
                    [&](const Field& other) { return other.key == field.key; }))
      field.key = field.title = "parameters." + field.key;
  fields.insert(fields.end(), measured.begin(), measured.end());
  return fields;
}

}  // namespace assay
