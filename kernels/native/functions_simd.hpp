// Elementary functions of vectors. The unusual guard lets a file of SIMD code include this header
// once for each instruction set.
#if defined(ASSAY_NATIVE_FUNCTIONS_SIMD_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_NATIVE_FUNCTIONS_SIMD_HPP
#undef ASSAY_NATIVE_FUNCTIONS_SIMD_HPP
#else
#define ASSAY_NATIVE_FUNCTIONS_SIMD_HPP
#endif

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
constexpr bool is_single = sizeof(hn::TFromD<D>) == 4;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

/// `value`, but NaN where x is.
template <class V>
HWY_INLINE V unless_nan(V x, V value) {
  return hn::IfThenElse(hn::Eq(x, x), value, x);
}

/// exp x. Its error is at most one unit in the last place. Highway's function returns 0 for NaN.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  return unless_nan(x, hn::Exp(d, x));
}

/// The polynomial with these coefficients; that of the highest power is the first.
template <class D, class V, std::size_t count>
HWY_INLINE V polynomial(D d, V x, const double (&coefficients)[count]) {
  V sum = constant(d, coefficients[0]);
  for (std::size_t i = 1; i < count; ++i) sum = hn::MulAdd(sum, x, constant(d, coefficients[i]));
  return sum;
}

/// 1/x for x from 2^-8 to 2^126; for larger x the result may be 0. AVX-512's estimate has 14 bits,
/// and one Newton step doubles them; a division takes as long as ten products.
template <class D, class V>
HWY_INLINE V reciprocal(D d, V x) {
  const V one = constant(d, 1);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (is_single<D>) {
    const V estimate = hn::ApproximateReciprocal(x);
    return hn::MulAdd(estimate, hn::NegMulAdd(x, estimate, one), estimate);
  }
#endif
  return hn::Div(one, x);
}

/// 1 / (1 + exp(-z)).
template <class D, class V>
HWY_INLINE V logistic(D d, V z) {
  // For larger |z| the result is 1, or less than the smallest normal number of fp32.
  const V most = constant(d, is_single<D> ? 88 : 700);
  const V bounded = hn::Min(hn::Max(z, hn::Neg(most)), most);
  return reciprocal(d, hn::Add(constant(d, 1), hn::Exp(d, hn::Neg(bounded))));
}

/// tanh z. fp32 uses z p(z^2) / q(z^2), with the coefficients of Eigen 3.4 (generic_fast_tanh_float
/// in MathFunctionsImpl.h): its relative error is at most 5.3 * 2^-24, and docs/method-rnn.md
/// allows 6 * 2^-24. Beyond +-7.9 the result is 1. fp64 uses Highway's function, whose error is 4
/// units in the last place.
template <class D, class V>
HWY_INLINE V hyperbolic(D d, V z) {
  if constexpr (is_single<D>) {
    constexpr double over[] = {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11,
                               5.12229709037114e-08,  1.48572235717979e-05, 6.37261928875436e-04,
                               4.89352455891786e-03},
                     under[] = {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03,
                                4.89352518554385e-03};
    const V most = constant(d, 7.90531110763549805);
    const V x = hn::Min(hn::Max(z, hn::Neg(most)), most), x2 = hn::Mul(x, x);
    return hn::Mul(hn::Mul(x, polynomial(d, x2, over)), reciprocal(d, polynomial(d, x2, under)));
  } else {
    return hn::Tanh(d, z);
  }
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
