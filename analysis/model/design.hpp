#pragma once
// A formula and a frame as the columns of a least-squares problem.

#include <map>
#include <string>
#include <vector>

#include "analysis/model/formula.hpp"
#include "analysis/model/frame.hpp"

namespace assay {

/// A factor of the formula: a number, or one of some levels.
struct Variable {
  Factor factor;
  bool categorical = false;
  std::vector<std::string> levels;  ///< the reference first
  double low = 0, high = 0;         ///< of the column itself, before the function
  static constexpr double unseen = -1;
  /// The number on the function's scale, or the level's index (`unseen` for one there is none of).
  double encode(const Cell& cell) const;
};

struct DesignColumn {
  struct Part {
    std::size_t variable;
    int level;  ///< -1: the number itself
  };
  std::string name;  ///< log(size), architecture[Power9], a[x]:log(size)
  std::vector<Part> parts;
  bool against_reference = false;  ///< one level of one factor, beside its reference level
};

/// Treatment contrasts, coded so that the columns are independent wherever every combination of
/// levels is observed: a factor has all its levels where nothing before it holds their sum, else
/// all but the reference (the rule of Python's patsy; R agrees but for a few odd formulas).
class Design {
 public:
  /// `references`: column → level. A level's reference is else the one that comes first in the
  /// frame. InputError for text where a number is needed, numbers outside of a function's domain,
  /// and levels that there are not.
  Design(const Formula& formula, const Frame& frame,
         const std::map<std::string, std::string>& references);

  const std::vector<DesignColumn>& columns() const { return columns_; }
  const std::vector<Variable>& variables() const { return variables_; }
  /// One value for each design column; `cells` by column name.
  std::vector<double> row(const std::map<std::string, Cell>& cells) const;
  /// Column by column, a value for each observation.
  const std::vector<std::vector<double>>& values() const { return values_; }
  /// The response on the scale of the fit.
  const std::vector<double>& response() const { return response_; }
  /// Factors that can have no column, for they have only the reference level.
  std::vector<const Variable*> single_levels() const;
  /// The other factors of the interactions that the factor of a column takes part in.
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
