#include "kernels/oracle/sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace assay::sums {
namespace {

/// A check fails a correct implementation at most this often.
constexpr double false_alarm = 1e-9;

/// The tail of a sum of k products of integers uniform in [-m, m]: the logarithm of the probability
/// that it exceeds `limit`.
double tail(double k, double m, double limit) {
  if (k * m * m <= limit) return -std::numeric_limits<double>::infinity();
  const double mean_square = m * (m + 1) / 3;
  return log_tail(k, mean_square * mean_square, m * m, limit);
}

}  // namespace

double widest_norm_bound(Precision precision) {
  return precision == Precision::fp32 ? error_of_tf32 : std::numeric_limits<double>::infinity();
}

double most_deviations(std::size_t samples) {
  const double n = static_cast<double>(std::max<std::size_t>(samples, 1));
  return (std::log(n) - std::log(false_alarm)) * 2 * std::numbers::sqrt2 / std::numbers::pi;
}

DataType type_or(const std::string& name_of_type, DataType otherwise) {
  for (DataType type :
       {DataType::fp64, DataType::fp32, DataType::bf16, DataType::fp16, DataType::s32})
    if (name_of_type == name(type)) return type;
  return otherwise;
}

void Sum::add(const double* a, const double* b, std::int64_t count) {
  if (compensated_) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double product = a[i] * b[i], rest = std::fma(a[i], b[i], -product);
      const double next = sum_ + product, shift = next - sum_;
      low_ += (sum_ - (next - shift)) + (product - shift) + rest;
      sum_ = next;
      note(product);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const double product = a[i] * b[i];
      sum_ += product;
      note(product);
    }
  }
  count_ += count;
  if (random_) return;
  for (std::int64_t i = 0; i < count; ++i)
    if (is_subnormal(a[i]) || is_subnormal(b[i])) subnormal_ += std::abs(a[i] * b[i]);
}

void Sum::note(double product) {
  squares_ += product * product;
  absolute_ += std::abs(product);
}

double variance_of_sum(double terms, bool truncates) {
  const double rounded = (terms + 3) / 6, steps = std::ceil(terms / products_at_once);
  return truncates ? 4 * rounded + steps * steps / 3 : rounded;
}

bool drops_digits(Precision precision, const Execution& execution) {
  if (is_fp8(precision) && execution.accumulate == truncating_fp22) return true;
  const bool lends = precision == Precision::tf32 || size_of(storage(precision)) == 2;
  return lends && execution.accumulate == truncating_fp32;
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
    case DataType::fp8_e4m3:
      return 4;
    case DataType::fp8_e5m2:
      return 3;
    case DataType::s32:
      return 31;
    default:
      return 7;
  }
}

Moments moments(const Values& values, std::int64_t elements) {
  constexpr std::int64_t most = 4096;
  const std::int64_t count = std::min(elements, most);
  Moments moments;
  for (std::int64_t i = 0; i < count; ++i) {
    // i * elements / count without overflow, evenly spaced
    const double v = values(i * (elements / count) + i * (elements % count) / count);
    moments.mean_square += v * v / static_cast<double>(count);
    moments.largest = std::max(moments.largest, std::abs(v));
  }
  return moments;
}

double log_tail(double count, double mean_square, double largest, double limit) {
  return std::log(2.0) - limit * limit / (2 * (count * mean_square + largest * limit / 3));
}

int exact_magnitude(Precision precision, const Execution& execution, DataType in, double k,
                    double scale, double added) {
  const DataType out = format(precision).output;
  // Sums stay within the integers that the accumulator holds exactly, and results within those of
  // an fp32 or fp64 output.
  double held = precision == Precision::int8
                    ? std::ldexp(1, execution.accumulate == name(DataType::fp32) ? 24 : 31) - 1
                    : 1 / ErrorModel::accumulator_roundoff(precision, execution);
  const double most =
      is_integer(in) ? 63 : std::min(1024.0, std::ldexp(1, significand_bits(in) - 1));
  if (out == DataType::fp32 || out == DataType::fp64)
    held = std::min(held, std::ldexp(1, significand_bits(out)));
  // The largest sum whose result is within `limit`.
  const auto room = [&](double limit, double m) {
    return (limit - std::abs(added) * m) / std::abs(scale);
  };
  const auto fits = [&](double m, double limit, double margin) {
    return room(limit, m) > 0 && tail(k, m, room(limit, m)) < never - margin;
  };
  double m = std::min(most, std::floor(std::sqrt(room(held, most) / k)));
  if (!(m >= 1)) m = fits(1, held, 0) ? 1 : 0;
  if (m < 1 || (out != DataType::bf16 && out != DataType::fp16)) return static_cast<int>(m);
  // If the outputs can be kept within the integers that a 16-bit type holds, the checksum applies
  // (10: a margin over what checksum() itself requires of the data). Otherwise they are kept within
  // the range of the type.
  const double exact = std::ldexp(1, significand_bits(out));
  for (int small = static_cast<int>(m); small >= 1; --small)
    if (fits(small, exact, 10)) return small;
  while (m >= 1 && out == DataType::fp16 && !fits(m, 65504, 0)) --m;
  return static_cast<int>(m);
}

int full_magnitude(DataType type) {
  // u8 uses its whole range [0, 255], weights only [-63, 63]. Processors without VNNI add two u8*s8
  // products in 16 bits (vpmaddubsw), where 2*255*64 would leave no room for rounding up. Larger
  // weights saturate there, which is the design of the instruction and no fault of a library. So
  // all libraries can compute this data exactly, and must.
  return type == DataType::u8 ? 127 : 63;
}

double ErrorModel::accumulator_roundoff(Precision precision, const Execution& execution) {
  if (precision == Precision::int8) return 0;
  // The precision of a row is a promise: if an accumulator is coarser than the storage, the bound
  // uses the storage's roundoff.
  const DataType usual = format(precision).accumulator;
  if (is_fp8(precision) && execution.accumulate == truncating_fp22) return u_fp22;
  const double u = unit_roundoff(type_or(execution.accumulate, usual));
  return std::min(u == 0 ? unit_roundoff(usual) : u, unit_roundoff(format(precision).output));
}

namespace {

/// Half the distance of the subnormal results of fp16. Subnormal results of fp32 and bf16 become 0
/// on some processors; random data never reach them, but a network's data may. int8 is exact.
double find_smallest_steps(DataType output) {
  switch (output) {
    case DataType::fp16:
      return 0x1p-25;
    case DataType::fp32:
    case DataType::bf16:
      return least_normal;
    default:
      return 0;
  }
}

}  // namespace

double bound_flushed(Precision precision, const Terms& terms) {
  const DataType type = storage(precision);
  if (type != DataType::fp32 && type != DataType::bf16) return 0;
  return terms.subnormal + static_cast<double>(terms.count) * least_normal;
}

ErrorModel::ErrorModel(Precision precision, const Execution& execution, std::size_t samples) {
  exact = precision == Precision::int8;
  u = accumulator_roundoff(precision, execution);
  u_out = unit_roundoff(format(precision).output);
  tiny = find_smallest_steps(format(precision).output);
  deviations = most_deviations(samples);
  rounds_operands = precision == Precision::tf32;
  truncates = drops_digits(precision, execution);
  at_once = is_fp8(precision) ? fp8_products_at_once : products_at_once;
  // A claim of split sums widens the bound at most as far as the bound was derived, and only if
  // kernel names or the library show it.
  if (const auto split = execution.numbers.find(partial_sums);
      split != execution.numbers.end() && size_of(storage(precision)) == 2 &&
      (execution.evidence == "trace" || execution.evidence == "library") &&
      execution.accumulate == name(storage(precision))) {
    parts = std::clamp(split->second, 0.0, most_parts);
    u = unit_roundoff(DataType::fp32);
    truncates = true;
  }
  const double sample_count = static_cast<double>(std::max<std::size_t>(samples, 1)),
               root = std::sqrt(sample_count);
  gaussian = std::sqrt(2 * (std::log(2 * sample_count) - std::log(false_alarm)));
  norm_gaussian = 1.25 + gaussian / root;
  // The norm of n errors concentrates about their standard deviation; one large error may still
  // stand out.
  norm_deviations = 1.5 + deviations / root;
}

}  // namespace assay::sums
