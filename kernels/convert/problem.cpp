#include "kernels/convert/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/oracle/copied_element.hpp"

namespace assay {
namespace {

class ConvertOracle final : public WholeOracle {
 public:
  void expect(const TensorSpec&, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Values& src = inputs.find("src")->second;
    const auto in = [&](int, std::int64_t i) { return src(i); };
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = CopiedElement{}(in, nullptr, indices[i]);
  }
  std::optional<ElementFormula> formula(const TensorSpec&, const Inputs&, const Execution&,
                                        bool) const override {
    return make_formula(CopiedElement{}, {"src"});
  }
};

}  // namespace

ConvertProblem::ConvertProblem(std::int64_t n, Precision precision) : n_(n), precision_(precision) {
  if (n < 1) throw InputError(fmt::format("{} elements cannot be converted. Use 1 or more.", n));
}

std::string ConvertProblem::canonical() const { return fmt::format("n{}", n_); }
nlohmann::json ConvertProblem::json() const { return {{"n", n_}}; }

std::vector<TensorSpec> ConvertProblem::tensors() const {
  const PrecisionFormat& types = format(precision_);
  return {plain_tensor("src", Role::input, types.input, {n_}),
          plain_tensor("dst", Role::output, types.output, {n_})};
}

std::optional<std::string> why_not_precision(const ConvertProblem& problem) {
  if (is_mixed(problem.precision()) && !is_fp8(problem.precision())) return std::nullopt;
  return fmt::format("nothing is converted in {} (but in bf16_fp32 and fp16_fp32).",
                     name(problem.precision()));
}

std::unique_ptr<Oracle> convert_oracle(const ConvertProblem&) {
  return std::make_unique<ConvertOracle>();
}

}  // namespace assay
