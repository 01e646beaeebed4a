#pragma once
// Element types, and exact rounding between them and fp64.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The type of a stored element. Names in files and ids are the enumerators' own.
enum class DataType { fp64, fp32, bf16, fp16, s32, s8, u8 };

std::string_view name(DataType type);
/// Throws InputError with the nearest valid name.
DataType data_type(std::string_view name);
/// Bytes of one element.
std::size_t size_of(DataType type);
bool is_integer(DataType type);
/// Unit roundoff u = 2^-p for a p-bit significand and round to nearest (fp64 2^-53, fp32 2^-24,
/// fp16 2^-11, bf16 2^-8); 0 for integers.
double unit_roundoff(DataType type);
/// The value nearest to `value` that `type` holds: round to nearest even; integers saturate. Exact
/// where already representable.
double round_to(DataType type, double value);

/// Converts `values` to `type`, packed at `out` (values.size() * size_of(type) bytes), and back.
/// round_to's rounding.
void encode(DataType type, std::span<const double> values, void* out);
void decode(DataType type, const void* in, std::span<double> values);

/// The precisions of a benchmark row. A precision names the types of the tensors and the coarsest
/// accumulator; what was computed in is in `executed`. `int8` stores u8 activations, s8 weights and
/// s32 results. `tf32` stores fp32, and allows products of operands rounded to 11 significant bits:
/// what a tensor core makes of fp32 tensors, and never what a row of fp32 may be. The mixed ones
/// (`bf16_fp32`) read 16-bit inputs and write fp32 results.
enum class Precision { fp64, fp32, tf32, bf16, fp16, int8, bf16_fp32, fp16_fp32 };

/// What one precision means.
struct PrecisionFormat {
  Precision precision;
  std::string_view name;
  DataType input;        ///< element type of the inputs (int8: of the activations)
  DataType output;       ///< element type of the results
  DataType accumulator;  ///< sums of products are kept in no coarser type
  Precision arithmetic;  ///< precision whose peak bounds it: a mixed one uses its inputs' units
};
const PrecisionFormat& format(Precision precision);

std::string_view name(Precision precision);
Precision precision(std::string_view name);
/// Element type of the inputs of a precision (int8: of the activations).
DataType storage(Precision precision);
/// Whether inputs and results have floating types of different width.
bool is_mixed(Precision precision);
std::vector<std::string> precision_names();
/// The name of the precision whose peak bounds this one; names that are no Precision stay.
std::string arithmetic_name(const std::string& precision_name);

}  // namespace assay
