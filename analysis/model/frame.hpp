#pragma once
// Result files as a table for a model: an observation for each row of each launch, columns by name.

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// No row can be used: exit code 6, since nothing was compared.
class NothingToModel : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A number or a text; null where the row lacks the column.
using Cell = nlohmann::json;

struct Observation {
  std::string label;   ///< system, id and launch
  std::string launch;  ///< equal for rows of one launch; a published number is one of its own
  std::string citation;
  /// Numbers of one scope may be set beside each other: "" what was measured or published as such,
  /// else the source within which alone they compare.
  std::string scope;
  std::string incomparable;  ///< why it has a scope
  bool published = false, shared = false;
  std::map<std::string, Cell> cells;
  /// The cell of a column, null where there is none.
  const Cell& at(const std::string& column) const;
};

struct LeftOut {
  std::size_t rows = 0;
  std::string reason;
};

/// The observations of some results, in the order of files and rows, and what is none of them.
class Frame {
 public:
  /// Columns: time, error, rate.<name>, system, host, benchmark, name, problem (the descriptor),
  /// every parameter, and every scalar of the problem that no other column is named like. Rows that
  /// are not ok, and launches of an id of which another launch is not, are left out.
  explicit Frame(const std::vector<NamedResult>& results);

  const std::vector<Observation>& observations() const { return observations_; }
  std::size_t size() const { return observations_.size(); }
  /// Columns that some row has, sorted.
  std::vector<std::string> columns() const;
  /// Keeps the observations that have all of `columns` and that may stand in one model; says what
  /// went. InputError with the nearest name for a column that no row has; NothingToModel if no
  /// observation is left.
  void select(const std::vector<std::string>& columns);
  const std::vector<LeftOut>& left_out() const { return left_out_; }
  /// Whether every observation that has the column has a number there.
  bool numeric(const std::string& column) const;

 private:
  template <class Keep>
  void keep(const std::string& reason, const Keep& wanted);
  std::vector<Observation> observations_;
  std::vector<LeftOut> left_out_;
};

/// A cell as the name of a level: 8, 0.5, PCA.
std::string level_name(const Cell& cell);

/// Group numbers of the observations, from 0: equal where they are of one launch, or have one value
/// of the column `by`.
std::vector<std::size_t> groups_of(const Frame& frame, const std::string& by);

}  // namespace assay
