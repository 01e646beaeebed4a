// Recurrent networks: "lstm:1024-64-25-l2-bi-i512" (hidden, batch, steps, layers, directions,
// input).
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

struct Recurrent {
  double gates = 0, biases = 0, hidden = 0, batch = 0, steps = 0, layers = 1, directions = 1,
         input = 0;
  bool has_cell_state = false;
};

std::optional<Recurrent> parse_recurrent(const std::string& descriptor) {
  static const std::map<std::string, std::pair<double, double>> cells{{"vanilla_relu", {1, 1}},
                                                                      {"vanilla_tanh", {1, 1}},
                                                                      {"lstm", {4, 4}},
                                                                      {"gru", {3, 3}},
                                                                      {"gru_lbr", {3, 4}}};
  const std::size_t colon = descriptor.find(':');
  const auto cell = cells.find(descriptor.substr(0, colon));
  if (colon == std::string::npos || cell == cells.end()) return std::nullopt;
  const std::vector<std::string> parts = split(descriptor.substr(colon + 1), '-');
  if (parts.size() < 3) return std::nullopt;
  Recurrent recurrent;
  recurrent.gates = cell->second.first;
  recurrent.biases = cell->second.second;
  recurrent.has_cell_state = cell->first == "lstm";
  recurrent.hidden = parse_number<double>(parts[0]).value_or(0);
  recurrent.batch = parse_number<double>(parts[1]).value_or(0);
  recurrent.steps = parse_number<double>(parts[2]).value_or(0);
  for (std::size_t i = 3; i < parts.size(); ++i) {
    if (parts[i] == "bi")
      recurrent.directions = 2;
    else
      (parts[i][0] == 'l' ? recurrent.layers : recurrent.input) =
          parse_number<double>(parts[i].substr(1)).value_or(0);
  }
  return recurrent;
}

Fields rnn_amounts(const Operation& operation) {
  const auto recurrent = parse_recurrent(operation.descriptor);
  const std::string precision = operation.setting("precision"),
                    direction = operation.setting("direction");
  const ElementBytes element = element_bytes(precision);
  if (!recurrent || element.input == 0) return {};
  const bool skips = operation.setting("input") == "skip";
  const double h = recurrent->hidden, joined = recurrent->directions * h,
               usual = recurrent->layers > 1 ? joined : h,
               first = skips                  ? h
                       : recurrent->input > 0 ? recurrent->input
                                              : usual;
  // Rows of the matrices that multiply a layer's input; an input that is only added has none.
  const double rows = (skips ? 0 : first) + (recurrent->layers - 1) * joined;
  const double unit =
      recurrent->gates * recurrent->directions * h;  // columns of a layer's matrices
  const bool forward = direction.starts_with("forward"), data = direction != "bwd_weights",
             weights = direction != "bwd_data";
  const double of_inputs = unit * rows, of_states = unit * recurrent->layers * h,
               bias = recurrent->biases * recurrent->directions * recurrent->layers * h;
  const double src = recurrent->steps * recurrent->batch * first,
               dst = recurrent->steps * recurrent->batch * joined,
               state = recurrent->layers * recurrent->directions * recurrent->batch * h;
  const double narrow = element.input, wide = precision == "bf16" ? 4 : narrow,
               cells = recurrent->has_cell_state ? 1 : 0;
  double bytes = 0;
  if (forward) {
    bytes = narrow * (src + dst + 2 * state + of_inputs + of_states) +
            wide * (bias + 2 * cells * state);
  } else {
    // Each saved gate (or its gradient), and for gradients of weights each state that was
    // multiplied.
    bytes = narrow * recurrent->layers * recurrent->directions *
            (recurrent->gates + (weights ? 1 : 0)) * recurrent->steps * recurrent->batch * h;
    if (data)
      bytes += narrow * (of_inputs + of_states) + wide * (dst + src + 2 * state * (1 + cells));
    if (weights) bytes += wide * (of_inputs + of_states + bias) + (skips ? 0 : narrow * src);
  }
  return {{"hidden", h},
          {"batch", recurrent->batch},
          {"steps", recurrent->steps},
          {"layers", recurrent->layers},
          {"input", first},
          {"directions", recurrent->directions},
          // A product and an addition for each weight, sample and step; each of the two backward
          // directions needs the same.
          {"flops", 2 * recurrent->batch * recurrent->steps * (of_inputs + of_states) *
                        (direction == "bwd" ? 2 : 1)},
          {"bytes", bytes}};
}

const OperationFormula of_rnn("rnn", rnn_amounts);

}  // namespace
}  // namespace assay::formula
