#include "analysis/number_formats.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "analysis/text_table.hpp"

namespace assay {
namespace {

constexpr int tf32_significand = 11;

Line choose_line(Precision precision) {
  const PrecisionFormat& format = assay::format(precision);
  const auto text = [](DataType type) { return std::string(name(type)); };
  std::vector<std::string> cells{std::string(format.name), text(format.input), text(format.output),
                                 text(format.accumulator)};
  if (is_integer(format.input)) {
    // Activations are unsigned, weights signed.
    cells[1] = text(DataType::u8) + ", " + text(DataType::s8);
    for (const char* cell : {"8", "-", "255, 127", "-"}) cells.emplace_back(cell);
    return {cells, ""};
  }
  if (weight_type(precision) != format.input)  // "fp8_e4m3, e5m2"
    cells[1] = text(weight_type(precision)) + ", " + cells[1].substr(cells[1].find('_') + 1);
  const FloatFormat values = float_format(precision);
  cells.push_back(fmt::format("{}+{}", values.significand_bits, values.exponent_bits));
  for (const double value : {values.smallest, values.largest, values.roundoff})
    cells.push_back(fmt::format("{:.2e}", value));
  return {cells, ""};
}

}  // namespace

FloatFormat float_format(Precision precision) {
  const DataType type = format(precision).input;
  if (is_integer(type)) throw std::logic_error("float_format of integers");
  const int stored_significand = static_cast<int>(std::lround(-std::log2(unit_roundoff(type))));
  const int exponent = static_cast<int>(size_of(type)) * 8 - stored_significand;
  const int significand = precision == Precision::tf32 ? tf32_significand : stored_significand;
  const int bias = (1 << (exponent - 1)) - 1;
  const double largest = type == DataType::fp8_e4m3  // which has numbers where other formats have
                                                     // infinity
                             ? round_to(type, std::numeric_limits<double>::max())
                             : std::ldexp(2.0 - std::ldexp(1.0, 1 - significand), bias);
  return {significand, exponent, std::ldexp(1.0, 1 - bias), largest, std::ldexp(1.0, -significand)};
}

std::string render_precision_table() {
  std::vector<Line> lines;
  for (const std::string& name : list_precision_names())
    lines.push_back(choose_line(precision(name)));
  return render_terminal_table({make_columns({"precision", "inputs", "results", "sums", ">bits",
                                              ">smallest", ">largest", ">roundoff"}),
                                lines}) +
         "\nbits: of significand and exponent; smallest: the smallest normal number;\n"
         "roundoff: the unit roundoff.\n";
}

}  // namespace assay
