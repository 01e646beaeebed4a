// The fp64 reference of all outputs of a batch normalization. Statistics of all channels are
// computed once for each draw of inputs. Bounds: docs/method-norm.md.

#include <algorithm>
#include <cmath>

#include "kernels/norm/formula_items.hpp"
#include "kernels/norm/given_sums.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/oracle/channel_sums.hpp"

namespace assay {
namespace {

using sums::square;

/// A number and the variance of its rounding errors.
struct Uncertain {
  double value = 0, variance = 0;
  double of_equal = 0;  ///< its largest error, if it is a sum of equal terms
};

/// Bounds of elements whose errors are bounded term by term.
class Bounds final : public sums::Bounds {
 public:
  using sums::Bounds::Bounds;
  /// The expected value of a channel's own number. The errors of all channels may be those of equal
  /// terms.
  Expected expected(const Uncertain& number) const {
    const double deviation = std::sqrt(number.variance);
    return rounded(number.value, std::max(deviations * deviation, number.of_equal),
                   std::max(norm_deviations * deviation, number.of_equal));
  }
};

class NormOracle final : public WholeOracle {
 public:
  explicit NormOracle(const NormProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  bool nonnegative(const TensorSpec& argument) const override {
    return argument.name == "variance";
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Table& table = this->table(inputs, execution);
    const Bounds bounds(problem_.precision(), execution, output.type, place(output.elements()));
    if (output.dims.size() == 1)
      return expect_of_channels(output.name, table.own, bounds, indices, expected);
    with_element(output.name, bounds, execution, inputs, [&](const auto& element) {
      sums::expect_elements(element, sums::find_values(names(), inputs), table.rows, indices,
                            expected);
    });
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool) const override {
    if (output.dims.size() == 1) return std::nullopt;
    const Bounds bounds(problem_.precision(), execution, output.type, place(output.elements()));
    ElementFormula formula;
    with_element(output.name, bounds, execution, inputs, [&](const auto& element) {
      formula = make_formula(element, names(), table(inputs, execution).rows);
    });
    return formula;
  }

  double widest_norm_bound() const override {
    return sums::widest_norm_bound(problem_.precision());
  }

 private:
  /// The known values of the channels.
  struct Table {
    std::vector<double> rows;       ///< norm::Channel
    std::vector<Uncertain> own[4];  ///< mean, variance, diff_scale, diff_shift
  };

  static void expect_of_channels(const std::string& name, const std::vector<Uncertain> (&own)[4],
                                 const Bounds& bounds, std::span<const std::int64_t> indices,
                                 std::span<Expected> expected) {
    const std::vector<Uncertain>& numbers = own[name == "mean"         ? 0
                                                : name == "variance"   ? 1
                                                : name == "diff_scale" ? 2
                                                                       : 3];
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = bounds.expected(numbers[place(indices[i])]);
  }

  bool backward() const { return problem_.direction() == NormDirection::backward; }
  bool relu() const { return problem_.fusion() != NormFusion::none; }
  norm::Planes planes() const {
    return {problem_.shape().ih * problem_.shape().iw, problem_.shape().ic};
  }

  /// The inputs of the formulas.
  std::vector<std::string> names() const {
    if (!backward())
      return problem_.fusion() == NormFusion::add_relu ? std::vector<std::string>{"src", "addend"}
                                                       : std::vector<std::string>{"src"};
    return relu() ? std::vector<std::string>{"src", "diff_dst", "dst"}
                  : std::vector<std::string>{"src", "diff_dst"};
  }

  /// Calls body(code) with the code that computes the expected elements of this output.
  template <class Body>
  void with_element(const std::string& output, const Bounds& bounds, const Execution& execution,
                    const Inputs& inputs, const Body& body) const {
    const norm::Element element{
        bounds,
        planes(),
        static_cast<double>(problem_.shape().per_channel()),
        norm_epsilon,
        roundoff(execution),
        execution.operand_roundings.value_or(0) * unit_roundoff(storage(problem_.precision())),
        relu()};
    if (output == "dst") return body(norm::Dst{element, inputs.contains("addend")});
    if (output == "diff_addend") return body(norm::DiffAddend{element});
    body(norm::DiffSrc{element});
  }

  static bool is_random(const Inputs& inputs) {
    const auto random = [](const auto& named) { return named.second.random(); };
    return std::all_of(inputs.begin(), inputs.end(), random);
  }

  double roundoff(const Execution& execution) const {
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    return problem_.precision() == Precision::fp64 ? 2 * u : u;  // the reference is in fp64, too
  }

  /// The largest difference between the terms of given sums and the elements of src.
  double roundoff_of_terms(const Execution& execution) const {
    return execution.numbers.contains(norm_sums_given)
               ? unit_roundoff(storage(problem_.precision()))
               : 0;
  }

  /// The table of the last inputs: one pass over them serves all outputs and checks.
  const Table& table(const Inputs& inputs, const Execution& execution) const {
    std::vector<double> key = sums::fingerprint(tensors_, inputs);
    key.push_back(roundoff(execution));
    key.push_back(roundoff_of_terms(execution));
    if (key == key_) return table_;
    const double u = roundoff(execution);
    const auto channels = place(problem_.shape().ic);
    table_ = {std::vector<double>(channels * norm::numbers_of_channel), {}};
    for (std::vector<Uncertain>& own : table_.own) own.resize(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const auto of_channel = [&](const char* name) {
        const auto entry = inputs.find(name);
        return entry == inputs.end() ? 0 : entry->second(static_cast<std::int64_t>(c));
      };
      row(c).scale = of_channel("scale");
      row(c).shift = of_channel("shift");
      table_.own[0][c].value = of_channel("mean");
      table_.own[1][c].value = of_channel("variance");
    }
    write_rows(inputs, execution);
    if (problem_.direction() == NormDirection::forward_training)
      statistics(inputs, u, roundoff_of_terms(execution));
    write_rows(inputs, execution);
    if (backward()) gradient_sums(inputs, u);
    write_rows(inputs, execution);
    key_ = std::move(key);
    return table_;
  }

  norm::Channel& row(std::size_t c) const {
    return reinterpret_cast<norm::Channel*>(table_.rows.data())[c];
  }

  /// The contributions of a channel's own errors to the errors of its elements. With random data,
  /// the errors of channels are independent.
  void write_rows(const Inputs& inputs, const Execution& execution) const {
    const Bounds bounds(problem_.precision(), execution, DataType::fp64,
                        place(tensors_.front().elements()));
    // Half of the channels count, because their scales differ.
    const Bounds of_channels(problem_.precision(), {}, DataType::fp64,
                             place(std::max<std::int64_t>(problem_.shape().ic / 2, 1)));
    const bool random = is_random(inputs);
    const auto known = [&](const Uncertain& number) {
      const double most = std::max(bounds.deviations * std::sqrt(number.variance),
                                   roundoff_of_terms(execution) > 0 ? number.of_equal : 0);
      return norm::BoundedValue{
          number.value, most,
          random ? of_channels.expected(Uncertain{0, number.variance, 0}).rms_bound : most};
    };
    for (std::size_t c = 0; c < table_.own[0].size(); ++c) {
      norm::Channel& to = row(c);
      to.mean = known(table_.own[0][c]);
      to.variance = known(table_.own[1][c]);
      to.diff_scale = known(table_.own[2][c]);
      to.diff_shift = known(table_.own[3][c]);
      to.inverse = 1 / std::sqrt(to.variance.value + norm_epsilon);
    }
  }

  /// [channel][term]
  template <class Code>
  std::vector<double> sums(const Code& code, const Inputs& inputs) const {
    const NormShape& s = problem_.shape();
    return sums::ChannelSums({s.mb, s.ic, s.ih * s.iw}, names())
        .sum(code, inputs, table_.rows, prover_);
  }

  double compute_variance(double sum, double absolute, double squares, bool random,
                          double u) const {
    const double m = static_cast<double>(problem_.shape().per_channel());
    return sums::variance_of_channel(m, sum, absolute, squares, random, u);
  }
  double error_of_equal(double absolute, bool random, double u) const {
    const double m = static_cast<double>(problem_.shape().per_channel());
    return sums::error_of_equal(m, absolute, random, u);
  }

  /// The mean of terms, each of which has a rounding error of at most `of_terms` times its
  /// magnitude. The errors may be independent, or equal for equal terms.
  Uncertain mean_of_rounded(Uncertain sum, double of_terms, double absolute, double squares) const {
    const double m = static_cast<double>(problem_.shape().per_channel());
    return {sum.value / m, (sum.variance + square(of_terms) * squares / 3) / square(m),
            (sum.of_equal + of_terms * absolute) / m};
  }

  void statistics(const Inputs& inputs, double u, double of_terms) const {
    const double m = static_cast<double>(problem_.shape().per_channel());
    // The relative error of a square. A number below the normal numbers of fp16 has the rounding
    // error of the smallest normal one, 2^-14.
    const double of_squares = of_terms * (2 + of_terms), least = 0x1p-14 * m;
    const bool random = inputs.find("src")->second.random();
    const std::vector<double> sums = this->sums(norm::SourceSums{}, inputs);
    const auto channel_sums = [&](std::size_t c) {
      return sums.data() + c * norm::SourceSums::terms;
    };
    const std::size_t channels = table_.own[0].size();
    for (std::size_t c = 0; c < channels; ++c) {
      const double sum = channel_sums(c)[0], absolute = channel_sums(c)[1],
                   squares = channel_sums(c)[2];
      table_.own[0][c] = mean_of_rounded({sum, compute_variance(sum, absolute, squares, random, u),
                                          error_of_equal(absolute, random, u)},
                                         of_terms, absolute + least, squares);
      row(c).mean.value = sum / m;
    }
    const std::vector<double> centred = this->sums(norm::CentredSums{planes()}, inputs);
    for (std::size_t c = 0; c < channels; ++c) {
      const Uncertain& mean = table_.own[0][c];
      // The bound is that of the one-pass formula, sum x^2 / m - mean^2, because its terms are
      // larger.
      const double squares = channel_sums(c)[2], mean_square = squares / m;
      Uncertain& variance = table_.own[1][c];
      variance = mean_of_rounded(
          {centred[c], compute_variance(squares, squares, channel_sums(c)[3], false, u),
           error_of_equal(squares, random, u)},
          of_squares, squares + least, channel_sums(c)[3]);
      variance.variance += 4 * square(mean.value) * mean.variance + 4 * square(u * mean_square);
      variance.of_equal += 2 * std::abs(mean.value) * mean.of_equal;
    }
  }

  void gradient_sums(const Inputs& inputs, double u) const {
    const bool random = inputs.find("diff_dst")->second.random();
    const std::vector<double> sums = this->sums(norm::GradientSums{planes(), relu()}, inputs);
    for (std::size_t c = 0; c < table_.own[0].size(); ++c) {
      const double* const channel_sums = sums.data() + c * norm::GradientSums::terms;
      const double shift = channel_sums[0], scale = channel_sums[3],
                   reach_absolute = channel_sums[4], reach_squares = channel_sums[5];
      table_.own[3][c] = {shift,
                          compute_variance(shift, channel_sums[1], channel_sums[2], random, u),
                          error_of_equal(channel_sums[1], random, u)};
      // The bound is that of sum g x - mean sum g, because its terms are larger.
      const double reach =
          std::max(std::abs(scale), std::abs(row(c).mean.value * row(c).inverse * shift));
      table_.own[2][c] = {scale,
                          compute_variance(reach, reach_absolute, reach_squares, random, u) +
                              4 * square(u) * reach_squares + square(4 * u) * square(reach),
                          error_of_equal(reach_absolute, random, u)};
    }
  }

  NormProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable Table table_;
};

}  // namespace

std::unique_ptr<Oracle> make_norm_oracle(const NormProblem& problem) {
  return std::make_unique<NormOracle>(problem);
}

}  // namespace assay
