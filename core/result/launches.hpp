#pragma once
// The launches of one case, brought to one value or to the reason why there is none: the one rule
// that tables and baselines share.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

/// What makes two rows of one id comparable as launches: the hashes of the hardware and the
/// software that their environment had. Rows of different ones are never brought to one number.
std::string environment_key(const nlohmann::json& result, const nlohmann::json& row);

/// The launches of one id in one environment.
struct Launches {
  std::vector<nlohmann::json> rows;
  std::string environment;  ///< environment_key
  std::string
      status;  ///< the gravest of its launches: one wrong launch makes the others' times worthless
  std::string reason;
  std::vector<double> medians;  ///< of each launch; only where status is ok
  double median = 0;            ///< of the launches' medians; for published rows the best time
  bool published = false;
  /// A published row may have a rate and no time. Its status is then `unsupported`, and this is the
  /// greatest rate of its launches, with its name.
  double rate = 0;
  std::string rate_name;
  const nlohmann::json& first() const { return rows.front(); }
};

/// All rows of one id, which may come from several environments, as Launches with status, reason
/// and median; in the order in which the environments first appear.
class LaunchGroups {
 public:
  /// A later attempt at a launch makes good a crash, never a wrong result.
  void add(nlohmann::json row, const std::string& environment);
  std::vector<Launches> summarized() const;
  /// The same, with the rows moved out: nothing is left to be summarized.
  std::vector<Launches> take();

 private:
  struct Entry {
    nlohmann::json row;
    std::string environment;
  };
  std::vector<Entry> entries_;
};

}  // namespace assay
