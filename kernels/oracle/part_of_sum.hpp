#pragma once
// Parts of sums of products as code of one thread of a device (core/api/formula.hpp). The host has
// its own loops (the oracles).

#include "kernels/oracle/sum_bound.hpp"

namespace assay::sums {

/// a b, rounded: this keeps compilers from fusing it with an addition.
ASSAY_ITEM double round_product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// Element i is part i % parts of the sum of output i / parts. Its Expected has, in this order, the
/// sum, the sum of magnitudes, and a third number: the sum of squares for random inputs,
/// Terms::subnormal for others.
///
/// Products finds the factors of product `number` of an output:
///   bool find(std::int64_t output, std::int64_t number, std::int64_t& a, std::int64_t& b) const
/// returns false if there is no such product. Inputs: the two that are multiplied. If factors are
/// computed from elements, Products has, instead of find(), bool read(const In& in, const double*
/// table, std::int64_t output, std::int64_t number, double& a, double& b) const
template <class Products>
struct PartOfSum {
  static constexpr const char* name = Products::name;
  Products products;
  std::int64_t terms = 1, each = 1, parts = 1;  ///< products of an output, of a part
  std::int64_t random = 0, compensated = 0;     ///< as Values::random, sums::Sum
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const std::int64_t first = i % parts * each, last = first + each < terms ? first + each : terms;
    double sum = 0, low = 0, absolute = 0, other = 0;
    for (std::int64_t number = first; number < last; ++number) {
      double a = 0, b = 0;
      if (!factors(in, table, i / parts, number, a, b)) continue;
      const double product = round_product(a, b), size = std::fabs(product), next = sum + product;
      if (compensated != 0) {
        const double shift = next - sum;
        low += (sum - (next - shift)) + (product - shift) + std::fma(a, b, -product);
      }
      sum = next;
      absolute += size;
      if (random != 0)
        other += product * product;
      else if (is_subnormal(a) || is_subnormal(b))
        other += size;
    }
    return {sum + low, absolute, other};
  }

 private:
  template <class In>
  ASSAY_ITEM bool factors(const In& in, const double* table, std::int64_t output,
                          std::int64_t number, double& a, double& b) const {
    if constexpr (requires(std::int64_t at) { products.find(at, at, at, at); }) {
      std::int64_t of_a = 0, of_b = 0;
      if (!products.find(output, number, of_a, of_b)) return false;
      a = in(0, of_a);
      b = in(1, of_b);
      return true;
    } else {
      return products.read(in, table, output, number, a, b);
    }
  }
};

}  // namespace assay::sums
