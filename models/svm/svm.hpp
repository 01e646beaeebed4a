#pragma once
// Linear support vector machine of a table that is spread over ranks: minimise
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
#include "models/analytics_benchmark.hpp"
#include "models/relations.hpp"
#include "models/rows.hpp"

namespace assay {

struct SvmSettings {
  bool nelder_mead = false;  ///< else Newton's method
  double cost = 1;           ///< C
  double gap = 1e-3;         ///< Newton: stop at P - D <= gap P
  int evaluations = 500;     ///< at most
};

/// What is known of P and D at one w.
struct SvmValue {
  double primal = 0;
  double dual = 0;               ///< of a = t C s, with the best t in [0, 1]
  double smooth = 0;             ///< P with the smoothed hinge
  std::vector<double> gradient;  ///< of `smooth`
  double gap() const { return (primal - dual) / primal; }
};

/// The result of a run, the same on every rank.
struct SvmSolution {
  std::vector<double> w;  ///< [d + 1]
  double slope = 0;       ///< of the smoothed hinge that gave the dual solution; 0: none did
  double objective = 0;   ///< P(w)
  double gap = 0;         ///< (P - D) / P; 1 where there is no dual solution
  int evaluations = 0;    ///< passes over the table for P
  int steps = 0;          ///< Newton's: passes for the Hessian matrix
  /// Of all ranks, over all passes: rows of which P, and of which the curvature was computed, also
  /// those of a part of the table.
  double evaluated_rows = 0, curved_rows = 0;
};

/// The operations on a rank of `rows` rows: of P, and of its curvature.
LinalgProblem hinge_of(std::int64_t rows, std::int64_t features, Precision precision);
LinalgProblem hessian_of(std::int64_t rows, std::int64_t features, Precision precision);

/// Evaluates P, its smoothed form and its derivatives over all ranks, by the operations hinge and
/// hinge_hessian.
class SvmObjective {
 public:
  /// Unsupported where the case's backend lacks an operation.
  static Result<std::unique_ptr<SvmObjective>> make(const AnalysisCase& from, double cost,
                                                    bool with_hessian);
  /// The same of the first 1 / `part` of the rows of every rank, each with the weight of the rows
  /// that it stands for; it reads the tensors x and y of `whole`, which must outlive it. Null where
  /// these are too few rows to tell anything of all.
  static Result<std::unique_ptr<SvmObjective>> make_part(const AnalysisCase& from, double cost,
                                                         SvmObjective& whole, std::int64_t part);
  /// `rows`: of all ranks.
  SvmObjective(const AnalysisCase& from, double rows, double cost, std::unique_ptr<Step> hinge,
               std::unique_ptr<Step> hessian);

  Device& device() { return hinge_->device(); }
  Tensor& x() { return hinge_->tensor("x"); }
  Tensor& y() { return hinge_->tensor("y"); }
  RankCalls& ranks() { return ranks_; }
  double rows() const { return rows_; }
  double cost() const { return cost_; }
  std::size_t dimensions() const { return static_cast<std::size_t>(d_) + 1; }
  void prepare();
  void poison();
  /// One pass over the table. slope 0: the primal alone is known.
  void evaluate(std::span<const double> w, double slope, SvmValue& value);
  /// The part of the Hessian matrix of the sum that rows with 0 < s < 1 make at the last evaluated
  /// w: [d + 1, d + 1], to be multiplied by C slope.
  const std::vector<double>& curvature();
  Executed executed() const;

 private:
  std::int64_t d_;
  double rows_, cost_;
  RankCalls ranks_;
  std::unique_ptr<Step> hinge_, hessian_;
  std::vector<double> sums_, slope_, curvature_, packed_;
};

/// Newton's method on the smoothed hinge, whose width shrinks until the duality gap is reached
/// (Chapelle, Training a support vector machine in the primal, Neural Computation 19, 2007).
class SvmNewton {
 public:
  explicit SvmNewton(std::size_t dimensions);
  /// w = 0 and the first slope.
  void start(SvmSolution& solution) const;
  /// From solution.w and solution.slope on.
  void run(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution);

 private:
  double find_direction(SvmObjective& objective);
  bool step(SvmObjective& objective, const SvmSettings& settings, SvmSolution& solution);
  SvmValue value_, trial_;
  std::vector<double> direction_, candidate_, matrix_;
  double slope_ = 1, curved_rows_ = 0;
};

/// The value at the result, and how far a run was checked: primal, dual and accuracy from the
/// table, in fp64, by arithmetic of its own. Collective.
struct SvmCheck {
  Verification verification;
  double accuracy = 0, objective = 0, gap = 0;
};
SvmCheck verify_svm(const SvmSolution& solution, const SvmSettings& settings, const Table& table,
                    const RowPass& mine, RankCalls& ranks);

/// `table` with labels of -1 and +1, of a table with labels of 0 and 1 or of -1 and +1. InputError,
/// when it is read, for any other label, with its row.
std::unique_ptr<Table> signed_labels(std::unique_ptr<Table> table);

Result<std::unique_ptr<Analysis>> make_svm(const AnalysisCase& from, const SvmSettings& settings);

}  // namespace assay
