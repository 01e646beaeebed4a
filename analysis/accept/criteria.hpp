#pragma once
// Criteria for a fleet, like suites/criteria/acceptance.json (criteria.schema.json; all keys are
// explained in docs/acceptance.md).

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/pattern.hpp"

namespace assay {

/// A regular expression that ids must contain, with its text for people.
struct RowsRule {
  std::string text;
  TextPattern pattern;
  bool applies_to(const std::string& id) const { return pattern.in(id); }
};

struct RowCriterion {
  RowsRule rows{};
  std::string text{};     ///< "at most 5 % slower than the other nodes (rows: .*)"
  bool optional = false;  ///< the rule may apply to no row
};

struct RelativeRule : RowCriterion {
  double slower_at_most = 0;
};

struct AbsoluteRule : RowCriterion {
  std::string quantity{};  ///< time_s, a rate, or ceiling_fraction
  std::optional<double> at_least{}, at_most{};
};

/// No node may be slower than the spread of the nodes explains (spread.hpp).
struct SpreadRule : RowCriterion {
  double false_alarms = 0.01;       ///< fraction of healthy fleets in which a node fails
  double slower_at_least = 0.01;    ///< smaller differences do not matter
  std::optional<double> at_most{};  ///< of the spread itself
};

/// A limit of a state, before or after the run, or of its growth meanwhile.
struct StateLimit {
  enum class Moment { before, after, growth };
  std::string criterion;  ///< "load per core (last minute) before the run at most 0.25"
  Moment when = Moment::before;
  double limit = 0;
  bool at_most = true;
};

struct HealthRule {
  nlohmann::json::json_pointer quantity;
  std::vector<StateLimit> limits;
  bool from_noise = false;  ///< load or stolen time: a node that violates it is NOT-QUIET
  bool required = false, optional = false;
};

/// A limit on the errors and links that the devices of a node report (row.device_health).
struct DeviceRule {
  std::string quantity{};  ///< a value, a counter, or "errors", "corrected", "corrected_meanwhile"
  std::string text{};      ///< "pcie_width of each device at least 16"
  std::optional<double> at_least{}, at_most{};
  bool optional = false;  ///< a device need not report it
};

struct Criteria {
  std::string name, file, sha256;         ///< sha256: of the file's bytes
  nlohmann::json content;                 ///< of the file
  std::vector<std::string> node_names;    ///< expected nodes by name
  std::optional<std::size_t> node_count;  ///< expected number of nodes; without names and number:
                                          ///< the nodes with results
  std::vector<RowsRule> include, exclude;
  std::vector<RelativeRule> relative;
  std::vector<SpreadRule> spread;
  std::vector<AbsoluteRule> absolute;
  std::vector<HealthRule> health;
  std::vector<DeviceRule> devices;
  /// True if a row is judged.
  bool includes(const std::string& id) const;
};

/// Reads the file of criteria. `name` is a path, or the name of shipped criteria
/// (suites/criteria/<name>.json). InputError with the nearest name.
std::filesystem::path find_criteria(const std::string& name);
/// Names of the shipped criteria.
std::vector<std::string> list_criteria_names();

/// InputError for a file that violates the schema, and, with the position, for an invalid regular
/// expression or JSON pointer.
Criteria read_criteria(const std::filesystem::path& file);

}  // namespace assay
