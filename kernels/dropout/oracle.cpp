// The reference of dropout: an element has one right value.

#include <cmath>

#include "kernels/dropout/formula_items.hpp"
#include "kernels/dropout/problem.hpp"
#include "kernels/oracle/channel_sums.hpp"

namespace assay {
namespace {

class DropoutOracle final : public WholeOracle {
 public:
  explicit DropoutOracle(const DropoutProblem& problem) : problem_(problem) {}

  /// Steps. They differ between draws, so that a repeated mask is detected.
  int full_magnitude(const TensorSpec& argument) const override {
    return argument.type == DataType::s32 ? 2147483647 : 0;
  }
  bool nonnegative(const TensorSpec& argument) const override { return argument.name == "counter"; }

  void expect(const TensorSpec&, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    sums::expect_elements(code(), sums::find_values(names(), inputs), step(inputs), indices,
                          expected);
  }

  std::optional<ElementFormula> formula(const TensorSpec&, const Inputs& inputs, const Execution&,
                                        bool) const override {
    return make_formula(code(), names(), step(inputs));
  }

 private:
  std::vector<std::string> names() const { return {problem_.tensors().front().name}; }
  static std::vector<double> step(const Inputs& inputs) {
    return {inputs.find("counter")->second(0)};
  }
  /// Key, threshold and scale are computed here again, because dropout_mask() belongs to the
  /// backends.
  dropout::Dst code() const {
    const DropoutShape& s = problem_.shape();
    const bool wide = problem_.precision() == Precision::fp64;
    const double kept = 1 - s.p, scale = 1 / kept;
    return {s.ih * s.iw,
            s.ic,
            static_cast<std::uint32_t>(s.key % 4294967296),
            static_cast<std::uint32_t>(s.key / 4294967296),
            std::round(s.p * 4294967296.0),
            wide ? scale : round_to(DataType::fp32, scale),
            wide};
  }

  DropoutProblem problem_;
};

}  // namespace

std::unique_ptr<Oracle> make_dropout_oracle(const DropoutProblem& problem) {
  return std::make_unique<DropoutOracle>(problem);
}

}  // namespace assay
