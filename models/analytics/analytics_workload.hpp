#pragma once
// An analysis of a table whose rows are distributed over the ranks, as a workload: a run is timed
// as a whole, and verified before, among and after the timed runs like any operation.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/api/communicator.hpp"
#include "core/api/oracle.hpp"
#include "core/measure/workload.hpp"
#include "datasets/table.hpp"
#include "models/analytics/step.hpp"

namespace assay {

/// Consecutive rows of a table.
struct RowRange {
  std::int64_t first = 0, count = 0;
};
/// The rows of one rank, when `rows` rows are distributed over `ranks` ranks. The numbers of rows
/// differ by at most one; the first ranks have more.
RowRange share_rows(std::int64_t rows, int rank, int ranks);

/// A case as its row names it. Verifications parse all settings from these texts again, because the
/// settings of the runs may be wrong.
struct CaseClaims {
  Settings settings;
  std::uint64_t seed = 1;
};

/// The table that a case names.
struct TableClaims {
  std::int64_t rows = 0, features = 0;
  DataType type = DataType::fp64;
  TableClaims() = default;
  explicit TableClaims(const Settings& settings);
};

/// Values and bounds of their errors, by name of the metric.
using ExpectedMetrics = std::map<std::string, Expected>;

/// One method for one shape of table. All functions are called by all ranks together.
class Analysis {
 public:
  virtual ~Analysis() = default;
  virtual Device& device() = 0;
  /// Untimed. Loads this rank's rows of `table`, and computes the method's starting values.
  virtual void load(const DataTable& table) = 0;
  /// Untimed. Fills all results with values that no result has.
  virtual void poison() = 0;
  /// Timed. Computes the results from the loaded rows. Allocates no memory.
  virtual void run() = 0;
  /// Checks the results of the last run in fp64 by independent arithmetic, and against `claims`.
  /// Reads the rows of `table` again instead of using the loaded ones. Equal on all ranks.
  virtual Verification verify(const DataTable& table, const CaseClaims& claims) = 0;
  /// The work of all calls of run() on this rank, as its steps have counted it. Work that every
  /// rank repeats is divided by their number.
  virtual StepWork done() const = 0;
  /// Size of the loaded rows.
  virtual double loaded_bytes() const = 0;
  virtual Execution execution() const = 0;
  /// Metrics of the last verified results; equal on all ranks.
  virtual std::map<std::string, Metric> metrics() const = 0;
  /// The values of metrics() as the last verification computed them, with error bounds.
  virtual ExpectedMetrics expected_metrics() const = 0;
};

/// Makes table number `draw`. Table 0 is timed; the others have the same shape and other values.
using Draws = std::function<std::unique_ptr<DataTable>(int draw)>;

/// `claims`: of the case, for verify(). `ranks` must outlive the workload. `amounts`:
/// Problem::amounts(). `create_seconds`: the time that making the analysis took, for the row.
std::unique_ptr<Workload> make_analytics_workload(std::unique_ptr<Analysis> analysis, Draws draws,
                                                  CaseClaims claims, Communicator& ranks,
                                                  std::map<std::string, double> amounts,
                                                  double create_seconds);

}  // namespace assay
