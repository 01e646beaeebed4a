#include "analysis/model/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// More coefficients than this are a mistake, such as factor(time).
constexpr std::size_t most_columns = 1000;

/// A factor of a subterm (its index), with all its levels (true) or without the reference level.
using Coded = std::pair<std::size_t, bool>;
using Subterm = std::vector<Coded>;

/// All subsets, the shortest first, then in the order of their members.
std::vector<Subterm> reduced_subsets(const std::vector<std::size_t>& factors) {
  std::vector<std::vector<std::size_t>> chosen_indices;
  for (unsigned chosen = 0; chosen < 1U << factors.size(); ++chosen) {
    std::vector<std::size_t> subset;
    for (std::size_t i = 0; i < factors.size(); ++i)
      if ((chosen >> i & 1U) != 0) subset.push_back(i);
    chosen_indices.push_back(subset);
  }
  std::sort(chosen_indices.begin(), chosen_indices.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  std::vector<Subterm> subsets;
  for (const auto& subset : chosen_indices) {
    Subterm subterm;
    for (const std::size_t i : subset) subterm.emplace_back(factors[i], false);
    subsets.push_back(subterm);
  }
  return subsets;
}

/// X and X:a- span the same columns as X:a+. Makes one such replacement; false if none is possible.
bool merge_subterms(std::vector<Subterm>& subterms) {
  for (std::size_t s = 0; s < subterms.size(); ++s)
    for (std::size_t l = s + 1; l < subterms.size(); ++l) {
      Subterm& longer = subterms[l];
      if (longer.size() != subterms[s].size() + 1) continue;
      Subterm rest = longer;
      for (const Coded& coded : subterms[s]) std::erase(rest, coded);
      if (rest.size() != 1 || rest.front().second) continue;
      std::find(longer.begin(), longer.end(), rest.front())->second = true;
      subterms.erase(subterms.begin() + static_cast<std::ptrdiff_t>(s));
      return true;
    }
  return false;
}

double number_of(const Factor& factor, const Cell& cell, const std::string& where) {
  const auto value = cell.get<double>();
  const double applied = apply_function(factor.function, value);
  if (!std::isfinite(applied))
    throw InputError(
        fmt::format("{} is not defined at {} = {} ({}). Remove the function, or the "
                    "rows.",
                    factor.text(), factor.column, level_name(cell), where));
  return applied;
}

}  // namespace

double Variable::encode(const Cell& cell) const {
  if (!categorical) return number_of(factor, cell, "--predict");
  const auto found = std::find(levels.begin(), levels.end(), level_name(cell));
  return found == levels.end() ? unseen : static_cast<double>(found - levels.begin());
}

std::size_t Design::variable_of(const Factor& factor, const Frame& frame,
                                const std::map<std::string, std::string>& references) {
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].factor == factor) return i;
  Variable made;
  made.factor = factor;
  const bool numeric = frame.numeric(factor.column);
  made.categorical = factor.function == "factor" || (factor.function.empty() && !numeric);
  if (!made.categorical && !numeric) {
    const auto text = std::find_if(
        frame.observations().begin(), frame.observations().end(),
        [&](const Observation& observation) { return !observation.at(factor.column).is_number(); });
    throw InputError(fmt::format(
        "{} needs numbers ({} is \"{}\" at {}). Use {} without the function.", factor.text(),
        factor.column, level_name(text->at(factor.column)), text->label, factor.column));
  }
  std::set<std::string> seen;
  bool first = true;
  for (const Observation& observation : frame.observations()) {
    const Cell& cell = observation.at(factor.column);
    if (made.categorical) {
      if (seen.insert(level_name(cell)).second) made.levels.push_back(level_name(cell));
      continue;
    }
    number_of(factor, cell, observation.label);
    const auto value = cell.get<double>();
    made.low = first ? value : std::min(made.low, value);
    made.high = first ? value : std::max(made.high, value);
    first = false;
  }
  if (const auto wanted = references.find(factor.column);
      made.categorical && wanted != references.end()) {
    const auto place = std::find(made.levels.begin(), made.levels.end(), wanted->second);
    if (place == made.levels.end())
      throw InputError("--reference: " +
                       unknown_name("level of " + factor.column, wanted->second, made.levels));
    std::rotate(made.levels.begin(), place, place + 1);
  }
  variables_.push_back(std::move(made));
  return variables_.size() - 1;
}

Design::Design(const Formula& formula, const Frame& frame,
               const std::map<std::string, std::string>& references) {
  const Factor& response = formula.response;
  if (!frame.numeric(response.column))
    throw InputError(fmt::format(
        "the response {} is text (it must be a number). Use time, or a rate.", response.column));
  for (const Observation& observation : frame.observations())
    response_.push_back(number_of(response, observation.at(response.column), observation.label));

  for (const Term& term : formula.terms) {
    std::vector<std::size_t> indices;
    for (const Factor& factor : term) indices.push_back(variable_of(factor, frame, references));
    terms_.push_back(indices);
  }
  for (const auto& [column, level] : references) {
    std::vector<std::string> categorical;
    for (const Variable& variable : variables_)
      if (variable.categorical) categorical.push_back(variable.factor.column);
    if (std::find(categorical.begin(), categorical.end(), column) == categorical.end())
      throw InputError("--reference: " +
                       unknown_name("categorical column of the formula", column, categorical));
  }

  // Terms with the same numeric factors span overlapping spaces, so each subterm of categorical
  // factors is used once among them (N. J. Smith, documentation of patsy, section "Redundancy and
  // categorical factors").
  std::map<std::set<std::size_t>, std::set<std::set<std::size_t>>> used;
  std::vector<std::vector<std::size_t>> terms = terms_;
  if (formula.intercept) terms.insert(terms.begin(), std::vector<std::size_t>{});
  for (const std::vector<std::size_t>& term : terms) {
    std::vector<std::size_t> numbers, factors;
    for (const std::size_t index : term)
      (variables_[index].categorical ? factors : numbers).push_back(index);
    auto& used_subterms = used[{numbers.begin(), numbers.end()}];
    std::vector<Subterm> subterms;
    for (const Subterm& subset : reduced_subsets(factors)) {
      std::set<std::size_t> members;
      for (const Coded& coded : subset) members.insert(coded.first);
      if (used_subterms.insert(members).second) subterms.push_back(subset);
    }
    while (merge_subterms(subterms)) {
    }
    for (const Subterm& subterm : subterms) add_columns(numbers, subterm);
  }

  std::vector<std::vector<double>> codes(frame.size());
  for (std::size_t i = 0; i < frame.size(); ++i)
    for (const Variable& variable : variables_)
      codes[i].push_back(variable.encode(frame.observations()[i].at(variable.factor.column)));
  for (const DesignColumn& column : columns_) {
    std::vector<double>& values = values_.emplace_back();
    values.reserve(frame.size());
    for (const std::vector<double>& code : codes) values.push_back(value(column, code));
  }
}

void Design::add_columns(const std::vector<std::size_t>& numbers,
                         const std::vector<std::pair<std::size_t, bool>>& coded) {
  std::vector<DesignColumn> made(1);
  for (const auto& [index, full] : coded) {
    std::vector<DesignColumn> longer;
    const Variable& variable = variables_[index];
    for (std::size_t level = full ? 0 : 1; level < variable.levels.size(); ++level)
      for (DesignColumn column : made) {
        column.parts.push_back({index, static_cast<int>(level)});
        longer.push_back(std::move(column));
      }
    made = std::move(longer);
    if (columns_.size() + made.size() > most_columns)
      throw InputError(
          fmt::format("the formula has more than {} coefficients ({} has {} levels). Use a "
                      "column with fewer levels, or a number instead of a factor.",
                      most_columns, variable.factor.text(), variable.levels.size()));
  }
  for (DesignColumn& column : made) {
    for (const std::size_t index : numbers) column.parts.push_back({index, -1});
    std::vector<std::string> names;
    for (const DesignColumn::Part& part : column.parts) {
      const Variable& variable = variables_[part.variable];
      const std::string text = variable.factor.text();
      names.push_back(
          part.level < 0
              ? text
              : fmt::format("{}[{}]", text, variable.levels[static_cast<std::size_t>(part.level)]));
    }
    column.name = names.empty() ? "(Intercept)" : join(names, ":");
    column.against_reference = coded.size() == 1 && !coded.front().second && numbers.empty();
    columns_.push_back(std::move(column));
  }
}

double Design::value(const DesignColumn& column, const std::vector<double>& codes) const {
  double product = 1;
  for (const DesignColumn::Part& part : column.parts)
    product *= part.level < 0                                            ? codes[part.variable]
               : codes[part.variable] == static_cast<double>(part.level) ? 1
                                                                         : 0;
  return product;
}

std::vector<double> Design::row(const std::map<std::string, Cell>& cells) const {
  std::vector<double> codes, values;
  for (const Variable& variable : variables_)
    codes.push_back(variable.encode(cells.at(variable.factor.column)));
  for (const DesignColumn& column : columns_) values.push_back(value(column, codes));
  return values;
}

std::vector<const Variable*> Design::single_levels() const {
  std::vector<const Variable*> all;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const bool has_column =
        std::any_of(columns_.begin(), columns_.end(), [&](const DesignColumn& column) {
          return std::any_of(column.parts.begin(), column.parts.end(),
                             [&](const auto& part) { return part.variable == i; });
        });
    if (variables_[i].categorical && !has_column) all.push_back(&variables_[i]);
  }
  return all;
}

std::vector<const Variable*> Design::partners(const DesignColumn& column) const {
  std::set<std::size_t> found;
  for (const std::vector<std::size_t>& term : terms_)
    for (const DesignColumn::Part& part : column.parts)
      if (std::find(term.begin(), term.end(), part.variable) != term.end())
        found.insert(term.begin(), term.end());
  for (const DesignColumn::Part& part : column.parts) found.erase(part.variable);
  std::vector<const Variable*> all;
  for (const std::size_t index : found) all.push_back(&variables_[index]);
  return all;
}

}  // namespace assay
