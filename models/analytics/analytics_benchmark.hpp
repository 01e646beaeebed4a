#pragma once
// The common part of assay-pca, assay-kmeans and assay-svm: tables, ranks, backends, dimensions.

#include <any>
#include <memory>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"
#include "datasets/synthetic.hpp"
#include "kernels/linalg/problem.hpp"
#include "models/analytics/analytics_workload.hpp"
#include "models/analytics/rows.hpp"
#include "models/analytics/step.hpp"
#include "models/analytics/table_problem.hpp"
#include "models/ranks.hpp"

namespace assay {

/// The settings of a case.
struct AnalyticsSettings {
  std::string algorithm{}, backend{}, device{}, blas{}, smt{}, data{};
  std::string part{};                   ///< "whole", or the kernel that runs alone
  std::int64_t rows = 0, features = 0;  ///< of the whole table
  Precision precision = Precision::fp64;
  int ranks = 1, threads = 1;
  bool conforms = false;  ///< to the problem that a procurement prescribes
  std::any method{};      ///< further settings, as complete_own() has read them
  bool is_whole() const { return part == "whole"; }
  Options options() const {
    return {{{"backend", backend}, {"device", device}, {"blas", blas}}, threads};
  }
  /// Number of sums over rows that the backend holds at once.
  int sums_of_threads() const { return backend == "native" ? threads : 1; }
};

/// The arguments with which a benchmark makes the analysis of a case.
struct AnalysisCase {
  const AnalyticsSettings& settings;
  std::int64_t rows = 0, features = 0;  ///< of the whole table
  RowRange mine;                        ///< rows of this rank
  Precision precision = Precision::fp64;
  Communicator& ranks;
  StepMaker& steps;
  std::uint64_t seed = 1;
};

/// Bytes that an analysis takes on a rank beside the rows themselves.
struct AnalysisMemory {
  double device = 0;  ///< the other inputs and the results of its operations
  double host = 0;    ///< its own, and that of its verification
};

/// An operation that takes a large part of an analysis' time. It can be benchmarked alone, with the
/// shape that the analysis uses.
struct AnalysisPart {
  LinalgProblem problem;
  bool own = true;  ///< true: on the case's backend (make_own); false: as StepMaker::make chooses
};

class AnalyticsBenchmark : public Benchmark {
 public:
  std::vector<Dimension> dimensions() const final;
  std::string canonical(const std::string& descriptor) const final;
  std::any complete(Settings& settings, const RankCount& started) const final;
  std::shared_ptr<const Problem> problem(const Case& selected) const final;
  bool ranks_share(const Case& selected) const final;
  std::vector<double> working_sets(const Case& selected) const final;
  Result<std::unique_ptr<Workload>> prepare(const Case& selected, CaseContext& context) const final;
  std::unique_ptr<Communicator> connect(Plugins& plugins) const final;
  /// The memory that the method of `settings` allocates for `rows` rows of a rank. A case that
  /// needs more than there is fails before it reads or generates any row.
  virtual AnalysisMemory memory(const AnalyticsSettings& settings, std::int64_t rows,
                                std::int64_t features) const = 0;

 protected:
  /// "algorithm", and dimensions that only this benchmark has. They are first in the id.
  virtual std::vector<Dimension> own_dimensions() const = 0;
  /// Names of the synthetic tables, which are values of --data. The first one is the default.
  virtual std::vector<std::string> tables() const = 0;
  /// One of tables().
  virtual std::unique_ptr<DataTable> table(const std::string& name, const SyntheticSize& size,
                                           const AnalyticsSettings& settings) const = 0;
  virtual bool needs_labels() const { return false; }
  /// The table in the form that the analysis needs.
  virtual std::unique_ptr<DataTable> prepare_table(std::unique_ptr<DataTable> table) const {
    return table;
  }
  /// True if the results do not depend on the origin, and the analysis sums squares of differences.
  /// Files are then centred, and the squares of their differences must not underflow.
  virtual bool is_centred() const { return true; }
  /// InputError if all labels of a file together do not suit the analysis. The table has not passed
  /// prepare_table(). Collective.
  virtual void expect_good_labels(const DataTable&, const RowPass&, Communicator&) const {}
  /// Benchmark::complete for own_dimensions(); sets `read.method`.
  virtual void complete_own(Settings&, AnalyticsSettings& /*read*/) const {}
  /// Floating-point operations and passes over the table of one run (TableProblem).
  virtual double work(const AnalyticsSettings& settings, double rows, double features) const = 0;
  virtual double passes(const AnalyticsSettings& settings) const = 0;
  /// The kernels that parts() of any method may have.
  virtual std::vector<LinalgKernel> part_kernels() const = 0;
  /// The parts of the chosen method on a rank with `rows` rows.
  virtual std::vector<AnalysisPart> parts(const AnalyticsSettings& settings, std::int64_t rows,
                                          std::int64_t features) const = 0;
  /// Benchmark::complete for a part alone: gives settings that do not affect it a fixed value.
  virtual void complete_part(Settings&, AnalyticsSettings& /*read*/) const {}
  /// Makes the analysis. It is not collective, since a rank may refuse.
  virtual Result<std::unique_ptr<Analysis>> make(const AnalysisCase& analysis) const = 0;

 private:
  /// Table number `draw` of a file.
  std::unique_ptr<DataTable> of_file(const std::string& data, std::uint64_t draw) const;
  /// file_table() of a value of --data; its errors also name the generated tables.
  const DataTable& file_or_name(const std::string& data, Communicator* ranks) const;
  Result<AnalysisPart> part(const AnalyticsSettings& settings, int rank) const;
  /// Why this rank cannot run the whole analysis, or "". CaseError where memory does not suffice.
  std::string why_not_here(const AnalysisCase& analysis, int ranks_here) const;
  /// The same for all ranks; then checks that every row of the file can be used. Collective.
  /// InputError.
  std::string expect_good_file(const AnalysisCase& analysis, int ranks_here) const;
  TableProblem table_problem(const AnalyticsSettings& settings) const;
  Result<std::unique_ptr<Workload>> prepare_part(const AnalyticsSettings& settings,
                                                 CaseContext& context) const;
};

}  // namespace assay
