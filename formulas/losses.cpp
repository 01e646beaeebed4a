// Losses, updates of parameters, and the kernels that add and convert gradients.
#include <string>

#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

constexpr double label_bytes = 4;  // of a count, too

bool is_training(const Operation& operation) {
  return operation.setting("direction") == "training";
}

/// Logits and, in training, their gradients; a loss and a right or wrong prediction of a sample.
Fields loss_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("mb") || !numbers.contains("c") || bytes.input == 0) return {};
  const double samples = numbers.at("mb"), classes = numbers.at("c"),
               passes = is_training(operation) ? 2 : 1,
               biases = numbers.contains("nobias") ? 0 : classes;
  return {{"samples", samples},
          {"classes", classes},
          {"smoothing", value(numbers, "ls", 0)},
          {"flops", 0},
          {"bytes", passes * (bytes.input * samples * classes + bytes.wide * biases) +
                        (2 * label_bytes + bytes.wide) * samples + (passes - 1) * bytes.wide}};
}

/// An image has a loss and counts of labels and predictions; a class has a weight.
Fields pixel_loss_amounts(const Operation& operation) {
  Fields all = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!all.contains("mb") || !all.contains("ih") || !all.contains("iw") || bytes.input == 0)
    return {};
  const double samples = all.at("mb"), classes = value(all, "c", 0),
               pixels = samples * all.at("ih") * all.at("iw"),
               passes = is_training(operation) ? 2 : 1;
  return {{"samples", samples},
          {"classes", classes},
          {"ih", all.at("ih")},
          {"iw", all.at("iw")},
          {"flops", 0},
          {"bytes", (passes * bytes.input * classes + label_bytes) * pixels +
                        bytes.wide * (classes + samples + passes - 1) +
                        label_bytes * samples * classes * classes}};
}

/// Outputs, targets and, in training, gradients; a loss and a correlation of a sample.
Fields squared_error_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("mb") || !numbers.contains("f") || bytes.input == 0) return {};
  const double samples = numbers.at("mb"), features = numbers.at("f"),
               more = is_training(operation) ? 1 : 0;
  return {
      {"samples", samples},
      {"features", features},
      {"flops", 0},
      {"bytes", (2 + more) * bytes.input * samples * features + bytes.wide * (2 * samples + more)}};
}

/// The gradient is read; weights and state are read and written; 16-bit copies are written.
Fields update_amounts(const Operation& operation) {
  const std::string rule = operation.descriptor.substr(0, operation.descriptor.find('_'));
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (bytes.input == 0 || rule.size() == operation.descriptor.size()) return {};
  const Fields numbers = parse_fields(operation.descriptor.substr(rule.size()));
  const bool rms = rule.ends_with("rmsprop"),
             adam = rule.find("adam") != std::string::npos || rule == "lamb";
  const double n = value(numbers, "n", 0), narrow = bytes.input == 2 ? 2 : 0,
               state = rms || adam ? 2 : 1;
  return {
      {"elements", n},
      {"tensors", value(numbers, "t", 0)},
      {"flops", 0},
      // The rate, the loss scale and, for adam, the step; two norms and three counts.
      {"bytes", n * (bytes.wide * (3 + 2 * state) + narrow) + bytes.wide * (adam ? 3 : 2) + 5 * 8}};
}

Fields sum_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("n") || bytes.input == 0) return {};
  const double n = numbers.at("n");
  return {{"n", n}, {"flops", 0}, {"bytes", 3 * bytes.input * n}};
}

Fields convert_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("n") || bytes.input == 0) return {};
  return {{"n", numbers.at("n")},
          {"flops", 0},
          {"bytes", (bytes.input + bytes.output) * numbers.at("n")}};
}

const OperationFormula of_loss("loss", loss_amounts),
    of_pixel_loss("pixel-loss", pixel_loss_amounts),
    of_squared_error("squared-error", squared_error_amounts), of_update("update", update_amounts),
    of_sum("sum", sum_amounts), of_convert("convert", convert_amounts);

}  // namespace
}  // namespace assay::formula
