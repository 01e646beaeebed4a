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
    std::vector<UpdateStep<double>> factors;
    const UpdateLoop loop = find_loop(problem_.shape().rule);
    const double step = loop == UpdateLoop::moments ? read("step", 0, 1)[0] : 1;
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
      factors.push_back(update_factors(problem_.shape(), tensor, rate, unscale, std::sqrt(g),
                                       std::sqrt(w), step));
      if (problem_.shape().rule == UpdateRule::lamb) {
        double r = 0;
        for (const double value : moved(factors.back(), begin, tensor.elements).step)
          r += value * value;
        factors.back().of_velocity *= lamb_trust(tensor, std::sqrt(w), std::sqrt(r));
      }
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
  /// `step`: the amount that is subtracted, without of_velocity.
  struct Moved {
    std::vector<double> velocity, second, step;
  };
  Moved moved(const UpdateStep<double>& f, std::int64_t begin, std::int64_t count) const {
    const UpdateLoop loop = find_loop(problem_.shape().rule);
    const std::vector<double> g = read("gradient", begin, count), w = read("weights", begin, count);
    Moved to{read("velocity", begin, count), {}, std::vector<double>(g.size())};
    if (loop != UpdateLoop::momentum) to.second = read("second", begin, count);
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double h = f.of_gradient * g[i] + f.of_weight * w[i];
      double& v = to.velocity[i];
      double root = 1;
      if (loop != UpdateLoop::momentum) {
        to.second[i] = f.keep_second * to.second[i] + f.add_second * h * h;
        root = f.of_root * std::sqrt(to.second[i]) + f.epsilon;
      }
      v = f.keep * v + (loop == UpdateLoop::rmsprop ? h / root : f.add * h);
      to.step[i] = loop == UpdateLoop::moments ? f.of_first * v / root + f.of_decay * w[i] : v;
    }
    return to;
  }

  /// Returns how many weights are stale.
  double update(const UpdateStep<double>& f, std::int64_t begin, std::int64_t count,
                bool finite) const {
    const DataType type = arguments_[3].type;
    std::vector<double> w = read("weights", begin, count);
    double stale = 0;
    if (finite) {
      const Moved to = moved(f, begin, count);
      for (std::size_t i = 0; i < w.size(); ++i) {
        const double step = f.of_velocity * to.step[i], after = round_to(type, w[i] - step);
        stale += step != 0 && after == w[i] ? 1 : 0;
        w[i] = after;
      }
      write("velocity", begin, to.velocity);
      if (!to.second.empty()) write("second", begin, to.second);
    }
    write("weights", begin, w);
    for (const TensorSpec& argument : arguments_)
      if (argument.name == "stored") write("stored", begin, w);
    return stale;
  }

  UpdateProblem problem_;
};

const Maker add_update{
    makers(), problem_kind<UpdateProblem>(), &make_plain<UpdateProblem, PlainUpdate>, {"direct"}};

}  // namespace
}  // namespace assay::reference
