#pragma once
// The columns of the least-squares problem that a formula and a frame define.

#include <Eigen/Dense>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/formula.hpp"
#include "analysis/model/frame.hpp"

namespace assay {

/// A factor of the formula: a number, or a level out of several.
struct Variable {
  Factor factor;
  bool categorical = false;
  std::vector<std::string> levels{};  ///< the reference level first
  double low = 0, high = 0;           ///< range of the column, before the function is applied
  static constexpr double unseen = -1;
  /// The number on the function's scale, or the index of the level (`unseen` for an unknown level).
  /// InputError, naming `where`, for a number outside of the function's domain.
  double encode(const FrameValue& cell, const std::string& where) const;
};

struct DesignColumn {
  struct Part {
    std::size_t variable;
    int level;  ///< -1: the number itself
  };
  std::string name{};  ///< log(size), architecture[Power9], a[x]:log(size)
  std::vector<Part> parts{};
  /// True if the column is a level of a single factor, compared with its reference level.
  bool against_reference = false;
};

/// Treatment contrasts, coded so that the columns are independent if every combination of levels is
/// observed. A factor gets a column for each level if no earlier column is the sum of these;
/// otherwise a column for each level except the reference (the rule of Python's patsy; R differs
/// for a few unusual formulas).
class Design {
 public:
  /// `references`: column → reference level; by default the level of the first observation.
  /// InputError for text where a number is needed, numbers outside of a function's domain, and
  /// unknown levels.
  Design(const Formula& formula, const Frame& frame,
         const std::map<std::string, std::string>& references);

  const std::vector<DesignColumn>& columns() const { return columns_; }
  const std::vector<Variable>& variables() const { return variables_; }
  /// The value of each design column for an observation with these cells (by column name).
  Eigen::VectorXd row(const std::map<std::string, FrameValue>& cells,
                      const std::string& where) const;
  /// A row for each observation.
  const Eigen::MatrixXd& values() const { return values_; }
  /// The response on the scale of the fit.
  const Eigen::VectorXd& response() const { return response_; }
  /// Factors without a column, because they have only the reference level.
  std::vector<const Variable*> single_levels() const;
  /// The other factors of all interactions with a factor of this column.
  std::vector<const Variable*> partners(const DesignColumn& column) const;

  /// A factor of a subterm (its index), with all its levels (true) or without the reference level.
  using Coding = std::pair<std::size_t, bool>;

 private:
  /// The index of a factor's variable; adds the variable if it is new.
  std::size_t find_variable(const Factor& factor, const Frame& frame,
                            const std::map<std::string, std::string>& references);
  void add_terms(bool intercept);
  void add_columns(const std::vector<std::size_t>& numbers, const std::vector<Coding>& factors);
  void extend(DesignColumn& column, std::size_t variable, int level) const;

  std::vector<Variable> variables_;
  std::vector<std::vector<std::size_t>> terms_;  ///< indices of variables
  std::vector<DesignColumn> columns_;
  Eigen::MatrixXd values_;
  Eigen::VectorXd response_;
};

}  // namespace assay
