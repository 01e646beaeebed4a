// Activation functions of the elements of rows, and their gradients.

#include "kernels/native/activation_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/activation_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <numbers>

#include "kernels/native/functions_simd.hpp"
#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::each_vector;

/// Number of rows whose gradients are added to a channel's sum while it is in registers.
constexpr std::ptrdiff_t rows_at_once = 8;

/// The distribution function P of the normal distribution, and its density.
template <class V>
struct Normal {
  V distribution, density;
};

/// Let y = |z| / sqrt 2. P(-|z|) = erfc(y) / 2 is exp(-y^2) times a rational function of y. In
/// fp64, for y below 0.46875, P(z) is 1/2 + z times a rational function of y^2 (W. J. Cody,
/// Rational Chebyshev Approximations for the Error Function, Math. Comp. 23, 1969). The error is
/// below 6 u (u the unit roundoff; tests/kernels/activation). It is absolute, because gelu
/// multiplies P by z.
template <class D, class V>
HWY_INLINE Normal<V> normal(D d, V z) {
  constexpr double over[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594,
                             6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
                             1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3},
                   under[] = {1,
                              1.57449261107098347e1,
                              1.17693950891312499e2,
                              5.37181101862009858e2,
                              1.62138957456669019e3,
                              3.29079923573345963e3,
                              4.36261909014324716e3,
                              3.43936767414372164e3,
                              1.23033935480374942e3};
  // For larger |z|, P is 0 or 1. With this limit, products with z stay finite.
  const V size = hn::Min(hn::Abs(z), constant(d, 14));
  const V y = hn::Mul(size, constant(d, std::numbers::sqrt2 / 2)),
          bell = hn::Exp(d, hn::Mul(hn::Mul(size, size), constant(d, -0.5)));
  const V tail = hn::Mul(hn::Mul(bell, constant(d, 0.5)),
                         hn::Div(polynomial(d, y, over), polynomial(d, y, under)));
  V part = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), tail, hn::Sub(constant(d, 1), tail));
  if constexpr (!is_single<D>) {
    constexpr double near_over[] = {1.85777706184603153e-1, 3.16112374387056560,
                                    1.13864154151050156e2, 3.77485237685302021e2,
                                    3.20937758913846947e3},
                     near_under[] = {1, 2.36012909523441209e1, 2.44024637934444173e2,
                                     1.28261652607737228e3, 2.84423683343917062e3};
    const V y2 = hn::Mul(y, y),
            erf = hn::Mul(hn::Mul(z, constant(d, std::numbers::sqrt2 / 2)),
                          hn::Div(polynomial(d, y2, near_over), polynomial(d, y2, near_under)));
    part = hn::IfThenElse(hn::Lt(y, constant(d, 0.46875)),
                          hn::MulAdd(erf, constant(d, 0.5), constant(d, 0.5)), part);
  }
  return {part, hn::Mul(bell, constant(d, std::numbers::inv_sqrtpi / std::numbers::sqrt2))};
}

/// f(z); NaN if z is NaN.
template <ActivationFunction f, class D, class V>
HWY_INLINE V read_value(D d, V z) {
  if constexpr (f == ActivationFunction::relu)
    return hn::IfThenElse(hn::Le(z, hn::Zero(d)), hn::Zero(d), z);  // Max may lose NaN
  else if constexpr (f == ActivationFunction::sigmoid)
    return unless_nan(z, logistic(d, z));
  else if constexpr (f == ActivationFunction::tanh)
    return unless_nan(z, hyperbolic(d, z));
  else if constexpr (f == ActivationFunction::gelu)
    return hn::Mul(z, normal(d, z).distribution);
  else if constexpr (f == ActivationFunction::log_sigmoid)
    return unless_nan(
        z, hn::Sub(hn::Min(z, hn::Zero(d)), hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(z))))));
  else
    return z;
}

/// g f', computed from y = dst (gelu: from y = z).
template <ActivationFunction f, class D, class V>
HWY_INLINE V compute_gradient(D d, V g, V y) {
  if constexpr (f == ActivationFunction::relu) {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), g);
  } else if constexpr (f == ActivationFunction::sigmoid) {
    return hn::Mul(g, hn::Mul(y, hn::Sub(constant(d, 1), y)));
  } else if constexpr (f == ActivationFunction::tanh) {
    return hn::Mul(g, hn::NegMulAdd(y, y, constant(d, 1)));
  } else if constexpr (f == ActivationFunction::log_sigmoid) {
    return hn::Mul(g, hn::Sub(constant(d, 1), exponential(d, y)));
  } else {
    const auto gaussian = normal(d, y);
    return hn::Mul(g, hn::MulAdd(y, gaussian.density, gaussian.distribution));
  }
}

template <ActivationFunction f, class Format>
struct Loops {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  /// An element plus the bias of its channel.
  template <class D>
  static HWY_INLINE hn::Vec<D> biased(D d, const Stored* from, const Value* bias,
                                      std::ptrdiff_t channel) {
    const auto x = Format::load(d, from);
    return bias == nullptr ? x : hn::Add(x, hn::LoadU(d, bias + channel));
  }

  static void forward(const void* from, const Value* bias, std::ptrdiff_t rows,
                      std::ptrdiff_t channels, void* to) {
    for (std::ptrdiff_t row = 0; row < rows; ++row)
      each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        const std::ptrdiff_t at = row * channels + j;
        const auto z = biased(d, static_cast<const Stored*>(from) + at, bias, j);
        assay::HWY_NAMESPACE::store(Format(), read_value<f>(d, z), d,
                                    static_cast<Stored*>(to) + at);
      });
  }

  static void backward(const void* from, const Value* bias, const void* diff, std::ptrdiff_t rows,
                       std::ptrdiff_t channels, Value* sums, void* to) {
    for (std::ptrdiff_t first = 0; first < rows; first += rows_at_once) {
      const std::ptrdiff_t end = std::min(first + rows_at_once, rows);
      each_vector<Value>(channels, [&](auto d, std::ptrdiff_t j) HWY_ATTR {
        auto sum = sums == nullptr ? hn::Zero(d) : hn::LoadU(d, sums + j);
        for (std::ptrdiff_t row = first; row < end; ++row) {
          const std::ptrdiff_t at = row * channels + j;
          auto g = Format::load(d, static_cast<const Stored*>(diff) + at);
          if constexpr (f != ActivationFunction::identity) {
            const auto y = biased(d, static_cast<const Stored*>(from) + at, bias, j);
            g = compute_gradient<f>(d, g, y);
            assay::HWY_NAMESPACE::store(Format(), g, d, static_cast<Stored*>(to) + at);
          }
          sum = hn::Add(sum, g);
        }
        if (sums != nullptr) hn::StoreU(sum, d, sums + j);
      });
    }
  }

  static ActivationTable<Value> table() {
    return {hwy::TargetName(HWY_TARGET), &forward, &backward};
  }
};

template <ActivationFunction f>
struct Of {
  template <class Format>
  using Kernel = Loops<f, Format>;
};

template <ActivationFunction f>
const StorageTables<ActivationTable>* find_tables() {
  return assay::HWY_NAMESPACE::storage_tables<ActivationTable, Of<f>::template Kernel>();
}

}  // namespace

const StorageTables<ActivationTable>* activation_tables_here(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::identity:
      return find_tables<ActivationFunction::identity>();
    case ActivationFunction::relu:
      return find_tables<ActivationFunction::relu>();
    case ActivationFunction::sigmoid:
      return find_tables<ActivationFunction::sigmoid>();
    case ActivationFunction::tanh:
      return find_tables<ActivationFunction::tanh>();
    case ActivationFunction::gelu:
      return find_tables<ActivationFunction::gelu>();
    case ActivationFunction::log_sigmoid:
      return find_tables<ActivationFunction::log_sigmoid>();
  }
  return nullptr;
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(activation_tables_here);
const StorageTables<ActivationTable>& activation_tables(ActivationFunction function) {
  return *HWY_DYNAMIC_DISPATCH(activation_tables_here)(function);
}
}  // namespace assay::native
#endif
