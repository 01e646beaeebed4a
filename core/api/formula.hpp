#pragma once
// The expected value of an element, or sums over a channel, as code of one thread that runs on the
// host and on a device (item_code.hpp).
//
// The code of an expectation is a trivially copyable struct with a `name` and
//   Expected operator()(const In& in, const double* table, std::int64_t i) const,
// the code of a sum has the number of its `terms` and
//   void operator()(const In& in, const double* table, std::int64_t i, double* terms) const,
// where in(k, j) is element j of the k-th input.

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

struct ElementFormula {
  std::string name{};                 ///< of the code
  std::vector<std::string> inputs{};  ///< names of the arguments that it reads
  std::vector<double> table{};        ///< numbers that all elements share
  std::vector<std::byte> code{};      ///< the bytes of the struct
};

/// Equal code has equal bytes, if the compiler can clear the padding.
template <class Code>
ElementFormula make_formula(Code code, std::vector<std::string> inputs,
                            std::vector<double> table = {}) {
  static_assert(std::is_trivially_copyable_v<Code>);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
  __builtin_clear_padding(&code);
#endif
  ElementFormula formula{Code::name, std::move(inputs), std::move(table), {}};
  formula.code.resize(sizeof code);
  std::memcpy(formula.code.data(), &code, sizeof code);
  return formula;
}

}  // namespace assay
