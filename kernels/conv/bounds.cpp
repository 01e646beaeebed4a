#include "kernels/conv/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/conv/geometry.hpp"

namespace assay::convolution {
namespace {

/// A check fails a correct implementation at most this often.
constexpr double false_alarm = 1e-9;

/// Standard deviations that the largest of `samples` rounding errors exceeds with probability
/// false_alarm. The error of a running sum is a Gaussian mixture over random walks, with tail
/// exp(-pi x / (2 sqrt 2)): much heavier than a Gaussian's.
double deviations(std::size_t samples) {
  const double n = static_cast<double>(std::max<std::size_t>(samples, 1));
  return (std::log(n) - std::log(false_alarm)) * 2 * std::numbers::sqrt2 / std::numbers::pi;
}

/// The type named, or `otherwise` for names that are no element type ("tf32", "", "int8").
DataType type_or(const std::string& name_of_type, DataType otherwise) {
  for (DataType type :
       {DataType::fp64, DataType::fp32, DataType::bf16, DataType::fp16, DataType::s32})
    if (name_of_type == name(type)) return type;
  return otherwise;
}

/// Operands of a tensor core in tf32: 11 significant bits, the others rounded or merely dropped, as
/// the library likes, so that the relative error is below 2^-10.
constexpr double u_tf32 = 0x1p-10;
/// Deviation of one product's relative error when both operands lose digits: see method-conv.md.
constexpr double tf32_deviation = 0.76 * u_tf32;
/// Roundings to 16 bits in an algorithm of transforms that stores what it transforms so: both
/// operands and their products.
constexpr double stored_roundings = 3;
/// Products that a tensor core adds at once, at the least.
constexpr double products_at_once = 4;

}  // namespace

Method method(const Executed& executed) {
  if (executed.algorithm.find("wino") != std::string::npos) return Method::winograd;
  if (executed.algorithm.find("fft") != std::string::npos) return Method::fft;
  return Method::direct;
}

int significand_bits(DataType type) {
  switch (type) {
    case DataType::fp64:
      return 53;
    case DataType::fp32:
      return 24;
    case DataType::bf16:
      return 8;
    case DataType::fp16:
      return 11;
    case DataType::s32:
      return 31;
    default:
      return 7;
  }
}

double winograd_amplification(int outputs, int taps) {
  const int points = outputs + taps - 2;  // finite ones; infinity is the last
  std::vector<double> x{0};
  for (double p = 1; static_cast<int>(x.size()) < points;
       p = p >= 1 ? (p == 1 ? 2 : 1 / p) : 2 / p) {
    x.push_back(p);
    if (static_cast<int>(x.size()) < points) x.push_back(-p);
  }
  x.resize(static_cast<std::size_t>(points));
  // Row i of the input transform holds the coefficients of prod (x - x_l) over l != i; the filter's
  // row is x_i^j over prod (x_i - x_l); the output's column x_i^p. Only the products of their norms
  // matter, in which the scaling cancels.
  const auto squared_norm_of_product = [&](int without) {
    std::vector<double> c{1};
    for (int l = 0; l < points; ++l) {
      if (l == without) continue;
      c.push_back(0);
      for (std::size_t j = c.size() - 1; j > 0; --j)
        c[j] = c[j - 1] - x[static_cast<std::size_t>(l)] * c[j];
      c[0] *= -x[static_cast<std::size_t>(l)];
    }
    double sum = 0;
    for (double v : c) sum += v * v;
    return sum;
  };
  double worst = 0;
  for (int p = 0; p < outputs; ++p) {
    double sum = p == outputs - 1 ? squared_norm_of_product(-1)
                                  : 0;  // infinity: output and filter are unit vectors
    for (int i = 0; i < points; ++i) {
      const double xi = x[static_cast<std::size_t>(i)];
      double filter = 0, scale = 1;
      for (int j = 0; j < taps; ++j) filter += std::pow(xi * xi, j);
      for (int l = 0; l < points; ++l)
        if (l != i) scale *= xi - x[static_cast<std::size_t>(l)];
      sum += std::pow(xi * xi, p) * filter / (scale * scale) * squared_norm_of_product(i);
    }
    worst = std::max(worst, sum / taps);
  }
  return worst;  // one dimension's factor of the variance is two dimensions' factor of the standard
                 // deviation
}

std::optional<std::string> unjudged(const ConvProblem& problem, const Executed& executed) {
  if (method(executed) != Method::winograd || !executed.tile) return std::nullopt;
  const ConvShape& s = problem.shape();
  const double points = *executed.tile + static_cast<double>(std::max({s.kd, s.kh, s.kw})) - 1;
  if (*executed.tile >= 1 && points <= most_winograd_points) return std::nullopt;
  return fmt::format(
      "the backend declares a Winograd tile of {} (error bounds are derived for transforms of at "
      "most {} points, this one has {:g}). Use another algorithm.",
      *executed.tile, most_winograd_points, points);
}

Moments moments(const Values& values, std::int64_t elements) {
  constexpr std::int64_t most = 4096;
  const std::int64_t count = std::min(elements, most);
  Moments found;
  for (std::int64_t i = 0; i < count; ++i) {
    // i * elements / count without overflow, evenly spaced
    const double v = values(i * (elements / count) + i * (elements % count) / count);
    found.mean_square += v * v / static_cast<double>(count);
    found.largest = std::max(found.largest, std::abs(v));
  }
  return found;
}

double log_tail(double count, double mean_square, double largest, double limit) {
  return std::log(2.0) - limit * limit / (2 * (count * mean_square + largest * limit / 3));
}

double ErrorModel::accumulator_roundoff(Precision precision, const Executed& executed) {
  if (precision == Precision::int8) return 0;
  // The precision of a row is a promise: an accumulator coarser than the storage is held to the
  // storage's roundoff.
  const DataType usual = format(precision).accumulator;
  const double u = unit_roundoff(type_or(executed.accumulate, usual));
  return std::min(u == 0 ? unit_roundoff(usual) : u, unit_roundoff(format(precision).output));
}

ErrorModel::ErrorModel(const ConvProblem& problem, const Executed& executed, std::size_t samples,
                       double mean_square_product)
    : method_(method(executed)),
      exact_(problem.precision() == Precision::int8),
      u_(accumulator_roundoff(problem.precision(), executed)),
      u_out_(unit_roundoff(format(problem.precision()).output)),
      tiny_(problem.precision() == Precision::fp16 ? 0x1p-25 : 0),
      deviations_(deviations(samples)),
      rounds_operands_(problem.precision() == Precision::tf32) {
  // A row of fp32 or fp64 promises an arithmetic of its own, whatever the backend says.
  const bool lends = rounds_operands_ || size_of(storage(problem.precision())) == 2;
  truncates_ = lends && executed.accumulate == truncating_fp32;
  const double count_of = static_cast<double>(std::max<std::size_t>(samples, 1)),
               root = std::sqrt(count_of);
  gaussian_ = std::sqrt(2 * (std::log(2 * count_of) - std::log(false_alarm)));
  norm_gaussian_ = 1.25 + gaussian_ / root;
  // The norm of n errors concentrates about their standard deviation; one large error may still
  // stand out.
  norm_deviations_ = 1.5 + deviations_ / root;
  norm_rounding_ = std::min(1.0, std::sqrt(1.0 / 3 + 5.6 / root));
  if (method_ == Method::direct || exact_) return;

  const ConvShape& s = problem.shape();
  const bool weights = problem.direction() == ConvDirection::bwd_weights;
  // A transform that stores its results in a 16-bit type, as some do, rounds to it.
  const double u_stored =
      rounds_operands_ ? u_tf32
                       : std::min(unit_roundoff(type_or(executed.compute, DataType::fp64)), u_out_);
  const double stored = std::max(u_, u_stored) / u_;
  const auto sum_of = [this](double terms) {  // as in expected(), for the transformed operands
    const double rounded = (terms + 3) / 6, steps = std::ceil(terms / products_at_once);
    return truncates_ ? 4 * rounded + steps * steps / 3 : rounded;
  };
  double terms =
      static_cast<double>(problem.direction() == ConvDirection::bwd_data ? s.oc / s.g : s.ic / s.g);
  double count = static_cast<double>(reduction(s, problem.direction()));
  if (method_ == Method::fft) {
    const double points = static_cast<double>((s.id + s.kd) * (s.ih + s.kh) * (s.iw + s.kw));
    if (weights) terms = static_cast<double>(s.mb);
    variance_ = sum_of(terms) + 3 * stored * stored * std::log2(points + 2);
  } else {
    const int tile =
        std::clamp(executed.tile.value_or(4), 1, static_cast<int>(most_winograd_points));
    const int taps = static_cast<int>(std::max({s.kd, s.kh, s.kw}));
    if (weights) {
      const auto tiles = [&](std::int64_t extent) { return (extent + tile - 1) / tile; };
      terms = static_cast<double>(s.mb * s.od * tiles(s.oh) * tiles(s.ow));
      count = terms * tile * tile;
    }
    const double reads = weights ? tile : taps;  // terms of one filter transform
    const double amplification =
        weights ? winograd_amplification(taps, tile) : winograd_amplification(tile, taps);
    variance_ = (sum_of(terms) + (reads + 3) / 3 + 2 * (tile + taps + 2) / 3.0) * amplification *
                amplification;
    const double times =
        executed.operand_roundings
            ? std::clamp<double>(*executed.operand_roundings, 0.0, stored_roundings)
            : stored_roundings;
    if (stored > 1) rounding_ = times / 3 * std::pow(amplification * stored, 2);
  }
  nominal_squares_ = count * mean_square_product;
}

Expected ErrorModel::expected(const Terms& terms) const {
  Expected out;
  out.value = terms.value;
  if (exact_) return out;
  const double k = static_cast<double>(terms.count);
  double most, typical;
  if (method_ == Method::direct) {
    const double deviation = u_ * std::sqrt((k + 3) / 6 * terms.squares);
    // Every product passes at most k roundings, whatever the order of summation: gamma_k *
    // ||ab||_1.
    const double certain = k * u_ < 0.5 ? k * u_ / (1 - k * u_) * terms.absolute : terms.absolute;
    most = std::min(certain, deviations_ * deviation);
    typical = std::min(certain, norm_deviations_ * deviation);
    if (truncates_) {
      // At most k + k/4 errors of 2u each, all towards zero; the walk's mean sets the probable one.
      const double norm = std::sqrt(terms.squares),
                   drift = u_ * std::ceil(k / products_at_once) / std::sqrt(3.0) * norm;
      const double never_more = 3 * k * u_ * terms.absolute;
      most = std::min(never_more, 2 * deviations_ * deviation + gaussian_ * drift);
      typical = std::min(never_more, 2 * norm_deviations_ * deviation + norm_gaussian_ * drift);
    }
    if (rounds_operands_) {
      const double norm = std::sqrt(terms.squares), never_more = 2.001 * u_tf32 * terms.absolute;
      most += std::min(never_more, gaussian_ * 2 * u_tf32 * norm);
      typical += std::min(never_more, norm_gaussian_ * tf32_deviation * norm);
    }
  } else {
    // A transform spreads the whole tile's error, also to outputs that read padding alone: the
    // tile's norm counts.
    const double norm = std::sqrt(std::max(terms.squares, nominal_squares_)),
                 deviation = u_ * std::sqrt(variance_) * norm,
                 rounding = u_ * std::sqrt(rounding_) * norm;
    most = deviations_ * deviation + 2 * gaussian_ * rounding;
    typical = norm_deviations_ * deviation + norm_gaussian_ * rounding;
  }
  const double size = std::abs(terms.value);
  out.max_bound = most + u_out_ * (size + most) + tiny_;
  out.rms_bound = typical + norm_rounding_ * u_out_ * (size + typical) + tiny_;
  return out;
}

}  // namespace assay::convolution
