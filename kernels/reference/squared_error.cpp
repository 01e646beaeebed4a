// The squared error by plain loops in fp64, on row-major tensors.

#include "kernels/squared_error/problem.hpp"

#include <cmath>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

class PlainSquaredError final : public PlainOperation {
 public:
  PlainSquaredError(const SquaredErrorProblem& problem, int threads)
      : PlainOperation(problem, threads), problem_(problem) {}

  void run(Stream&) override {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t n = 0; n < problem_.shape().samples; ++n) sample(n);
  }

 private:
  /// Subtracts the mean. Equal numbers become zeros.
  static void center(std::vector<double>& values) {
    const double first = values[0];
    double sum = 0;
    for (double& value : values) sum += value -= first;
    for (double& value : values) value -= sum / static_cast<double>(values.size());
  }

  void sample(std::int64_t n) const {
    const auto [samples, features] = problem_.shape();
    std::vector<double> x = read("outputs", n * features, features),
                        t = read("targets", n * features, features), difference(x.size());
    double squares = 0;
    for (std::size_t f = 0; f < x.size(); ++f) {
      difference[f] = x[f] - t[f];
      squares += difference[f] * difference[f];
    }
    write("losses", n, squares / static_cast<double>(features));
    center(x);
    center(t);
    double xx = 0, tt = 0, xt = 0;
    for (std::size_t f = 0; f < x.size(); ++f) {
      xx += x[f] * x[f];
      tt += t[f] * t[f];
      xt += x[f] * t[f];
    }
    const double size = std::sqrt(xx) * std::sqrt(tt), r = size == 0 ? 0 : xt / size;
    write("correlations", n, r > 1 ? 1 : r < -1 ? -1 : r);
    if (problem_.pass() != SquaredErrorPass::training) return;
    const double by = 2 * read("scale", 0, 1)[0] / static_cast<double>(features * samples);
    for (double& value : difference) value *= by;
    write("diff_outputs", n * features, difference);
  }

  SquaredErrorProblem problem_;
};

const Maker add_squared_error{makers(),
                              problem_kind<SquaredErrorProblem>(),
                              &make_plain<SquaredErrorProblem, PlainSquaredError>,
                              {"direct"}};

}  // namespace
}  // namespace assay::reference
