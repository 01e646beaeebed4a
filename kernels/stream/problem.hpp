#pragma once
// Ceilings of a machine: memory bandwidth, load latency and peak arithmetic. Each is a problem that
// is verified like any other. docs/method.md explains how to read the numbers.
//
//   copy, scale, add, triad
//            STREAM (J. D. McCalpin, https://www.cs.virginia.edu/stream/ref.html) with its
//            definitions and its count of bytes: 2 or 3 arrays moved once, without the lines that a
//            cache reads before it writes them. Tensors a, b -> c; the scalar is 3, as in stream.c.
//   read     the sum of one array, repeatedly: the bandwidth of the memory level that holds it
//   latency  dependent loads that visit all cache lines of the working set in a random cycle
//   fma      multiply-adds in registers: stream_values values per thread, each with a chain of n
//            dependent updates
//   matmul   dst = src * weights^T of n x n matrices, for processors whose peak only a library of
//            matrix products reaches. Rows call it the peak of this library. It is verified as a
//            1x1 convolution (as_convolution.hpp).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/stream.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

enum class StreamKernel { copy, scale, add, triad, read, latency, fma, matmul };
const NameTable<StreamKernel>& get_name_table(StreamKernel);

struct StreamShape {
  StreamKernel kernel = StreamKernel::triad;
  /// Elements of one array; latency: cache lines; fma: updates of one value; matmul: rows.
  std::int64_t n = 0;
  bool operator==(const StreamShape&) const = default;
};

inline constexpr double stream_scalar = 3;
inline constexpr std::int64_t stream_line = 64;  ///< bytes of a cache line
/// Values of a thread in fma; a multiple of the number of values in the vectors of any processor.
inline constexpr std::int64_t stream_values = 1536;

/// Parses "triad_n16777216", or "triad" for the default size: fp64 arrays of four times the last
/// level of the processor's caches, as STREAM requires (latency: the cache lines of one such array;
/// fma: 65536; matmul: 8192). A size must be given on a GPU. InputError names the invalid part.
StreamShape parse_stream(const std::string& descriptor);
std::string to_descriptor(const StreamShape& shape);

class StreamProblem final : public ShapedProblem<StreamProblem, StreamShape> {
 public:
  static constexpr const char* kind_name = "stream";
  static constexpr const char* kind_version = problem_version::stream;
  StreamProblem(const StreamShape& shape, Precision precision, int threads);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// Operations that are executed: scale and add n, triad 2 n, read n in each pass, fma two for
  /// each multiply-add (an update of a 16-bit dot product has two multiply-adds, of an 8-bit one
  /// four).
  double flops() const override;
  /// Bytes by STREAM's count; read: of all passes.
  double bytes() const override;
  std::map<std::string, double> amounts() const override;

  int threads() const { return threads_; }
  /// Number of times that `read` reads its array in one run: at least 64 MiB are read.
  std::int64_t passes() const;
  /// Loads of `latency` in one run: whole cycles minus one load, so that the last line differs from
  /// the first. The last line is verified.
  std::int64_t loads() const;
  /// Specs of the inputs, then the output; without workspaces.
  std::vector<TensorSpec> tensors() const;

 private:
  int threads_;
};

/// The reason why the kernel does not exist in this precision; nothing if it does.
std::optional<std::string> why_not_precision(const StreamProblem& problem);

/// The cache lines of a working set in the order in which `latency` visits them.
std::vector<std::size_t> latency_order(std::int64_t lines);
/// The first line that `latency` visits if its input is `value`.
std::int64_t latency_start(double value, std::int64_t lines);

/// Constants of the recurrence of `fma` in floating-point types:
///   y = fma(a, x, b), x = fma(back, y, up)
/// with b = -a / 4 and up = 1/4 + one unit in the last place.
/// Each pair of steps has operands with full significands and increases x by exactly one unit in
/// the last place, so the result counts the steps. Proof, for x in [1, 1.5), 1.33 < a < 1.34 and
/// `back` the rounded 1 / a, where a is chosen so that |a * back - 1| < u / 8 (u: unit roundoff,
/// half a unit in the last place): |y| < 2, so y = a (x - 1/4) with an error of at most u; hence
/// back * y + 1/4 = x with an error of at most 1.25 u / 8 + 0.76 u < u, and rounding gives x plus
/// the unit of `up`.
template <class T>
struct FmaConstants {
  T a, b, back, up;
};
/// The constants for a significand of `bits` bits (of fp64, fp32 or fp16), as fp64.
FmaConstants<double> fma_constants(int bits);
/// fp16 has too few values in [1, 1.5) for many increments: only this number of the `updates` / 2
/// pairs of steps, evenly spaced, increase x; the others do not (up = 1/4).
std::int64_t fp16_rises(std::int64_t updates);
/// The first x, from an input in (-1, 1): a value in [1, 1.25], rounded to `type`.
double fma_start(DataType type, double input);

/// Operands of `fma` in types with dot products (16 and 8 bits). They are integers, for bf16 in
/// units of 2^-7, so that products are in units of 2^-14. An update adds first * second, summed
/// over the lanes of a group; the next one subtracts all of it except one unit (back). All sums are
/// exact in fp32, because they are below 2^24 units.
struct DotConstants {
  int first[4], second[4], back[4];
};
DotConstants dot_constants(Precision precision);

std::unique_ptr<Oracle> make_stream_oracle(const StreamProblem& problem);

}  // namespace assay
