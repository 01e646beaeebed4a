#pragma once
// Suites and lists of problems: JSON files that name the cases to run.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

/// A problem with the names that lists give it.
struct NamedProblem {
  std::string descriptor;           ///< canonical
  std::string name;                 ///< "resnet50/res2a_branch2b", "" for a bare descriptor
  std::optional<ListShare> part{};  ///< if the whole list was requested and describes a whole
};

/// The problems that `text` denotes: a descriptor, a list ("resnet50"), or a problem of a list
/// ("resnet50/conv1"), each with overriding fields after '@' ("resnet50@mb32"). Lists are files
/// suites/problems/<benchmark>/<list>.json. InputError with the nearest name.
std::vector<NamedProblem> find_problems(const Benchmark& benchmark, const std::string& text);

/// The end of the name of a list's file in "mine.json/conv1@mb32"; npos if no file is named.
std::size_t end_of_file_name(const std::string& problem);
/// True if a problem of a suite is in a list whose file's name begins at the suite's folder.
bool is_beside_suite(const std::string& problem);

/// Names of the lists of a benchmark.
std::vector<std::string> list_problem_lists(const std::string& benchmark);

/// Reads a suite file and checks it against results-schema/suite.schema.json:
///   {"schema": "assay-suite/1", "name": …, "description": …,
///    "cases": [{"benchmark": "conv", "problem": ["coral2"], "direction": ["forward"],
///               …any dimension…, "required": false, "tolerance": 0.02}],
///    "timing": {"max_time": …, "precision_target": …}}
nlohmann::json read_suite(const std::filesystem::path& file);
/// The suite file that `name` denotes: a path, or the name of a file in suites/.
std::filesystem::path find_suite(const std::string& name);
/// All texts in a document, also below its lists and objects: names of files may be among them.
std::vector<std::string> texts_in(const nlohmann::json& document);
/// Names of the suites in suites/. Files with another schema (criteria) are not suites.
std::vector<std::string> list_suite_names();
/// True if a key of a suite's group names no dimension: it applies to all cases of the group
/// ("required").
bool is_about_group(const std::string& key);
/// Names of the benchmarks that a suite needs, in the order in which they first appear.
std::vector<std::string> suite_benchmarks(const nlohmann::json& suite);

/// The treatment of a given value that affects no case because of the other settings. On a command
/// line it is an error; in a suite it is ignored, since a group may give it for some of its cases
/// only.
enum class UnusedValues { left_out, refused };

/// The cases of one group of settings: the product of the values of all dimensions, with defaults
/// for those that are not given. `chosen`: values by dimension. If "conform" is chosen, the values
/// that it prescribes are added. InputError, with the nearest valid name, for invalid values.
std::vector<Case> expand(const Benchmark& benchmark,
                         const std::map<std::string, std::vector<std::string>>& chosen,
                         Plugins& plugins, bool required = false, const RankCount& started = {},
                         UnusedValues unused = UnusedValues::left_out);
/// The plugins that a case's settings name; `auto` names none.
std::vector<std::string> list_plugins(const Benchmark& benchmark, const Settings& settings);

/// The output of `--list --json`, from which `assay run` makes its plan.
nlohmann::json case_list(const Benchmark& benchmark, const std::vector<Case>& cases);

/// The cases of one benchmark in a suite. `shown_as`: name of the suite in messages. `over`: values
/// by dimension that replace those of the suite.
std::vector<Case> expand_suite(const Benchmark& benchmark, const nlohmann::json& suite,
                               const std::string& shown_as, Plugins& plugins,
                               const RankCount& started = {},
                               const std::map<std::string, std::vector<std::string>>& over = {});

}  // namespace assay
