// The sum of all outputs, by exchanging sums:
//   forward      sum over c, tap of (sum_o W[o,c,tap]) * (sum over n and the outputs that read
//   inside at tap of src[n,c,...]) bwd_data     sum over o, tap of (sum_c W[o,c,tap]) * (sum over n
//   and the outputs that read inside at tap of diff_dst[n,o,...]) bwd_weights  sum over n, group,
//   tap, output of (sum_c src[n,c,...]) * (sum_o diff_dst[n,o,...])
// It shares no index arithmetic with the element-wise reference but Axis, and no order of
// summation.

#include "kernels/conv_geometry.hpp"
#include "kernels/conv_parts.hpp"

namespace assay::convolution {
namespace {

using Image = std::vector<double>;

/// Waking threads costs more than a small sum.
bool worthwhile(const ConvProblem& problem) { return problem.bytes() > 1e5; }

/// Adds elements [first, first + sum.size()) to `sum`.
void accumulate(const Values& values, std::int64_t first, std::span<double> sum) {
  constexpr std::size_t block = 4096;
  double part[block];
  for (std::size_t at = 0; at < sum.size(); at += block) {
    const std::span<double> here(part, std::min(block, sum.size() - at));
    values.fill(first + static_cast<std::int64_t>(at), here);
    for (std::size_t i = 0; i < here.size(); ++i) sum[at + i] += here[i];
  }
}

/// Calls body(tap index, first image offset, {count, offset stride} of z, y, x) for every tap,
/// where the offsets are those of the outputs that read inside (of_outputs) or of what they read.
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

/// Sum of the image over what `inside` outputs read at `tap` (of_outputs false), or over these
/// outputs themselves.
double sum_at_tap(const Image& image, const std::array<Axis, 3>& axis,
                  const std::array<std::int64_t, 3>& tap,
                  const std::array<std::array<std::int64_t, 2>, 3>& inside, bool of_outputs) {
  const auto at = [&](std::size_t d, std::int64_t o) {
    return of_outputs ? o : axis[d].input(o, tap[d]);
  };
  const std::int64_t h = of_outputs ? axis[1].out : axis[1].in,
                     w = of_outputs ? axis[2].out : axis[2].in;
  const std::int64_t stride = of_outputs ? 1 : axis[2].stride;
  double sum = 0;
  for (std::int64_t z = inside[0][0]; z < inside[0][1]; ++z)
    for (std::int64_t y = inside[1][0]; y < inside[1][1]; ++y) {
      const std::int64_t row = (at(0, z) * h + at(1, y)) * w + at(2, inside[2][0]);
      const double* from = image.data() + row;
      for (std::int64_t x = 0; x < inside[2][1] - inside[2][0]; ++x) sum += from[x * stride];
    }
  return sum;
}

/// forward and bwd_data: `data` is src or diff_dst.
double sum_over_channels(const ConvProblem& problem, const Values& data, const Values& weights) {
  const ConvShape& s = problem.shape();
  const bool forward = problem.direction() == ConvDirection::forward;
  const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g, volume = taps(s);
  const std::int64_t channels = forward ? s.ic : s.oc, size = forward ? inputs(s) : outputs(s);
  double total = 0;
#pragma omp parallel reduction(+ : total) if (worthwhile(problem))
  {
    Image image(static_cast<std::size_t>(size)), filter(static_cast<std::size_t>(volume));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t c = 0; c < channels; ++c) {
      std::fill(image.begin(), image.end(), 0.0);
      std::fill(filter.begin(), filter.end(), 0.0);
      for (std::int64_t n = 0; n < s.mb; ++n) accumulate(data, (n * channels + c) * size, image);
      if (forward)
        for (std::int64_t o = 0; o < ocg; ++o)
          accumulate(weights, ((c / icg * ocg + o) * icg + c % icg) * volume, filter);
      else
        for (std::int64_t i = 0; i < icg; ++i) accumulate(weights, (c * icg + i) * volume, filter);
      for_each_tap(
          s, [&](std::int64_t tap, const auto& axis, const auto& position, const auto& inside) {
            total += filter[static_cast<std::size_t>(tap)] *
                     sum_at_tap(image, axis, position, inside, !forward);
          });
    }
  }
  return total;
}

double sum_of_weights(const ConvProblem& problem, const Values& src, const Values& diff_dst) {
  const ConvShape& s = problem.shape();
  const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g, in = inputs(s), out = outputs(s);
  double total = 0;
#pragma omp parallel reduction(+ : total) if (worthwhile(problem))
  {
    Image a(static_cast<std::size_t>(in)), b(static_cast<std::size_t>(out));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t image = 0; image < s.mb * s.g; ++image) {
      std::fill(a.begin(), a.end(), 0.0);
      std::fill(b.begin(), b.end(), 0.0);
      for (std::int64_t c = 0; c < icg; ++c) accumulate(src, (image * icg + c) * in, a);
      for (std::int64_t o = 0; o < ocg; ++o) accumulate(diff_dst, (image * ocg + o) * out, b);
      for_each_tap(s, [&](std::int64_t, const auto& axis, const auto& tap, const auto& inside) {
        for (std::int64_t z = inside[0][0]; z < inside[0][1]; ++z)
          for (std::int64_t y = inside[1][0]; y < inside[1][1]; ++y) {
            const double* from =
                a.data() + (axis[0].input(z, tap[0]) * s.ih + axis[1].input(y, tap[1])) * s.iw +
                axis[2].input(0, tap[2]);
            const double* with = b.data() + (z * s.oh + y) * s.ow;
            for (std::int64_t x = inside[2][0]; x < inside[2][1]; ++x)
              total += from[x * s.sw] * with[x];
          }
      });
    }
  }
  return total;
}

}  // namespace

double sum_of_outputs(const ConvProblem& problem, const Values& a, const Values& b) {
  return problem.direction() == ConvDirection::bwd_weights ? sum_of_weights(problem, a, b)
                                                           : sum_over_channels(problem, a, b);
}

}  // namespace assay::convolution
