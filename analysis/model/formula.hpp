#pragma once
// Model formulas: "log(time) ~ architecture*workload + log(size) + factor(smt) - 1".

#include <string>
#include <vector>

namespace assay {

/// A column, as it stands or through a function.
struct Factor {
  std::string function;  ///< "", log, log2, sqrt or factor
  std::string column;
  std::string text() const;  ///< log(size)
  bool operator==(const Factor&) const = default;
};

/// Factors multiplied with each other: a main effect has one, an interaction several.
using Term = std::vector<Factor>;

struct Formula {
  std::string text;
  Factor response;
  bool intercept = true;
  /// Each once, main effects before interactions, else in the order of the formula.
  std::vector<Term> terms;
  /// Columns that it names, the response's first, each once.
  std::vector<std::string> columns() const;
};

/// y ~ a + b + a:b + a*b + log(x) + factor(x) - 1. InputError with the place of what is wrong.
Formula parse_formula(const std::string& text);

/// log, log2 or sqrt of a number, the number itself for "" and "factor".
double apply_function(const std::string& function, double value);
/// Back from the scale of the function.
double undo_function(const std::string& function, double value);

}  // namespace assay
