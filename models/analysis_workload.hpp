#pragma once
// An analysis of a table that is spread over the ranks, as a workload: timed as a whole, checked
// before, among and after the timed runs like any operation.

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
/// Those of one rank: as even as they divide, the first ranks with one more.
RowRange rows_of(std::int64_t rows, int rank, int ranks);

/// One method for one shape of table. All functions are called by all ranks together.
class Analysis {
 public:
  virtual ~Analysis() = default;
  virtual Device& device() = 0;
  /// Untimed: this rank's rows of `table`, and what the method starts from.
  virtual void load(const Table& table) = 0;
  /// Untimed: all results become what no result is.
  virtual void poison() = 0;
  /// Timed: from the loaded rows to the results. Allocates nothing.
  virtual void run() = 0;
  /// Checks the results of the last run against `table` in fp64, by arithmetic of its own; reads
  /// the table again, not what was loaded. The same verdict on every rank.
  virtual Verification verify(const Table& table) = 0;
  virtual Executed executed() const = 0;
  /// Of the last verified results; the same on every rank.
  virtual std::map<std::string, Metric> metrics() const = 0;
};

/// The table of a draw: 0 is the one that is timed, others have the same shape and other values.
using Draws = std::function<std::unique_ptr<Table>(int draw)>;

/// `amounts`: Problem::amounts(). `create_seconds`: what it took to make the analysis.
std::unique_ptr<Workload> analysis_workload(std::unique_ptr<Analysis> analysis, Draws draws,
                                            std::map<std::string, double> amounts,
                                            double create_seconds);

}  // namespace assay
