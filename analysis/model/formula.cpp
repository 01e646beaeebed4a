#include "analysis/model/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// `a*b*c` stands for all products of its factors: 2^n terms.
constexpr std::size_t most_factors = 6;

const std::vector<std::string> functions{"log", "log2", "sqrt", "factor"};

template <class T>
void add_new(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

/// Recursive descent:
///   formula = factor '~' ['-'] sum;  sum = part { ('+'|'-') part };  part = '1' | '0' | product
///   product = interaction { '*' interaction };  interaction = factor { ':' factor }
///   factor = NAME | FUNCTION '(' NAME ')'
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Formula parse() {
    Formula formula;
    formula.text = text_;
    formula.response = factor();
    if (formula.response.function == "factor")
      refuse(0, "the response is a factor (it must be a number). Use a column of numbers");
    if (!take('~')) expected("'~' after the response");
    bool minus = take('-');
    do {
      part(formula, minus);
      minus = peek() == '-';
    } while (take('+') || take('-'));
    if (peek() != '\0') expected("+, -, *, : or the end");
    if (formula.terms.empty() && !formula.intercept)
      refuse(at_, "the right side has no term, not even the intercept");
    for (const Term& term : formula.terms)
      for (const Factor& factor : term)
        if (factor.column == formula.response.column)
          refuse(0, fmt::format("{} is on both sides (it would explain itself). Remove it from "
                                "the right side",
                                factor.column));
    std::stable_sort(formula.terms.begin(), formula.terms.end(),
                     [](const Term& a, const Term& b) { return a.size() < b.size(); });
    return formula;
  }

 private:
  [[noreturn]] void refuse(std::size_t at, const std::string& what) const {
    throw InputError(
        fmt::format("the formula at character {}: {}. (Formula: {})", at + 1, what, text_));
  }
  [[noreturn]] void expected(const std::string& what) {
    const std::string next = peek() == '\0' ? "the end" : fmt::format("'{}'", text_[at_]);
    refuse(at_, fmt::format("found {}, expected {}", next, what));
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  static bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }

  std::string name() {
    const char first = peek();
    if (!std::isalpha(static_cast<unsigned char>(first)) && first != '_')
      expected("the name of a column");
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Factor factor() {
    peek();
    const std::size_t begin = at_;
    const std::string word = name();
    if (!take('(')) return {"", word};
    if (std::find(functions.begin(), functions.end(), word) == functions.end())
      refuse(begin, explain_unknown_name("function", word, functions));
    Factor factor{word, name()};
    if (!take(')')) expected("')'");
    return factor;
  }

  Term interaction() {
    Term term;
    do {
      add_new(term, factor());
    } while (take(':'));
    return term;
  }

  void part(Formula& formula, bool minus) {
    const char first = peek();
    const std::size_t begin = at_;
    if (first == '0' || first == '1') {
      if (++at_ < text_.size() && in_name(text_[at_]))
        refuse(begin,
               "only the numbers 0 and 1 are allowed as terms (0: no intercept, 1: intercept)");
      formula.intercept = (first == '1') != minus;
      return;
    }
    if (minus) expected("1 after '-' (only the intercept can be removed)");
    std::vector<Term> parts{interaction()};
    while (take('*')) parts.push_back(interaction());
    if (parts.size() > most_factors)
      refuse(begin, fmt::format("more than {} factors are crossed", most_factors));
    for (unsigned chosen = 1; chosen < 1U << parts.size(); ++chosen) {
      Term term;
      for (std::size_t i = 0; i < parts.size(); ++i)
        if ((chosen >> i & 1U) != 0)
          for (const Factor& factor : parts[i]) add_new(term, factor);
      // a:b and b:a are the same term.
      if (std::none_of(formula.terms.begin(), formula.terms.end(), [&](const Term& other) {
            return std::is_permutation(term.begin(), term.end(), other.begin(), other.end());
          }))
        formula.terms.push_back(std::move(term));
    }
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string Factor::text() const {
  return function.empty() ? column : fmt::format("{}({})", function, column);
}

std::vector<std::string> Formula::columns() const {
  std::vector<std::string> all{response.column};
  for (const Term& term : terms)
    for (const Factor& factor : term) add_new(all, factor.column);
  return all;
}

Formula parse_formula(const std::string& text) { return Parser(text).parse(); }

double apply_function(const std::string& function, double value) {
  if (function == "log") return std::log(value);
  if (function == "log2") return std::log2(value);
  return function == "sqrt" ? std::sqrt(value) : value;
}

double undo_function(const std::string& function, double value) {
  if (function == "log") return std::exp(value);
  if (function == "log2") return std::exp2(value);
  return function == "sqrt" ? value * value : value;
}

}  // namespace assay
