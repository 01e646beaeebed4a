// The fp64 reference of pooling, plane by plane. Bounds: docs/method-pool.md.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/place.hpp"
#include "kernels/conv/sums.hpp"
#include "kernels/pool/problem.hpp"

namespace assay {
namespace {

/// The largest integers of the exact pass: few are equal in one window.
constexpr double largest_integer = 1024;

class PoolOracle final : public WholeOracle {
 public:
  explicit PoolOracle(const PoolProblem& problem) : problem_(problem) {}

  int exact_magnitude(const Executed& executed) const override {
    // The mean of integers is no integer.
    if (problem_.mode() == PoolMode::average) return 0;
    const PoolShape& s = problem_.shape();
    const double windows =
        problem_.direction() == PoolDirection::backward
            ? std::ceil(static_cast<double>(s.kh) / static_cast<double>(s.sh)) *
                  std::ceil(static_cast<double>(s.kw) / static_cast<double>(s.sw))
            : 1;
    const DataType type = storage(problem_.precision());
    const double held =
        std::min(1 / sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed),
                 std::ldexp(1, sums::significand_bits(type)));
    return static_cast<int>(std::min(largest_integer, std::floor(held / windows)));
  }
  int full_magnitude(const TensorSpec&) const override { return 0; }  // there is no integer type

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const std::int64_t plane = output.dims[2] * output.dims[3];
    const sums::ErrorModel model(problem_.precision(), executed, place(output.elements()));
    std::vector<sums::Terms> terms;
    std::int64_t computed = -1;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] / plane != computed) {
        computed = indices[i] / plane;
        terms = outputs(inputs, computed);
      }
      const sums::Terms& of = terms[place(indices[i] % plane)];
      // One term is a copy.
      expected[i] = exact || of.count <= 1 ? Expected{of.value, 0, 0} : model.expected(of);
    }
  }

 private:
  static std::vector<double> read(const Inputs& inputs, const char* name, std::int64_t plane,
                                  std::int64_t elements) {
    std::vector<double> values(place(elements));
    inputs.find(name)->second.fill(plane * elements, values);
    return values;
  }

  /// Calls body(output, its window's rows and columns) for every output of a plane.
  template <class Body>
  void windows(const Body& body) const {
    const PoolShape& s = problem_.shape();
    for (std::int64_t y = 0; y < s.oh; ++y)
      for (std::int64_t x = 0; x < s.ow; ++x)
        body(place(y * s.ow + x), pool_window(y, s.sh, s.ph, s.kh, s.ih),
             pool_window(x, s.sw, s.pw, s.kw, s.iw));
  }

  /// Adds a term to the sum of an output, with the error of a division where it is a mean's part.
  void add(sums::Terms& to, double term, bool random) const {
    to.value += term;
    to.absolute += std::abs(term);
    // Sums of others than random terms are only known to be within all magnitudes.
    to.squares = random ? to.squares + term * term : 2 * to.absolute * to.absolute;
    to.count += to.count == 0 && problem_.mode() == PoolMode::average ? 3 : 1;
  }

  /// All outputs of a plane, as sums of terms; the largest element is one term.
  std::vector<sums::Terms> outputs(const Inputs& inputs, std::int64_t plane) const {
    const PoolShape& s = problem_.shape();
    const bool backward = problem_.direction() == PoolDirection::backward,
               max = problem_.mode() == PoolMode::max;
    std::vector<double> src, diff_dst;
    if (!backward || max) src = read(inputs, "src", plane, s.ih * s.iw);
    if (backward) diff_dst = read(inputs, "diff_dst", plane, s.oh * s.ow);
    const bool random = inputs.find(backward ? "diff_dst" : "src")->second.random();
    std::vector<sums::Terms> terms(place(backward ? s.ih * s.iw : s.oh * s.ow));
    windows([&](std::size_t output, PoolWindow rows, PoolWindow columns) {
      if (max) {
        std::size_t largest = place(rows.first * s.iw + columns.first);
        for (std::int64_t y = rows.first; y < rows.last; ++y)
          for (std::int64_t x = columns.first; x < columns.last; ++x)
            if (src[place(y * s.iw + x)] > src[largest]) largest = place(y * s.iw + x);
        add(terms[backward ? largest : output], backward ? diff_dst[output] : src[largest], random);
        return;
      }
      const double part =
          1 / static_cast<double>((rows.last - rows.first) * (columns.last - columns.first));
      for (std::int64_t y = rows.first; y < rows.last; ++y)
        for (std::int64_t x = columns.first; x < columns.last; ++x) {
          const std::size_t at = place(y * s.iw + x);
          add(terms[backward ? at : output], part * (backward ? diff_dst[output] : src[at]),
              random);
        }
    });
    return terms;
  }

  PoolProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> pool_oracle(const PoolProblem& problem) {
  return std::make_unique<PoolOracle>(problem);
}

}  // namespace assay
