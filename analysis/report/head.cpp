// The page opens with the machine, the suite, the date, and one verdict over all inputs.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/report/parts.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/result.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

/// A verdict and its reasons.
struct Judgement {
  ExitCode code = ExitCode::ok;
  std::string word, text;
};

/// The systems of the results by name and processor, with the hosts of each.
json list_machines(const Results& results) {
  // If the system of a fleet has no given name, each result has the name of its host.
  const bool unnamed = results.size() > most_nodes;
  json machines = json::array();
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const NamedResult& named : results)
    for (const ResultEnvironment& environment : named.environments()) {
      const json& hardware = environment.hardware;
      const std::string system = named.system(), processor = read_field(hardware, "processor");
      const std::string fleet = unnamed ? fleet_name(system, environment) : system;
      const auto [place, fresh] = places.emplace(std::pair{fleet, processor}, machines.size());
      if (fresh)
        machines.push_back({{"name", fleet.starts_with("\n") ? "unnamed system" : system},
                            {"processor", processor},
                            {"cores", hardware.value("cores", json())},
                            {"memory_bytes", hardware.value("memory_bytes", json())},
                            {"accelerators", hardware.value("accelerators", json::array()).size()},
                            {"hosts", json::array()}});
      add_once(machines[place->second]["hosts"], environment.host);
    }
  return machines;
}

/// Adds the systems and times that comparisons and histories name.
void add_documents(const std::vector<NamedDocument>& documents, std::set<std::string>& systems,
                   std::set<std::string>& times) {
  for (const NamedDocument& named : documents) {
    if (const auto* comparison = std::get_if<Comparison>(&named.content))
      systems.insert({comparison->base.system, comparison->updated.system});
    if (const auto* history = std::get_if<History>(&named.content))
      for (const RowHistory& series : history->series) {
        systems.insert(series.system);
        for (const Point& point : series.points) times.insert(point.when);
      }
  }
  systems.erase("");
}

/// "3 slower, 2 same": the named counts that are not 0, in the order given.
std::string format_counts(const std::map<std::string, std::size_t>& counts,
                          const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names)
    if (const auto count = counts.find(name); count != counts.end() && count->second > 0)
      parts.push_back(fmt::format("{} {}", count->second, name));
  return join(parts, ", ");
}

/// The word for a code that a document ended with.
std::string name_code(ExitCode code) {
  static const std::map<ExitCode, const char*> words{{ExitCode::ok, "PASS"},
                                                     {ExitCode::incorrect, "INCORRECT"},
                                                     {ExitCode::slower, "SLOWER"},
                                                     {ExitCode::inconclusive, "INCONCLUSIVE"},
                                                     {ExitCode::incomparable, "MISSING"},
                                                     {ExitCode::failed, "FAILED"},
                                                     {ExitCode::unconfirmed, "UNCONFIRMED"},
                                                     {ExitCode::target_missed, "TARGET MISSED"}};
  const auto word = words.find(code);
  return word == words.end() ? "INVALID" : word->second;
}

Judgement judge(const Acceptance& acceptance) {
  return {acceptance.exit_code, verdict_names[acceptance.verdict],
          fmt::format("acceptance by the criteria {}: {} of {} nodes pass{}",
                      acceptance.criteria.name, acceptance.summary.pass, acceptance.summary.nodes,
                      acceptance.reason.empty() ? "" : "; " + acceptance.reason)};
}

Judgement judge(const Comparison& comparison) {
  std::map<std::string, std::size_t> counts = comparison.summary;
  for (const Entry& row : comparison.not_compared) ++counts[row.new_status];
  counts["lost"] = comparison.lost.size();
  const std::string rows =
      format_counts(counts, {"incorrect", "failed", "timeout", "target missed", "lost", "slower",
                             "faster", "same", "inconclusive"});
  return {comparison.exit_code,
          comparison.refused ? "NOT COMPARABLE" : name_code(comparison.exit_code),
          fmt::format("comparison of {} with {}: {}", comparison.updated.name, comparison.base.name,
                      comparison.refused ? "more differed than was meant"
                      : rows.empty()     ? "no row"
                                         : rows)};
}

Judgement judge(const History& history) {
  std::map<std::string, std::size_t> counts;
  for (const RowHistory& series : history.series) ++counts[series.verdict.state];
  return {history.code, name_code(history.code),
          fmt::format("history of {} series: {}", history.series.size(),
                      format_counts(counts, {"slower", "drifting", "lost", "suspect", "faster",
                                             "steady", "too short"}))};
}

/// The verdicts of the documents of one type.
template <class Document>
void add_judgements(const std::vector<NamedDocument>& documents, std::vector<Judgement>& all) {
  for (const NamedDocument& named : documents)
    if (const auto* document = std::get_if<Document>(&named.content))
      all.push_back(judge(*document));
}

/// "1 row", "2 rows".
std::string format_row_count(std::size_t count, const std::string& what = "") {
  return fmt::format("{} {}row{}", count, what.empty() ? "" : what + " ", count == 1 ? "" : "s");
}

Judgement judge(const ReportInput& input, const SeriesList& all) {
  // Rows of a fleet that are not shown count as well.
  const ExitCode code = input.fleet.rows.empty() ? rows_exit_code(input.results) : input.fleet.code;
  std::map<std::string, std::size_t> counts = count_rows(all, input.fleet);
  const std::size_t total = counts["rows"], measured = total - counts["published"];
  const auto lacking =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), lacks_required));
  std::vector<std::string> parts;
  for (const auto& [status, did] :
       {std::pair{"incorrect", " computed wrong results"}, std::pair{"failed", " failed"},
        std::pair{"timeout", " timed out"}, std::pair{"target missed", " missed the target"}})
    if (counts[status] > 0) parts.push_back(format_row_count(counts[status]) + did);
  if (lacking > 0) parts.push_back(format_row_count(lacking, "required") + " unsupported");
  parts.push_back(fmt::format("{} of {} verified", counts["ok"],
                              format_row_count(measured, measured == total ? "" : "measured")));
  if (const std::size_t excused = counts["unsupported"] - lacking; excused > 0)
    parts.push_back(fmt::format("{} unsupported", excused));
  return {code, code == ExitCode::ok ? "VERIFIED" : name_code(code), join(parts, ", ")};
}

/// If only results are shown, no limit for their speed is known. If published numbers are beside
/// them, as rows or in ratios, the statement is about the measured ones.
std::string not_judged(const SeriesList& all) {
  const auto published = std::count_if(all.begin(), all.end(), [](const Series& series) {
    return describe_status(series) == "published";
  });
  return fmt::format(
      "Every measured number here is verified{}. No criterion judged the speed (assay accept, "
      "assay compare and assay history do).",
      published == 0   ? ""
      : published == 1 ? "; 1 published number (*) is not"
                       : fmt::format("; {} published numbers (*) are not", published));
}

}  // namespace

bool lacks_required(const Series& series) {
  return series.status == "unsupported" && !series.published &&
         any_launch(series, [](const Row& row) { return row.required; });
}

json make_head_part(const ReportInput& input) {
  json suites = json::array(), machines = list_machines(input.results);
  std::set<std::string> systems, times;
  // Documents name systems and times, too, but results have more details.
  if (input.results.empty()) add_documents(input.documents, systems, times);
  for (const std::string& system : systems)
    machines.push_back({{"name", system}, {"hosts", json::array()}});
  for (const NamedResult& named : input.results) {
    const RunHeader run = named.run();
    add_once(suites, run.suite);
    times.insert(run.started.value_or(""));
  }
  times.erase("");
  return {{"machines", machines},
          {"suites", suites},
          {"first", times.empty() ? json() : json(*times.begin())},
          {"last", times.empty() ? json() : json(*times.rbegin())}};
}

json make_verdict_part(const ReportInput& input, const SeriesList& all) {
  const bool measured =
      std::any_of(all.begin(), all.end(), [](const Series& series) { return !series.published; });
  std::vector<Judgement> judgements;
  add_judgements<Acceptance>(input.documents, judgements);
  add_judgements<Comparison>(input.documents, judgements);
  add_judgements<History>(input.documents, judgements);
  const bool judged = !judgements.empty();
  // The first of equally severe verdicts counts. The verdict on the rows comes first if it is bad,
  // because it tells most; if it is good, it comes last.
  if (measured) {
    const Judgement own = judge(input, all);
    judgements.insert(own.code == ExitCode::ok ? judgements.end() : judgements.begin(), own);
  }
  const auto to_document = [](const Judgement& judgement) -> json {
    return {{"code", static_cast<int>(judgement.code)},
            {"word", judgement.word},
            {"text", judgement.text}};
  };
  std::size_t worst = 0;
  for (std::size_t i = 1; i < judgements.size(); ++i)
    if (judgements[i].code != judgements[worst].code &&
        find_gravest(judgements[i].code, judgements[worst].code) == judgements[i].code)
      worst = i;
  json verdict = {
      {"code", nullptr}, {"word", "NO VERDICT"}, {"text", "nothing here was measured or judged"}};
  if (!judgements.empty()) {
    verdict = to_document(judgements[worst]);
  } else if (!all.empty()) {
    verdict["word"] = "PUBLISHED";
    verdict["text"] = format_row_count(all.size()) + " of others; nothing was measured here";
  }
  verdict["also"] = json::array();
  for (std::size_t i = 0; i < judgements.size(); ++i)
    if (i != worst) verdict["also"].push_back(to_document(judgements[i]));
  verdict["note"] = !judged && verdict["code"] == 0 ? json(not_judged(all)) : json();
  return verdict;
}

}  // namespace assay::report
