#pragma once
// What the programs of data analysis have in common in their problems: a table of rows
// (observations) of features, however large it is made.

#include <cstdint>
#include <map>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

/// The size of a table as a user gives it.
struct TableSize {
  std::int64_t rows = 0;      ///< of all ranks; 0: not given
  std::int64_t each = 0;      ///< rows of each rank (weak scaling); 0: not given
  std::int64_t bytes = 0;     ///< of the whole table; 0: not given
  std::int64_t features = 0;  ///< columns
};

/// "n262144d250" (rows, features), "each65536d250" (rows of each rank), or a size: "8GB" (10^9),
/// "8G" (2^30); without d of 250 features, "8GBd100" with others. InputError names what is wrong.
TableSize parse_table(const std::string& text);
/// The normalised text: parse_table(to_text(s)) is s.
std::string to_text(const TableSize& size);
/// The rows of the whole table, on `ranks` ranks, of elements of `element_bytes`. InputError: a
/// size below one row, more elements than 64 bits count.
std::int64_t rows_of_all(const TableSize& size, int ranks, std::size_t element_bytes);

/// An analysis of a table. Its kind is the benchmark's name; no plugin casts it.
class TableProblem final : public Problem {
 public:
  /// `work`: floating-point operations of one run; 0: not known before it. `passes`: how often one
  /// run reads the whole table; 0: not known before it. `conforms`: to a procurement, whose figure
  /// of merit it has.
  TableProblem(std::string kind, std::int64_t rows, std::int64_t features, Precision precision,
               double work, double passes, bool conforms = false);
  std::string kind() const override { return kind_; }
  std::string canonical() const override;
  nlohmann::json json() const override;
  double flops() const override { return work_; }
  double bytes() const override;
  /// flops_per_s and bytes_per_s where they are known, and input_bytes_per_s: the size of the table
  /// over the time. It is CORAL-2's figure of merit, and named figure_of_merit where the problem
  /// conforms: for no other problem than the prescribed one does it mean anything.
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
