#pragma once
// The launches of one case, brought to one value or to the reason why there is none.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/statistics.hpp"

namespace assay {

struct NamedResult {
  std::string name;  ///< "" where there is only one
  nlohmann::json result;
};

struct Series {
  std::size_t result = 0;  ///< index into the results given
  std::vector<nlohmann::json> rows;
  std::string
      status;  ///< the gravest of its launches: one wrong launch makes the others' times worthless
  std::string reason;
  double median = 0;  ///< of the launches' medians; only where status is ok
  Interval interval;  ///< one launch: of its samples; several: of the launches' medians
  bool has_interval = false;
  bool published = false;
  const nlohmann::json& first() const { return rows.front(); }
  std::string parameter(const std::string& name) const;
  /// The algorithm that ran, with the one asked for where that is another.
  std::string algorithm() const;
  /// A name from a list, or the descriptor.
  std::string problem() const;
};

/// All series of some results, by problem and settings, equal ids of several results together.
std::vector<Series> series_of(const std::vector<NamedResult>& results);

/// A parameter's value as text ("2" for the number 2), "" for what is absent or null.
std::string text_of(const nlohmann::json& object, const std::string& key);

}  // namespace assay
