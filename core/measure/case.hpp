#pragma once
// A case is one series of numbers: a complete set of settings, from which its id is generated.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// One axis along which cases differ. A benchmark declares its axes in the order of the id.
struct Dimension {
  std::string name;  ///< "direction": flag --direction, key in suites, field in a row's parameters
  std::string help;
  std::vector<std::string> values;    ///< valid values; empty: any text that the benchmark accepts
  std::vector<std::string> defaults;  ///< used when the caller gives none
  std::string prefix;                 ///< written before the value in the id ("t" for threads)
  std::string
      omit;  ///< value at which the id leaves the axis out; other values then read "name=value"
  bool plugin = false;  ///< values are names of plugins, whose software the environment has
  bool found = false;   ///< Benchmark::complete determines it: no flag, no suite key
  std::string also{};   ///< another name of the flag and the key ("bytes")
  std::string flag{};   ///< name of the flag and the suite key where that is not `name`, which is
                        ///< then an old name: it still works and says so on stderr
  std::vector<std::string> every{};  ///< what "all" stands for on this machine; empty: `values`
  std::string group{"Problem"};      ///< heading of the flag in --help
  std::string shown_default{};  ///< default in --help where that depends on the machine; empty: it
                                ///< is `defaults`
  bool over_suite = false;      ///< its flag may be given with --suite, and applies to all cases
  bool in_id = true;            ///< false: it changes nothing of what is measured (a file's path)
  std::string field{};  ///< field of the problem's descriptor that the value sets: --depth 18 is
                        ///< d18 in --problem, so the id has it there and not as an axis of its own
  bool in_step = true;  ///< false: a step of training computes the same at each value (which images
                        ///< there are, how long the training goes on)
};

using Settings = std::map<std::string, std::string>;

/// A case's share of what its list stands for as a whole (a pass through a network).
struct Part {
  std::string list;   ///< with its overrides: "resnet50@mb32"
  std::string whole;  ///< "the convolutions of ResNet-50 v1.5"
  int repeat = 1;     ///< how often the whole has this problem
  int of = 1;         ///< sum of the repeats of the list
  bool operator==(const Part&) const = default;
};
/// As rows hold it in "part_of".
void to_json(nlohmann::json& json, const Part& part);
void from_json(const nlohmann::json& json, Part& part);

struct Case {
  std::string id;
  Settings settings;  ///< a value for every dimension; "problem" is canonical
  std::vector<std::string>
      names;              ///< names under which lists know the problem: "resnet50/res2a_branch2b"
  bool required = false;  ///< a suite demands it: unsupported is then a failure
  std::optional<double> tolerance{};   ///< of the suite: part by which a later run may be slower
  std::vector<Part> parts{};           ///< one for each list that was asked for as a whole
  std::vector<double> working_sets{};  ///< Benchmark::working_sets(), as --list --json tells them
  std::string note{};                  ///< of the suite: what a reader of the row must know
  std::string id_form{};               ///< how the id is made of the settings (make_id_form)
  /// Of a training: the dimensions that say what a step of it computes (step_parameters()).
  std::vector<std::string> step_parameters{};
};

/// "conv/forward/fp32/onednn/winograd/mb16…/hot/t2[/layout=nhwc]". Complete: equal ids are equal
/// series. Throws std::logic_error if a dimension has no value.
std::string make_id(const std::string& benchmark, const std::vector<Dimension>& dimensions,
                    const Settings& settings);

/// How make_id makes an id of settings, for whoever reads a row and knows no benchmark:
/// "conv/{direction}/…/t{threads}[/layout=any][/file]". {name} is the value of a dimension,
/// [/name=value] stands for "/name=" + the value but is left out at this one, and [/name] is always
/// left out.
std::string make_id_form(const std::string& benchmark, const std::vector<Dimension>& dimensions);

/// The names of those that say what a step of training computes, ascending: a throughput and a
/// convergence that are equal in all of them, and in their software, belong together.
std::vector<std::string> step_parameters(const std::vector<Dimension>& dimensions);

/// Merges cases of equal id into one with all names, keeping the first one's place.
std::vector<Case> merge_equal(std::vector<Case> cases);

}  // namespace assay
