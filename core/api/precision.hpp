#pragma once
// Element types, and exact rounding between them and fp64.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The type of a stored element. Files and ids use the names of the enumerators.
/// fp8_e4m3 and fp8_e5m2: core/api/fp8.hpp.
enum class DataType { fp64, fp32, bf16, fp16, s32, s8, u8, fp8_e4m3, fp8_e5m2 };

std::string_view name(DataType type);
/// The type of this name. Throws InputError with the nearest valid name.
DataType data_type(std::string_view name);
/// Bytes of one element.
std::size_t size_of(DataType type);
bool is_integer(DataType type);
/// Unit roundoff u = 2^-p for a p-bit significand and round to nearest (fp64 2^-53, fp32 2^-24,
/// fp16 2^-11, bf16 2^-8, fp8_e4m3 2^-4, fp8_e5m2 2^-3); 0 for integers.
double unit_roundoff(DataType type);
/// `value` rounded to `type`: to nearest, ties to even. Integers and 8-bit floats saturate.
double round_to(DataType type, double value);

/// Rounds `values` to `type` (round_to) and writes them to `out`, consecutively: values.size() *
/// size_of(type) bytes.
void encode(DataType type, std::span<const double> values, void* out);
/// The reverse: reads values.size() elements of `type` at `in`.
void decode(DataType type, const void* in, std::span<double> values);

/// The precisions of a benchmark row. A precision determines the types of the tensors and the
/// coarsest type that may accumulate sums. The arithmetic that ran is in Execution.
///   fp64, fp32, bf16, fp16   all tensors have this type
///   tf32                     fp32 tensors; operands of products may be rounded to 11 significant
///                            bits, as tensor cores do. Never allowed for fp32.
///   int8                     u8 activations, s8 weights, s32 results
///   bf16_fp32, fp16_fp32     mixed: 16-bit inputs, fp32 results
///   fp8_e4m3                 fp8_e4m3 inputs, bf16 results
///   fp8_e5m2                 weights of fp8_e4m3, the other inputs (gradients, in training) of
///                            fp8_e5m2, bf16 results: no hardware multiplies two fp8_e5m2 matrices
enum class Precision {
  fp64,
  fp32,
  tf32,
  bf16,
  fp16,
  int8,
  bf16_fp32,
  fp16_fp32,
  fp8_e4m3,
  fp8_e5m2
};

/// With a norm error below this, products were not computed in tf32. Rounding full significands to
/// 11 bits gives a product an error of 2e-4 to 7e-4, and the norm of a sum of products as much
/// (docs/method.md). fp32 stays below 1e-5 in every algorithm.
inline constexpr double least_error_of_tf32 = 1e-5;

/// The types that belong to a precision.
struct PrecisionFormat {
  Precision precision;
  std::string_view name;
  DataType input;        ///< element type of the inputs, except weights (weight_type())
  DataType output;       ///< element type of the results
  DataType accumulator;  ///< coarsest type in which sums of products may be accumulated
  Precision arithmetic;  ///< precision whose peak rate bounds it (of a mixed one: its inputs')
};
const PrecisionFormat& format(Precision precision);

std::string_view name(Precision precision);
/// The precision of this name. Throws InputError with the nearest valid name.
Precision precision(std::string_view name);
/// Element type of the inputs of a precision, except its weights.
DataType storage(Precision precision);
/// Element type of the weights (the left matrix of a product): as storage(), except s8 for int8 and
/// fp8_e4m3 for fp8_e5m2.
DataType weight_type(Precision precision);
/// True if inputs are fp8_e4m3 or fp8_e5m2.
bool is_fp8(Precision precision);
/// True if inputs and results have floating types of different width.
bool is_mixed(Precision precision);
std::vector<std::string> list_precision_names();
/// The name of the precision whose peak rate bounds this one (PrecisionFormat::arithmetic). A name
/// that is not a Precision is returned unchanged.
std::string arithmetic_name(const std::string& precision_name);

}  // namespace assay
