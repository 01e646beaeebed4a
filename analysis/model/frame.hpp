#pragma once
// Result files as a table for a fit: one observation for each row and launch, with named columns.

#include <Eigen/Core>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/document.hpp"

namespace assay {

/// No row can be used. The command ends with exit code 6 (nothing was compared).
class NothingToModel : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A number or a text; null if the row lacks the column.
using FrameValue = nlohmann::json;

struct Observation {
  std::string label;   ///< system, id and launch
  std::string launch;  ///< equal for rows of the same launch, unique for a published number
  std::string citation;
  /// Only numbers of the same scope may be compared. The scope is "" for measured and for
  /// comparable published numbers; otherwise it is the source outside of which they are
  /// incomparable.
  std::string scope;
  std::string incomparable;  ///< why the scope is limited
  bool published = false, shared = false, throttled = false;
  std::map<std::string, FrameValue> cells;
  /// The cell of a column; null if the observation lacks it.
  const FrameValue& at(const std::string& column) const;
};

/// Keeps the parts of each row that a frame reads.
bool keep_for_model(Row& row, std::string_view text, const RunResult& head);

/// The observations of results, in the order of files and rows, and the rows that were left out.
class Frame {
 public:
  /// Columns: time, error, rate.<name>, system, host, benchmark, name, problem (the descriptor),
  /// ran (the algorithm) and implementation of what was executed, all parameters, and the scalars
  /// of the problem whose names are still free. Rows that are not ok are left out, and so are all
  /// other launches of their ids.
  explicit Frame(const Results& results);

  const std::vector<Observation>& observations() const { return observations_; }
  std::size_t size() const { return observations_.size(); }
  /// Columns that any observation has, sorted.
  std::vector<std::string> columns() const;
  /// Keeps the observations that have all of `columns` and that may be compared with each other;
  /// the others are added to left_out. InputError with the nearest name for an unknown column;
  /// NothingToModel if no observation is left.
  void select(const std::vector<std::string>& columns);
  const std::vector<Exclusion>& left_out() const { return left_out_; }
  /// True if every observation that has the column has a number there.
  bool numeric(const std::string& column) const;

 private:
  template <class Keep>
  void keep_only(const Keep& wanted, const std::string& reason_of_others);
  /// "12: failed, 3: no value of size".
  std::string reasons() const;
  std::vector<Observation> observations_;
  std::vector<Exclusion> left_out_;
};

/// The name of a level: 8, 0.5, PCA.
std::string level_name(const FrameValue& cell);

/// The group of each observation, counted from 0. Observations of the same launch (`by` is
/// "launch"), or with the same value of the column `by`, are in the same group.
std::vector<Eigen::Index> group_observations(const Frame& frame, const std::string& by);

}  // namespace assay
