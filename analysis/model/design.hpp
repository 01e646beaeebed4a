#pragma once
// The columns of the least-squares problem that a formula and a frame define.

#include <map>
#include <string>
#include <vector>

#include "analysis/model/formula.hpp"
#include "analysis/model/frame.hpp"

namespace assay {

/// A factor of the formula: a number, or a level out of several.
struct Variable {
  Factor factor;
  bool categorical = false;
  std::vector<std::string> levels;  ///< the reference level first
  double low = 0, high = 0;         ///< range of the column, before the function is applied
  static constexpr double unseen = -1;
  /// The number on the function's scale, or the index of the level (`unseen` for an unknown level).
  double encode(const Cell& cell) const;
};

struct DesignColumn {
  struct Part {
    std::size_t variable;
    int level;  ///< -1: the number itself
  };
  std::string name;  ///< log(size), architecture[Power9], a[x]:log(size)
  std::vector<Part> parts;
  bool against_reference =
      false;  ///< a level of a single factor, compared with its reference level
};

/// Treatment contrasts, coded so that the columns are independent where every combination of levels
/// is observed. A factor gets a column for each level where no earlier column is their sum, else
/// for each level but the reference (the rule of Python's patsy; R differs for a few unusual
/// formulas).
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
  std::vector<double> row(const std::map<std::string, Cell>& cells) const;
  /// For each column, its value in each observation.
  const std::vector<std::vector<double>>& values() const { return values_; }
  /// The response on the scale of the fit.
  const std::vector<double>& response() const { return response_; }
  /// Factors without a column, because they have only the reference level.
  std::vector<const Variable*> single_levels() const;
  /// The other factors of all interactions with a factor of this column.
  std::vector<const Variable*> partners(const DesignColumn& column) const;

 private:
  std::size_t variable_of(const Factor& factor, const Frame& frame,
                          const std::map<std::string, std::string>& references);
  void add_columns(const std::vector<std::size_t>& numbers,
                   const std::vector<std::pair<std::size_t, bool>>& coded);
  double value(const DesignColumn& column, const std::vector<double>& codes) const;

  std::vector<Variable> variables_;
  std::vector<std::vector<std::size_t>> terms_;  ///< indices of variables
  std::vector<DesignColumn> columns_;
  std::vector<std::vector<double>> values_;
  std::vector<double> response_;
};

}  // namespace assay
