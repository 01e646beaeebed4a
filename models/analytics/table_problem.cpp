#include "models/analytics/table_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "core/base/numbers.hpp"

namespace assay {
namespace {

constexpr std::int64_t usual_features = 250;  // of CORAL-2

/// Bytes of "8GB" (powers of 1000) or "8G" (powers of 1024).
std::int64_t parse_bytes(const std::string& text, const DescriptorComplaint& complain) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  const bool decimal = unit.size() > 1 && !unit.ends_with("iB") &&
                       std::all_of(unit.begin(), unit.end(),
                                   [](unsigned char letter) { return std::isalpha(letter) != 0; });
  if (!decimal) return size_number("--bytes", text, std::numeric_limits<std::int64_t>::max());
  const std::size_t power = std::string("kMGT").find(unit.front());
  if (power == std::string::npos || unit.substr(1) != "B")
    complain(
        "'{}' is not a valid unit (kB, MB, GB, TB are powers of 1000; K, M, G, T of 1024). Use "
        "one of these.",
        unit);
  std::int64_t bytes = static_cast<std::int64_t>(
      whole_number("--bytes", text.substr(0, digits), 1, std::uint64_t{1} << 50));
  for (std::size_t i = 0; i <= power; ++i)
    bytes = product({{"bytes", bytes}, {"unit", 1000}}, "the table in bytes", complain);
  return bytes;
}

}  // namespace

TableSize parse_table(const std::string& text) {
  const DescriptorComplaint complain("table", text);
  TableSize size;
  std::string counts = text;
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    const std::size_t fields = std::min({text.find('n'), text.find("each"), text.find('d')});
    size.bytes = parse_bytes(text.substr(0, fields), complain);
    if (size.bytes < 1) complain("a table has at least one byte. Give a size above 0.");
    counts = fields == text.npos ? "" : text.substr(fields);
  }
  const auto numbers = read_counts(counts, {"n", "each", "d"}, {}, complain);
  size.features = numbers.contains("d") ? numbers.at("d") : usual_features;
  if (numbers.contains("n")) size.rows = numbers.at("n");
  if (numbers.contains("each")) size.each = numbers.at("each");
  if ((size.rows > 0) + (size.each > 0) + (size.bytes > 0) != 1)
    complain(
        "exactly one of n (--rows), each (--rows-per-rank) and a size (--bytes) is needed. Give "
        "for example n262144d250, each65536d250 or 8GB.");
  return size;
}

std::string to_text(const TableSize& size) {
  if (size.bytes > 0) return fmt::format("{}d{}", size.bytes, size.features);
  return fmt::format("{}{}d{}", size.each > 0 ? "each" : "n", size.each > 0 ? size.each : size.rows,
                     size.features);
}

std::int64_t rows_of_all(const TableSize& size, int ranks, std::size_t element_bytes) {
  const DescriptorComplaint complain("table", to_text(size));
  std::int64_t rows = size.rows;
  if (size.each > 0)
    rows = product({{"each", size.each}, {"ranks", ranks}}, "the number of rows", complain);
  if (size.bytes > 0) rows = size.bytes / size.features / static_cast<std::int64_t>(element_bytes);
  if (rows < 1)
    complain("{} bytes are less than one row of {} features. Give a larger size.", size.bytes,
             size.features);
  product(
      {{"rows", rows}, {"features + 1", size.features + 1}, {"features + 1", size.features + 1}},
      "the number of operations", complain);
  return rows;
}

TableProblem::TableProblem(std::string kind, std::int64_t rows, std::int64_t features,
                           Precision precision, double work, double passes, bool conforms)
    : kind_(std::move(kind)),
      rows_(rows),
      features_(features),
      precision_(precision),
      work_(work),
      passes_(passes),
      conforms_(conforms) {}

std::string TableProblem::canonical() const { return fmt::format("n{}d{}", rows_, features_); }

nlohmann::json TableProblem::json() const {
  nlohmann::json all{{"n", rows_}, {"d", features_}, {"size", table_bytes()}};
  if (passes_ > 0) all["passes"] = passes_;
  return all;
}

double TableProblem::table_bytes() const {
  return static_cast<double>(rows_) * static_cast<double>(features_) *
         static_cast<double>(size_of(storage(precision_)));
}

double TableProblem::bytes() const { return passes_ * table_bytes(); }

std::map<std::string, double> TableProblem::amounts() const {
  std::map<std::string, double> all = Problem::amounts();
  all["input_bytes_per_s"] = table_bytes();
  if (conforms_) all["figure_of_merit"] = table_bytes();
  return all;
}

}  // namespace assay
