#include "core/program/unused_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/program/options.hpp"

namespace assay {
namespace {

bool among(const std::string& value, const std::vector<std::string>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// The number that "0.5" or "1/2" stands for.
std::optional<double> read_number(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto value = parse_number(text.substr(0, slash));
  if (!value || slash == std::string::npos) return value;
  const auto divisor = read_number(text.substr(slash + 1));
  return divisor ? std::optional(*value / *divisor) : std::nullopt;
}

/// "0.10" and "0.1", "1/1" and "1".
bool same_number(const std::string& a, const std::string& b) {
  const auto left = read_number(a), right = read_number(b);
  return left && right && *left == *right;
}

/// True if a value does not affect a case: a value of a closed list that complete() replaced, or
/// any other value without which the completed case would be the same. (A different text alone
/// proves nothing: complete() may rewrite a value, as "4M", or use it to set another dimension, as
/// the file of a table.)
bool is_unused(const Benchmark& benchmark, const Dimension& axis, const RankCount& started,
               Settings before, const Settings& completed) {
  const std::string value = before.at(axis.name);
  if (completed.at(axis.name) == value) return false;  // even if it is the default
  if (among(value, axis.values)) return true;
  if (axis.defaults.empty()) return false;
  for (const std::string& standard : axis.defaults)
    if (value == standard || same_number(value, standard)) return false;
  before[axis.name] = axis.defaults.front();
  try {
    benchmark.complete(before, started);
  } catch (const InputError&) {
    return false;  // without the value the case is invalid
  }
  return before == completed;
}

/// Fields (`Dimension::field`) become parts of the problem, so they are used if the problem is.
/// They are unused if a file determines the size.
void refuse_unused_size(const Benchmark& benchmark, const std::vector<Dimension>& axes,
                        const std::map<std::string, std::vector<std::string>>& values_by_axis,
                        const RankCount& started, const std::vector<Settings>& before,
                        const std::vector<Case>& after) {
  const Dimension *problem = nullptr, *first_given = nullptr;
  bool has_words = false;
  for (const Dimension& axis : axes) {
    if (axis.name == "problem") problem = &axis;
    const bool word = !axis.field.empty();
    has_words = has_words || word;
    const auto values = values_by_axis.find(axis.name);
    if (first_given == nullptr && (word || axis.name == "problem") &&
        values != values_by_axis.end() && !values->second.empty())
      first_given = &axis;
  }
  if (!has_words || problem == nullptr || first_given == nullptr || before.empty()) return;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!is_unused(benchmark, *problem, started, before[i], after[i].settings)) return;
  throw InputError(
      fmt::format("--{} {} has no use here (with the other settings the problem is {} in every "
                  "case). Leave it out; --help says what it goes with.",
                  format_flag_name(*first_given), values_by_axis.at(first_given->name).front(),
                  after.front().settings.at("problem")));
}

}  // namespace

void refuse_unused(const Benchmark& benchmark, const std::vector<Dimension>& axes,
                   const std::map<std::string, std::vector<std::string>>& values_by_axis,
                   const RankCount& started, const std::vector<Settings>& before,
                   const std::vector<Case>& after) {
  refuse_unused_size(benchmark, axes, values_by_axis, started, before, after);
  for (const Dimension& axis : axes) {
    const auto values = values_by_axis.find(axis.name);
    if (axis.name == "problem" || !axis.field.empty() || values == values_by_axis.end()) continue;
    for (const std::string& value : values->second) {
      std::string instead;  // empty for "all", whose values nobody has named
      bool used = false;
      for (std::size_t i = 0; i < before.size() && !used; ++i) {
        if (before[i].at(axis.name) != value) continue;
        instead = after[i].settings.at(axis.name);
        used = !is_unused(benchmark, axis, started, before[i], after[i].settings);
      }
      if (!instead.empty() && !used)
        throw InputError(fmt::format(
            "--{} {} has no use here (with the other settings it is {} in every case). Leave it "
            "out; --help says what it goes with.",
            format_flag_name(axis), value, instead));
    }
  }
}

}  // namespace assay
