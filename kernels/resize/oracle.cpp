// The fp64 reference of bilinear resizing, row by row. Bounds: docs/method-pool.md.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/base/place.hpp"
#include "kernels/oracle/sums.hpp"
#include "kernels/resize/formula_items.hpp"
#include "kernels/resize/problem.hpp"

namespace assay {
namespace {

/// The largest number of roundings of a coordinate that widen a bound: (o + 1/2) in / out - 1/2,
/// computed step by step, and 1 - w.
constexpr double most_coordinate_roundings = 3;

/// The largest integers of the exact pass.
constexpr double largest_resized_integer = 1024;

class ResizeOracle final : public WholeOracle {
 public:
  explicit ResizeOracle(const ResizeProblem& problem) : problem_(problem) {}

  /// Integers, if all weights are multiples of 2^-bits, and if the sum of an output's weights times
  /// an integer fits the bits of the accumulator.
  int exact_magnitude(const Execution& execution) const override {
    const resize::Resize all = settings({}, execution, true);
    const bool computed = execution.numbers.contains(coordinate_roundings);
    const int rows = bits(all.y, computed), columns = bits(all.x, computed);
    if (rows < 0 || columns < 0) return 0;
    const DataType type = storage(problem_.precision());
    const double total = backward() ? total_weight(all.y) * total_weight(all.x) : 1,
                 u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    double most = std::min(std::ldexp(1 / u, -rows - columns) / total,
                           std::ldexp(1, sums::significand_bits(type)));
    if (type == DataType::fp16) most = std::min(most, 65504 / total);
    return static_cast<int>(std::min(largest_resized_integer, std::floor(most)));
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
              bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
    const resize::Resize all = settings(inputs, execution, exact);
    const std::int64_t width = output.dims[3], height = output.dims[2];
    RowInputs in(inputs.find(backward() ? "diff_dst" : "src")->second);
    std::int64_t last = -1;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (const std::int64_t row = indices[i] / width; row != last) {
        const resize::Range rows =
            backward() ? all.y.readers(row % height) : all.y.read_by(row % height);
        const std::int64_t read = backward() ? all.x.out : all.x.in,
                           plane = row / height * (backward() ? all.y.out : all.y.in);
        in.load((plane + rows.first) * read, (plane + rows.last) * read);
        last = row;
      }
      expected[i] = backward() ? resize::DiffSrc{all}(in, nullptr, indices[i])
                               : resize::Dst{all}(in, nullptr, indices[i]);
    }
  }

  std::optional<ElementFormula> formula(const TensorSpec&, const Inputs& inputs,
                                        const Execution& execution, bool exact) const override {
    const resize::Resize all = settings(inputs, execution, exact);
    if (backward()) return make_formula(resize::DiffSrc{all}, {"diff_dst"});
    return make_formula(resize::Dst{all}, {"src"});
  }

 private:
  /// The rows of the input to which a row of the output belongs.
  class RowInputs {
   public:
    explicit RowInputs(const Values& input) : input_(input) {}
    void load(std::int64_t first, std::int64_t last) {
      first_ = first;
      values_.resize(place(last - first));
      input_.fill(first, values_);
    }
    double operator()(int, std::int64_t i) const { return values_[place(i - first_)]; }

   private:
    const Values& input_;
    std::int64_t first_ = 0;
    std::vector<double> values_;
  };

  bool backward() const { return problem_.direction() == ResizeDirection::backward; }

  resize::Resize settings(const Inputs& inputs, const Execution& execution, bool exact) const {
    const ResizeShape& s = problem_.shape();
    const bool aligned = problem_.coordinates() == ResizeCoordinates::aligned;
    const TensorSpec output = problem_.tensors().back();
    const auto input = inputs.find(backward() ? "diff_dst" : "src");
    const auto claim = execution.numbers.find(coordinate_roundings);
    const double roundings = claim == execution.numbers.end() || exact
                                 ? 0
                                 : std::clamp(claim->second, 0.0, most_coordinate_roundings),
                 drift = roundings *
                         sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
    return {sums::ErrorModel(problem_.precision(), execution, place(output.elements())),
            {s.ih, s.oh, aligned, drift},
            {s.iw, s.ow, aligned, drift},
            exact,
            input != inputs.end() && input->second.random()};
  }

  /// Fraction bits of an axis' weights; -1 if they are unlimited. All weights of an axis with one
  /// input are 1. A backend that computes coordinates gets them exactly if they and their dividends
  /// are short; it also uses both w and 1 - w.
  static int bits(const resize::Axis& axis, bool computed) {
    constexpr std::int64_t exact_in_fp32 = 1 << 24;
    if (axis.in == 1 && !computed) return 0;
    if (computed && 2 * axis.in * axis.out >= exact_in_fp32) return -1;
    const std::int64_t shared =
        axis.aligned ? std::gcd(axis.in - 1, axis.divisor()) : std::gcd(axis.in, axis.out);
    const auto by = static_cast<std::uint64_t>(axis.divisor() / shared);
    return std::has_single_bit(by) ? std::countr_zero(by) : -1;
  }

  /// The largest sum of the weights of one input.
  static double total_weight(const resize::Axis& axis) {
    double most = 1;
    for (std::int64_t i = 0; i < axis.in; ++i) {
      double total = 0;
      const resize::Range outputs = axis.readers(i);
      for (std::int64_t o = outputs.first; o < outputs.last; ++o) total += axis.weight(o, i).value;
      most = std::max(most, total);
    }
    return most;
  }

  ResizeProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> make_resize_oracle(const ResizeProblem& problem) {
  return std::make_unique<ResizeOracle>(problem);
}

}  // namespace assay
