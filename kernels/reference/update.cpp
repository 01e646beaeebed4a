// The update of parameters by plain loops in fp64.

#include "kernels/update/problem.hpp"

#include <cmath>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

class PlainUpdate final : public PlainOperation {
 public:
  PlainUpdate(const UpdateProblem& problem, int threads)
      : PlainOperation(problem, threads), problem_(problem) {}

  void run(Stream&) override {
    const std::vector<UpdateTensor>& tensors = problem_.shape().tensors;
    const double rate = read("rate", 0, 1)[0], unscale = read("unscale", 0, 1)[0];
    std::vector<UpdateFactors> factors;
    std::vector<double> norms(2), counts(3);
    std::int64_t begin = 0;
    for (const UpdateTensor& tensor : tensors) {
      double g = 0, w = 0;
      for (const double value : read("gradient", begin, tensor.elements)) {
        g += value * unscale * (value * unscale);
        counts[0] += std::isfinite(value) ? 0 : 1;
        counts[1] += value == 0 ? 1 : 0;
      }
      for (const double value : read("weights", begin, tensor.elements)) w += value * value;
      norms[0] += g;
      norms[1] += w;
      factors.push_back(
          update_factors(problem_.shape(), tensor, rate, unscale, std::sqrt(g), std::sqrt(w)));
      begin += tensor.elements;
    }
    begin = 0;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      counts[2] += update(factors[t], begin, tensors[t].elements, counts[0] == 0);
      begin += tensors[t].elements;
    }
    for (double& norm : norms) norm = std::sqrt(norm);
    write("norms", 0, norms);
    write("counts", 0, counts);
  }

 private:
  /// Returns how many weights are stale.
  double update(const UpdateFactors& f, std::int64_t begin, std::int64_t count, bool finite) const {
    const DataType type = arguments_[3].type;
    const std::vector<double> g = read("gradient", begin, count);
    std::vector<double> w = read("weights", begin, count), v = read("velocity", begin, count);
    double stale = 0;
    for (std::size_t i = 0; finite && i < g.size(); ++i) {
      v[i] = problem_.shape().momentum * v[i] + f.of_gradient * g[i] + f.of_weight * w[i];
      const double step = f.of_velocity * v[i], after = round_to(type, w[i] - step);
      stale += step != 0 && after == w[i] ? 1 : 0;
      w[i] = after;
    }
    write("weights", begin, w);
    write("velocity", begin, v);
    if (arguments_[5].name == "stored") write("stored", begin, w);
    return stale;
  }

  UpdateProblem problem_;
};

const Maker add_update{
    makers(), kind_of<UpdateProblem>(), &make_plain<UpdateProblem, PlainUpdate>, {"direct"}};

}  // namespace
}  // namespace assay::reference
