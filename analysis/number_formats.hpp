#pragma once
// The number formats of the precisions, for `assay list precisions`.

#include <string>

#include "core/api/precision.hpp"

namespace assay {

/// A binary floating-point format like those of IEEE 754. It is derived only from the number of
/// bits and the unit roundoff.
struct FloatFormat {
  int significand_bits;      ///< including the implicit one: p, where the unit roundoff is 2^-p
  int exponent_bits;         ///< the bits other than sign and stored significand
  double smallest, largest;  ///< normal numbers, by magnitude
  double roundoff;           ///< largest relative error of rounding to nearest
};

/// The format of the operands of products in this precision. tf32 has the range of fp32 and 11
/// significant bits. std::logic_error for integers.
FloatFormat float_format(Precision precision);

/// One line for each precision: formats of inputs, results and sums, range and unit roundoff.
std::string render_precision_table();

}  // namespace assay
