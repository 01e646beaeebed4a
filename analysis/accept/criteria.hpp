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
  Pattern pattern;
  bool applies_to(const std::string& id) const { return pattern.in(id); }
};

struct RelativeRule {
  RowsRule rows;
  double slower_at_most = 0;
  std::string text;       ///< "at most 5 % slower than the other nodes (rows: .*)"
  bool optional = false;  ///< it is no error if the rule applies to no row
};

struct AbsoluteRule {
  RowsRule rows;
  std::string quantity;  ///< time_s, a rate, or ceiling_fraction
  std::optional<double> at_least, at_most;
  std::string text;
  bool optional = false;
};

struct HealthRule {
  nlohmann::json::json_pointer quantity;
  bool of_noise = false;  ///< load or stolen time: a node that violates it is NOT-QUIET
  bool before = true, after = true;
  std::optional<double> at_least, at_most, grows_at_most;
  bool required = false, optional = false;
  std::string text;  ///< the quantity in words
};

struct Criteria {
  std::string name, file;
  std::vector<std::string> node_names;    ///< expected nodes by name
  std::optional<std::size_t> node_count;  ///< or by number; neither: the nodes with results
  std::vector<RowsRule> include, exclude;
  std::vector<RelativeRule> relative;
  std::vector<AbsoluteRule> absolute;
  std::vector<HealthRule> health;
  /// Whether a row is judged.
  bool includes(const std::string& id) const;
};

/// The file of criteria: `name` is a path, or the name of shipped criteria
/// (suites/criteria/<name>.json). InputError with the nearest name.
std::filesystem::path find_criteria(const std::string& name);
/// Names of the shipped criteria.
std::vector<std::string> criteria_names();

/// InputError for a file that violates the schema, and, with the position, for an invalid regular
/// expression or JSON pointer.
Criteria read_criteria(const std::filesystem::path& file);

}  // namespace assay
