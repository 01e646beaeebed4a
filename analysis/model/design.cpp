#include "analysis/model/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// A formula with more coefficients than this is a mistake, such as factor(time).
constexpr std::size_t most_columns = 1000;

using Subterm = std::vector<Design::Coding>;

/// All subsets, the shortest first, then in the order of their members.
std::vector<Subterm> list_reduced_subsets(const std::vector<std::size_t>& factors) {
  std::vector<Subterm> subsets;
  for (unsigned chosen = 1U << factors.size(); chosen-- > 0;) {
    Subterm& subset = subsets.emplace_back();
    for (std::size_t i = 0; i < factors.size(); ++i)
      if ((chosen >> (factors.size() - 1 - i) & 1U) != 0) subset.emplace_back(factors[i], false);
  }
  std::stable_sort(subsets.begin(), subsets.end(),
                   [](const Subterm& a, const Subterm& b) { return a.size() < b.size(); });
  return subsets;
}

/// X and X:a- together span the same columns as X:a+. Makes one such replacement; false if none is
/// possible.
bool merge_subterms(std::vector<Subterm>& subterms) {
  for (std::size_t s = 0; s < subterms.size(); ++s)
    for (std::size_t l = s + 1; l < subterms.size(); ++l) {
      Subterm& longer = subterms[l];
      if (longer.size() != subterms[s].size() + 1) continue;
      Subterm rest = longer;
      for (const Design::Coding& coded : subterms[s]) std::erase(rest, coded);
      if (rest.size() != 1 || rest.front().second) continue;
      std::find(longer.begin(), longer.end(), rest.front())->second = true;
      subterms.erase(subterms.begin() + static_cast<std::ptrdiff_t>(s));
      return true;
    }
  return false;
}

void check_numeric(const Factor& factor, const Frame& frame) {
  for (const Observation& observation : frame.observations())
    if (const FrameValue& cell = observation.at(factor.column); !cell.is_number())
      throw InputError(fmt::format(
          "{} needs numbers ({} is \"{}\" at {}). Use {} without the function.", factor.text(),
          factor.column, level_name(cell), observation.label, factor.column));
}

}  // namespace

double Variable::encode(const FrameValue& cell, const std::string& where) const {
  if (categorical) {
    const auto level = std::find(levels.begin(), levels.end(), level_name(cell));
    return level == levels.end() ? unseen : static_cast<double>(level - levels.begin());
  }
  const double value = apply_function(factor.function, cell.get<double>());
  if (!std::isfinite(value))
    throw InputError(
        fmt::format("{} is not defined at {} = {} ({}). Remove the function, or the rows.",
                    factor.text(), factor.column, level_name(cell), where));
  return value;
}

std::size_t Design::find_variable(const Factor& factor, const Frame& frame,
                                  const std::map<std::string, std::string>& references) {
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].factor == factor) return i;
  Variable variable{factor};
  variable.categorical =
      factor.function == "factor" || (factor.function.empty() && !frame.numeric(factor.column));
  if (!variable.categorical) check_numeric(factor, frame);
  std::set<std::string> seen;
  for (const Observation& observation : frame.observations()) {
    const FrameValue& cell = observation.at(factor.column);
    if (variable.categorical) {
      if (seen.insert(level_name(cell)).second) variable.levels.push_back(level_name(cell));
      continue;
    }
    variable.encode(cell, observation.label);
    const bool first = &observation == &frame.observations().front();
    const auto value = cell.get<double>();
    variable.low = first ? value : std::min(variable.low, value);
    variable.high = first ? value : std::max(variable.high, value);
  }
  if (const auto reference = references.find(factor.column);
      variable.categorical && reference != references.end()) {
    auto& levels = variable.levels;
    const auto level = std::find(levels.begin(), levels.end(), reference->second);
    if (level == levels.end())
      throw InputError("--reference: " + explain_unknown_name("level of " + factor.column,
                                                              reference->second, levels));
    std::rotate(levels.begin(), level, level + 1);
  }
  variables_.push_back(std::move(variable));
  return variables_.size() - 1;
}

Design::Design(const Formula& formula, const Frame& frame,
               const std::map<std::string, std::string>& references) {
  const Factor& response = formula.response;
  if (!frame.numeric(response.column))
    throw InputError(fmt::format(
        "the response {} is text (it must be a number). Use time, or a rate.", response.column));
  const auto rows = static_cast<Eigen::Index>(frame.size());
  response_.resize(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Observation& observation = frame.observations()[i];
    response_(i) = Variable{response}.encode(observation.at(response.column), observation.label);
  }
  for (const Term& term : formula.terms) {
    std::vector<std::size_t> indices;
    for (const Factor& factor : term) indices.push_back(find_variable(factor, frame, references));
    terms_.push_back(indices);
  }
  std::vector<std::string> categorical;
  for (const Variable& variable : variables_)
    if (variable.categorical) categorical.push_back(variable.factor.column);
  for (const auto& [column, level] : references)
    if (std::find(categorical.begin(), categorical.end(), column) == categorical.end())
      throw InputError("--reference: " + explain_unknown_name("categorical column of the formula",
                                                              column, categorical));
  add_terms(formula.intercept);
  values_.resize(rows, static_cast<Eigen::Index>(columns_.size()));
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Observation& observation = frame.observations()[i];
    values_.row(i) = row(observation.cells, observation.label);
  }
}

// Terms with the same numeric factors span overlapping spaces, so each subterm of categorical
// factors is used once among them (N. J. Smith, documentation of patsy, section "Redundancy and
// categorical factors").
void Design::add_terms(bool intercept) {
  std::map<std::set<std::size_t>, std::set<std::set<Coding>>> used;
  std::vector<std::vector<std::size_t>> terms = terms_;
  if (intercept) terms.insert(terms.begin(), std::vector<std::size_t>{});
  for (const std::vector<std::size_t>& term : terms) {
    std::vector<std::size_t> numbers, factors;
    for (const std::size_t index : term)
      (variables_[index].categorical ? factors : numbers).push_back(index);
    auto& used_subterms = used[{numbers.begin(), numbers.end()}];
    std::vector<Subterm> subterms = list_reduced_subsets(factors);
    std::erase_if(subterms, [&](const Subterm& subterm) {
      return !used_subterms.insert({subterm.begin(), subterm.end()}).second;
    });
    while (merge_subterms(subterms)) {
    }
    for (const Subterm& subterm : subterms) add_columns(numbers, subterm);
  }
}

void Design::extend(DesignColumn& column, std::size_t variable, int level) const {
  if (!column.parts.empty()) column.name += ":";
  column.name += variables_[variable].factor.text();
  if (level >= 0) column.name += fmt::format("[{}]", variables_[variable].levels[level]);
  column.parts.push_back({variable, level});
}

void Design::add_columns(const std::vector<std::size_t>& numbers,
                         const std::vector<Coding>& factors) {
  std::vector<DesignColumn> columns(1);
  for (const auto& [index, full] : factors) {
    std::vector<DesignColumn> longer;
    const Variable& variable = variables_[index];
    const int levels = static_cast<int>(variable.levels.size());
    for (int level = full ? 0 : 1; level < levels; ++level)
      for (const DesignColumn& column : columns) extend(longer.emplace_back(column), index, level);
    columns = std::move(longer);
    if (columns_.size() + columns.size() > most_columns)
      throw InputError(
          fmt::format("the formula has more than {} coefficients ({} has {} levels). Use a "
                      "column with fewer levels, or a number instead of a factor.",
                      most_columns, variable.factor.text(), levels));
  }
  for (DesignColumn& column : columns) {
    for (const std::size_t index : numbers) extend(column, index, -1);
    if (column.parts.empty()) column.name = "(Intercept)";
    column.against_reference = factors.size() == 1 && !factors.front().second && numbers.empty();
    columns_.push_back(std::move(column));
  }
}

Eigen::VectorXd Design::row(const std::map<std::string, FrameValue>& cells,
                            const std::string& where) const {
  std::vector<double> codes;
  for (const Variable& variable : variables_)
    codes.push_back(variable.encode(cells.at(variable.factor.column), where));
  Eigen::VectorXd values = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(columns_.size()));
  for (Eigen::Index i = 0; i < values.size(); ++i)
    for (const auto& [variable, level] : columns_[i].parts)
      values(i) *= level < 0 ? codes[variable] : codes[variable] == level ? 1 : 0;
  return values;
}

std::vector<const Variable*> Design::single_levels() const {
  std::set<std::size_t> with_column;
  for (const DesignColumn& column : columns_)
    for (const DesignColumn::Part& part : column.parts) with_column.insert(part.variable);
  std::vector<const Variable*> single;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].categorical && !with_column.contains(i)) single.push_back(&variables_[i]);
  return single;
}

std::vector<const Variable*> Design::partners(const DesignColumn& column) const {
  std::set<std::size_t> beside;
  for (const std::vector<std::size_t>& term : terms_)
    for (const DesignColumn::Part& part : column.parts)
      if (std::find(term.begin(), term.end(), part.variable) != term.end())
        beside.insert(term.begin(), term.end());
  for (const DesignColumn::Part& part : column.parts) beside.erase(part.variable);
  std::vector<const Variable*> partners;
  for (const std::size_t index : beside) partners.push_back(&variables_[index]);
  return partners;
}

}  // namespace assay
