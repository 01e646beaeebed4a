#pragma once
// Formulas of the readers of result files: the work of a row is recomputed from its descriptor and
// its parameters. They are written from the definitions of the operations, not from the code of the
// programs, so that a mistake there is not repeated here. Each file formulas/<name>.cpp registers
// its formulas. A benchmark without a formula is not checked, nor is a field that a row lacks.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace assay::formula {

/// The fields of one row, for comparison with what they should be.
class Claims {
 public:
  /// `where` names the row in messages.
  Claims(const nlohmann::json& row, const std::string& where) : row_(row), where_(where) {}

  /// nullptr if there is no such field, or if it is null.
  const nlohmann::json* find(const std::string& pointer) const;
  /// Nothing if there is no such field. A text that is a number ("0.001") counts as one.
  std::optional<double> number(const std::string& pointer) const;
  /// A number is written as the row has it. "" if there is no such field.
  std::string text(const std::string& pointer) const;
  std::string parameter(const std::string& name) const { return text("/parameters/" + name); }

  /// InputError if the field exists, but is not this number up to rounding.
  void expect(const std::string& pointer, double expected, const std::string& origin) const;
  /// InputError if the field exists and the condition does not hold.
  void require(bool holds, const std::string& pointer, const std::string& expected,
               const std::string& origin) const;

 private:
  const nlohmann::json& row_;
  const std::string& where_;
};

/// Checks a row by all formulas of its benchmark. InputError as in check_row().
void check_formulas(const nlohmann::json& row, const std::string& where);

/// "mb16ic64alpha0.5ta" as numbers by name; a name without a number (ta) has 1, and '_' separates.
/// Empty if the text has another form.
using Fields = std::map<std::string, double>;
Fields parse_fields(const std::string& text);
double value(const Fields& fields, const std::string& name, double otherwise);

/// Bytes of an element in a precision: of inputs, of results, and of biases and statistics, which
/// always have a wide type. All are 0 for an unknown precision.
struct ElementBytes {
  double input = 0, output = 0, wide = 0;
};
ElementBytes element_bytes(const std::string& precision);

/// One operation: of a row, or of a layer.
struct Operation {
  std::string kind, descriptor;
  std::map<std::string, std::string> settings;  ///< parameters by name
  std::string setting(const std::string& name) const {
    const auto entry = settings.find(name);
    return entry == settings.end() ? "" : entry->second;
  }
};

/// The extents of an operation's problem ("oh"), its "flops" and "bytes". Empty if the kind or the
/// form of the descriptor is unknown.
Fields compute_amounts(const Operation& operation);

/// A static object of one of these types registers a formula.
struct OperationFormula {
  OperationFormula(const char* kind, Fields (*amounts)(const Operation&));
};
struct BenchmarkFormula {
  BenchmarkFormula(const char* benchmark, void (*check)(const Claims&));
};

}  // namespace assay::formula
