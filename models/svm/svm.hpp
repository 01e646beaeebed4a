#pragma once
// Linear support vector machine of a table that is distributed over ranks: minimise
//   P(w) = ||w||^2 / 2 + C sum_i max(0, 1 - y_i w.(x_i, 1))
// over w [d + 1], whose last element is the intercept. It is regularised like the others, as in
// LIBLINEAR (Fan, Chang, Hsieh, Wang and Lin, J. Mach. Learn. Res. 9, 2008) with a bias of 1.
//
// For any a with 0 <= a_i <= C, D(a) = sum a - ||sum_i a_i y_i (x_i, 1)||^2 / 2 is at most the
// minimum of P: P(w) - D(a) bounds from above how far w is from optimal (the duality gap).

#include <memory>
#include <span>
#include <vector>

#include "core/base/unsupported.hpp"
#include "models/analytics/analytics_benchmark.hpp"
#include "models/analytics/relations.hpp"
#include "models/analytics/rows.hpp"

namespace assay {

struct SvmSettings {
  bool nelder_mead = false;  ///< else Newton's method
  double cost = 1;           ///< C
  double gap = 1e-3;         ///< Newton: stop where P - D <= gap * P
  int evaluations = 500;     ///< of P, at most
};

/// The claims of a case, read from its texts. The verification uses these, the runs use
/// SvmSettings.
struct SvmClaims : TableClaims {
  bool nelder_mead = false;
  double cost = 1, gap = 1e-3;
  std::int64_t evaluations = 500;
  SvmClaims() = default;
  explicit SvmClaims(const Settings& settings);
};

/// The values of P and D at one w.
struct SvmValue {
  double primal = 0;
  double slack = 0;              ///< the sum of s
  double dual = 0;               ///< of a = t C s, with the best t in [0, 1]
  double smooth = 0;             ///< P with the smoothed hinge function
  std::vector<double> gradient;  ///< of `smooth`
  double gap() const { return (primal - dual) / primal; }
};

/// Why Newton's method stopped: the gap was reached; all evaluations were made; many steps made the
/// gap no smaller; or no step lowered the smoothed P.
enum class SvmEnd { reached, evaluations, rounding, stuck };

/// The last Hessian matrix that Newton's method has used.
struct SvmHessian {
  std::vector<double> w;  ///< [d + 1], where it was computed; empty: none was
  double slope = 0;
  std::vector<double> h;      ///< [d + 1, d + 1], as SvmObjective::curvature() gives it
  std::vector<double> probe;  ///< [d + 1]: the verification compares its product with h
};

/// The result of a run, the same on every rank.
struct SvmSolution {
  std::vector<double> w;    ///< [d + 1]
  double slope = 0;         ///< of the smoothed hinge that gave the dual solution; 0: there is none
  double objective = 0;     ///< P(w)
  double gap = 0;           ///< (P - D) / P; 1 where there is no dual solution
  SvmValue last;            ///< Newton's: the kernel's results for w and slope
  int evaluations = 0;      ///< passes over the table for P
  std::int64_t passes = 0;  ///< runs of the kernel, as its step counted them
  double start = 0;         ///< P where the method began, at w = 0
  double operations = 0;    ///< of the row: Execution::algorithmic_flops
  double flops = 0, curvature_flops = 0;  ///< of both kernels on all ranks, as their steps count
  std::vector<double> vertex;             ///< Nelder-Mead: a vertex of the last simplex [d + 1]
  int steps = 0;                          ///< Newton's: passes for the Hessian matrix
  SvmHessian hessian;                     ///< h and probe: only for the verification
  SvmEnd end = SvmEnd::reached;           ///< Newton's
  /// Number of rows for which P and the curvature were computed, summed over all ranks and passes,
  /// including passes over a part of the table.
  double evaluated_rows = 0, curved_rows = 0;
};

/// The linalg problems on a rank with `rows` rows: P, and its curvature.
LinalgProblem make_hinge_problem(std::int64_t rows, std::int64_t features, Precision precision);
LinalgProblem make_hessian_problem(std::int64_t rows, std::int64_t features, Precision precision);

/// Evaluates P, its smoothed form and its derivatives over all ranks, by the operations hinge and
/// hinge_hessian.
class SvmObjective {
 public:
  /// Unsupported if the case's backend lacks an operation.
  static Result<std::unique_ptr<SvmObjective>> make(const AnalysisCase& analysis, double cost,
                                                    bool with_hessian);
  /// The same for a sample of the table: the first 1 / `part` of the rows of every rank, weighted
  /// so that the sum estimates the sum over all rows. Reads the tensors x and y of `whole`, which
  /// must outlive it. Null if the sample would be too small to be useful.
  static Result<std::unique_ptr<SvmObjective>> make_part(const AnalysisCase& analysis, double cost,
                                                         SvmObjective& whole, std::int64_t part);
  /// `rows`: number of rows of all ranks.
  SvmObjective(const AnalysisCase& analysis, double rows, double cost,
               std::unique_ptr<AnalyticsStep> hinge, std::unique_ptr<AnalyticsStep> hessian);

  Device& device() { return hinge_->device(); }
  Tensor& x() { return hinge_->tensor("x"); }
  Tensor& y() { return hinge_->tensor("y"); }
  RankCalls& ranks() { return ranks_; }
  double rows() const { return rows_; }
  double cost() const { return cost_; }
  std::size_t dimensions() const { return static_cast<std::size_t>(d_) + 1; }
  void prepare();
  void poison();
  /// One pass over the table, at `w` [d + 1]. slope: of the smoothed hinge; 0: only the primal is
  /// computed. Collective.
  void evaluate(std::span<const double> w, double slope, SvmValue& value);
  /// The contribution of rows with 0 < s < 1 to the Hessian matrix at the last evaluated w: [d + 1,
  /// d + 1], still to be multiplied by C slope.
  const std::vector<double>& curvature();
  /// The Hessian matrix of `solution` for its verification, with random signs in the probe.
  SvmHessian last_hessian(const SvmSolution& solution, std::uint64_t seed) const;
  Execution execution() const;
  /// Runs of the kernel of P, and all work of both kernels, since the objective was made.
  std::int64_t passes() const { return hinge_->runs(); }
  StepWork done() const { return evaluation_work() + curvature_work(); }
  StepWork evaluation_work() const { return hinge_->done(); }
  StepWork curvature_work() const { return hessian_ == nullptr ? StepWork{} : hessian_->done(); }

 private:
  std::int64_t d_;
  double rows_, cost_;
  RankCalls ranks_;
  std::unique_ptr<AnalyticsStep> hinge_, hessian_;
  std::vector<double> sums_, slope_, curvature_, packed_;
};

/// Newton's method on the smoothed hinge, whose width shrinks until the duality gap is reached (O.
/// Chapelle, Training a support vector machine in the primal, Neural Computation 19, 2007).
class SvmNewton {
 public:
  explicit SvmNewton(std::size_t dimensions);
  /// Sets w = 0 and the first slope.
  void start(SvmSolution& solution) const;
  /// Iterates from solution.w and solution.slope until the duality gap or the number of evaluations
  /// of `settings` is reached, or until rounding prevents a smaller gap. Keeps the solution with
  /// the smallest gap.
  void run(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution);

 private:
  /// moved: to another w. solved: the smoothed problem needs no step. hidden: steps would gain less
  /// than rounding errors. stuck: no step lowers the smoothed P, although one should.
  enum class Outcome { moved, solved, hidden, stuck };
  double find_direction(SvmObjective& objective, const std::vector<double>& curvature,
                        double damping);
  bool search(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution,
              double first);
  Outcome step(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution);
  bool keeps(const SvmSolution& solution);
  SvmValue value_, trial_;
  std::vector<double> direction_, candidate_, matrix_;
  double slope_ = 1;
  std::vector<double> best_w_;  ///< with the smallest gap so far
  double best_gap_ = 0, best_slope_ = 0;
};

/// The verification of a solution: primal, dual and accuracy, computed from the table in fp64 by
/// independent arithmetic. Collective.
struct SvmCheck {
  Verification verification;
  double accuracy = 0, objective = 0, gap = 0;
  double error = 0;  ///< relative error of the run's objective
};
SvmCheck verify_svm(const SvmSolution& solution, const SvmClaims& claims, const DataTable& table,
                    const RowPass& mine, RankCalls& ranks);

/// Converts the labels of `table` (0 and 1, or -1 and +1) to -1 and +1. Reading another label
/// throws InputError with the row.
std::unique_ptr<DataTable> sign_labels(std::unique_ptr<DataTable> table);
/// InputError, with the rows, if both 0 and -1 are labels of `table` (before sign_labels(), which
/// would map both to one class), or if all rows have one class. `mine` is a pass with labels.
/// Collective.
void expect_two_classes(const DataTable& table, const RowPass& mine, Communicator& ranks);

Result<std::unique_ptr<Analysis>> make_svm(const AnalysisCase& analysis,
                                           const SvmSettings& settings);

}  // namespace assay
