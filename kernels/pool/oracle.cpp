// The fp64 reference of pooling, plane by plane. Bounds: docs/method-pool.md.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/place.hpp"
#include "kernels/oracle/sums.hpp"
#include "kernels/pool/formula_items.hpp"
#include "kernels/pool/problem.hpp"

namespace assay {
namespace {

/// The largest integers of the exact pass: the range is wide enough that few elements of a window
/// are equal.
constexpr double largest_integer = 1024;

class PoolOracle final : public WholeOracle {
 public:
  explicit PoolOracle(const PoolProblem& problem) : problem_(problem) {}

  int exact_magnitude(const Execution& execution) const override {
    // The mean of integers need not be an integer.
    if (problem_.mode() == PoolMode::average) return 0;
    const PoolShape& s = problem_.shape();
    const double windows =
        problem_.direction() == PoolDirection::backward
            ? std::ceil(static_cast<double>(s.kh) / static_cast<double>(s.sh)) *
                  std::ceil(static_cast<double>(s.kw) / static_cast<double>(s.sw))
            : 1;
    const DataType type = storage(problem_.precision());
    const double held =
        std::min(1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution),
                 std::ldexp(1, sums::significand_bits(type)));
    return static_cast<int>(std::min(largest_integer, std::floor(held / windows)));
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
              bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
    const std::int64_t plane = output.dims[2] * output.dims[3];
    const pool::Pool all = settings(output, inputs, execution, exact);
    std::optional<PlaneInputs> in;
    std::int64_t read = -1;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] / plane != std::exchange(read, indices[i] / plane))
        in.emplace(*this, inputs, read);
      expected[i] = backward() ? pool::DiffSrc{all}(*in, nullptr, indices[i])
                               : pool::Dst{all}(*in, nullptr, indices[i]);
    }
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool exact) const override {
    const pool::Pool all = settings(output, inputs, execution, exact);
    // The backward pass of means has no src, and its code does not read it.
    if (backward())
      return make_formula(pool::DiffSrc{all}, {max() ? "src" : "diff_dst", "diff_dst"});
    return make_formula(pool::Dst{all}, {"src"});
  }

 private:
  /// The planes of the inputs to which an output element belongs.
  class PlaneInputs {
   public:
    PlaneInputs(const PoolOracle& oracle, const Inputs& inputs, std::int64_t plane) {
      const PoolShape& s = oracle.problem_.shape();
      const auto read = [&](int k, const char* name, std::int64_t elements) {
        first_[k] = plane * elements;
        values_[k].resize(place(elements));
        inputs.find(name)->second.fill(first_[k], values_[k]);
      };
      if (!oracle.backward() || oracle.max()) read(0, "src", s.ih * s.iw);
      if (oracle.backward()) read(1, "diff_dst", s.oh * s.ow);
    }
    double operator()(int k, std::int64_t i) const { return values_[k][place(i - first_[k])]; }

   private:
    std::int64_t first_[2] = {};
    std::vector<double> values_[2];
  };

  bool backward() const { return problem_.direction() == PoolDirection::backward; }
  bool max() const { return problem_.mode() == PoolMode::max; }

  pool::Pool settings(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
                      bool exact) const {
    const PoolShape& s = problem_.shape();
    return {sums::ErrorModel(problem_.precision(), execution, place(output.elements())),
            {s.ih, s.oh, s.kh, s.sh, s.ph},
            {s.iw, s.ow, s.kw, s.sw, s.pw},
            max(),
            exact,
            inputs.find(backward() ? "diff_dst" : "src")->second.random()};
  }

  PoolProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> make_pool_oracle(const PoolProblem& problem) {
  return std::make_unique<PoolOracle>(problem);
}

}  // namespace assay
