// The fp64 reference of all outputs of a batch normalization. Statistics of all channels are
// computed once for each draw of inputs. Bounds: docs/method-norm.md.

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/place.hpp"
#include "kernels/linalg/bounds.hpp"
#include "kernels/linalg/draw.hpp"
#include "kernels/norm/problem.hpp"

namespace assay {
namespace {

using linalg::square;

/// Most terms that an implementation may add one after the other.
constexpr double longest_chain = 0x1p18;

/// Equal terms that an implementation may add one after the other. Their rounding errors are equal,
/// too, where they are added to sums of one binade.
constexpr double longest_equal_chain = 361;

/// A number and the variance of its rounding errors.
struct Uncertain {
  double value = 0, variance = 0;
  double of_equal = 0;  ///< its error at most, of sums of equal terms
};

/// Bounds of elements whose errors are bounded term by term.
class Bounds final : public linalg::Bounds {
 public:
  using linalg::Bounds::Bounds;
  using linalg::Bounds::rounded;
  /// Of a channel's own value. The errors of all channels may be those of equal terms.
  Expected expected(const Uncertain& of) const {
    const double deviation = std::sqrt(of.variance);
    return rounded(of.value, std::max(deviations_ * deviation, of.of_equal),
                   std::max(norm_deviations_ * deviation, of.of_equal));
  }
};

/// What is summed of a channel.
struct Sums {
  double sum = 0, absolute = 0, squares = 0;
  void add(double term) {
    sum += term;
    absolute += std::abs(term);
    squares += square(term);
  }
  void add(const Sums& other) {
    sum += other.sum;
    absolute += other.absolute;
    squares += other.squares;
  }
};

/// One channel: what the elements of the outputs are made of.
struct Channel {
  double scale = 0, shift = 0;
  Uncertain mean, variance;
  double inverse = 0;  ///< 1 / sqrt(variance + epsilon)
  Uncertain diff_scale, diff_shift;
};

/// A channel's values of every output element, from the input elements.
class Formula {
 public:
  /// `random`: the data are; channels then err independently.
  Formula(const NormProblem& problem, const Bounds& bounds, double u, double roundings, bool random)
      : m_(static_cast<double>(problem.shape().per_channel())),
        relu_(problem.fusion() != NormFusion::none),
        bounds_(bounds),
        // Half of them: their scales differ.
        of_channels_(problem.precision(), {}, DataType::fp64,
                     place(std::max<std::int64_t>(problem.shape().ic / 2, 1))),
        random_(random),
        u_(u),
        roundings_(roundings * unit_roundoff(storage(problem.precision()))) {}

  Expected dst(const Channel& c, double x, double addend) const {
    const double a = c.scale * c.inverse, centred = x - c.mean.value, y = a * centred + c.shift,
                 value = y + addend;
    const double rounding =
        4 * u_ * (std::abs(a * x) + std::abs(a * c.mean.value) + std::abs(c.shift)) +
        2 * u_ * std::abs(addend) + roundings_ * std::abs(y);
    // Half of the variance's relative error, and the roundings of the root and the quotient.
    const auto error = [&](const auto& of) {
      const double inverse = of(c.variance) / 2 / (c.variance.value + norm_epsilon) + 3 * u_;
      return std::abs(a) * (of(c.mean) + std::abs(centred) * inverse) + rounding;
    };
    const double most = error([this](const Uncertain& of) { return error_of(of); });
    if (relu_ && value + most <= 0) return {0, 0, 0};
    return bounds_.rounded(relu_ ? std::max(value, 0.0) : value, most,
                           error([this](const Uncertain& of) { return typical_of(of); }));
  }

  Expected diff_src(const Channel& c, double x, double g) const {
    const double a = c.scale * c.inverse, of_shift = c.diff_shift.value / m_,
                 of_scale = c.diff_scale.value / m_, normal = (x - c.mean.value) * c.inverse,
                 reach = (std::abs(x) + std::abs(c.mean.value)) * c.inverse;
    const double rounding =
        6 * u_ * (std::abs(g) + std::abs(of_shift) + 2 * reach * std::abs(of_scale));
    const auto error = [&](double shift, double scale) {
      return std::abs(a) * ((shift + std::abs(normal) * scale) / m_ + rounding);
    };
    return bounds_.rounded(a * (g - of_shift - normal * of_scale),
                           error(error_of(c.diff_shift), error_of(c.diff_scale)),
                           error(typical_of(c.diff_shift), typical_of(c.diff_scale)));
  }

  /// Of a channel's own value; the same of every element.
  double error_of(const Uncertain& of) const {
    return bounds_.deviations() * std::sqrt(of.variance);
  }
  /// The same in a norm over all channels.
  double typical_of(const Uncertain& of) const {
    return random_ ? of_channels_.expected(Uncertain{0, of.variance, 0}).rms_bound : error_of(of);
  }

 private:
  double m_;
  bool relu_;
  const Bounds& bounds_;
  Bounds of_channels_;
  bool random_;
  double u_, roundings_;
};

class NormOracle final : public WholeOracle {
 public:
  explicit NormOracle(const NormProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  int exact_magnitude(const Executed&) const override { return 0; }   // roots are not exact
  int full_magnitude(const TensorSpec&) const override { return 0; }  // there is no integer type
  bool nonnegative(const TensorSpec& argument) const override {
    return argument.name == "variance";
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const std::vector<Channel>& channels = this->channels(inputs, executed);
    const Bounds bounds(problem_.precision(), executed, output.type, place(output.elements()));
    if (output.dims.size() == 1)
      return expect_of_channels(output.name, channels, bounds, indices, expected);
    const Formula formula(problem_, bounds, roundoff(executed),
                          executed.operand_roundings.value_or(0), is_random(inputs));
    const std::int64_t plane = problem_.shape().ih * problem_.shape().iw, ic = problem_.shape().ic;
    const auto channel = [&](std::size_t i) -> const Channel& {
      return channels[place(indices[i] / plane % ic)];
    };
    if (output.name == "dst") {
      const std::vector<double> x = read(inputs, "src", indices),
                                addend = read(inputs, "addend", indices);
      for (std::size_t i = 0; i < indices.size(); ++i)
        expected[i] = formula.dst(channel(i), x[i], addend[i]);
      return;
    }
    const std::vector<double> g = gradients(inputs, indices);
    if (output.name == "diff_addend") {
      for (std::size_t i = 0; i < indices.size(); ++i) expected[i] = {g[i], 0, 0};
      return;
    }
    const std::vector<double> x = read(inputs, "src", indices);
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = formula.diff_src(channel(i), x[i], g[i]);
  }

  double widest_norm_bound() const override {
    return problem_.precision() == Precision::fp32 ? sums::error_of_tf32
                                                   : std::numeric_limits<double>::infinity();
  }

 private:
  static void expect_of_channels(const std::string& name, const std::vector<Channel>& channels,
                                 const Bounds& bounds, std::span<const std::int64_t> indices,
                                 std::span<Expected> expected) {
    const auto Channel::*of = name == "mean"         ? &Channel::mean
                              : name == "variance"   ? &Channel::variance
                              : name == "diff_scale" ? &Channel::diff_scale
                                                     : &Channel::diff_shift;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      expected[i] = bounds.expected(channels[place(indices[i])].*of);
    }
  }

  static bool is_random(const Inputs& inputs) {
    const auto random = [](const auto& named) { return named.second.random(); };
    return std::all_of(inputs.begin(), inputs.end(), random);
  }

  double roundoff(const Executed& executed) const {
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
    return problem_.precision() == Precision::fp64 ? 2 * u : u;  // the reference is in fp64, too
  }

  /// Elements of an input, zeros where there is no such input.
  static std::vector<double> read(const Inputs& inputs, const char* name,
                                  std::span<const std::int64_t> indices) {
    std::vector<double> values(indices.size());
    const auto found = inputs.find(name);
    if (found == inputs.end() || indices.empty()) return values;
    if (indices.back() - indices.front() + 1 == static_cast<std::int64_t>(indices.size())) {
      found->second.fill(indices.front(), values);
      return values;
    }
    for (std::size_t i = 0; i < indices.size(); ++i) values[i] = found->second(indices[i]);
    return values;
  }

  /// diff_dst, 0 where the rectifier let nothing pass.
  std::vector<double> gradients(const Inputs& inputs, std::span<const std::int64_t> indices) const {
    std::vector<double> g = read(inputs, "diff_dst", indices);
    if (problem_.fusion() == NormFusion::none) return g;
    const std::vector<double> dst = read(inputs, "dst", indices);
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!(dst[i] > 0)) g[i] = 0;
    return g;
  }

  /// Of the last inputs: one pass over them serves all outputs and checks.
  const std::vector<Channel>& channels(const Inputs& inputs, const Executed& executed) const {
    std::vector<double> key = linalg::fingerprint(tensors_, inputs);
    key.push_back(roundoff(executed));
    if (key != key_) {
      channels_.resize(place(problem_.shape().ic));
      std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic)
      for (std::int64_t c = 0; c < problem_.shape().ic; ++c) {
        try {
          channels_[place(c)] = channel(inputs, c, roundoff(executed));
        } catch (...) {
#pragma omp critical(assay_norm_failure)
          failure = std::current_exception();
        }
      }
      if (failure) std::rethrow_exception(failure);
      key_ = std::move(key);
    }
    return channels_;
  }

  Channel channel(const Inputs& inputs, std::int64_t c, double u) const {
    const auto of_channel = [&](const char* name) {
      const auto found = inputs.find(name);
      return found == inputs.end() ? 0 : found->second(c);
    };
    Channel made;
    made.scale = of_channel("scale");
    made.shift = of_channel("shift");
    made.mean.value = of_channel("mean");
    made.variance.value = of_channel("variance");
    if (problem_.direction() == NormDirection::forward_training) statistics(inputs, c, u, made);
    made.inverse = 1 / std::sqrt(made.variance.value + norm_epsilon);
    if (problem_.direction() == NormDirection::backward) gradient_sums(inputs, c, u, made);
    return made;
  }

  /// Calls body(indices of one image's plane of the channel) for all images.
  template <class Body>
  void planes(std::int64_t c, const Body& body) const {
    const NormShape& s = problem_.shape();
    std::vector<std::int64_t> indices(place(s.ih * s.iw));
    for (std::int64_t n = 0; n < s.mb; ++n) {
      for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i] = (n * s.ic + c) * s.ih * s.iw + static_cast<std::int64_t>(i);
      body(indices);
    }
  }

  /// Variance of the error of a sum over the channel. Random terms drift to the sum alone; of
  /// others any partial sum may be as large as all magnitudes together.
  double variance_of(const Sums& sums, bool random, double u) const {
    const double m = static_cast<double>(problem_.shape().per_channel()),
                 chain = std::min(m, longest_chain),
                 drift = (random ? std::abs(sums.sum) : sums.absolute) * std::sqrt(chain / m);
    return square(u) * linalg::variance_of_sum(chain, sums.squares, drift);
  }

  /// Most of the error of a sum over the channel of equal terms, or of some equal ones and zeros;
  /// random ones are neither.
  double error_of_equal(double absolute, bool random, double u) const {
    const double m = static_cast<double>(problem_.shape().per_channel());
    return random ? 0 : u * std::min(m, longest_equal_chain) / 3 * absolute;
  }

  void statistics(const Inputs& inputs, std::int64_t c, double u, Channel& made) const {
    const double m = static_cast<double>(problem_.shape().per_channel());
    Sums first, second;
    double low = 0;  // of the sum, which fp64's own rounding must not blur
    planes(c, [&](std::span<const std::int64_t> indices) {
      Sums of_plane, squares;
      for (const double x : read(inputs, "src", indices)) {
        of_plane.add(x);
        squares.add(square(x));
      }
      const double next = first.sum + of_plane.sum, moved = next - first.sum;
      low += (first.sum - (next - moved)) + (of_plane.sum - moved);
      first.add(of_plane);
      second.add(squares);
    });
    const bool random = inputs.find("src")->second.random();
    made.mean = {(first.sum + low) / m, variance_of(first, random, u) / square(m),
                 error_of_equal(first.absolute, random, u) / m};
    double centred = 0;
    planes(c, [&](std::span<const std::int64_t> indices) {
      double of_plane = 0;
      for (const double x : read(inputs, "src", indices)) of_plane += square(x - made.mean.value);
      centred += of_plane;
    });
    // As of the formula of one pass, sum x^2 / m - mean^2, whose terms are the larger ones.
    const double mean_square = second.sum / m;
    made.variance = {centred / m,
                     variance_of(second, false, u) / square(m) +
                         4 * square(made.mean.value) * made.mean.variance +
                         4 * square(u * mean_square),
                     error_of_equal(second.absolute, random, u) / m +
                         2 * std::abs(made.mean.value) * made.mean.of_equal};
  }

  void gradient_sums(const Inputs& inputs, std::int64_t c, double u, Channel& made) const {
    Sums of_shift, of_scale, reach;
    planes(c, [&](std::span<const std::int64_t> indices) {
      const std::vector<double> x = read(inputs, "src", indices), g = gradients(inputs, indices);
      for (std::size_t i = 0; i < x.size(); ++i) {
        of_shift.add(g[i]);
        of_scale.add(g[i] * (x[i] - made.mean.value) * made.inverse);
        reach.add(g[i] * (std::abs(x[i]) + std::abs(made.mean.value)) * made.inverse);
      }
    });
    const bool random = inputs.find("diff_dst")->second.random();
    made.diff_shift = {of_shift.sum, variance_of(of_shift, random, u),
                       error_of_equal(of_shift.absolute, random, u)};
    // As of sum g x - mean sum g, whose terms are the larger ones.
    reach.sum =
        std::max(std::abs(of_scale.sum), std::abs(made.mean.value * made.inverse * of_shift.sum));
    made.diff_scale = {of_scale.sum,
                       variance_of(reach, random, u) + 4 * square(u) * reach.squares +
                           square(4 * u) * square(reach.sum),
                       error_of_equal(reach.absolute, random, u)};
  }

  NormProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable std::vector<Channel> channels_;
};

}  // namespace

std::unique_ptr<Oracle> norm_oracle(const NormProblem& problem) {
  return std::make_unique<NormOracle>(problem);
}

}  // namespace assay
