#pragma once
// What assay-pca, assay-kmeans and assay-svm have in common: their tables, ranks, backends and
// dimensions.

#include <memory>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"
#include "datasets/synthetic.hpp"
#include "kernels/linalg/problem.hpp"
#include "models/analysis_workload.hpp"
#include "models/ranks.hpp"
#include "models/step.hpp"
#include "models/table_problem.hpp"

namespace assay {

/// A case of one of them, as a model is made from it.
struct AnalysisCase {
  const Settings& settings;
  std::int64_t rows = 0, features = 0;  ///< of the whole table
  RowRange mine;                        ///< rows of this rank
  Precision precision = Precision::fp64;
  Communicator& ranks;
  StepMaker& steps;
  std::uint64_t seed = 1;
};

/// A heavy operation of an analysis, as a run makes it.
struct AnalysisPart {
  LinalgProblem problem;
  bool own = true;  ///< by the case's backend alone; else by the first that has it, StepMaker::make
};

class AnalyticsBenchmark : public Benchmark {
 public:
  std::vector<Dimension> dimensions() const final;
  std::string canonical(const std::string& descriptor) const final;
  void complete(Settings& settings, const RankCount& started) const final;
  std::unique_ptr<Problem> problem(const Settings& settings) const final;
  bool ranks_share(const Settings& settings) const final;
  std::vector<double> working_sets(const Settings& settings) const final;
  Result<std::unique_ptr<Workload>> prepare(const Case& selected, CaseContext& context) const final;
  std::unique_ptr<Communicator> connect(Plugins& plugins) const final;

 protected:
  /// "algorithm", and what only this benchmark has; first in the id.
  virtual std::vector<Dimension> own_dimensions() const = 0;
  /// Names of the synthetic tables that --data takes, the first of which is the default.
  virtual std::vector<std::string> tables() const = 0;
  /// One of tables().
  virtual std::unique_ptr<Table> table(const std::string& name, const SyntheticSize& size,
                                       const Settings& settings) const = 0;
  virtual bool needs_labels() const { return false; }
  /// A table as the analysis reads it.
  virtual std::unique_ptr<Table> prepared(std::unique_ptr<Table> table) const { return table; }
  /// Settles own dimensions; InputError for settings that cannot be.
  virtual void complete_own(Settings&) const {}
  /// Floating-point operations and passes over the table of one run (TableProblem).
  virtual double work(const Settings& settings, double rows, double features) const = 0;
  virtual double passes(const Settings& settings) const = 0;
  /// Names of kernels that runs are made of, whatever the method.
  virtual std::vector<LinalgKernel> part_kernels() const = 0;
  /// The operations of the settings' method, on a rank of `rows` rows.
  virtual std::vector<AnalysisPart> parts(const Settings& settings, std::int64_t rows,
                                          std::int64_t features) const = 0;
  /// Gives the settings that a part alone does not depend on one value each.
  virtual void complete_part(Settings&) const {}
  /// Makes the analysis on this rank alone: calls no other rank, since one may refuse.
  virtual Result<std::unique_ptr<Analysis>> make(const AnalysisCase& from) const = 0;

 private:
  Result<AnalysisPart> part(const Settings& settings, int rank) const;
  Result<std::unique_ptr<Workload>> prepare_part(const Case& selected, CaseContext& context) const;
};

}  // namespace assay
