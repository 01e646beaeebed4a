#include "datasets/normals.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "datasets/normals.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F = HWY_CAPPED(double, 8);
using U = hn::RebindToUnsigned<F>;
using Reals = hn::Vec<F>;
using Words = hn::Vec<U>;

/// a + b x: two roundings on every processor.
HWY_INLINE Reals linear(Reals a, Reals b, Reals x) { return hn::Add(a, hn::Mul(b, x)); }
HWY_INLINE Reals real(double value) { return hn::Set(F(), value); }
HWY_INLINE Words word(std::uint64_t value) { return hn::Set(U(), value); }

template <int count>
HWY_INLINE Reals polynomial(Reals x, const double (&coefficients)[count]) {
  Reals sum = real(coefficients[count - 1]);
  for (int i = count - 2; i >= 0; --i) sum = linear(real(coefficients[i]), sum, x);
  return sum;
}

/// The products of the lower halves of the lanes of `a` with a number of 32 bits.
HWY_INLINE Words times(Words a, std::uint64_t b) {
#if HWY_TARGET == HWY_SCALAR  // its vectors of one lane have no halves
  return word((hn::GetLane(a) & 0xFFFFFFFFu) * b);
#else
  const hn::Repartition<std::uint32_t, U> halves;
  return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, word(b)));
#endif
}

/// Two 64-bit random numbers of each counter (row, pair, purpose). A 32-bit word is in a lane of 64
/// bits. Its upper half is arbitrary, because the multiplication does not read it.
HWY_INLINE void philox(Words row, Words pair, std::uint32_t stream, std::uint64_t seed,
                       Words& first, Words& second) {
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  Words c0 = row, c1 = hn::ShiftRight<32>(row), c2 = pair, c3 = word(stream);
  for (int round = 0; round < 10; ++round) {
    const Words a = times(c0, 0xD2511F53u), b = times(c2, 0xCD9E8D57u);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), word(key0));
    c1 = b;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), word(key1));
    c3 = a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const Words low = word(0xFFFFFFFFu);
  first = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
  second = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
}

/// 52 random bits as a number in [1, 2).
HWY_INLINE Reals from_one(Words bits) {
  return hn::BitCast(F(), hn::Or(hn::ShiftRight<12>(bits), word(0x3FF0000000000000u)));
}

/// ln u of u in (0, 1], as e_log.c of Sun's fdlibm computes it (error below 1 ulp): u = 2^k (1 + f)
/// with sqrt(1/2) < 1 + f < sqrt(2), and a polynomial in (f / (2 + f))^2.
HWY_INLINE Reals logarithm(Reals u) {
  const U words;
  const F reals;
  constexpr double odd[] = {6.666666666666735130e-01, 2.857142874366239149e-01,
                            1.818357216161805012e-01, 1.479819860511658591e-01};
  constexpr double even[] = {3.999999999940941908e-01, 2.222219843214978396e-01,
                             1.531383769920937332e-01};
  const Words shifted = hn::Add(hn::BitCast(words, u), word(0x0009'5F62'0000'0000u));
  // Adding an integer to 2^52 puts it into the lower bits of the significand.
  const Reals k =
      hn::Sub(hn::BitCast(reals, hn::Or(hn::ShiftRight<52>(shifted), word(0x4330000000000000u))),
              real(0x1p52 + 1023));
  const Words significand = hn::And(shifted, word(0x000F'FFFF'FFFF'FFFFu));
  const Reals f =
      hn::Sub(hn::BitCast(reals, hn::Add(significand, word(0x3FE6'A09E'0000'0000u))), real(1));
  const Reals s = hn::Div(f, hn::Add(real(2), f));
  const Reals z = hn::Mul(s, s), w = hn::Mul(z, z);
  const Reals r = hn::Add(hn::Mul(z, polynomial(w, odd)), hn::Mul(w, polynomial(w, even)));
  const Reals half = hn::Mul(real(0.5), hn::Mul(f, f));
  const Reals low = linear(hn::Mul(s, hn::Add(half, r)), k, real(1.90821492927058770002e-10));
  return linear(hn::Sub(f, hn::Sub(half, low)), k, real(6.93147180369123816490e-01));
}

/// sin x and cos x for |x| <= pi/4, as k_sin.c and k_cos.c of fdlibm (errors below 1 ulp).
HWY_INLINE void sine_cosine(Reals x, Reals& sine, Reals& cosine) {
  constexpr double of_sine[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  constexpr double of_cosine[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                  2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                  2.08757232129817482790e-09, -1.13596475577881948265e-11};
  const Reals z = hn::Mul(x, x);
  sine = linear(x, hn::Mul(x, z), polynomial(z, of_sine));
  const Reals high = hn::Mul(hn::Mul(z, z), polynomial(z, of_cosine));
  cosine = hn::Sub(real(1), hn::Sub(hn::Mul(real(0.5), z), high));
}

/// The pair of normal numbers of 128 random bits. The angle is a number in [0, pi/4), moved by one
/// of the eight symmetries of the square (three bits).
HWY_INLINE void box_muller(Words first, Words second, Reals& x, Reals& y) {
  const F reals;
  const U words;
  const Reals u = hn::Sub(real(2), from_one(first));
  const Reals radius = hn::Sqrt(hn::Mul(real(-2), logarithm(u)));
  const Reals angle = hn::Mul(hn::Sub(from_one(second), real(1)), real(7.85398163397448309616e-01));
  Reals sine, cosine;
  sine_cosine(angle, sine, cosine);
  const auto swap = hn::RebindMask(reals, hn::TestBit(second, word(1)));
  const Words sign = word(0x8000000000000000u);
  const auto signed_by = [&](Reals value, Words bits) HWY_ATTR {
    return hn::BitCast(reals, hn::Xor(hn::BitCast(words, value), hn::And(bits, sign)));
  };
  x = signed_by(hn::Mul(radius, hn::IfThenElse(swap, sine, cosine)), hn::ShiftLeft<62>(second));
  y = signed_by(hn::Mul(radius, hn::IfThenElse(swap, cosine, sine)), hn::ShiftLeft<61>(second));
}

/// out[2 * count] of the counters; rows and pairs are readable up to a multiple of 8.
void normal_pairs(std::uint64_t seed, std::uint32_t stream, const std::uint64_t* rows,
                  const std::uint64_t* pairs, std::int64_t count, double* out) {
  const F reals;
  const U words;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(reals));
  for (std::int64_t i = 0; i < count; i += lanes) {
    Words first, second;
    philox(hn::LoadU(words, rows + i), hn::LoadU(words, pairs + i), stream, seed, first, second);
    Reals x, y;
    box_muller(first, second, x, y);
    if (count - i >= lanes) {
      hn::StoreInterleaved2(x, y, reals, out + 2 * i);
    } else {
      double rest[2 * 8];
      hn::StoreInterleaved2(x, y, reals, rest);
      std::copy_n(rest, 2 * (count - i), out + 2 * i);
    }
  }
}

}  // namespace
}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <Random123/philox.h>

namespace assay {
namespace {

HWY_EXPORT(normal_pairs);

constexpr std::int64_t pairs_at_once = 256;  // counters and numbers stay in the first cache

}  // namespace

void Normals::fill(std::int64_t first, std::int64_t count, std::int64_t features,
                   double* out) const {
  const std::int64_t pairs = (features + 1) / 2;
  const auto normal_pairs = HWY_DYNAMIC_DISPATCH(assay::normal_pairs);
  std::uint64_t row_numbers[pairs_at_once] = {}, pair_numbers[pairs_at_once] = {};
  double numbers[2 * pairs_at_once];
  std::int64_t row = 0, pair = 0;
  while (row < count) {
    double* const begin = out + row * features + 2 * pair;
    std::int64_t taken = 0, next_row = row, next_pair = pair;
    for (; taken < pairs_at_once && next_row < count; ++taken) {
      row_numbers[taken] = static_cast<std::uint64_t>(first + next_row);
      pair_numbers[taken] = static_cast<std::uint64_t>(next_pair);
      if (++next_pair == pairs) {
        next_pair = 0;
        ++next_row;
      }
    }
    const auto stream = static_cast<std::uint32_t>(purpose_);
    if (features % 2 == 0) {
      normal_pairs(seed_, stream, row_numbers, pair_numbers, taken, begin);
    } else {  // the second number of a row's last pair is unused
      normal_pairs(seed_, stream, row_numbers, pair_numbers, taken, numbers);
      double* to = begin;
      for (std::int64_t i = 0; i < taken; ++i) {
        *to++ = numbers[2 * i];
        if (static_cast<std::int64_t>(pair_numbers[i]) + 1 < pairs) *to++ = numbers[2 * i + 1];
      }
    }
    row = next_row;
    pair = next_pair;
  }
}

std::int64_t random_choice(std::uint64_t seed, Purpose purpose, std::int64_t row,
                           std::int64_t count) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto r = static_cast<std::uint64_t>(row);
  const r123::Philox4x32::ctr_type words =
      r123::Philox4x32()({{low(r), low(r >> 32), 0, static_cast<std::uint32_t>(purpose)}},
                         {{low(seed), low(seed >> 32)}});
  // The upper word of a 64-bit random number times count, in two halves of 32 bits.
  const auto n = static_cast<std::uint64_t>(count);
  return static_cast<std::int64_t>((words[1] * n + ((words[0] * n) >> 32)) >> 32);
}

}  // namespace assay

#endif
