#include "kernels/sum/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/oracle/plain_precision.hpp"
#include "kernels/sum/formula_items.hpp"

namespace assay {
namespace {

/// The sum of two numbers of p bits may be rounded to fp64 first and then to p bits: the result is
/// the same as after one rounding, since 53 >= 2p + 2 (S. A. Figueroa, When is double rounding
/// innocuous?, SIGNUM Newsletter 30, 1995). An fp64 sum is rounded once.
class SumOracle final : public WholeOracle {
 public:
  explicit SumOracle(const SumProblem& problem) : problem_(problem) {}
  void expect(const TensorSpec&, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Values* const values[] = {&inputs.find("a")->second, &inputs.find("b")->second};
    const auto in = [&](int k, std::int64_t i) { return (*values[k])(i); };
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = sum::Dst{}(in, nullptr, indices[i]);
  }
  std::optional<ElementFormula> formula(const TensorSpec&, const Inputs&, const Execution&,
                                        bool) const override {
    return make_formula(sum::Dst{}, {"a", "b"});
  }

 private:
  SumProblem problem_;
};

}  // namespace

SumProblem::SumProblem(std::int64_t n, Precision precision, bool in_place)
    : n_(n), precision_(precision), in_place_(in_place) {
  if (n < 1) throw InputError(fmt::format("a sum of {} elements is impossible. Use 1 or more.", n));
}

std::string SumProblem::canonical() const {
  return fmt::format("{}n{}", in_place_ ? "in_place_" : "", n_);
}
nlohmann::json SumProblem::json() const { return {{"n", n_}, {"in_place", in_place_}}; }

double SumProblem::bytes() const {
  return 3 * static_cast<double>(n_) * static_cast<double>(size_of(storage(precision_)));
}

std::vector<TensorSpec> SumProblem::tensors() const {
  const DataType type = storage(precision_);
  if (in_place_)
    return {plain_tensor("a", Role::inout, type, {n_}), plain_tensor("b", Role::input, type, {n_})};
  return {plain_tensor("a", Role::input, type, {n_}), plain_tensor("b", Role::input, type, {n_}),
          plain_tensor("dst", Role::output, type, {n_})};
}

std::optional<std::string> why_not_precision(const SumProblem& problem) {
  return why_not_plain(problem.precision(), "a sum");
}

std::unique_ptr<Oracle> make_sum_oracle(const SumProblem& problem) {
  return std::make_unique<SumOracle>(problem);
}

}  // namespace assay
