// The weighted sum of all outputs, by exchanging sums. w is the weight of an output, a product of
// one factor for each of its indices (core/api/checksum_weights.hpp):
//   forward      sum over c, tap of (sum_o w_o W[o,c,tap]) * (sum over the outputs that read inside
//                at tap of w_zyx * sum_n w_n src[n,c,...])
//   bwd_data     sum over o, tap of (sum_c w_c W[o,c,tap]) * (sum over the outputs that read inside
//                at tap of w_zyx * sum_n w_n diff_dst[n,o,...]), w_zyx of the input that they read
//   bwd_weights  sum over n, group, tap, output of w_g w_tap (sum_c w_c src[n,c,...]) * (sum_o w_o
//                diff_dst[n,o,...])
// It shares with the element-wise reference no order of summation, and no index arithmetic except
// Axis.

#include "kernels/conv/geometry.hpp"
#include "kernels/conv/parts.hpp"
#include "kernels/oracle/failure.hpp"

namespace assay::convolution {
namespace {

using Image = std::vector<double>;

/// Waking threads costs more than a small sum.
bool worthwhile(const ConvProblem& problem) { return problem.bytes() > 1e5; }

/// Adds `weight` times elements [first, first + sum.size()) to `sum`.
void accumulate(const Values& values, std::int64_t first, double weight, std::span<double> sum) {
  constexpr std::size_t block = 4096;
  double part[block];
  for (std::size_t at = 0; at < sum.size(); at += block) {
    const std::span<double> here(part, std::min(block, sum.size() - at));
    values.fill(first + static_cast<std::int64_t>(at), here);
    for (std::size_t i = 0; i < here.size(); ++i) sum[at + i] += weight * here[i];
  }
}

/// Calls body(tap index, axes, tap {z, y, x}, outputs [first, last) of each axis whose input at the
/// tap lies inside) for every tap.
template <class Body>
void for_each_tap(const ConvShape& s, Body body) {
  const std::array<Axis, 3> axis = axes(s);
  std::int64_t tap = 0;
  for (std::int64_t i = 0; i < s.kd; ++i)
    for (std::int64_t j = 0; j < s.kh; ++j)
      for (std::int64_t k = 0; k < s.kw; ++k, ++tap)
        body(tap, axis, std::array<std::int64_t, 3>{i, j, k},
             std::array<std::array<std::int64_t, 2>, 3>{axis[0].outputs(i), axis[1].outputs(j),
                                                        axis[2].outputs(k)});
}

using Factors = std::vector<double>;

/// Factors of the three spatial dimensions, which begin at dimension `first` of the output.
std::array<Factors, 3> spatial_factors(const ChecksumWeights& weights, std::size_t first) {
  if (weights.dims() == first + 3)
    return {weights.factors(first), weights.factors(first + 1), weights.factors(first + 2)};
  return {Factors{1}, weights.factors(first), weights.factors(first + 1)};
}

/// Weighted sum of the image at one tap over the outputs whose input lies inside. Forward, it sums
/// the inputs with the weights of the outputs; else it sums the outputs with the weights of the
/// inputs.
double sum_at_tap(const Image& image, const std::array<Factors, 3>& weights,
                  const std::array<Axis, 3>& axis, const std::array<std::int64_t, 3>& tap,
                  const std::array<std::array<std::int64_t, 2>, 3>& inside, bool forward) {
  const std::int64_t h = forward ? axis[1].in : axis[1].out, w = forward ? axis[2].in : axis[2].out;
  const auto read = [&](std::size_t d, std::int64_t o) { return axis[d].input(o, tap[d]); };
  const auto weight = [&](std::size_t d, std::int64_t o) {
    return weights[d][static_cast<std::size_t>(forward ? o : read(d, o))];
  };
  const auto place = [&](std::size_t d, std::int64_t o) { return forward ? read(d, o) : o; };
  const std::int64_t first = inside[2][0], count = inside[2][1] - first, stride = axis[2].stride;
  if (count <= 0) return 0;
  double sum = 0;
  for (std::int64_t z = inside[0][0]; z < inside[0][1]; ++z)
    for (std::int64_t y = inside[1][0]; y < inside[1][1]; ++y) {
      const double* from = image.data() + (place(0, z) * h + place(1, y)) * w + place(2, first);
      const double* with = weights[2].data() + (forward ? first : read(2, first));
      double row = 0;
      for (std::int64_t x = 0; x < count; ++x)
        row += forward ? with[x] * from[x * stride] : with[x * stride] * from[x];
      sum += weight(0, z) * weight(1, y) * row;
    }
  return sum;
}

/// forward and bwd_data: `data` is src or diff_dst.
double sum_over_channels(const ConvProblem& problem, const Values& data, const Values& filters,
                         const ChecksumWeights& weights) {
  const ConvShape& s = problem.shape();
  const bool forward = problem.direction() == ConvDirection::forward;
  const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g, volume = taps(s);
  const std::int64_t channels = forward ? s.ic : s.oc, size = forward ? inputs(s) : outputs(s);
  const Factors of_image = weights.factors(0), of_channel = weights.factors(1);
  const std::array<Factors, 3> of_place = spatial_factors(weights, 2);
  double total = 0;
  sums::Failure failure;
#pragma omp parallel reduction(+ : total) if (worthwhile(problem))
  {
    Image image(static_cast<std::size_t>(size)), filter(static_cast<std::size_t>(volume));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t c = 0; c < channels; ++c)
      failure.keep([&] {
        std::fill(image.begin(), image.end(), 0.0);
        std::fill(filter.begin(), filter.end(), 0.0);
        for (std::int64_t n = 0; n < s.mb; ++n)
          accumulate(data, (n * channels + c) * size, of_image[static_cast<std::size_t>(n)], image);
        if (forward) {
          for (std::int64_t o = c / icg * ocg; o < (c / icg + 1) * ocg; ++o)
            accumulate(filters, (o * icg + c % icg) * volume,
                       of_channel[static_cast<std::size_t>(o)], filter);
        } else {
          for (std::int64_t i = 0; i < icg; ++i)
            accumulate(filters, (c * icg + i) * volume,
                       of_channel[static_cast<std::size_t>(c / ocg * icg + i)], filter);
        }
        for_each_tap(
            s, [&](std::int64_t tap, const auto& axis, const auto& position, const auto& inside) {
              total += filter[static_cast<std::size_t>(tap)] *
                       sum_at_tap(image, of_place, axis, position, inside, forward);
            });
      });
  }
  failure.rethrow();
  return total;
}

double sum_of_weights(const ConvProblem& problem, const Values& src, const Values& diff_dst,
                      const ChecksumWeights& weights) {
  const ConvShape& s = problem.shape();
  const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g, in = inputs(s), out = outputs(s);
  const Factors of_group = weights.factors(0), of_output = weights.factors(1),
                of_input = weights.factors(2);
  const std::array<Factors, 3> of_tap = spatial_factors(weights, 3);
  double total = 0;
  sums::Failure failure;
#pragma omp parallel reduction(+ : total) if (worthwhile(problem))
  {
    Image a(static_cast<std::size_t>(in)), b(static_cast<std::size_t>(out));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t image = 0; image < s.mb * s.g; ++image)
      failure.keep([&] {
        std::fill(a.begin(), a.end(), 0.0);
        std::fill(b.begin(), b.end(), 0.0);
        for (std::int64_t c = 0; c < icg; ++c)
          accumulate(src, (image * icg + c) * in, of_input[static_cast<std::size_t>(c)], a);
        for (std::int64_t o = 0; o < ocg; ++o)
          accumulate(diff_dst, (image * ocg + o) * out, of_output[static_cast<std::size_t>(o)], b);
        const double group = of_group[static_cast<std::size_t>(image % s.g)];
        for_each_tap(s, [&](std::int64_t, const auto& axis, const auto& tap, const auto& inside) {
          double sum = 0;
          for (std::int64_t z = inside[0][0]; z < inside[0][1]; ++z)
            for (std::int64_t y = inside[1][0]; y < inside[1][1]; ++y) {
              const double* from =
                  a.data() + (axis[0].input(z, tap[0]) * s.ih + axis[1].input(y, tap[1])) * s.iw +
                  axis[2].input(0, tap[2]);
              const double* with = b.data() + (z * s.oh + y) * s.ow;
              for (std::int64_t x = inside[2][0]; x < inside[2][1]; ++x)
                sum += from[x * s.sw] * with[x];
            }
          double weight = group;
          for (std::size_t d = 0; d < 3; ++d) weight *= of_tap[d][static_cast<std::size_t>(tap[d])];
          total += weight * sum;
        });
      });
  }
  failure.rethrow();
  return total;
}

}  // namespace

double sum_of_outputs(const ConvProblem& problem, const Values& a, const Values& b,
                      const ChecksumWeights& weights) {
  return problem.direction() == ConvDirection::bwd_weights
             ? sum_of_weights(problem, a, b, weights)
             : sum_over_channels(problem, a, b, weights);
}

}  // namespace assay::convolution
