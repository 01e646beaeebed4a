// The fp64 reference of recurrent networks: the choice of outputs to compare, their values and
// bounds.

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "core/base/place.hpp"
#include "kernels/rnn/weight_gradients.hpp"

namespace assay {
namespace recurrent {
namespace {

/// sums::error_of_tf32 for gradients through a ReLU. tf32's errors change the sign of one sum in
/// 4000, so the relative error of the norm is about the root of 1/4000.
constexpr double error_of_tf32_at_kinks = 1e-2;
/// Factor on the deviation of the model, for errors that the model assumes to be independent
/// although they are not.
constexpr double margin = 2;
/// The weight gradients of a later draw may take this many budgets of the reference.
constexpr double budgets_of_later_draws = 2000;

bool is_weights(const TensorSpec& spec) {
  return spec.name.starts_with("diff_weights") || spec.name == "diff_bias";
}

/// Turns values with variances into bounds: the tails of docs/method-conv.md.
class Bounds {
 public:
  Bounds(DataType type, std::size_t samples)
      : u_(unit_roundoff(type)), tiny_(type == DataType::fp16 ? 0x1p-25 : 0) {
    const double count = static_cast<double>(std::max<std::size_t>(samples, 1));
    most_ = sums::most_deviations(samples);
    norm_ = margin * (1.5 + most_ / std::sqrt(count));
  }
  Expected operator()(const UncertainNumber& number) const {
    const double deviation = std::sqrt(number.variance), size = std::abs(number.value);
    const double most = most_ * deviation, typical = norm_ * deviation;
    return {number.value, most + u_ * (size + most) + tiny_,
            typical + sums::half_step(u_, size + most) + tiny_};
  }

 private:
  double u_, tiny_, most_, norm_;
};

/// It has no checksum, because the sum over a state would cost the whole recurrence.
class RnnOracle final : public Oracle {
 public:
  explicit RnnOracle(const RnnProblem& problem) : problem_(problem) {}

  int scale_exponent(const TensorSpec& argument) const override {
    if (!argument.name.starts_with("weights")) return 0;
    return -static_cast<int>(std::lround(std::log2(static_cast<double>(argument.dims[2])) / 2));
  }

  /// If the gradients of the results are zero in a row of the batch, this row contributes zero to
  /// weight gradients. So only the recurrences of the other rows must be computed.
  std::optional<Values> of_later_draw(const TensorSpec& argument, const Values& values,
                                      double budget, std::uint64_t seed) const override {
    if (!has_weight_gradients() || !argument.name.starts_with("diff_dst")) return std::nullopt;
    const std::int64_t batch = problem_.shape().batch;
    // These rows include those that sample() chooses, because one seed gives one order of rows.
    const auto rows = batch_rows(budgets_of_later_draws * budget, seed);
    if (static_cast<std::int64_t>(rows.size()) == batch) return std::nullopt;
    return values.in_rows(argument.dims.back(), batch, rows);
  }

  std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                   std::uint64_t seed) const override {
    const std::size_t last = output.dims.size() - 1;
    std::vector<std::int64_t> chosen;
    std::int64_t outer = 1, extent = output.dims[last - 1], width = output.dims[last];
    if (output.name == "diff_bias") {
      chosen.resize(place(extent));
      for (std::int64_t i = 0; i < extent; ++i) chosen[place(i)] = i;
    } else if (is_weights(output)) {
      extent = output.dims[2];
      width *= output.dims[3];
      chosen = choose_compared_rows(problem_, extent);
    } else {
      chosen = batch_rows(budget, seed);
    }
    for (const std::int64_t dim : output.dims) outer *= dim;
    outer /= extent * width;
    std::vector<std::int64_t> indices;
    indices.reserve(place(outer) * chosen.size() * place(width));
    for (std::int64_t o = 0; o < outer; ++o)
      for (const std::int64_t row : chosen)
        for (std::int64_t i = 0; i < width; ++i) indices.push_back((o * extent + row) * width + i);
    return indices;
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Bounds bounds(output.type, indices.size());
    remember(inputs);
    const Products products{problem_.precision() == Precision::tf32,
                            sums::drops_digits(problem_.precision(), execution),
                            execution.operand_roundings != 0, !execution.operand_roundings,
                            stored_sums(execution)};
    if (is_weights(output)) {
      if (!known_->weights)
        known_->weights =
            weight_gradients(problem_, *known_->parameters, inputs, products,
                             rows_in_memory(problem_), known_->rows ? &*known_->rows : nullptr);
      for (std::size_t i = 0; i < indices.size(); ++i)
        expected[i] = bounds(weight(output, indices[i]));
      return;
    }
    const std::int64_t width = output.dims.back(), batch = problem_.shape().batch;
    std::set<std::int64_t> rows;
    for (const std::int64_t index : indices) rows.insert(index / width % batch);
    compute(inputs, products, {rows.begin(), rows.end()});
    std::vector<std::int64_t> row_places(place(batch), 0);
    for (std::int64_t r = 0; r < static_cast<std::int64_t>(known_->rows->rows().size()); ++r)
      row_places[place(known_->rows->rows()[place(r)])] = r;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t row = indices[i] / width;
      expected[i] = bounds(
          value(output.name, row / batch, row_places[place(row % batch)], indices[i] % width));
    }
  }

  double widest_norm_bound() const override {
    const bool kinks = problem_.precision() == Precision::fp32 &&
                       problem_.shape().cell == RnnCell::vanilla_relu &&
                       !is_forward(problem_.direction());
    return kinks ? error_of_tf32_at_kinks : sums::widest_norm_bound(problem_.precision());
  }

 private:
  /// The bound is derived for at most two roundings, in 16-bit tensors.
  int stored_sums(const Execution& execution) const {
    const auto entry = execution.numbers.find(rounds_gate_sums);
    if (entry == execution.numbers.end() || size_of(storage(problem_.precision())) != 2) return 0;
    return entry->second >= 2 ? 2 : entry->second >= 1 ? 1 : 0;
  }
  bool has_weight_gradients() const {
    return problem_.direction() == RnnDirection::bwd_weights ||
           problem_.direction() == RnnDirection::bwd;
  }

  /// At least two rows; all if the budget allows them.
  std::vector<std::int64_t> batch_rows(double budget, std::uint64_t seed) const {
    const RnnShape& s = problem_.shape();
    double each = 0;
    for (std::int64_t l = 0; l < s.layers; ++l)
      each += static_cast<double>(s.hidden + problem_.count_inputs(l));
    each *= static_cast<double>(s.directions * s.gates() * s.hidden) * static_cast<double>(s.steps);
    if (!is_forward(problem_.direction())) each *= 2;
    const double affordable = std::clamp(budget / each, 2.0, 1e6);
    std::set<std::int64_t> rows;
    if (static_cast<double>(s.batch) <= affordable) {
      for (std::int64_t n = 0; n < s.batch; ++n) rows.insert(n);
    } else {
      std::mt19937_64 random(seed);
      while (static_cast<double>(rows.size()) < std::floor(affordable))
        rows.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.batch)));
    }
    return {rows.begin(), rows.end()};
  }

  /// The results for one draw of inputs, used for all outputs.
  void remember(const Inputs& inputs) const {
    std::vector<double> print;
    for (const char* name : {"src_layer", "src_iter", "weights_iter", "bias"})
      for (const std::int64_t i : {0, 1}) print.push_back(inputs.find(name)->second(i));
    if (known_ && print == known_->print) return;
    known_ = std::make_unique<Cache>();
    known_->print = std::move(print);
    known_->parameters.emplace(problem_, inputs, prover_);
  }

  void compute(const Inputs& inputs, const Products& products,
               std::vector<std::int64_t> rows) const {
    if (known_->rows && known_->rows->rows() == rows) return;
    known_->inputs = inputs;
    known_->rows.emplace(problem_, *known_->parameters, known_->inputs, products, std::move(rows));
    known_->rows->forward(is_forward(problem_.direction()));
    if (!is_forward(problem_.direction())) known_->rows->backward(true);
  }

  /// `outer`: index over the dimensions before the batch (a step, or a layer and direction).
  UncertainNumber value(const std::string& name, std::int64_t outer, std::int64_t row,
                        std::int64_t at) const {
    const RnnShape& s = problem_.shape();
    const Recurrence& rows = *known_->rows;
    const auto count = static_cast<std::int64_t>(rows.rows().size());
    if (name == "dst_layer")
      return rows.read_by(s.layers)[(outer * count + row) * s.directions * s.hidden + at];
    if (name == "diff_src_layer")
      return rows.diff_input()[(outer * count + row) * problem_.count_inputs(0) + at];
    const Walk& walk = rows.walk(outer / s.directions, outer % s.directions);
    const std::int64_t first = row * s.hidden + at, last = s.steps * count * s.hidden + first;
    if (name == "dst_iter") return walk.h[last];
    if (name == "dst_iter_c") return walk.c[last];
    if (name == "diff_src_iter") return walk.diff_h[first];
    if (name == "diff_src_iter_c") return walk.diff_c[first];
    throw std::logic_error("rnn oracle: no output " + name);
  }

  UncertainNumber weight(const TensorSpec& output, std::int64_t index) const {
    const RnnShape& s = problem_.shape();
    const WeightGradients& all = *known_->weights;
    if (output.name == "diff_bias") {
      const std::int64_t size = s.biases() * s.hidden;
      const WeightGradient& bias = all.bias[place(index / size)];
      return {bias.values[place(index % size)], bias.variance[place(index % size)]};
    }
    const std::int64_t columns = s.gates() * s.hidden, row = index / columns % output.dims[2],
                       column = index % columns;
    std::int64_t at = index / columns / output.dims[2];
    const bool layer = output.name == "diff_weights_layer";
    if (layer) at += (s.layers - problem_.weighted_layers()) * s.directions;
    const WeightGradient& gradient = layer ? all.layer[place(at)] : all.iter[place(at)];
    const auto at_row = std::lower_bound(gradient.rows.begin(), gradient.rows.end(), row);
    return {gradient.values[place((at_row - gradient.rows.begin()) * columns + column)],
            gradient.variance[place(column)]};
  }

  struct Cache {
    std::vector<double> print;
    Inputs inputs;
    std::optional<Parameters> parameters;
    std::optional<Recurrence> rows;
    std::optional<WeightGradients> weights;
  };
  RnnProblem problem_;
  mutable std::unique_ptr<Cache> known_;
};

}  // namespace
}  // namespace recurrent

std::unique_ptr<Oracle> make_rnn_oracle(const RnnProblem& problem) {
  return std::make_unique<recurrent::RnnOracle>(problem);
}

}  // namespace assay
