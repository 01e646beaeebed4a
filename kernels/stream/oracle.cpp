
#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/oracle/channel_sums.hpp"
#include "kernels/stream/as_convolution.hpp"
#include "kernels/stream/formula_items.hpp"
#include "kernels/stream/problem.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_checked = 1 << 16;  // elements of an array; the checksum of integers
                                                // covers the rest
constexpr std::int64_t block = 1 << 14;

/// Sums of a tensor's values and of their magnitudes, exact in fp64 for integers.
struct Sums {
  double plain = 0, absolute = 0;
};

Sums compute_sums(const Values& values, std::int64_t n) {
  double plain = 0, absolute = 0;
  const std::int64_t blocks = (n + block - 1) / block;
#pragma omp parallel for reduction(+ : plain, absolute) schedule(static) if (blocks > 8)
  for (std::int64_t i = 0; i < blocks; ++i) {
    double part[block];
    const std::int64_t count = std::min(block, n - i * block);
    values.fill(i * block, {part, static_cast<std::size_t>(count)});
    for (std::int64_t k = 0; k < count; ++k) {
      plain += part[k];
      absolute += std::abs(part[k]);
    }
  }
  return {plain, absolute};
}

double sum_weighted(const Values& values, std::int64_t n, const ChecksumWeights& weights) {
  double sum = 0;
  const std::int64_t blocks = (n + block - 1) / block;
#pragma omp parallel for reduction(+ : sum) schedule(static) if (blocks > 8)
  for (std::int64_t i = 0; i < blocks; ++i) {
    double part[block], factors[block];
    const auto count = static_cast<std::size_t>(std::min(block, n - i * block));
    values.fill(i * block, {part, count});
    weights.fill(i * block, {factors, count});
    for (std::size_t k = 0; k < count; ++k) sum += factors[k] * part[k];
  }
  return sum;
}

class StreamOracle final : public Oracle {
 public:
  explicit StreamOracle(const StreamProblem& problem) : problem_(problem) {}

  int exact_magnitude(const Execution&) const override {
    switch (problem_.shape().kernel) {
      case StreamKernel::fma:
        return problem_.precision() == Precision::int8 ? 1 << 20 : 1;
      case StreamKernel::latency:
        return 1 << 20;
      case StreamKernel::read:
        return 127;  // so that 2^16 of them are exact in fp32
      default:
        return 4095;  // four of them are exact in fp32, and a neighbour is seldom equal
    }
  }

  int full_magnitude(const TensorSpec&) const override { return 1 << 20; }

  /// A device that generates the inputs itself compares every element.
  std::optional<ElementRange> whole(const TensorSpec& output) const override {
    if (prover_ == nullptr || output.role != Role::output ||
        problem_.shape().kernel > StreamKernel::triad)
      return std::nullopt;
    return ElementRange{0, output.elements()};
  }
  std::optional<ElementFormula> formula(const TensorSpec&, const Inputs&, const Execution&,
                                        bool exact) const override {
    return make_formula(element(exact), names());
  }

  std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                   std::uint64_t seed) const override {
    const std::int64_t n = output.elements();
    const std::int64_t most =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(budget), 16, most_checked);
    std::vector<std::int64_t> indices;
    if (n <= most) {
      for (std::int64_t i = 0; i < n; ++i) indices.push_back(i);
      return indices;
    }
    // Places at both ends, where vectors may be incomplete, and between them.
    for (std::int64_t i = 0; i < most / 8; ++i) {
      indices.push_back(i);
      indices.push_back(n - 1 - i);
    }
    std::mt19937_64 random(seed);
    while (static_cast<std::int64_t>(indices.size()) < most)
      indices.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)));
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
  }

  void expect(const TensorSpec&, const Inputs& inputs, const Execution& execution, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    switch (problem_.shape().kernel) {
      case StreamKernel::read:
        expected[0] = sum(inputs.find("a")->second, execution, exact);
        return;
      case StreamKernel::latency:
        expected[0] = {end(inputs.find("start")->second(0)), 0, 0};
        return;
      case StreamKernel::fma:
        for (std::size_t i = 0; i < indices.size(); ++i)
          expected[i] = {fma(inputs.find("x")->second(indices[i])), 0, 0};
        return;
      default:
        sums::expect_elements(element(exact), sums::find_values(names(), inputs), {}, indices,
                              expected);
    }
  }

  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    const auto sum = [&](const char* name) {
      return sum_weighted(inputs.find(name)->second, output.elements(), weights);
    };
    switch (problem_.shape().kernel) {
      case StreamKernel::copy:
        return sum("a");
      case StreamKernel::scale:
        return stream_scalar * sum("a");
      case StreamKernel::add:
        return sum("a") + sum("b");
      case StreamKernel::triad:
        return sum("a") + stream_scalar * sum("b");
      default:
        return std::nullopt;  // every element is compared
    }
  }

 private:
  /// The inputs of copy, scale, add and triad.
  std::vector<std::string> names() const {
    const StreamKernel kernel = problem_.shape().kernel;
    return kernel == StreamKernel::copy || kernel == StreamKernel::scale
               ? std::vector<std::string>{"a"}
               : std::vector<std::string>{"a", "b"};
  }

  double unit() const {
    return unit_roundoff(problem_.precision() == Precision::fp32 ? DataType::fp32 : DataType::fp64);
  }

  /// copy, scale and add round once, like their reference, so no error is allowed. triad rounds
  /// once if the processor multiplies and adds in one step, else twice; in fp64 the reference is
  /// rounded, too.
  stream::Element element(bool exact) const {
    switch (problem_.shape().kernel) {
      case StreamKernel::copy:
        return {1, 0, 0};
      case StreamKernel::scale:
        return {stream_scalar, 0, 0};
      case StreamKernel::add:
        return {1, 1, 0};
      default:
        return {1, stream_scalar, exact ? 0 : 1.01 * unit()};
    }
  }

  /// A run sums blocks of at most 2^16 elements in 8 vectors of at least 16 bytes (two fp64):
  /// chains of at most 2^16 / 16 additions, and 2^6 to join them. The sums of blocks are added in
  /// fp64.
  Expected sum(const Values& values, const Execution& execution, bool exact) const {
    const std::int64_t n = problem_.shape().n;
    const auto passes = static_cast<double>(problem_.passes());
    const Sums all = compute_sums(values, n);
    if (exact) return {passes * all.plain, 0, 0};
    const double chain = 0x1p12 + 0x1p6;
    const double blocks =
        passes * (static_cast<double>(n) / 0x1p16 + 1024) + static_cast<double>(n);
    const double u = execution.accumulate == name(DataType::fp64) ? 0x1p-53 : unit();
    const double bound = passes * all.absolute * (chain * u + blocks * 0x1p-53) * 1.01;
    return {passes * all.plain, bound, bound};
  }

  /// The expected value does not follow the chase: it is found by counting in the order from which
  /// the chase was made.
  double end(double input) const {
    const std::int64_t n = problem_.shape().n;
    const std::vector<std::size_t> order = latency_order(n);
    const auto start = static_cast<std::size_t>(latency_start(input, n));
    const auto place = std::find(order.begin(), order.end(), start) - order.begin();
    return static_cast<double>(order[static_cast<std::size_t>((place + problem_.loads()) % n)]);
  }

  double fma(double input) const {
    const std::int64_t whole_pairs = problem_.shape().n / 2;
    const auto pairs = static_cast<double>(whole_pairs);
    switch (problem_.precision()) {
      case Precision::int8:
        return input + pairs;
      case Precision::bf16:
        return (std::nearbyint(input * 0x1p20) + pairs) * 0x1p-14;
      case Precision::fp16:  // only 64 steps fit
        return fma_start(DataType::fp16, input) +
               static_cast<double>(fp16_rises(problem_.shape().n)) * 0x1p-10;
      case Precision::tf32:  // no backend has an fma of tf32 or of mixed precisions
      case Precision::bf16_fp32:
      case Precision::fp16_fp32:
      case Precision::fp8_e4m3:
      case Precision::fp8_e5m2:
      case Precision::fp32:
        return fma_start(DataType::fp32, input) + pairs * 0x1p-23;
      case Precision::fp64:
        break;
    }
    return fma_start(DataType::fp64, input) + pairs * 0x1p-52;
  }

  StreamProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> make_stream_oracle(const StreamProblem& problem) {
  if (problem.shape().kernel == StreamKernel::matmul)
    return make_conv_oracle(make_convolution(problem));
  return std::make_unique<StreamOracle>(problem);
}

}  // namespace assay
