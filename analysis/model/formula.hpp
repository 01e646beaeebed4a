#pragma once
// Model formulas: "log(time) ~ architecture*workload + log(size) + factor(smt) - 1".

#include <string>
#include <vector>

namespace assay {

/// A column of the frame, or a function of it.
struct Factor {
  std::string function;  ///< "", log, log2, sqrt or factor
  std::string column;
  std::string text() const;  ///< log(size)
  bool operator==(const Factor&) const = default;
};

/// A product of factors: a main effect has one factor, an interaction several.
using Term = std::vector<Factor>;

struct Formula {
  std::string text;
  Factor response;
  bool intercept = true;
  /// The terms are distinct. Main effects come before interactions; otherwise terms are in the
  /// order of the formula.
  std::vector<Term> terms;
  /// The distinct columns in the formula, the response first.
  std::vector<std::string> columns() const;
};

/// y ~ a + b + a:b + a*b + log(x) + factor(x) - 1. InputError with the position of the error.
Formula parse_formula(const std::string& text);

/// log, log2 or sqrt of a number, the number itself for "" and "factor".
double apply_function(const std::string& function, double value);
/// The inverse of apply_function.
double undo_function(const std::string& function, double value);

}  // namespace assay
