#include "kernels/conv/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/conv/geometry.hpp"

namespace assay::convolution {
namespace {

/// Roundings to 16 bits in an algorithm of transforms that stores transformed values in 16 bits:
/// both operands and their products.
constexpr double stored_roundings = 3;
/// The same if the first of the two stages of each transform is also stored in 16 bits.
constexpr double staged_roundings = 6;

/// Extents of the last two dimensions of the output.
std::array<std::int64_t, 2> plane(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  switch (problem.direction()) {
    case ConvDirection::forward:
      return {s.oh, s.ow};
    case ConvDirection::bwd_data:
      return {s.ih, s.iw};
    case ConvDirection::bwd_weights:
      break;
  }
  return {s.kh, s.kw};
}

/// The root mean square of the amplifications of the outputs. `amplifications` has those of each
/// place in a tile, in one dimension. The library chooses the place of the first tile, and the end
/// of the tile at which the point at infinity lies, so the largest result over all choices is
/// returned.
double typical(const std::vector<double>& amplifications, const ConvProblem& problem,
               std::span<const std::int64_t> indices) {
  const std::size_t m = amplifications.size();
  const auto [rows, columns] = plane(problem);
  std::vector<double> outputs(m * m);  // outputs at each place, by row and column
  for (const std::int64_t index : indices)
    outputs[static_cast<std::size_t>(index / columns % rows) % m * m +
            static_cast<std::size_t>(index % columns) % m] += 1;
  double largest = 0;
  for (std::size_t choice = 0; choice < 4 * m * m; ++choice) {
    const auto at = [&](std::size_t place, std::size_t offset, bool reversed) {
      const std::size_t in_tile = (place + offset) % m;
      return amplifications[reversed ? m - 1 - in_tile : in_tile];
    };
    double sum = 0;
    for (std::size_t i = 0; i < m * m; ++i)
      sum += outputs[i] * at(i / m, choice / 4 / m, choice % 2 == 1) *
             at(i % m, choice / 4 % m, choice / 2 % 2 == 1);
    largest = std::max(largest, sum);
  }
  return std::sqrt(largest / static_cast<double>(indices.size()));
}

}  // namespace

Method method(const Execution& execution) {
  if (execution.algorithm.find("wino") != std::string::npos) return Method::winograd;
  if (execution.algorithm.find("fft") != std::string::npos) return Method::fft;
  return Method::direct;
}

std::vector<double> compute_winograd_amplifications(int outputs, int taps) {
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
  // matter, and the scaling cancels in these.
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
  std::vector<double> of_outputs;
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
    of_outputs.push_back(sum / taps);
  }
  return of_outputs;
}

std::optional<std::string> explain_unjudged(const ConvProblem& problem,
                                            const Execution& execution) {
  if (method(execution) != Method::winograd || !execution.tile) return std::nullopt;
  const ConvShape& s = problem.shape();
  const double points = *execution.tile + static_cast<double>(std::max({s.kd, s.kh, s.kw})) - 1;
  if (*execution.tile >= 1 && points <= most_winograd_points) return std::nullopt;
  return fmt::format(
      "the backend declares a Winograd tile of {} (error bounds are derived for transforms of at "
      "most {} points, this one has {:g}). Use another algorithm.",
      *execution.tile, most_winograd_points, points);
}

ErrorModel::ErrorModel(const ConvProblem& problem, const Execution& execution, std::size_t samples,
                       double mean_square_product, std::span<const std::int64_t> indices)
    : sums::ErrorModel(problem.precision(), execution, samples), method_(method(execution)) {
  if (method_ == Method::direct || exact) return;

  const ConvShape& s = problem.shape();
  const bool weights = problem.direction() == ConvDirection::bwd_weights;
  // Some transforms store their results in a 16-bit type, and so round to it.
  const double u_stored =
      rounds_operands ? u_tf32
                      : std::min(unit_roundoff(type_or(execution.compute, DataType::fp64)), u_out);
  const double stored = std::max(u, u_stored) / u;
  // The transformed operands are rounded as in expected().
  const auto find_variance = [this](double terms) {
    return sums::variance_of_sum(terms, truncates);
  };
  double terms =
      static_cast<double>(problem.direction() == ConvDirection::bwd_data ? s.oc / s.g : s.ic / s.g);
  double count = static_cast<double>(reduction(s, problem.direction()));
  if (method_ == Method::fft) {
    const double points = static_cast<double>((s.id + s.kd) * (s.ih + s.kh) * (s.iw + s.kw));
    if (weights) terms = static_cast<double>(s.mb);
    variance_ = find_variance(terms) + 3 * stored * stored * std::log2(points + 2);
  } else {
    const int tile =
        std::clamp(execution.tile.value_or(4), 1, static_cast<int>(most_winograd_points));
    const int taps = static_cast<int>(std::max({s.kd, s.kh, s.kw}));
    if (weights) {
      const auto tiles = [&](std::int64_t extent) { return (extent + tile - 1) / tile; };
      terms = static_cast<double>(s.mb * s.od * tiles(s.oh) * tiles(s.ow));
      count = terms * tile * tile;
    }
    const double reads = weights ? tile : taps;  // terms of one filter transform
    const std::vector<double> all = weights ? compute_winograd_amplifications(taps, tile)
                                            : compute_winograd_amplifications(tile, taps);
    const double amplification = *std::max_element(all.begin(), all.end());
    if (!indices.empty()) typical_ = typical(all, problem, indices) / amplification;
    variance_ = (find_variance(terms) + (reads + 3) / 3 + 2 * (tile + taps + 2) / 3.0) *
                amplification * amplification;
    const double times =
        execution.operand_roundings
            ? std::clamp<double>(*execution.operand_roundings, 0.0, stored_roundings)
            : stored_roundings;
    if (stored > 1) rounding_ = times / 3 * std::pow(amplification * stored, 2);
    if (!execution.operand_roundings) norm_stages_ = std::sqrt(staged_roundings / stored_roundings);
  }
  nominal_squares_ = count * mean_square_product;
}

Expected ErrorModel::expected(const Terms& terms) const {
  if (method_ == Method::direct || exact) return sums::ErrorModel::expected(terms);
  // A transform spreads the error of the whole tile, also to outputs that read padding alone. So
  // the norm of the tile counts.
  const double norm = std::sqrt(std::max(terms.squares, nominal_squares_)),
               deviation = u * std::sqrt(variance_) * norm,
               rounding = u * std::sqrt(rounding_) * norm;
  // In the norm over all outputs the typical deviation counts, because at most one of their errors
  // is large.
  const auto in_norm = [this](double number, double concentrated) {
    return std::min(number, concentrated * typical_ + number - concentrated);
  };
  return rounded(terms.value, deviations * deviation + 2 * gaussian * rounding,
                 in_norm(norm_deviations, 1.5) * deviation +
                     norm_stages_ * in_norm(norm_gaussian, 1.25) * rounding);
}

}  // namespace assay::convolution
