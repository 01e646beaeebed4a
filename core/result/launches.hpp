#pragma once
// Summarizes the launches of one case to one value, or to the reason why there is none. Tables and
// baselines share this rule.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

/// The hashes of hardware and software of a row's environment. Rows of one id are launches of the
/// same case only if their keys are equal; other rows are never summarized together.
std::string environment_key(const nlohmann::json& result, const nlohmann::json& row);

/// The launches of one id in one environment, summarized.
struct Launches {
  std::vector<nlohmann::json> rows;
  std::string environment;  ///< environment_key()
  /// The most severe status of any launch: if one launch is incorrect, the times of the others are
  /// not reported.
  std::string status;
  std::string reason;
  std::vector<double> medians;  ///< seconds, of each launch; empty unless status is ok
  double median = 0;            ///< median of `medians`; of published rows the shortest time
  bool published = false;
  /// A published row may have a rate, but no time. Its status is then `unsupported`, and this is
  /// the largest rate of the launches, with its name.
  double rate = 0;
  std::string rate_name;
  const nlohmann::json& first() const { return rows.front(); }
};

/// Groups the rows of one id by their environments.
class LaunchGroups {
 public:
  /// Adds a row. A later attempt at the same launch replaces a row that crashed, but never one with
  /// incorrect results.
  void add(nlohmann::json row, const std::string& environment);
  /// One summary for each environment, in the order in which environments first appear.
  std::vector<Launches> summarized() const;
  /// The same, but moves the rows: the groups are then empty.
  std::vector<Launches> take();

 private:
  struct Entry {
    nlohmann::json row;
    std::string environment;
  };
  std::vector<Entry> entries_;
};

}  // namespace assay
