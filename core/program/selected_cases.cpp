#include "core/program/selected_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/program/suite.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// If the suite changed during the run, its rows would have other settings than the run's hash
/// says.
void expect_unchanged(const std::filesystem::path& suite, const std::string& kind,
                      const json& content, const std::string& hash) {
  if (hash.empty() || content_hash(kind, content) == hash) return;
  throw InputError(fmt::format(
      "{} has changed since the run began ({}). Put it back and resume the run, or start another "
      "one.",
      suite.string(),
      kind == "suite" ? "its content has another hash"
                      : fmt::format("its cases are others: a problem list that it names was "
                                    "edited, or this process may use another number of "
                                    "processors than before, now {}",
                                    processors())));
}

/// A suite without cases of this benchmark would otherwise end without a row and without a message.
void expect_cases(const Benchmark& benchmark, const json& suite,
                  const std::filesystem::path& file) {
  const std::vector<std::string> named = suite_benchmarks(suite);
  if (std::find(named.begin(), named.end(), benchmark.name()) != named.end()) return;
  throw InputError(fmt::format(
      "{} has no case of {} (its benchmarks are {}). Give another suite, or run all of this one: "
      "assay run {}",
      file.string(), benchmark.name(), join(named, ", "), file.string()));
}

}  // namespace

std::vector<Case> select_cases(const Benchmark& benchmark, RunRequest& request, Plugins& plugins,
                               const RankCount& started) {
  std::vector<Case> cases;
  if (request.suite.empty()) {
    cases = expand(benchmark, request.chosen, plugins, request.required, started,
                   UnusedValues::refused);
  } else {
    const std::filesystem::path file = find_suite(request.suite);
    const json suite = read_suite(file);
    expect_unchanged(file, "suite", suite, request.suite_hash);
    expect_cases(benchmark, suite, file);
    cases = expand_suite(benchmark, suite, file.string(), plugins, started, request.chosen);
    // The problem lists that the suite names count, too.
    if (!request.cases_hash.empty())
      expect_unchanged(file, "cases", case_list(benchmark, cases), request.cases_hash);
    const json timing = suite.value("timing", json::object());
    if (!request.max_time_given)
      request.timing.max_time = timing.value("max_time", request.timing.max_time);
    if (!request.precision_target_given)
      request.timing.precision_target =
          timing.value("precision_target", request.timing.precision_target);
    if (!request.min_samples_given)
      request.timing.min_samples = timing.value("min_samples", request.timing.min_samples);
    if (request.required)
      for (Case& selected : cases) selected.required = true;
  }
  benchmark.expect_compatible(cases);
  return cases;
}

std::vector<Case> plan_cases(const RunRequest& request, std::vector<Case> cases) {
  if (request.plan.empty()) return cases;
  std::vector<Case> planned;
  for (const json& id : read_json(request.plan)) {
    const auto position = std::find_if(cases.begin(), cases.end(),
                                       [&](const Case& selected) { return selected.id == id; });
    if (position == cases.end())
      throw InputError(request.plan + ": no case '" + id.dump() + "' in suite '" + request.suite +
                       "'. Plan and suite differ.");
    planned.push_back(*position);
  }
  return planned;
}

std::vector<Case> filter_cases(const RunRequest& request, std::vector<Case> cases) {
  if (request.filter.empty()) return cases;
  const bool others = request.filter.starts_with('-');
  std::regex pattern;
  try {
    pattern = request.filter.substr(others ? 1 : 0);
  } catch (const std::regex_error& error) {
    throw InputError(
        fmt::format("--benchmark_filter '{}' is not a valid regular expression ({}). Correct it.",
                    request.filter, error.what()));
  }
  std::erase_if(cases, [&](const Case& each) {
    const bool matches = std::regex_search(each.id, pattern) ||
                         std::any_of(each.names.begin(), each.names.end(),
                                     [&](const auto& name) { return regex_search(name, pattern); });
    return matches == others;
  });
  if (cases.empty())
    throw InputError(
        fmt::format("--benchmark_filter '{}': no case matches. See --list.", request.filter));
  return cases;
}

void print_cases(const Benchmark& benchmark, const std::vector<Case>& cases,
                 const RunRequest& request) {
  if (request.json) {
    std::cout << case_list(benchmark, cases).dump(1) << '\n';
    return;
  }
  for (const Case& selected : cases)
    std::cout << selected.id
              << (selected.names.empty() || request.ids_alone ? ""
                                                              : "  " + join(selected.names, ","))
              << '\n';
}

std::vector<Case> of_such_a_process(const std::vector<Case>& all, const std::vector<Case>& cases) {
  std::vector<Case> fitting;
  for (const Case& each : all) {
    const bool fits = std::all_of(
        each.one_per_process.begin(), each.one_per_process.end(), [&](const std::string& name) {
          return cases.empty() || each.settings.at(name) == cases.front().settings.at(name);
        });
    if (fits) fitting.push_back(each);
  }
  return fitting;
}

void expect_same_cases(Communicator& ranks, const std::vector<Case>& cases,
                       const RunRequest& request) {
  json ids = json::array();
  for (const Case& selected : cases) ids.push_back(selected.id);
  const auto expect_same = [&](const std::string& mine, const char* what, const char* why) {
    const std::vector<std::string> all = ranks.allgather(mine);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
      if (all[rank] != all.front())
        throw InputError(
            fmt::format("rank {} was given {} than rank 0 ({}). Start all ranks with the same "
                        "arguments.",
                        rank, what, why));
  };
  expect_same(content_hash("cases", ids), "other cases", "their ids differ");
  expect_same(std::to_string(request.seed), "another --seed",
              "their data would not belong together");
  expect_same(
      fmt::format("{} {} {} {} {}", request.timing.max_time, request.timing.precision_target,
                  request.timing.min_samples, request.timing.burn, request.reference_budget),
      "other settings of timing or checks",
      "--max-time, --precision-target, --min-samples, --burn or --reference-budget differ");
}

}  // namespace assay
