#pragma once
// What a fleet must keep: suites/criteria/acceptance.json and its like (criteria.schema.json;
// docs/acceptance.md explains every key).

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/pattern.hpp"

namespace assay {

/// A regular expression that ids must hold, with its text for people.
struct RowsRule {
  std::string text;
  Pattern pattern;
  bool holds(const std::string& id) const { return pattern.in(id); }
};

struct RelativeRule {
  RowsRule rows;
  double slower_at_most = 0;
  std::string text;       ///< "at most 5 % slower than the other nodes (rows: .*)"
  bool optional = false;  ///< may hold for no row
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
  bool of_noise = false;  ///< load or stolen time: where it is broken the node was NOT-QUIET
  bool before = true, after = true;
  std::optional<double> at_least, at_most, grows_at_most;
  bool required = false, optional = false;
  std::string text;  ///< the quantity's pointer
};

struct Criteria {
  std::string name, file;
  std::vector<std::string> node_names;    ///< expected by name, or
  std::optional<std::size_t> node_count;  ///< by number; neither: those seen
  std::vector<RowsRule> include, exclude;
  std::vector<RelativeRule> relative;
  std::vector<AbsoluteRule> absolute;
  std::vector<HealthRule> health;
  /// Whether a row counts.
  bool counts(const std::string& id) const;
};

/// `name` as a path, or as the name of shipped criteria (suites/criteria/<name>.json); InputError
/// with the nearest name.
std::filesystem::path find_criteria(const std::string& name);
/// Names of the shipped criteria.
std::vector<std::string> criteria_names();

/// InputError for what breaks the schema, with the pointer for what is no regular expression or no
/// JSON pointer.
Criteria read_criteria(const std::filesystem::path& file);

}  // namespace assay
