#pragma once
// The problem of the programs of data analysis: a table of rows (observations) and features.

#include <cstdint>
#include <map>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

/// The size of a table as the user gives it: exactly one of rows, each and bytes is set.
struct TableSize {
  std::int64_t rows = 0;      ///< of the whole table; 0: not given
  std::int64_t each = 0;      ///< rows of each rank (weak scaling); 0: not given
  std::int64_t bytes = 0;     ///< of the whole table; 0: not given
  std::int64_t features = 0;  ///< columns
};

/// Parses "n262144d250" (rows, features), "each65536d250" (rows of each rank), or a size in bytes:
/// "8GB" (8 * 10^9) or "8G" (8 * 2^30), with 250 features unless they are given ("8GBd100").
/// InputError names the invalid part.
TableSize parse_table(const std::string& text);
/// The normalised text: parse_table(to_text(s)) is s.
std::string to_text(const TableSize& size);
/// The number of rows of the whole table on `ranks` ranks, with elements of `element_bytes` bytes.
/// InputError if the size is less than one row, or if the number of elements exceeds 64 bits.
std::int64_t rows_of_all(const TableSize& size, int ranks, std::size_t element_bytes);

/// An analysis of a table. Its kind is the benchmark's name; no plugin casts it.
class TableProblem final : public Problem {
 public:
  /// `work`: floating-point operations of one run. `passes`: how often one run reads the whole
  /// table. Both are 0 if unknown before the run. `conforms`: a procurement prescribes the case
  /// (--conform), so the row has the procurement's figure of merit.
  TableProblem(std::string kind, std::int64_t rows, std::int64_t features, Precision precision,
               double work, double passes, bool conforms = false);
  std::string kind() const override { return kind_; }
  std::string canonical() const override;
  nlohmann::json json() const override;
  double flops() const override { return work_; }
  double bytes() const override;
  /// flops_per_s and bytes_per_s if they are known, and input_bytes_per_s, the size of the table
  /// over the time. The latter is CORAL-2's figure of merit; it is called figure_of_merit only if
  /// the problem conforms, because it is only defined for the prescribed problem.
  std::map<std::string, double> amounts() const override;

 private:
  double table_bytes() const;

  std::string kind_;
  std::int64_t rows_, features_;
  Precision precision_;
  double work_, passes_;
  bool conforms_;
};

}  // namespace assay
