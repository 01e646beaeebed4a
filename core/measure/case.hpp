#pragma once
// A case is one measured combination: a value for every dimension of a benchmark. Its id is
// generated from these values, so that equal ids are one series of measurements.

#include <any>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// One parameter that distinguishes cases. A benchmark declares its dimensions in the order of the
/// id.
struct Dimension {
  std::string name;  ///< "direction": flag --direction, key in suites, field in a row's parameters
  std::string help;
  std::vector<std::string> values;    ///< valid values; empty: any text that the benchmark accepts
  std::vector<std::string> defaults;  ///< values if the caller gives none
  std::string prefix;                 ///< written before the value in the id ("t" for threads)
  /// The value at which the id omits the dimension; the id has any other value as "name=value".
  /// Empty: never omitted, and written without its name.
  std::string omit;
  struct Traits {
    bool plugin = false;  ///< values are names of plugins; the environment records their software
    bool determined = false;  ///< Benchmark::complete determines the value: no flag, no suite key
    bool over_suite = false;  ///< the flag may be given with --suite and applies to all its cases
    bool in_id = true;        ///< false: does not affect what is measured (the path of a file)
    /// A process can have only one value (it opens one library), so `assay run` starts a process
    /// for each value. A process with several values measures the first, and refuses the others.
    bool one_per_process = false;
    /// Describes the system or how it does the work (backend, threads, transport), not the work:
    /// rows that differ only in such dimensions are compared.
    bool of_system = false;
    /// Values other than the defaults may name files that the program reads or writes.
    bool file = false;
  } traits{};
  /// Names of the flag and of the suite key; --help shows the first. Empty: `name` alone.
  std::vector<std::string> flags{};
  std::vector<std::string> every{};  ///< values of "all" on this machine; empty: `values`
  std::string group{"Problem"};      ///< heading of the flag in --help
  std::string shown_default{};  ///< default shown in --help if it depends on the machine; empty:
                                ///< `defaults` are shown
  /// Field of the problem's descriptor that the value sets (--depth 18 sets d18 in --problem). The
  /// id then has the value in its problem, not as a dimension of its own.
  std::string field{};

  /// All names of the suite key, `name` first.
  std::vector<std::string> names() const;
};

/// A dimension with these fields, the others as they are by default.
Dimension make_dimension(std::string name, std::string help, std::vector<std::string> values,
                         std::vector<std::string> defaults, std::string prefix = "",
                         std::string omit = "");
/// A dimension whose value Benchmark::complete determines (Dimension::Traits::determined).
Dimension make_determined_dimension(std::string name, std::string prefix);

/// Values by name of dimension.
using Settings = std::map<std::string, std::string>;

/// The share of a case in a whole that its list of problems describes (one pass through a network).
struct ListShare {
  std::string list;   ///< the list with its overrides: "resnet50@mb32"
  std::string whole;  ///< name of the whole list: "the convolutions of ResNet-50 v1.5"
  int repeat = 1;     ///< number of times that the whole has this problem
  int total = 1;      ///< sum of `repeat` over all problems of the list
  bool operator==(const ListShare&) const = default;
};
/// The object in "part_of" of a row.
void to_json(nlohmann::json& json, const ListShare& part);
void from_json(const nlohmann::json& json, ListShare& part);

struct Case {
  std::string id;
  Settings settings;  ///< a value for every dimension; "problem" is canonical
  /// Names that lists give to the problem: "resnet50/res2a_branch2b".
  std::vector<std::string> names;
  bool required = false;  ///< the suite requires it: `unsupported` then counts as a failure
  std::optional<double> tolerance{};   ///< from the suite: relative slowdown that is allowed (0.02)
  std::vector<ListShare> parts{};      ///< one for each list that was requested as a whole
  std::vector<double> working_sets{};  ///< bytes: Benchmark::working_sets(), for --list --json
  std::string note{};                  ///< from the suite: what a reader of the row must know
  std::string id_form{};               ///< form of the id by the settings: make_id_form()
  /// The dimensions that determine what a step computes (Benchmark::step_parameters()).
  std::vector<std::string> step_parameters{};
  /// The dimensions that have one value per process (Traits::one_per_process).
  std::vector<std::string> one_per_process{};
  /// The dimensions that describe the system, not the work (system_parameters()).
  std::vector<std::string> system_parameters{};
  std::any typed{};  ///< `settings` as the benchmark's own struct: Benchmark::complete()
};
/// A case in the list of a program (`--list --json`). A build of another commit (`assay run
/// --against`) may list fewer fields.
void to_json(nlohmann::json& json, const Case& benchmark_case);
void from_json(const nlohmann::json& json, Case& benchmark_case);

/// The id of a case: "conv/forward/fp32/onednn/winograd/mb16…/hot/t2[/layout=nhwc]". It contains
/// every dimension with `in_id`. Throws std::logic_error if a dimension has no value.
std::string make_id(const std::string& benchmark, const std::vector<Dimension>& dimensions,
                    const Settings& settings);

/// A template of the id, with which a reader of a row checks its id without knowing the benchmark:
/// "conv/{direction}/…/t{threads}[/layout=any][/file]". {name} is replaced by the value of a
/// dimension. [/name=value] is omitted if the dimension has this value, else it is "/name=" and the
/// value. [/name] is always omitted.
std::string make_id_form(const std::string& benchmark, const std::vector<Dimension>& dimensions);

/// The sorted names of the dimensions that describe the system (Traits::of_system).
std::vector<std::string> system_parameters(const std::vector<Dimension>& dimensions);

/// Merges cases with equal ids into one, which takes the place of the first. The merged case keeps
/// all names and parts, is required if any is, and has the smallest tolerance.
std::vector<Case> merge_equal(std::vector<Case> cases);

}  // namespace assay
