// Activations and dropout.
#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

/// The extents of a descriptor; of dense layers images have one pixel.
Fields extents(const Fields& numbers) {
  const double ih = value(numbers, "ih", 1);
  return {{"mb", value(numbers, "mb", 1)},
          {"ic", value(numbers, "ic", 1)},
          {"ih", ih},
          {"iw", value(numbers, "iw", ih)},
          {"flops", 0}};
}

double elements(const Fields& fields) {
  return fields.at("mb") * fields.at("ic") * fields.at("ih") * fields.at("iw");
}

Fields activation_amounts(const Operation& operation) {
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  const std::string function = operation.setting("function");
  if (bytes.input == 0 || function.empty()) return {};
  Fields all = extents(parse_fields(operation.descriptor));
  const bool forward = operation.setting("direction") == "forward",
             bias = operation.setting("bias") == "channel";
  // Forward: one tensor is read, one written. Backward: both gradients, and src or dst; for the
  // identity only one gradient. A bias adds itself (forward), its gradient (backward), or both
  // (gelu backward).
  const double tensors = forward                  ? 2
                         : function == "identity" ? 1
                                                  : 3,
               channels = !bias                            ? 0
                          : !forward && function == "gelu" ? 2
                                                           : 1;
  all["bytes"] = bytes.input * tensors * elements(all) + bytes.wide * channels * all["ic"];
  return all;
}

Fields dropout_amounts(const Operation& operation) {
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (bytes.input == 0) return {};
  const Fields numbers = parse_fields(operation.descriptor);
  Fields all = extents(numbers);
  all["p"] = value(numbers, "p", 0.5);
  all["key"] = value(numbers, "k", 0);
  all["bytes"] = bytes.input * 2 * elements(all) + 4;  // and the step
  return all;
}

const OperationFormula of_activation("activation", activation_amounts),
    of_dropout("dropout", dropout_amounts);

}  // namespace
}  // namespace assay::formula
