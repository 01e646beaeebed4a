#pragma once
// Suites and problem lists: data files that name what to run.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

/// A problem with the names that lists give it.
struct NamedProblem {
  std::string descriptor;      ///< canonical
  std::string name;            ///< "resnet50/res2a_branch2b", "" for a bare descriptor
  std::optional<Part> part{};  ///< where the whole list was asked for and stands for a whole
};

/// Understands `text`: a descriptor, a list ("resnet50"), or one of a list ("resnet50/conv1"), each
/// with overriding fields after '@' ("resnet50@mb32"). Lists are
/// suites/problems/<benchmark>/<list>.json. InputError with the nearest name.
std::vector<NamedProblem> find_problems(const Benchmark& benchmark, const std::string& text);

/// Names of the lists that a benchmark has.
std::vector<std::string> problem_lists(const std::string& benchmark);

/// A suite file, checked against suite.schema.json:
/// { "schema": "assay-suite/1", "name", "description", "cases": [ { "benchmark": "conv", "problem":
/// ["coral2"], "direction": ["forward"],
///   …any dimension…, "required": false, "tolerance": 0.02 } ], "timing": {"max_time",
///   "precision_target"} }
nlohmann::json read_suite(const std::filesystem::path& file);
/// `name` as a path, or as the name of a file in suites/.
std::filesystem::path find_suite(const std::string& name);
/// Names of the suites in suites/ (what else lies there, like criteria, says so by its schema).
std::vector<std::string> suite_names();
/// Whether a key of a suite's group is about all of its cases ("required"), and no dimension.
bool is_about_group(const std::string& key);
/// Names of benchmarks a suite needs, in order of first mention.
std::vector<std::string> suite_benchmarks(const nlohmann::json& suite);

/// What happens to a value that no case keeps, since the other settings give it no use: on a
/// command line it is a slip, in a suite a group may give it to several cases.
enum class Unused { left_out, refused };

/// All cases of one group of settings (several values an axis: the product), with defaults filled
/// in and every value checked (InputError with the nearest valid name). `chosen`: dimension →
/// values. Where "conform" is chosen, what it prescribes is chosen, too, and nothing else may be.
std::vector<Case> expand(const Benchmark& benchmark,
                         const std::map<std::string, std::vector<std::string>>& chosen,
                         Plugins& plugins, bool required = false, const RankCount& started = {},
                         Unused unused = Unused::left_out);
/// What `--list --json` tells of cases, and `assay run` plans by.
nlohmann::json case_list(const Benchmark& benchmark, const std::vector<Case>& cases);

/// The cases of one benchmark in a suite. `over`: dimensions whose values stand before the suite's.
std::vector<Case> expand_suite(const Benchmark& benchmark, const nlohmann::json& suite,
                               const std::string& shown_as, Plugins& plugins,
                               const RankCount& started = {},
                               const std::map<std::string, std::vector<std::string>>& over = {});

}  // namespace assay
