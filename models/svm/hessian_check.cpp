#include "models/svm/hessian_check.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// Observations that a kernel may add in fp32 (docs/method-linalg.md).
constexpr double most_in_fp32 = 256;

}  // namespace

/// `sums`: H v, the magnitudes of its terms, and the changes of H v by rows for which rounding may
/// decide whether 0 < s < 1.
void HessianCheck::add_row(const double* x, double y, std::span<double> sums) const {
  const std::vector<double>&w = hessian_.w, &v = hessian_.probe;
  if (w.empty()) return;
  const std::size_t d = w.size() - 1;
  double f = w[d], squares = f * f;
  for (std::size_t j = 0; j < d; ++j) {
    const double term = w[j] * x[j];
    f += term;
    squares += term * term;
  }
  const double a = hessian_.slope * (1 - y * f),
               reach = hessian_.slope * roundoff_ * std::sqrt(squares);
  const bool counts = a > 0 && a < 1;
  const double slope_too = reach + 8 * unit_roundoff(type_);  // rounding of s moves the end at 1
  const bool is_sure = std::abs(a) > reach && std::abs(a - 1) > slope_too;
  if (!counts && is_sure) return;
  double along = v[d], magnitude = std::abs(v[d]);
  for (std::size_t j = 0; j < d; ++j) {
    along += x[j] * v[j];
    magnitude += std::abs(x[j] * v[j]);
  }
  double *const product = sums.data(), *const terms = product + w.size(),
                *const doubt = terms + w.size();
  const auto add = [&](std::size_t i, double element) {
    if (counts) product[i] += element * along;
    terms[i] += std::abs(element) * magnitude;
    if (!is_sure) doubt[i] += std::abs(element * along);
  };
  for (std::size_t j = 0; j < d; ++j) add(j, x[j]);
  add(d, 1);
}

Relation HessianCheck::relation(std::span<const double> sums, double rows) const {
  const std::size_t width = hessian_.w.size();
  // Covers both sums (the kernel's and this one's), products in the table's type, and the sum over
  // v in any order.
  const double rounding =
      2 * error_of_sums(rows) +
      std::max(8 * std::sqrt(most_in_fp32), most_in_fp32 / 2) * unit_roundoff(type_) +
      error_of_sums(static_cast<double>(width));
  Relation worst{"Hessian matrix", "|H v - own H v| of one element, at a random v", 0, 0};
  double most = -1;
  for (std::size_t i = 0; i < width; ++i) {
    double own = 0;
    for (std::size_t j = 0; j < width; ++j) own += hessian_.h[i * width + j] * hessian_.probe[j];
    const double error = std::abs(own - sums[i]),
                 bound = sums[2 * width + i] + rounding * sums[width + i],
                 part = error == 0 ? 0 : error / bound;
    if (part <= most) continue;  // false if `part` is NaN
    worst.error = error;
    worst.bound = bound;
    most = part;
    if (std::isnan(part)) break;
  }
  return worst;
}

}  // namespace assay
