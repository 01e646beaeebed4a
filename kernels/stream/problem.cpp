#include "kernels/stream/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/environment.hpp"
#include "kernels/stream/as_convolution.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 40, most_lines = std::int64_t{1} << 30,
                       most_updates = std::int64_t{1} << 20, least_read = std::int64_t{1} << 26,
                       least_loads = std::int64_t{1} << 16, most_rows = 46340;  // n * n < 2^31

bool in_memory(StreamKernel kernel) { return kernel <= StreamKernel::triad; }

/// STREAM's rule: each array has at least four times the size of the last-level caches, or a
/// million elements.
std::int64_t default_n(StreamKernel kernel) {
  if (kernel == StreamKernel::fma) return 65536;
  if (kernel == StreamKernel::matmul) return 8192;
  const auto cache = static_cast<std::int64_t>(cache_bytes());
  const std::int64_t bytes = cache > 0 ? 4 * cache : std::int64_t{1} << 28;
  if (kernel == StreamKernel::latency) return bytes / stream_line;
  return std::max<std::int64_t>(bytes / 8, 1'000'000);
}

/// The type of the values that fma updates.
DataType register_type(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return DataType::fp32;
    case Precision::int8:
      return DataType::s32;
    default:
      return storage(precision);
  }
}

int multiply_adds(Precision precision) {
  return precision == Precision::int8 ? 4 : precision == Precision::bf16 ? 2 : 1;
}

}  // namespace

const NameTable<StreamKernel>& get_name_table(StreamKernel) {
  static const NameTable<StreamKernel> table(
      {"copy", "scale", "add", "triad", "read", "latency", "fma", "matmul"}, "kernel of stream");
  return table;
}

StreamShape parse_stream(const std::string& descriptor) {
  // "triad@n1000" in a list becomes "triadn1000".
  const std::size_t digits = descriptor.find_first_of("0123456789");
  std::string kernel = descriptor.substr(0, digits);
  if (digits != std::string::npos) {
    if (!kernel.ends_with('n'))
      throw InputError(fmt::format(
          "'{}' is not a problem of stream (its number has no name). Write triad_n1000000.",
          descriptor));
    kernel.pop_back();
    if (kernel.ends_with('_')) kernel.pop_back();
  }
  StreamShape shape{parse_name<StreamKernel>(kernel), 0};
  if (digits == std::string::npos) {
    shape.n = default_n(shape.kernel);
    return shape;
  }
  const auto n = parse_number<std::int64_t>(std::string_view(descriptor).substr(digits));
  const bool chase = shape.kernel == StreamKernel::latency,
             sums = shape.kernel == StreamKernel::fma;
  const std::int64_t least = chase || sums ? 2 : 1, most = sums    ? most_updates
                                                           : chase ? most_lines
                                                           : shape.kernel == StreamKernel::matmul
                                                               ? most_rows
                                                               : most_elements;
  if (!n || *n < least || *n > most || (sums && *n % 2 != 0))
    throw InputError(fmt::format(
        "'{}' is not a problem of stream (n of {} is {}number from {} to {}). "
        "Write {}_n{}.",
        descriptor, kernel, sums ? "an even " : "a ", least, most, kernel, sums ? 65536 : 1000000));
  shape.n = *n;
  return shape;
}

std::string to_descriptor(const StreamShape& shape) {
  return fmt::format("{}_n{}", assay::name(shape.kernel), shape.n);
}

StreamProblem::StreamProblem(const StreamShape& shape, Precision precision, int threads)
    : ShapedProblem(shape, precision), threads_(threads) {}

std::optional<std::string> why_not_precision(const StreamProblem& problem) {
  const Precision precision = problem.precision();
  const StreamKernel kernel = problem.shape().kernel;
  if (is_fp8(precision) && kernel != StreamKernel::matmul)
    return fmt::format("{} is multiplied in matrices alone. Use --problem matmul.",
                       name(precision));
  if (is_mixed(precision) && !is_fp8(precision))
    return fmt::format("{} has no peak of its own (its inputs are {}). Use {}.", name(precision),
                       name(storage(precision)), name(format(precision).arithmetic));
  if (kernel >= StreamKernel::fma || precision == Precision::fp64) return std::nullopt;
  if (kernel == StreamKernel::latency)
    return "latency has no precision (it loads pointers). Use fp64.";
  if (precision == Precision::fp32) return std::nullopt;
  return fmt::format("{} is defined in fp64 and fp32 (not in {}). Use one of them.", name(kernel),
                     name(precision));
}

std::int64_t StreamProblem::passes() const {
  if (shape_.kernel != StreamKernel::read) return 1;
  const std::int64_t bytes =
      shape_.n * static_cast<std::int64_t>(precision_ == Precision::fp32 ? 4 : 8);
  return std::max<std::int64_t>(1, (least_read + bytes - 1) / bytes);
}

std::int64_t StreamProblem::loads() const {
  if (shape_.kernel != StreamKernel::latency) return 0;
  return (least_loads + shape_.n - 1) / shape_.n * shape_.n - 1;
}

nlohmann::json StreamProblem::json() const {
  nlohmann::json all{{"n", shape_.n}};
  if (shape_.kernel == StreamKernel::read) all["passes"] = passes();
  if (shape_.kernel == StreamKernel::latency)
    all.update({{"loads", loads()}, {"working_set_bytes", shape_.n * stream_line}});
  if (shape_.kernel == StreamKernel::fma)
    all.update({{"values_per_thread", stream_values},
                {"multiply_adds_per_update", multiply_adds(precision_)}});
  return all;
}

double StreamProblem::flops() const {
  const auto n = static_cast<double>(shape_.n);
  switch (shape_.kernel) {
    case StreamKernel::scale:
    case StreamKernel::add:
      return n;
    case StreamKernel::triad:
      return 2 * n;
    case StreamKernel::read:
      return n * static_cast<double>(passes());
    case StreamKernel::fma:
      return 2.0 * multiply_adds(precision_) * n * static_cast<double>(stream_values * threads_);
    case StreamKernel::matmul:
      return 2 * n * n * n;
    default:
      return 0;
  }
}

double StreamProblem::bytes() const {
  const double array =
      static_cast<double>(shape_.n) * static_cast<double>(precision_ == Precision::fp32 ? 4 : 8);
  if (shape_.kernel == StreamKernel::read) return array * static_cast<double>(passes());
  if (!in_memory(shape_.kernel)) return 0;
  const bool two = shape_.kernel == StreamKernel::copy || shape_.kernel == StreamKernel::scale;
  return (two ? 2 : 3) * array;
}

std::map<std::string, double> StreamProblem::amounts() const {
  std::map<std::string, double> all = Problem::amounts();
  if (shape_.kernel == StreamKernel::latency) all["loads_per_s"] = static_cast<double>(loads());
  return all;
}

ConvProblem make_convolution(const StreamProblem& problem) {
  ConvShape shape;
  shape.mb = shape.ic = shape.oc = problem.shape().n;
  shape.ih = shape.iw = shape.oh = shape.ow = shape.kh = shape.kw = 1;
  return {shape, ConvDirection::forward, problem.precision()};
}

std::vector<TensorSpec> StreamProblem::tensors() const {
  const DataType type = precision_ == Precision::fp32 ? DataType::fp32 : DataType::fp64;
  switch (shape_.kernel) {
    case StreamKernel::copy:
    case StreamKernel::scale:
      return {plain_tensor("a", Role::input, type, {shape_.n}),
              plain_tensor("c", Role::output, type, {shape_.n})};
    case StreamKernel::add:
    case StreamKernel::triad:
      return {plain_tensor("a", Role::input, type, {shape_.n}),
              plain_tensor("b", Role::input, type, {shape_.n}),
              plain_tensor("c", Role::output, type, {shape_.n})};
    case StreamKernel::read:
      return {plain_tensor("a", Role::input, type, {shape_.n}),
              plain_tensor("sum", Role::output, DataType::fp64, {1})};
    case StreamKernel::latency:
      return {plain_tensor("start", Role::input, DataType::s32, {1}),
              plain_tensor("end", Role::output, DataType::s32, {1})};
    case StreamKernel::matmul:
      return make_convolution(*this).tensors();
    case StreamKernel::fma:
      break;
  }
  const DataType values = register_type(precision_);
  return {plain_tensor("x", Role::input, values, {threads_, stream_values}),
          plain_tensor("y", Role::output, values, {threads_, stream_values})};
}

std::vector<std::size_t> latency_order(std::int64_t lines) {
  std::vector<std::size_t> order(static_cast<std::size_t>(lines));
  shuffle(order, 1);  // from a constant seed, not the run's: the same chase in every run
  return order;
}

std::int64_t latency_start(double value, std::int64_t lines) {
  const std::int64_t rest = static_cast<std::int64_t>(value) % lines;
  return rest < 0 ? rest + lines : rest;
}

FmaConstants<double> fma_constants(int bits) {
  const double unit = std::ldexp(1, 1 - bits);  // of numbers in [1, 2); u is half of it
  const double first = std::floor(1.333 / unit) * unit;
  for (double a = first + unit; a < 1.34; a += unit) {
    const double exact = 1 / a;
    // Rounds to `bits` bits: numbers in [1/2, 1) are multiples of unit / 2. fp64 needs no rounding,
    // because the division has rounded.
    const double back = bits >= 53 ? exact : std::nearbyint(exact / (unit / 2)) * (unit / 2);
    if (std::abs(std::fma(a, back, -1.0)) < unit / 16) return {a, -a / 4, back, 0.25 + unit};
  }
  throw std::logic_error("no constants of a multiply-add of this significand");
}

std::int64_t fp16_rises(std::int64_t updates) { return std::min<std::int64_t>(64, updates / 2); }

double fma_start(DataType type, double input) {
  return round_to(type, 1.125 + input / 8);  // the sum is exact in fp64, or fp64 is the type
}

DotConstants dot_constants(Precision precision) {
  // With first[1] = first[0] + 1, the products of first with second and with back add up to one
  // unit. `first` is below 128, because bytes are signed on some processors and unsigned on others.
  if (precision == Precision::bf16) return {{213, 214, 0, 0}, {181, 235, 0, 0}, {-182, -234, 0, 0}};
  return {{113, 114, 101, 97}, {83, -75, 101, 67}, {-84, 76, -101, -67}};
}

}  // namespace assay
