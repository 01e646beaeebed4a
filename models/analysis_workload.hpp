#pragma once
// An analysis of a table whose rows are distributed over the ranks, as a workload: a run is timed
// as a whole, and verified before, among and after the timed runs like any operation.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "datasets/table.hpp"

namespace assay {

/// Consecutive rows of a table.
struct RowRange {
  std::int64_t first = 0, count = 0;
};
/// The rows of one rank, when `rows` rows are distributed over `ranks` ranks. The numbers of rows
/// differ by at most one; the first ranks have more.
RowRange rows_of(std::int64_t rows, int rank, int ranks);

/// One method for one shape of table. All functions are called by all ranks together.
class Analysis {
 public:
  virtual ~Analysis() = default;
  virtual Device& device() = 0;
  /// Untimed. Loads this rank's rows of `table`, and computes the method's starting values.
  virtual void load(const Table& table) = 0;
  /// Untimed. Fills all results with values that no result has.
  virtual void poison() = 0;
  /// Timed. Computes the results from the loaded rows. Allocates no memory.
  virtual void run() = 0;
  /// Checks the results of the last run in fp64 by independent arithmetic. Reads the rows of
  /// `table` again, not those that were loaded. Equal on all ranks.
  virtual Verification verify(const Table& table) = 0;
  virtual Executed executed() const = 0;
  /// Metrics of the last verified results; equal on all ranks.
  virtual std::map<std::string, Metric> metrics() const = 0;
};

/// Makes table number `draw`. Table 0 is timed; the others have the same shape and other values.
using Draws = std::function<std::unique_ptr<Table>(int draw)>;

/// `amounts`: Problem::amounts(). `create_seconds`: the time that making the analysis took, for the
/// row.
std::unique_ptr<Workload> analysis_workload(std::unique_ptr<Analysis> analysis, Draws draws,
                                            std::map<std::string, double> amounts,
                                            double create_seconds);

}  // namespace assay
