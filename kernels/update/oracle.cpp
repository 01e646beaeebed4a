// The fp64 reference of an update, element by element after one pass for the norms of all tensors.
// Bounds: docs/method-training.md.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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
  Approximate velocity, second, weight;
  double step = 0, step_error = 0;  ///< what was taken off
};

/// A pass over all inputs: the begin of each tensor, its factors, and the counts.
struct Pass {
  std::vector<std::int64_t> begin;
  std::vector<UpdateStep<double>> factors;
  std::vector<double> of_norms;  ///< relative errors of the factors by those of norms
  double squares_of_gradient = 0, squares_of_weights = 0, not_finite = 0, zeros = 0;
  Approximate stale;
};

/// The factors of a tensor by the definition in problem.hpp, again, so that no mistake of
/// update_factors() is in both. `g`, `w`: norms; `k`: the number of the update.
UpdateStep<double> defined_factors(const UpdateShape& of, const UpdateTensor& tensor, double rate,
                                   double unscale, double g, double w, double k) {
  const double d = tensor.decays ? of.weight_decay : 0;
  const std::string& rule = name(of.rule);
  const bool decoupled = rule == "adamw" || rule == "lamb", rms = rule.ends_with("rmsprop"),
             moments = decoupled || rule.ends_with("adam");
  UpdateStep<double> f{of.momentum, unscale, d, rate, 1, 0, 0, 1, 1, of.epsilon, 0};
  double both = 1;  // multiplies gradient and decay
  if (tensor.adapts && g > 0 && w > 0 && (rule == "lars" || rule.starts_with("larc"))) {
    const double trust = of.coefficient * w / (g + d * w);
    both = rule == "lars" ? trust : trust < rate ? trust / rate : 1;
  }
  if (rule == "lars") both *= std::exchange(f.of_velocity, 1);
  f.of_gradient *= both;
  f.of_weight *= both;
  if (decoupled) f.of_decay = std::exchange(f.of_weight, 0);
  if (rms) {
    f.keep_second = of.alpha;
    f.add_second = 1 - of.alpha;
  }
  if (!moments) return f;
  const auto without = [k](long double decay) {  // 1 - decay^k, also of a decay next to 1
    return static_cast<double>(-std::expm1(k * std::log(decay)));
  };
  f.keep = of.beta1;
  f.add = 1 - of.beta1;
  f.keep_second = of.beta2;
  f.add_second = 1 - of.beta2;
  f.of_first = 1 / without(of.beta1);
  f.of_root = std::sqrt(1 / without(of.beta2));
  return f;
}

class UpdateOracle final : public WholeOracle {
 public:
  explicit UpdateOracle(const UpdateProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  bool nonnegative(const TensorSpec& argument) const override {
    return argument.name == "rate" || argument.name == "unscale" || argument.name == "second" ||
           argument.name == "step";
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
                              v = read(inputs, "velocity", indices), s = second(inputs, indices);
    const bool stored = output.name == "stored";
    const auto [kept, made] = output.name == "velocity" ? std::pair{&v, &Updated::velocity}
                              : output.name == "second" ? std::pair{&s, &Updated::second}
                                                        : std::pair{&w, &Updated::weight};
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      while (indices[i] < pass.begin[tensor]) --tensor;
      while (indices[i] >= pass.begin[tensor + 1]) ++tensor;
      if (pass.not_finite > 0) {
        expected[i] = {(*kept)[i], 0, 0};
        continue;
      }
      const Updated result = updated(tensor, g[i], w[i], v[i], s[i], u);
      const Approximate& of = result.*made;
      // Stored weights are rounded from the rounded master copy.
      const double more = stored ? u * std::abs(of.value) : 0;
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

  /// 0 where the rule has none.
  std::vector<double> second(const Inputs& inputs, std::span<const std::int64_t> indices) const {
    return has_second() ? read(inputs, "second", indices) : std::vector<double>(indices.size());
  }
  bool has_second() const { return loop_of(problem_.shape().rule) != UpdateLoop::momentum; }

  /// How far 2-norms over n elements may lie apart, relative: sums of n squares, made in fp64 in
  /// any order, here too.
  static double of_sums(std::int64_t n) {
    return 8 * std::sqrt(static_cast<double>(n)) * unit_roundoff(DataType::fp64);
  }

  /// The smallest number of full accuracy.
  double smallest() const {
    return tensors_[3].type == DataType::fp64 ? std::numeric_limits<double>::min()
                                              : std::numeric_limits<float>::min();
  }

  /// h / (of_root sqrt(s) + epsilon): `by` is the divisor, of an s with an error.
  Approximate divided(const Approximate& h, const Approximate& s, const UpdateStep<double>& f,
                      double u) const {
    const auto by = [&](double second) { return f.of_root * std::sqrt(second) + f.epsilon; };
    const double root = by(s.value), least = by(std::max(0.0, s.value - s.error)) * (1 - 8 * u),
                 value = h.value / root;
    return {value,
            h.error / least + std::abs(h.value) * (1 / least - 1 / root) + 2 * u * std::abs(value)};
  }

  /// Factors are relative to 8u: three products, and norms.
  Updated updated(std::size_t tensor, double g, double w, double v, double s, double u) const {
    const UpdateStep<double>& f = pass_.factors[tensor];
    const UpdateLoop loop = loop_of(problem_.shape().rule);
    const bool lamb = problem_.shape().rule == UpdateRule::lamb;
    const double of_norms = lamb ? 0 : pass_.of_norms[tensor], kept = f.keep * v,
                 of_g = f.of_gradient * g, of_w = f.of_weight * w;
    Updated updated;
    Approximate h{of_g + of_w, (10 * u + of_norms) * (std::abs(of_g) + std::abs(of_w))};
    Approximate step;
    if (loop == UpdateLoop::momentum) {
      updated.velocity = {kept + h.value, 4 * u * std::abs(kept) + h.error};
      step = updated.velocity;
    } else {
      h.error += smallest();  // which a small epsilon enlarges
      updated.second = {f.keep_second * s + f.add_second * square(h.value),
                        4 * u * f.keep_second * s + smallest() +
                            f.add_second * (6 * u * square(h.value) +
                                            (2 * std::abs(h.value) + h.error) * h.error)};
      const double add = loop == UpdateLoop::moments ? f.add : 1;
      Approximate more{add * h.value, add * (h.error + 4 * u * std::abs(h.value)) + smallest()};
      if (loop == UpdateLoop::rmsprop) more = divided(more, updated.second, f, u);
      updated.velocity = {kept + more.value, 4 * u * std::abs(kept) + more.error +
                                                 u * std::abs(more.value) + smallest()};
      step = updated.velocity;
    }
    if (loop == UpdateLoop::moments) {
      const Approximate first{f.of_first * step.value,
                              f.of_first * (step.error + 4 * u * std::abs(step.value))};
      step = divided(first, updated.second, f, u);
      const double decayed = f.of_decay * w;
      step.error += 4 * u * (std::abs(step.value) + std::abs(decayed));
      step.value += decayed;
    }
    updated.step = f.of_velocity * step.value;
    updated.weight.value = w - updated.step;
    updated.step_error = f.of_velocity * step.error +
                         (3 * u + (lamb ? pass_.of_norms[tensor] : 0)) * std::abs(updated.step);
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
    const bool moments = loop_of(problem_.shape().rule) == UpdateLoop::moments;
    const double step = moments ? inputs.find("step")->second(0) : 1;
    for (const UpdateTensor& tensor : problem_.shape().tensors) {
      const double g = squares(inputs, "gradient", tensor, true) * square(unscale),
                   w = squares(inputs, "weights", tensor, false);
      pass_.squares_of_gradient += g;
      pass_.squares_of_weights += w;
      pass_.factors.push_back(defined_factors(problem_.shape(), tensor, rate, unscale, std::sqrt(g),
                                              std::sqrt(w), step));
      pass_.of_norms.push_back(needs_trust(problem_.shape().rule) ? of_sums(tensor.elements) : 0);
      pass_.begin.push_back(pass_.begin.back() + tensor.elements);
    }
    if (problem_.shape().rule == UpdateRule::lamb && pass_.not_finite == 0) trust(inputs, u);
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

  /// body(tensor, weight before, its update) for all elements.
  template <class Body>
  void each_update(const Inputs& inputs, double u, const Body& body) const {
    for (std::size_t t = 0; t < pass_.factors.size(); ++t) {
      const std::int64_t begin = pass_.begin[t];
      std::vector<double> w, v, s;
      blocks(inputs.find("gradient")->second, begin, problem_.shape().tensors[t].elements,
             [&](std::int64_t first, const std::vector<double>& g) {
               for (std::vector<double>* const values : {&w, &v, &s}) values->resize(g.size());
               inputs.find("weights")->second.fill(begin + first, w);
               inputs.find("velocity")->second.fill(begin + first, v);
               if (has_second()) inputs.find("second")->second.fill(begin + first, s);
               for (std::size_t i = 0; i < g.size(); ++i)
                 body(t, w[i], updated(t, g[i], w[i], v[i], s[i], u));
             });
    }
  }

  /// Multiplies the rates of lamb. The error of a norm is at most the norm of the errors.
  void trust(const Inputs& inputs, double u) const {
    const double rate = inputs.find("rate")->second(0);
    std::vector<double> weights(pass_.factors.size()), steps = weights, errors = weights;
    for (UpdateStep<double>& factors : pass_.factors) factors.of_velocity = 1;
    each_update(inputs, u, [&](std::size_t t, double w, const Updated& made) {
      weights[t] += square(w);
      steps[t] += square(made.step);
      errors[t] += square(made.step_error);
    });
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const UpdateTensor& tensor = problem_.shape().tensors[t];
      const bool adapts = tensor.adapts && weights[t] > 0 && steps[t] > 0;
      pass_.factors[t].of_velocity = rate * (adapts ? std::sqrt(weights[t] / steps[t]) : 1);
      if (tensor.adapts && steps[t] > 0)
        pass_.of_norms[t] = 8 * u + of_sums(tensor.elements) + std::sqrt(errors[t] / steps[t]);
    }
  }

  /// A weight may be as before or not where what its step may be, with its error, reaches half the
  /// weight's last place: also where the step is a small difference of large parts, whose error is
  /// more than that place. A step that may have been 0 makes no stale weight.
  void count_stale(const Inputs& inputs, double u) const {
    const DataType type = tensors_[3].type;
    each_update(inputs, u, [&](std::size_t, double w, const Updated& made) {
      const double error = made.weight.error;
      if (made.step == 0 && made.step_error == 0) return;
      const double low = round_to(type, made.weight.value - error),
                   high = round_to(type, made.weight.value + error);
      const bool may = low <= w && w <= high,
                 must = low == w && high == w && std::abs(made.step) > made.step_error + smallest();
      if (made.step != 0 && round_to(type, made.weight.value) == w) pass_.stale.value += 1;
      if (may && !must) pass_.stale.error += 1;
    });
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
