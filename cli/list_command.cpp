#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "analysis/accept/criteria.hpp"
#include "analysis/number_formats.hpp"
#include "analysis/table/summary.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"
#include "core/result/baseline.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/processes.hpp"
#include "runner/launch/programs.hpp"
#include "runner/launch/site.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/plugin_probe.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

void list_backends() {
  Plugins plugins;
  std::vector<Line> lines;
  for (const std::string& name : plugins.names()) {
    const PluginStatus status = probe_plugin(plugins, name).status;
    lines.push_back({{name, status.available ? "available" : "unavailable"},
                     status.available ? status.file.string() : status.reason});
  }
  std::cout << render_terminal_table({{{"backend"}, {"state"}}, lines});
}

/// Prints names and their descriptions, on several lines if a terminal is too narrow.
void print_list(const char* title, const std::vector<std::pair<std::string, std::string>>& list) {
  std::size_t width = count_columns(title);
  for (const auto& [name, text] : list) width = std::max(width, count_columns(name));
  const std::size_t room = table_width - std::min(width + 2, table_width / 2);
  std::vector<Line> lines;
  for (const auto& [name, text] : list) {
    std::string cell = name;
    for (const std::string& part : split(wrap(visible(text), room), '\n')) {
      lines.push_back({{cell}, part});
      cell.clear();
    }
  }
  std::cout << render_terminal_table({{{title}}, lines});
}

/// Lists a file that cannot be read, or a program that fails, as unusable.
template <class Describe>
void list_files(const char* title, const std::vector<std::string>& names, Describe describe) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const std::string& name : names) {
    try {
      list.emplace_back(name, describe(name));
    } catch (const std::runtime_error& error) {
      list.emplace_back(name, std::string("unusable: ") + error.what());
    }
  }
  print_list(title, list);
}

void list_benchmarks() {
  prepare_parent();
  const Temporary scratch = make_scratch_folder();
  list_files("benchmark", list_benchmark_names(), [&](const std::string& name) {
    return ask_description(find_executable(name), scratch.path() / name);
  });
  std::cout << fmt::format("\nA benchmark is the program assay-<benchmark> in {}.\n",
                           executable_folder().string());
}

/// The networks of assay-train, with their fields, as listed by the program itself.
void list_networks() {
  prepare_parent();
  const Temporary scratch = make_scratch_folder();
  const FinishedCommand listed =
      finish_command({find_executable("train").string(), "--network", "all", "--list", "--json"},
                     scratch.path() / "networks", std::chrono::seconds(30));
  if (listed.failed()) throw CaseError("assay-train --network all --list " + listed.how());
  std::vector<std::pair<std::string, std::string>> list;
  for (const json& each : json::parse(listed.output)) {
    const std::string problem = each.at("settings").at("problem");
    const std::size_t colon = problem.find(':');
    list.emplace_back(problem.substr(0, colon), problem.substr(colon + 1));
  }
  print_list("network", list);
  std::cout << "\nassay-train --network NAME, or NAME:FIELDS. Its --help says what fields mean.\n";
}

void list_suites() {
  list_files("suite", list_suite_names(), [](const std::string& name) {
    const json suite = read_suite(data_folder("suites") / (name + ".json"));
    return fmt::format("{} ({})", suite_settings(suite).description,
                       join(suite_benchmarks(suite), ", "));
  });
}

void list_criteria() {
  list_files("criteria", list_criteria_names(), [](const std::string& name) {
    return read_checked(find_criteria(name), "criteria").value("description", "");
  });
}

void list_problems() {
  std::vector<std::string> names;
  const fs::path folder = data_folder("suites") / "problems";
  std::error_code missing;
  std::vector<std::string> benchmarks;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.is_directory()) benchmarks.push_back(entry.path().filename().string());
  std::sort(benchmarks.begin(), benchmarks.end());
  for (const std::string& benchmark : benchmarks)
    for (const std::string& list : list_json_names(folder / benchmark))
      names.push_back(benchmark + "/" + list);
  list_files("benchmark/list", names, [&](const std::string& name) {
    const json list = read_checked(folder / (name + ".json"), "problems");
    return fmt::format("{}: {}{} ({})", format_count(list.at("problems").size(), "problem"),
                       list.at("problems").front().value("name", ""),
                       list.at("problems").size() > 1
                           ? " ... " + list.at("problems").back().value("name", "")
                           : "",
                       list.value("source", "no source"));
  });
}

/// "30 rows in s, published; conv, pca, ...: description": the rows that --baseline can match.
void list_baselines() {
  list_files("baseline", list_baseline_names(), [](const std::string& name) {
    const RunResult baseline = read_result(baseline_file(name));
    std::set<std::string> units, benchmarks;
    std::size_t missing = 0;
    bool published = false;
    for (const Row& row : baseline.rows) {
      benchmarks.insert(row.benchmark);
      published = published || row.published;
      if (!row.is_ok()) ++missing;
      if (row.time_s)
        units.insert("s");
      else
        for (const auto& [rate, value] : row.rates) units.insert(rate);
    }
    const auto list = [](const std::set<std::string>& set) {
      return join(std::vector<std::string>(set.begin(), set.end()), ", ");
    };
    return fmt::format("{}{} in {}{}; {}: {}", format_count(baseline.rows.size(), "row"),
                       missing > 0 ? fmt::format(" ({} without a result)", missing) : "",
                       list(units), published ? ", published" : "", list(benchmarks),
                       baseline.system_details.value("description", "no description"));
  });
}

void list_summaries() {
  list_files("summary", list_summary_names(),
             [](const std::string& name) { return read_summary(name).description; });
}

void list_launchers() {
  list_files("launcher", Launcher::names(),
             [](const std::string& name) { return Launcher::load(name).description(); });
}

void list_sites() {
  list_files("site", Site::names(),
             [](const std::string& name) { return Site::load(name).description; });
}

void list_precisions() { std::cout << render_precision_table(); }

const std::map<std::string, void (*)()> lists{
    {"backends", list_backends},   {"benchmarks", list_benchmarks},
    {"networks", list_networks},   {"suites", list_suites},
    {"criteria", list_criteria},   {"problems", list_problems},
    {"baselines", list_baselines}, {"precisions", list_precisions},
    {"summaries", list_summaries}, {"launchers", list_launchers},
    {"sites", list_sites}};

std::vector<std::string> names_of_lists() {
  std::vector<std::string> names;
  for (const auto& [name, function] : lists) names.push_back(name);
  return names;
}

int list(const Arguments& arguments) {
  const std::string what = *read_value(arguments, "WHAT");
  const auto print = lists.find(what);
  if (print == lists.end()) throw InputError(explain_unknown_name("list", what, names_of_lists()));
  print->second();
  return 0;
}

}  // namespace

Command list_command() {
  return {"list",
          "List the names that commands take: backends, suites, problems, baselines, ...",
          {{"WHAT", "list to print", "WHAT", "", true, false, "", names_of_lists()}},
          &list,
          {{"assay list suites", "lists the shipped suites"},
           {"assay list benchmarks", "says what each benchmark measures"},
           {"assay list backends", "lists the backends, and why one cannot be used"},
           {"assay list precisions", "prints bits, range and unit roundoff of each precision"}}};
}

}  // namespace assay
