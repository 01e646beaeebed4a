// The fp64 reference of an update, element by element after one pass for the norms of all tensors.
// Bounds: docs/method-training.md.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/place.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"
#include "kernels/update/problem.hpp"

namespace assay {
namespace {

using sums::Approximate;
using sums::Bounds;
using sums::square;

/// One parameter after the update.
struct Updated {
  Approximate velocity, weight;
  double step = 0, step_error = 0;  ///< what was taken off
};

/// A pass over all inputs: the begin of each tensor, its factors, and the counts.
struct Pass {
  std::vector<std::int64_t> begin;
  std::vector<UpdateFactors> factors;
  double squares_of_gradient = 0, squares_of_weights = 0, not_finite = 0, zeros = 0;
  Approximate stale;
};

class UpdateOracle final : public WholeOracle {
 public:
  explicit UpdateOracle(const UpdateProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  bool nonnegative(const TensorSpec& argument) const override {
    return argument.name == "rate" || argument.name == "unscale";
  }
  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
    const Pass& pass = this->pass(inputs, u);
    const Bounds bounds(problem_.precision(), executed, output.type, place(output.elements()));
    if (output.dims[0] <= 3 && (output.name == "norms" || output.name == "counts")) {
      for (std::size_t i = 0; i < indices.size(); ++i)
        expected[i] = of_all(output.name, indices[i], pass, u, bounds);
      return;
    }
    const std::vector<double> g = read(inputs, "gradient", indices),
                              w = read(inputs, "weights", indices),
                              v = read(inputs, "velocity", indices);
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      while (indices[i] < pass.begin[tensor]) --tensor;
      while (indices[i] >= pass.begin[tensor + 1]) ++tensor;
      if (pass.not_finite > 0) {
        const double kept = output.name == "velocity" ? v[i] : w[i];
        expected[i] = {kept, 0, 0};
        continue;
      }
      const Updated result = updated(tensor, pass.factors[tensor], g[i], w[i], v[i], u);
      const Approximate& of = output.name == "velocity" ? result.velocity : result.weight;
      // Stored weights are rounded from the rounded master copy.
      const double more = output.name == "stored" ? u * std::abs(of.value) : 0;
      expected[i] = bounds.expected({of.value, of.error + more});
    }
  }

 private:
  static std::vector<double> read(const Inputs& inputs, const char* name,
                                  std::span<const std::int64_t> indices) {
    std::vector<double> values(indices.size());
    if (indices.empty()) return values;
    const Values& from = inputs.find(name)->second;
    if (indices.back() - indices.front() + 1 == static_cast<std::int64_t>(indices.size())) {
      from.fill(indices.front(), values);
      return values;
    }
    for (std::size_t i = 0; i < indices.size(); ++i) values[i] = from(indices[i]);
    return values;
  }

  /// How far 2-norms over n elements may lie apart, relative: sums of n squares, made in fp64 in
  /// any order, here too.
  static double of_sums(std::int64_t n) {
    return 8 * std::sqrt(static_cast<double>(n)) * unit_roundoff(DataType::fp64);
  }

  /// Factors are relative to 8u: three products, and norms.
  Updated updated(std::size_t tensor, const UpdateFactors& f, double g, double w, double v,
                  double u) const {
    const UpdateShape& shape = problem_.shape();
    const double of_norms =
        shape.rule == UpdateRule::sgd ? 0 : of_sums(shape.tensors[tensor].elements);
    const double kept = shape.momentum * v, of_g = f.of_gradient * g, of_w = f.of_weight * w;
    Updated updated;
    updated.velocity.value = kept + of_g + of_w;
    updated.velocity.error =
        4 * u * std::abs(kept) + (10 * u + of_norms) * (std::abs(of_g) + std::abs(of_w));
    updated.step = f.of_velocity * updated.velocity.value;
    updated.weight.value = w - updated.step;
    updated.step_error = f.of_velocity * updated.velocity.error + 3 * u * std::abs(updated.step);
    updated.weight.error =
        updated.step_error + unit_roundoff(DataType::fp64) * std::abs(w);  // this subtraction's own
    return updated;
  }

  Expected of_all(const std::string& name, std::int64_t index, const Pass& pass, double u,
                  const Bounds& bounds) const {
    if (name == "norms") {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      if (index == 0 && pass.not_finite > 0) return {0, infinity, infinity};  // any is right
      const double norm =
          std::sqrt(index == 0 ? pass.squares_of_gradient : pass.squares_of_weights);
      const double error = (8 * u + of_sums(problem_.shape().elements())) * norm;
      return bounds.expected({norm, error});
    }
    if (index == 2) return {pass.stale.value, pass.stale.error, pass.stale.error};
    return {index == 0 ? pass.not_finite : pass.zeros, 0, 0};
  }

  /// The pass over the last inputs.
  const Pass& pass(const Inputs& inputs, double u) const {
    std::vector<double> key = sums::fingerprint(tensors_, inputs);
    key.push_back(u);
    if (key == key_) return pass_;
    pass_ = {};
    pass_.begin.push_back(0);
    const double rate = inputs.find("rate")->second(0), unscale = inputs.find("unscale")->second(0);
    for (const UpdateTensor& tensor : problem_.shape().tensors) {
      const double g = squares(inputs, "gradient", tensor, true) * square(unscale),
                   w = squares(inputs, "weights", tensor, false);
      pass_.squares_of_gradient += g;
      pass_.squares_of_weights += w;
      pass_.factors.push_back(
          update_factors(problem_.shape(), tensor, rate, unscale, std::sqrt(g), std::sqrt(w)));
      pass_.begin.push_back(pass_.begin.back() + tensor.elements);
    }
    if (pass_.not_finite == 0) count_stale(inputs, u);
    key_ = std::move(key);
    return pass_;
  }

  /// Calls body(values) for blocks of the tensor that begins where the last known one ends.
  template <class Body>
  void blocks(const Values& values, std::int64_t begin, std::int64_t count,
              const Body& body) const {
    constexpr std::int64_t block = 4096;
    std::vector<double> some;
    for (std::int64_t first = 0; first < count; first += block) {
      some.resize(place(std::min(block, count - first)));
      values.fill(begin + first, some);
      body(first, some);
    }
  }

  double squares(const Inputs& inputs, const char* name, const UpdateTensor& tensor,
                 bool counts) const {
    double sum = 0;
    blocks(inputs.find(name)->second, pass_.begin.back(), tensor.elements,
           [&](std::int64_t, const std::vector<double>& values) {
             for (const double value : values) {
               sum += square(value);
               if (!counts) continue;
               if (!std::isfinite(value)) ++pass_.not_finite;
               if (value == 0) ++pass_.zeros;
             }
           });
    return sum;
  }

  /// A weight may be as before or not where what its step may be, with its error, reaches half the
  /// weight's last place: also where the step is a small difference of large parts, whose error is
  /// more than that place. A step that may have been 0 makes no stale weight.
  void count_stale(const Inputs& inputs, double u) const {
    const DataType type = tensors_[3].type;
    const double smallest = type == DataType::fp64 ? std::numeric_limits<double>::min()
                                                   : std::numeric_limits<float>::min();
    const Values &weights = inputs.find("weights")->second,
                 &velocity = inputs.find("velocity")->second;
    for (std::size_t t = 0; t < pass_.factors.size(); ++t) {
      const std::int64_t begin = pass_.begin[t], count = pass_.begin[t + 1] - begin;
      std::vector<double> w, v;
      blocks(inputs.find("gradient")->second, begin, count,
             [&](std::int64_t first, const std::vector<double>& g) {
               w.resize(g.size());
               v.resize(g.size());
               weights.fill(begin + first, w);
               velocity.fill(begin + first, v);
               for (std::size_t i = 0; i < g.size(); ++i) {
                 const Updated made = updated(t, pass_.factors[t], g[i], w[i], v[i], u);
                 const double error = made.weight.error;
                 if (made.step == 0 && made.step_error == 0) continue;
                 const double low = round_to(type, made.weight.value - error),
                              high = round_to(type, made.weight.value + error);
                 const bool may = low <= w[i] && w[i] <= high,
                            must = low == w[i] && high == w[i] &&
                                   std::abs(made.step) > made.step_error + smallest;
                 if (made.step != 0 && round_to(type, made.weight.value) == w[i])
                   pass_.stale.value += 1;
                 if (may && !must) pass_.stale.error += 1;
               }
             });
    }
  }

  UpdateProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable Pass pass_;
};

}  // namespace

std::unique_ptr<Oracle> update_oracle(const UpdateProblem& problem) {
  return std::make_unique<UpdateOracle>(problem);
}

}  // namespace assay
