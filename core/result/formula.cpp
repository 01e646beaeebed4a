#include "core/result/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"

namespace assay::formula {

using nlohmann::json;

namespace {

// Functions, because static objects of other files use them before main().
auto& operation_formulas() {
  static std::map<std::string, Fields (*)(const Operation&)> all;
  return all;
}
auto& benchmark_formulas() {
  static std::map<std::string, void (*)(const Claims&)> all;
  return all;
}

/// True if numbers differ by more than rounding: a number is written with all digits, and
/// recomputed with few operations.
bool differs(double a, double b) {
  return !(std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)));
}

/// Checks a row of one operation. A row without any extent of its problem (from an unknown source)
/// is not recomputed.
void check_operation(const Claims& claims, const Operation& operation) {
  const Fields amounts = compute_amounts(operation);
  const bool shaped = std::any_of(amounts.begin(), amounts.end(), [&](const auto& each) {
    return each.first != "flops" && each.first != "bytes" &&
           claims.find("/problem/" + each.first) != nullptr;
  });
  if (!shaped) return;
  const std::string origin = fmt::format("of the descriptor {}, by a reader's formula for {}",
                                         operation.descriptor, operation.kind);
  for (const auto& [name, amount] : amounts) claims.expect("/problem/" + name, amount, origin);
}

}  // namespace

OperationFormula::OperationFormula(const char* kind, Fields (*amounts)(const Operation&)) {
  operation_formulas()[kind] = amounts;
}
BenchmarkFormula::BenchmarkFormula(const char* benchmark, void (*check)(const Claims&)) {
  benchmark_formulas()[benchmark] = check;
}

const json* Claims::find(const std::string& pointer) const {
  const json::json_pointer place(pointer);
  if (!row_.contains(place)) return nullptr;
  const json& claim = row_.at(place);
  return claim.is_null() ? nullptr : &claim;
}

std::optional<double> Claims::number(const std::string& pointer) const {
  const json* const claim = find(pointer);
  if (claim == nullptr) return std::nullopt;
  if (claim->is_number()) return claim->get<double>();
  return claim->is_string() ? parse_number<double>(claim->get_ref<const std::string&>())
                            : std::nullopt;
}

std::string Claims::text(const std::string& pointer) const {
  const json* const claim = find(pointer);
  if (claim == nullptr) return "";
  return claim->is_string() ? claim->get<std::string>() : claim->dump();
}

void Claims::expect(const std::string& pointer, double expected, const std::string& origin) const {
  const auto claim = number(pointer);
  require(claim && !differs(*claim, expected), pointer, json(expected).dump(), origin);
}

void Claims::require(bool holds, const std::string& pointer, const std::string& expected,
                     const std::string& origin) const {
  const json* const claim = find(pointer);
  if (holds || claim == nullptr) return;
  throw InputError(fmt::format("{}{}: found {}, expected {} ({}). Do not use this row.", where_,
                               pointer, claim->dump(), expected, origin));
}

void check_formulas(const json& row, const std::string& where) {
  const Claims claims(row, where);
  const std::string benchmark = row.at("benchmark");
  // A part of an analysis is an operation of linalg, in any benchmark.
  const std::string kind = claims.text("/problem/kernel").empty() ? benchmark : "linalg";
  if (operation_formulas().contains(kind)) {
    Operation operation{kind, row.at("problem").at("descriptor"), {}};
    for (const auto& [name, setting] : row.at("parameters").items())
      operation.settings[name] = setting.is_string() ? setting.get<std::string>() : setting.dump();
    check_operation(claims, operation);
  }
  if (const auto formula = benchmark_formulas().find(benchmark);
      formula != benchmark_formulas().end())
    formula->second(claims);
}

Fields parse_fields(const std::string& text) {
  Fields all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == '_') {
      ++at;
      continue;
    }
    const char* const name = at;
    while (at != end && *at >= 'a' && *at <= 'z') ++at;
    if (at == name) return {};
    double number = 1;
    const std::string field(name, at);
    if (const auto [stop, error] = std::from_chars(at, end, number); error == std::errc())
      at = stop;
    if (!all.emplace(field, number).second) return {};
  }
  return all;
}

double value(const Fields& fields, const std::string& name, double otherwise) {
  const auto entry = fields.find(name);
  return entry == fields.end() ? otherwise : entry->second;
}

ElementBytes element_bytes(const std::string& precision) {
  static const std::map<std::string, ElementBytes> all{
      {"fp64", {8, 8, 8}},      {"fp32", {4, 4, 4}},      {"tf32", {4, 4, 4}},
      {"bf16", {2, 2, 4}},      {"fp16", {2, 2, 4}},      {"int8", {1, 4, 4}},
      {"bf16_fp32", {2, 4, 4}}, {"fp16_fp32", {2, 4, 4}}, {"fp8_e4m3", {1, 2, 4}},
      {"fp8_e5m2", {1, 2, 4}}};
  const auto entry = all.find(precision);
  return entry == all.end() ? ElementBytes{} : entry->second;
}

Fields compute_amounts(const Operation& operation) {
  const auto entry = operation_formulas().find(operation.kind);
  return entry == operation_formulas().end() ? Fields{} : entry->second(operation);
}

}  // namespace assay::formula
