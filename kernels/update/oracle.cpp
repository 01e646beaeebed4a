// The fp64 reference of an update, element by element after one pass for the norms of all tensors.
// Bounds: docs/method-training.md.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "core/api/belief.hpp"
#include "core/base/place.hpp"
#include "kernels/oracle/channel_sums.hpp"
#include "kernels/oracle/failure.hpp"
#include "kernels/update/formula_items.hpp"
#include "kernels/update/problem.hpp"

namespace assay {
namespace {

using sums::Approximate;
using sums::Bounds;
using sums::square;
using update::Row;

/// The results of one pass over all inputs.
struct Pass {
  std::vector<double> rows;  ///< of update::Row
  double squares_of_gradient = 0, squares_of_weights = 0, not_finite = 0, zeros = 0;
  Approximate stale;
};

/// The factors of a tensor, implemented again from the definition in problem.hpp, so that a mistake
/// of update_factors() is not repeated here. `g`, `w`: norms; `k`: the number of the update.
UpdateStep<double> define_factors(const UpdateShape& rules, const UpdateTensor& tensor, double rate,
                                  double unscale, double g, double w, double k) {
  const double d = tensor.decays ? rules.weight_decay : 0;
  const std::string& rule = name(rules.rule);
  const bool decoupled = rule == "adamw" || rule == "lamb", rms = rule.ends_with("rmsprop"),
             moments = decoupled || rule.ends_with("adam");
  UpdateStep<double> f{rules.momentum, unscale, d, rate, 1, 0, 0, 1, 1, rules.epsilon, 0};
  double both = 1;  // multiplies gradient and decay
  if (tensor.adapts && g > 0 && w > 0 && (rule == "lars" || rule.starts_with("larc"))) {
    const double trust = rules.coefficient * w / (g + d * w);
    both = rule == "lars" ? trust : trust < rate ? trust / rate : 1;
  }
  if (rule == "lars") both *= std::exchange(f.of_velocity, 1);
  f.of_gradient *= both;
  f.of_weight *= both;
  if (decoupled) f.of_decay = std::exchange(f.of_weight, 0);
  if (rms) {
    f.keep_second = rules.alpha;
    f.add_second = 1 - rules.alpha;
  }
  if (!moments) return f;
  const auto without = [k](long double decay) {  // 1 - decay^k, precise even for a decay close to 1
    return static_cast<double>(-std::expm1(k * std::log(decay)));
  };
  f.keep = rules.beta1;
  f.add = 1 - rules.beta1;
  f.keep_second = rules.beta2;
  f.add_second = 1 - rules.beta2;
  f.of_first = 1 / without(rules.beta1);
  f.of_root = std::sqrt(1 / without(rules.beta2));
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
  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    const Pass& pass = this->pass(inputs, u);
    if (is_of_all(output)) {
      const Bounds bounds(problem_.precision(), execution, output.type, place(output.elements()));
      for (std::size_t i = 0; i < indices.size(); ++i)
        expected[i] = of_all(output.name, indices[i], pass, u, bounds);
      return;
    }
    sums::expect_elements(element(output, execution, u), sums::find_values(names(), inputs),
                          pass.rows, indices, expected);
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool) const override {
    if (is_of_all(output)) return std::nullopt;
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    const Pass& pass = this->pass(inputs, u);
    return make_formula(element(output, execution, u), names(), pass.rows);
  }

 private:
  static bool is_of_all(const TensorSpec& output) {
    return output.dims[0] <= 3 && (output.name == "norms" || output.name == "counts");
  }

  /// The inputs of the formulas.
  std::vector<std::string> names() const {
    std::vector<std::string> all{"gradient", "weights", "velocity"};
    if (find_loop(problem_.shape().rule) != UpdateLoop::momentum) all.emplace_back("second");
    return all;
  }

  update::Elements elements(double u) const {
    const UpdateShape& shape = problem_.shape();
    return {find_loop(shape.rule),
            shape.rule == UpdateRule::lamb,
            tensors_[3].type != DataType::fp64,
            u,
            smallest(),
            std::ssize(shape.tensors)};
  }

  update::Element element(const TensorSpec& output, const Execution& execution, double u) const {
    using Kind = update::Element::Kind;
    const Bounds bounds(problem_.precision(), execution, output.type, place(output.elements()));
    const Kind quantity = output.name == "velocity" ? Kind::velocity
                          : output.name == "second" ? Kind::second
                          : output.name == "stored" ? Kind::stored
                                                    : Kind::weights;
    return {elements(u), bounds, quantity, pass_.not_finite > 0};
  }

  /// Bound of the relative difference of 2-norms over n elements. Both sums of n squares, also the
  /// one here, are computed in fp64 in any order.
  static double of_sums(std::int64_t n) {
    return 8 * std::sqrt(static_cast<double>(n)) * unit_roundoff(DataType::fp64);
  }

  /// The smallest number of full accuracy, the smallest normal one.
  double smallest() const {
    return tensors_[3].type == DataType::fp64 ? std::numeric_limits<double>::min()
                                              : std::numeric_limits<float>::min();
  }

  Expected of_all(const std::string& name, std::int64_t index, const Pass& pass, double u,
                  const Bounds& bounds) const {
    if (name == "norms") {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      if (index == 0 && pass.not_finite > 0)
        return {0, infinity, infinity};  // any value is correct
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
    const UpdateShape& shape = problem_.shape();
    const double rate = inputs.find("rate")->second(0), unscale = inputs.find("unscale")->second(0),
                 step = find_loop(shape.rule) == UpdateLoop::moments
                            ? inputs.find("step")->second(0)
                            : 1;
    pass_.rows.resize(shape.tensors.size() * update::numbers_of_row);
    double begin = 0;
    for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
      row(t).begin = begin;
      begin += static_cast<double>(shape.tensors[t].elements);
    }
    each_sum(update::SquareSums{}, inputs, [&](std::size_t t, const double* sums) {
      const double g = sums[0] * square(unscale), w = sums[1];
      pass_.squares_of_gradient += g;
      pass_.squares_of_weights += w;
      pass_.not_finite += sums[2];
      pass_.zeros += sums[3];
      row(t).factors =
          define_factors(shape, shape.tensors[t], rate, unscale, std::sqrt(g), std::sqrt(w), step);
      row(t).of_norms = needs_trust(shape.rule) ? of_sums(shape.tensors[t].elements) : 0;
    });
    if (shape.rule == UpdateRule::lamb && pass_.not_finite == 0) trust(inputs, rate, u);
    if (pass_.not_finite == 0)
      each_sum(update::StaleSums{elements(u)}, inputs, [&](std::size_t, const double* sums) {
        pass_.stale.value += sums[0];
        pass_.stale.error += sums[1];
      });
    key_ = std::move(key);
    return pass_;
  }

  Row& row(std::size_t t) const { return reinterpret_cast<Row*>(pass_.rows.data())[t]; }

  /// Multiplies lamb's rates. The error of a norm is at most the norm of the errors.
  void trust(const Inputs& inputs, double rate, double u) const {
    const std::vector<UpdateTensor>& tensors = problem_.shape().tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) row(t).factors.of_velocity = 1;
    std::vector<std::array<double, 3>> all(tensors.size());
    each_sum(update::StepSums{elements(u)}, inputs,
             [&](std::size_t t, const double* sums) { std::copy_n(sums, 3, all[t].begin()); });
    for (std::size_t t = 0; t < all.size(); ++t) {
      const auto& [weights, steps, errors] = all[t];
      const bool adapts = tensors[t].adapts && weights > 0 && steps > 0;
      row(t).factors.of_velocity = rate * (adapts ? std::sqrt(weights / steps) : 1);
      if (tensors[t].adapts && steps > 0)
        row(t).of_norms = 8 * u + of_sums(tensors[t].elements) + std::sqrt(errors / steps);
    }
  }

  /// Adds up the code's terms over a tensor, block by block.
  template <class Code>
  std::array<double, Code::terms> sum_here(const Code& code, const Inputs& inputs,
                                           std::int64_t elements) const {
    constexpr std::int64_t block = 4096;
    const std::vector<const Values*> values = sums::find_values(names(), inputs);
    std::vector<std::array<double, Code::terms>> parts(place((elements + block - 1) / block));
    sums::Failure failure;
#pragma omp parallel for schedule(static) if (parts.size() > 1)
    for (std::ptrdiff_t part = 0; part < std::ssize(parts); ++part) {
      failure.keep([&] {
        const std::int64_t first = part * block, count = std::min(block, elements - first);
        const sums::RangeInputs in(values, code.begin + first, count);
        double terms[Code::terms];
        for (std::int64_t i = first; i < first + count; ++i) {
          code(in, pass_.rows.data(), i, terms);
          for (int k = 0; k < Code::terms; ++k) parts[place(part)][place(k)] += terms[k];
        }
      });
    }
    failure.rethrow();
    std::array<double, Code::terms> all{};
    for (const auto& part : parts)
      for (std::size_t k = 0; k < all.size(); ++k) all[k] += part[k];
    return all;
  }

  /// Calls body(tensor, sums of the code's terms) for all tensors. The device computes the sums if
  /// it has the code. Once in each process, for each code and set of tensors, it must agree with
  /// the host on the smallest tensor.
  template <class Code, class Body>
  void each_sum(Code code, const Inputs& inputs, const Body& body) const {
    const std::vector<UpdateTensor>& tensors = problem_.shape().tensors;
    const auto here = [&](std::size_t t) {
      code.begin = static_cast<std::int64_t>(row(t).begin);
      return sum_here(code, inputs, tensors[t].elements);
    };
    const auto there = [&](std::size_t t) {
      code.begin = static_cast<std::int64_t>(row(t).begin);
      return prover_->sum(make_formula(code, names(), pass_.rows), inputs,
                          {1, 1, tensors[t].elements});
    };
    const auto smallest =
        place(std::ranges::min_element(tensors, {}, &UpdateTensor::elements) - tensors.begin());
    code.begin = static_cast<std::int64_t>(row(smallest).begin);
    const std::string what =
        fmt::format("{} {} {}", describe_belief(make_formula(code, names()), inputs),
                    tensors[smallest].elements, problem_.shape().elements());
    bool on_device = prover_ != nullptr;
    if (on_device && prover_->is_new(what)) {
      const auto trial = there(smallest);
      on_device = trial.has_value();
      if (trial) {
        const auto wanted = here(smallest);
        // Roundings of fp64 decide whether a borderline weight counts.
        const double slack = std::is_same_v<Code, update::StaleSums> ? wanted[1] : 0;
        sums::expect_agreement<Code>(trial->data(), wanted.data(), slack);
        prover_->believe(what);
      }
    }
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const auto sums_there = on_device ? there(t) : std::nullopt;
      if (sums_there)
        body(t, sums_there->data());
      else
        body(t, here(t).data());
    }
  }

  UpdateProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable Pass pass_;
};

}  // namespace

std::unique_ptr<Oracle> make_update_oracle(const UpdateProblem& problem) {
  return std::make_unique<UpdateOracle>(problem);
}

}  // namespace assay
