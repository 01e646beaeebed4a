#pragma once
// Sums in simulated arithmetic, judged by the oracle's own bounds.

#include <bit>
#include <cmath>
#include <functional>

#include "conv_helpers.hpp"
#include "kernels/conv/bounds.hpp"

namespace assay::conv_test {

using Vector = std::vector<double>;

/// Round to nearest even at a significand of `bits`.
inline double round_bits(double value, int bits) {
  const int dropped = 53 - bits;
  if (dropped == 0 || value == 0) return value;
  auto pattern = std::bit_cast<std::uint64_t>(value);
  pattern += (std::uint64_t{1} << (dropped - 1)) - 1 + ((pattern >> dropped) & 1);
  return std::bit_cast<double>(pattern & ~((std::uint64_t{1} << dropped) - 1));
}

using Arithmetic = std::function<double(const Vector& a, const Vector& b)>;

inline double sequential_fp32(const Vector& a, const Vector& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<float>(a[i]) * static_cast<float>(b[i]);
  return static_cast<double>(sum);
}
inline double fused_fp32(const Vector& a, const Vector& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum = std::fma(static_cast<float>(a[i]), static_cast<float>(b[i]), sum);
  return static_cast<double>(sum);
}
inline double blocked_fp32(const Vector& a, const Vector& b) {
  float lanes[16] = {};
  for (std::size_t i = 0; i < a.size(); ++i)
    lanes[i % 16] = std::fma(static_cast<float>(a[i]), static_cast<float>(b[i]), lanes[i % 16]);
  float sum = 0;
  for (float lane : lanes) sum += lane;
  return static_cast<double>(sum);
}
inline double pairwise_fp32(const Vector& a, const Vector& b) {
  std::vector<float> part(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    part[i] = static_cast<float>(a[i]) * static_cast<float>(b[i]);
  for (std::size_t n = part.size(); n > 1; n = (n + 1) / 2)
    for (std::size_t i = 0; i < (n + 1) / 2; ++i)
      part[i] = 2 * i + 1 < n ? part[2 * i] + part[2 * i + 1] : part[2 * i];
  return part.empty() ? 0 : static_cast<double>(part[0]);
}
/// Inputs rounded to `bits`, fp32 sums: what tf32 (11) and bf16 (8) hardware does to fp32 tensors.
inline Arithmetic rounded_inputs(int bits) {
  return [bits](const Vector& a, const Vector& b) {
    Vector x(a), y(b);
    for (double& v : x) v = round_bits(v, bits);
    for (double& v : y) v = round_bits(v, bits);
    return blocked_fp32(x, y);
  };
}
/// The accumulator itself rounded to `bits`.
inline Arithmetic narrow_sum(int bits) {
  return [bits](const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum = round_bits(sum + a[i] * b[i], bits);
    return sum;
  };
}

struct BoundUse {
  double largest = 0;            ///< |error| / max_bound
  double norm = 0;               ///< ||error|| / ||rms_bound||
  double widest = 0, usual = 0;  ///< largest and mean max_bound / root mean square of the results
  bool passed() const { return largest <= 1 && norm <= 1; }
};

/// Judges `outputs` random sums of k products of full-significand values of `precision`, computed
/// by `compute`.
inline BoundUse judge(const Execution& execution, Precision precision, std::int64_t k, int outputs,
                      const Arithmetic& compute, std::uint64_t seed) {
  const ConvProblem problem(parse_conv("mb1ic" + std::to_string(k) + "ih1oc1kh1"),
                            ConvDirection::forward, precision);
  const DataType type = storage(precision);
  const convolution::ErrorModel model(problem, execution, static_cast<std::size_t>(outputs),
                                      1.0 / 9);
  const Values first(Values::Kind::mantissa, seed, "a", type, 0),
      second(Values::Kind::mantissa, seed, "b", type, 0);
  Vector a(static_cast<std::size_t>(k)), b(a);
  BoundUse judged;
  double errors = 0, bounds = 0, squares = 0;
  for (int i = 0; i < outputs; ++i) {
    first.fill(i * k, a);
    second.fill(i * k, b);
    convolution::Terms terms;
    terms.count = k;
    long double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double product = a[j] * b[j];
      sum += static_cast<long double>(a[j]) * b[j];
      terms.squares += product * product;
      terms.absolute += std::abs(product);
    }
    terms.value = static_cast<double>(sum);
    const Expected expected = model.expected(terms);
    const double error = std::abs(round_to(type, compute(a, b)) - terms.value);
    judged.largest = std::max(judged.largest, error / expected.max_bound);
    judged.widest = std::max(judged.widest, expected.max_bound);
    judged.usual += expected.max_bound / outputs;
    squares += terms.value * terms.value;
    errors += error * error;
    bounds += expected.rms_bound * expected.rms_bound;
  }
  judged.norm = std::sqrt(errors / bounds);
  judged.widest /= std::sqrt(squares / outputs);
  judged.usual /= std::sqrt(squares / outputs);
  return judged;
}

inline BoundUse judge(Precision precision, std::int64_t k, int outputs, const Arithmetic& compute,
                      std::uint64_t seed = 1, const std::string& accumulate = "") {
  Execution execution = honest(precision);
  if (!accumulate.empty()) execution.accumulate = accumulate;
  return judge(execution, precision, k, outputs, compute, seed);
}

/// The number of outputs that the default budget of 2e7 multiply-adds checks, within reason.
inline int outputs_for(std::int64_t k) {
  return static_cast<int>(std::clamp<std::int64_t>(4'000'000 / k, 64, 1000));
}

}  // namespace assay::conv_test
