// The reference of a concatenation: every element is a copy of one element of an input.

#include <algorithm>

#include "core/base/place.hpp"
#include "kernels/concat/formula_items.hpp"
#include "kernels/concat/problem.hpp"

namespace assay {
namespace {

class ConcatOracle final : public WholeOracle {
 public:
  explicit ConcatOracle(const ConcatProblem& problem) {
    const std::int64_t plane = problem.shape().ih * problem.shape().iw;
    dst_.image = problem.channels() * plane;
    std::int64_t end = 0;
    for (std::size_t k = 0; k < problem.shape().channels.size(); ++k) {
      const std::int64_t part = problem.shape().channels[k] * plane;
      splits_.push_back({end, dst_.image, part});
      dst_.ends[k] = end += part;
    }
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    with_code(output, [&](const auto& code, const std::vector<std::string>& names) {
      std::vector<double> values;
      for (std::size_t i = 0; i < indices.size();) {
        const concat::Origin origin = code.origin(indices[i]);
        std::size_t count = 1;
        while (i + count < indices.size() && indices[i + count] == indices[i + count - 1] + 1)
          ++count;
        count = std::min(count, place(origin.followed));
        values.resize(count);
        inputs.find(names[place(origin.input)])->second.fill(origin.element, values);
        for (const double value : values) expected[i++] = {value, 0, 0};
      }
    });
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs&, const Execution&,
                                        bool) const override {
    ElementFormula formula;
    with_code(output, [&](const auto& code, std::vector<std::string> names) {
      formula = make_formula(code, std::move(names));
    });
    return formula;
  }

 private:
  /// Calls body(code, names of its inputs) with the code that computes an output.
  template <class Body>
  void with_code(const TensorSpec& output, const Body& body) const {
    std::vector<std::string> sources;
    for (std::size_t k = 0; k < splits_.size(); ++k) {
      sources.push_back("src" + std::to_string(k));
      if (output.name == "diff_" + sources.back())
        return body(splits_[k], std::vector<std::string>{"diff_dst"});
    }
    if (output.name != "dst") throw std::logic_error("concat oracle: no such output");
    body(dst_, sources);
  }

  concat::Dst dst_;
  std::vector<concat::DiffSrc> splits_;  ///< of each joined tensor
};

}  // namespace

std::unique_ptr<Oracle> make_concat_oracle(const ConcatProblem& problem) {
  return std::make_unique<ConcatOracle>(problem);
}

}  // namespace assay
