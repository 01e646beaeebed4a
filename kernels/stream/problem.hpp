#pragma once
// What a machine can do at most: memory bandwidth, load latency and peak arithmetic, each as a
// problem that is verified like any other. docs/method.md says how the numbers are to be read.
//
// copy scale add triad: J. D. McCalpin's STREAM (https://www.cs.virginia.edu/stream/ref.html),
//   its definition and its count of bytes: 2 or 3 arrays moved once, what a cache fetches before it
//   writes not counted. Names: a and b -> c, the scalar is 3 as in his stream.c.
// read: the sum of one array, over and over: bandwidth of the level that holds it.
// latency: dependent loads through one random cycle of all cache lines of the working set.
// fma: multiply-adds in registers, `n` dependent ones a value, `stream_values` values a thread.
// matmul: dst = src * weights^T of n x n matrices, for processors whose peak only a library of
//   matrix products reaches: the peak that this library reaches, and so called. It is verified as
//   the 1x1 convolution that it is (kernels/conv/problem.hpp).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/stream.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class StreamKernel { copy, scale, add, triad, read, latency, fma, matmul };
/// Names in the enumeration's order.
const std::vector<std::string>& stream_kernel_names();

/// Elements of one array; for latency cache lines, for fma updates of one value, for matmul rows.
struct StreamShape {
  StreamKernel kernel = StreamKernel::triad;
  std::int64_t n = 0;
  bool operator==(const StreamShape&) const = default;
};

inline constexpr double stream_scalar = 3;
inline constexpr std::int64_t stream_line = 64;  ///< bytes from one link of the chase to the next
inline constexpr std::int64_t stream_values = 1536;  ///< of a thread: whole blocks of every vector

/// "triad_n16777216", or "triad" for the default size: arrays of fp64 that are four times as large
/// as the last level of the processor's caches, which STREAM demands (latency: the lines of one;
/// fma: 65536; matmul: 8192). A GPU's arrays are given their size by who asks.
/// InputError names what is wrong.
StreamShape parse_stream(const std::string& descriptor);
std::string to_descriptor(const StreamShape& shape);

class StreamProblem final : public ProblemOf<StreamProblem> {
 public:
  static constexpr const char* kind_name = "stream";
  static constexpr const char* kind_version = problem_version::stream;
  StreamProblem(const StreamShape& shape, Precision precision, int threads);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// What is executed, no more and no less: scale and add n, triad 2 n, read n a pass, fma two a
  /// multiply-add (a 16-bit dot product has two of them an update, an 8-bit one four).
  double flops() const override;
  double bytes() const override;
  std::map<std::string, double> amounts() const override;

  const StreamShape& shape() const { return shape_; }
  Precision precision() const { return precision_; }
  int threads() const { return threads_; }
  /// Times that read goes over its array in one run: 64 MiB at least are read.
  std::int64_t passes() const;
  /// Loads of the chase in one run: whole rounds less one, so that it never ends where it began.
  std::int64_t loads() const;
  /// Specs of all tensors but a workspace: the inputs, then the output.
  std::vector<TensorSpec> tensors() const;

 private:
  StreamShape shape_;
  Precision precision_;
  int threads_;
};

/// Why the kernel does not exist in the precision; nothing where it does.
std::optional<std::string> why_not_precision(const StreamProblem& problem);

/// The lines of a working set in the order in which the chase visits them.
std::vector<std::size_t> latency_order(std::int64_t lines);
/// The line where a chase begins whose input is `value`.
std::int64_t latency_start(double value, std::int64_t lines);

/// The recurrence of fma in floating point: y = fma(a, x, b), x = fma(back, y, up), b = -a / 4, up
/// = 1/4 + one unit in the last place. For x in [1, 1.5) and 1.33 < a < 1.34, with back the rounded
/// 1 / a, chosen so that a * back is 1 within u / 8: |y| < 2, so y is a (x - 1/4) within u, and
/// back * y + 1/4 is x within 1.25 u / 8 + 0.76 u: less than u, half a unit in the last place, from
/// which it would be rounded elsewhere. So two steps, with operands of full significands, raise x
/// by exactly one unit in the last place, and the result counts the steps.
template <class T>
struct FmaConstants {
  T a, b, back, up;
};
/// For a significand of `bits` bits (of fp64, fp32, fp16), as fp64.
FmaConstants<double> fma_constants(int bits);
/// fp16 has room for few such steps: of its n / 2 pairs only so many raise x, evenly spread, and
/// the others leave it (up = 1/4).
std::int64_t fp16_rises(std::int64_t updates);
/// Where a value begins, from the input in (-1, 1): in [1, 1.25], rounded to `type`.
double fma_start(DataType type, double input);

/// Integers that dot products of 16 and 8 bits are made of (bf16: in units of 2^-7, so that a
/// product has the unit 2^-14). An update adds first * second, summed over the lanes of a group,
/// the next one subtracts it but for one unit: every sum is exact in fp32 below 2^24 units.
struct DotConstants {
  int first[4], second[4], back[4];
};
DotConstants dot_constants(Precision precision);

std::unique_ptr<Oracle> stream_oracle(const StreamProblem& problem);

}  // namespace assay
