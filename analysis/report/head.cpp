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

/// A verdict and what it rests on.
struct Judgement {
  ExitCode code = ExitCode::ok;
  std::string word, text;
};

/// The systems of the results by name and processor, with the hosts of each.
json machines_of(const std::vector<NamedResult>& results) {
  // If nobody has named the system of a fleet, each result has the name of its host.
  const bool unnamed = results.size() > most_nodes;
  json machines = json::array();
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const NamedResult& named : results)
    for (const json& environment : named.result.at("environments")) {
      const json& hardware = environment.at("hardware");
      const std::string system = named.result.at("system").at("name"),
                        processor = text_of(hardware, "processor");
      const std::string fleet = unnamed ? fleet_name(system, environment) : system;
      const auto [place, fresh] = places.emplace(std::pair{fleet, processor}, machines.size());
      if (fresh)
        machines.push_back({{"name", fleet.starts_with("\n") ? "unnamed system" : system},
                            {"processor", processor},
                            {"cores", hardware.value("cores", json())},
                            {"memory_bytes", hardware.value("memory_bytes", json())},
                            {"accelerators", hardware.value("accelerators", json::array()).size()},
                            {"hosts", json::array()}});
      add_once(machines[place->second]["hosts"], text_of(environment, "host"));
    }
  return machines;
}

/// Adds the systems and times that comparisons and histories name.
void add_documents(const std::vector<NamedDocument>& documents, std::set<std::string>& systems,
                   std::set<std::string>& times) {
  for (const NamedDocument& named : documents) {
    if (named.kind == "comparison")
      for (const char* side : {"base", "new"})
        systems.insert(text_of(named.document.at(side), "system"));
    if (named.kind != "history") continue;
    for (const json& series : named.document.at("series")) {
      systems.insert(text_of(series, "system"));
      for (const json& point : series.value("points", json::array()))
        times.insert(point.at("time").get<std::string>());
    }
  }
  systems.erase("");
}

/// "3 slower, 2 same" of the counts that are not 0, in the order given.
std::string counted(const json& counts, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names)
    if (const json count = counts.value(name, json()); count.is_number() && count > 0) {
      std::string word = name;
      std::replace(word.begin(), word.end(), '_', ' ');
      parts.push_back(fmt::format("{} {}", count.get<int>(), word));
    }
  return join(parts, ", ");
}

/// The word for a code that a document ended with.
std::string word_of(ExitCode code) {
  static const std::map<ExitCode, const char*> words{{ExitCode::ok, "PASS"},
                                                     {ExitCode::incorrect, "INCORRECT"},
                                                     {ExitCode::slower, "SLOWER"},
                                                     {ExitCode::inconclusive, "INCONCLUSIVE"},
                                                     {ExitCode::incomparable, "MISSING"},
                                                     {ExitCode::failed, "FAILED"},
                                                     {ExitCode::unconfirmed, "UNCONFIRMED"},
                                                     {ExitCode::target_missed, "TARGET MISSED"}};
  const auto found = words.find(code);
  return found == words.end() ? "INVALID" : found->second;
}

Judgement of_document(const NamedDocument& named) {
  const json& document = named.document;
  Judgement made;
  made.code = static_cast<ExitCode>(document.at("exit_code").get<int>());
  made.word = word_of(made.code);
  const json counts = document.value("summary", json::object());
  if (named.kind == "acceptance") {
    made.word = text_of(document, "verdict");
    made.text = fmt::format("acceptance by the criteria {}: {} of {} nodes pass",
                            text_of(document.at("criteria"), "name"), text_of(counts, "pass"),
                            text_of(counts, "nodes"));
    if (const std::string why = text_of(document, "reason"); !why.empty()) made.text += "; " + why;
  } else if (named.kind == "comparison") {
    const bool refused = document.value("refused", false);
    if (refused) made.word = "NOT COMPARABLE";
    json all = counts;
    for (const json& row : document.at("not_compared")) {
      const std::string status = text_of(row, "new_status");
      all[status] = all.value(status, 0) + 1;
    }
    all["lost"] = document.value("lost", json::array()).size();
    const std::string rows = counted(all, {"incorrect", "failed", "timeout", "target missed",
                                           "lost", "slower", "faster", "same", "inconclusive"});
    made.text = fmt::format("comparison of {} with {}: {}", text_of(document.at("new"), "name"),
                            text_of(document.at("base"), "name"),
                            refused        ? "more differed than was meant"
                            : rows.empty() ? "no row"
                                           : rows);
  } else {
    made.text = fmt::format("history of {} series: {}", document.at("series").size(),
                            counted(counts, {"slower", "drifting", "lost", "suspect", "faster",
                                             "steady", "too_short"}));
  }
  return made;
}

/// "1 row", "2 rows".
std::string rows_text(std::size_t count, const std::string& what = "") {
  return fmt::format("{} {}row{}", count, what.empty() ? "" : what + " ", count == 1 ? "" : "s");
}

Judgement of_results(const ReportInput& input, const std::vector<Series>& all) {
  Judgement made;
  // Rows of a fleet that are not shown count, too.
  made.code = input.fleet.rows.empty() ? code_of_rows(input.results) : input.fleet.code;
  auto counts = counts_part(all, input.fleet).get<std::map<std::string, std::size_t>>();
  const std::size_t total = counts["rows"], measured = total - counts["published"];
  const auto lacking =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), lacks_required));
  std::vector<std::string> parts;
  for (const auto& [status, did] :
       {std::pair{"incorrect", " computed wrong results"}, std::pair{"failed", " failed"},
        std::pair{"timeout", " timed out"}, std::pair{"target missed", " missed the target"}})
    if (counts[status] > 0) parts.push_back(rows_text(counts[status]) + did);
  if (lacking > 0) parts.push_back(rows_text(lacking, "required") + " unsupported");
  parts.push_back(fmt::format("{} of {} verified", counts["ok"],
                              rows_text(measured, measured == total ? "" : "measured")));
  if (const std::size_t excused = counts["unsupported"] - lacking; excused > 0)
    parts.push_back(fmt::format("{} unsupported", excused));
  made.word = made.code == ExitCode::ok ? "VERIFIED" : word_of(made.code);
  made.text = join(parts, ", ");
  return made;
}

/// If results alone are shown, nobody has said how fast they must be. Published numbers may
/// stand beside them, of rows or in ratios: what is said of all numbers is said of the measured
/// ones.
std::string not_judged(const std::vector<Series>& all) {
  const auto published = std::count_if(all.begin(), all.end(), [](const Series& series) {
    return status_of(series) == "published";
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
         std::any_of(series.rows.begin(), series.rows.end(),
                     [](const json& row) { return row.value("required", false); });
}

json head_part(const ReportInput& input) {
  json suites = json::array(), machines = machines_of(input.results);
  std::set<std::string> systems, times;
  // Documents name systems and times, too; results say more of them.
  if (input.results.empty()) add_documents(input.documents, systems, times);
  for (const std::string& system : systems)
    machines.push_back({{"name", system}, {"hosts", json::array()}});
  for (const NamedResult& named : input.results) {
    const json& run = named.result.at("run");
    add_once(suites, text_of(run, "suite"));
    times.insert(text_of(run, "started"));
  }
  times.erase("");
  return {{"machines", machines},
          {"suites", suites},
          {"first", times.empty() ? json() : json(*times.begin())},
          {"last", times.empty() ? json() : json(*times.rbegin())}};
}

json verdict_part(const ReportInput& input, const std::vector<Series>& all) {
  const bool measured =
      std::any_of(all.begin(), all.end(), [](const Series& series) { return !series.published; });
  std::vector<Judgement> judgements;
  for (const char* kind : {"acceptance", "comparison", "history"})
    for (const NamedDocument& document : input.documents)
      if (document.kind == kind) judgements.push_back(of_document(document));
  const bool judged = !judgements.empty();
  // The first of equals is the verdict: rows that are wrong say it best, good ones say least.
  if (measured) {
    const Judgement own = of_results(input, all);
    judgements.insert(own.code == ExitCode::ok ? judgements.end() : judgements.begin(), own);
  }
  const auto told = [](const Judgement& judgement) -> json {
    return {{"code", static_cast<int>(judgement.code)},
            {"word", judgement.word},
            {"text", judgement.text}};
  };
  std::size_t worst = 0;
  for (std::size_t i = 1; i < judgements.size(); ++i)
    if (judgements[i].code != judgements[worst].code &&
        gravest(judgements[i].code, judgements[worst].code) == judgements[i].code)
      worst = i;
  json verdict = {
      {"code", nullptr}, {"word", "NO VERDICT"}, {"text", "nothing here was measured or judged"}};
  if (!judgements.empty()) {
    verdict = told(judgements[worst]);
  } else if (!all.empty()) {
    verdict["word"] = "PUBLISHED";
    verdict["text"] = rows_text(all.size()) + " of others; nothing was measured here";
  }
  verdict["also"] = json::array();
  for (std::size_t i = 0; i < judgements.size(); ++i)
    if (i != worst) verdict["also"].push_back(told(judgements[i]));
  verdict["note"] = !judged && verdict["code"] == 0 ? json(not_judged(all)) : json();
  return verdict;
}

}  // namespace assay::report
