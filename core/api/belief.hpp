#pragma once
// The key of a formula's arithmetic on a device. A device whose results have agreed with the host's
// is trusted for this key (core/api/prover.hpp).

#include <fmt/format.h>

#include <string>

#include "core/api/layout.hpp"
#include "core/api/oracle.hpp"
#include "core/api/tensor_values.hpp"

namespace assay {

/// The order of the elements of a tensor.
inline std::string describe_order(const TensorSpec& spec) {
  if (!spec.layout) return "";
  std::string all = fmt::format(" {}", spec.layout->pieces.size());
  for (const Split& split : spec.layout->splits)
    all += fmt::format(" {} {} {}", split.block, split.outer, split.inner);
  return all;
}

/// Everything that may change the arithmetic of a formula: its code with the code's numbers and,
/// for each input, its type, its origin, and the order of its elements.
inline std::string describe_belief(const ElementFormula& formula, const Inputs& inputs) {
  std::string all = formula.name + " ";
  all.append(reinterpret_cast<const char*>(formula.code.data()), formula.code.size());
  for (const std::string& name : formula.inputs) {
    const Values& values = inputs.find(name)->second;
    all += fmt::format(" {} {}", static_cast<int>(values.type()), values.random());
    if (values.random()) {
      const ValueRecipe& recipe = values.recipe();
      all += fmt::format(" {} {} {}", static_cast<int>(recipe.form), recipe.magnitudes,
                         recipe.kept != nullptr);
    }
    const auto* const stored = dynamic_cast<const TensorValues*>(values.stored());
    if (stored == nullptr || stored->on_device() == nullptr) continue;
    all += describe_order(stored->on_device()->spec());
  }
  return all;
}

}  // namespace assay
