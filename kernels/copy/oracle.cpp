// A copy's destination has the bytes of its source.

#include <vector>

#include "kernels/copy/problem.hpp"
#include "kernels/oracle/copied_element.hpp"

namespace assay {
namespace {

class CopyOracle final : public WholeOracle {
 public:
  int exact_magnitude(const Execution&) const override { return 1 << 20; }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    if (indices.empty()) return;
    const Values& source = inputs.find(source_of(output))->second;
    std::vector<double> values(indices.size());
    // The indices of whole() are consecutive; those of tests may not be.
    if (indices.back() - indices.front() + 1 == std::ssize(indices))
      source.fill(indices.front(), values);
    else
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = source(indices[i]);
    const auto in = [&](int, std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
    for (std::size_t i = 0; i < values.size(); ++i)
      expected[i] = CopiedElement{}(in, nullptr, static_cast<std::int64_t>(i));
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs&, const Execution&,
                                        bool) const override {
    return make_formula(CopiedElement{}, {source_of(output)});
  }

 private:
  static std::string source_of(const TensorSpec& output) { return "from" + output.name.substr(2); }
};

}  // namespace

std::unique_ptr<Oracle> make_copy_oracle(const CopyProblem&) {
  return std::make_unique<CopyOracle>();
}

}  // namespace assay
