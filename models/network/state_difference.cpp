// Compares two states of a training that should be equal.

#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "kernels/oracle/sums.hpp"
#include "kernels/update/problem.hpp"
#include "models/network/parameters.hpp"
#include "models/network/repeats.hpp"
#include "models/network/tolerance.hpp"
#include "models/network/trainer.hpp"

namespace assay {
namespace {

/// With equal velocities, weights differ only by rounding: half a unit in the last place in each of
/// the two compared states, for each of the two steps that are repeated with a lag.
constexpr double roundings_of_a_weight = 4;

/// 2-norms over the elements of one parameter.
struct Distance {
  double error = 0, norm = 0;
};

std::vector<double> decode_elements(const std::vector<std::byte>& values, DataType type,
                                    const Parameter& parameter) {
  std::vector<double> elements(static_cast<std::size_t>(parameter.elements()));
  decode(type, values.data() + static_cast<std::size_t>(parameter.offset) * size_of(type),
         elements);
  return elements;
}

/// The distance of each parameter. An element's error up to `relative` times its value counts as 0.
std::vector<Distance> distances(const Executor& executor, ValueIndex value,
                                const std::vector<std::byte>& should, double relative) {
  const Graph& graph = executor.graph();
  const std::vector<double> all = read_values(executor, value);
  std::vector<Distance> distances;
  for (const Parameter& parameter : graph.parameters) {
    const std::vector<double> then = decode_elements(should, graph.value(value).type, parameter);
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < then.size(); ++i) {
      const double now = all[static_cast<std::size_t>(parameter.offset) + i];
      double error = std::abs(now - then[i]) - relative * std::abs(now);
      if (error <= 0) error = 0;  // false for NaN, which remains
      errors += error * error;
      squares += now * now;
    }
    distances.push_back({std::sqrt(errors), std::sqrt(squares)});
  }
  return distances;
}

/// True if the 16-bit copy of a parameter is the rounded parameter. Subnormal numbers may be
/// flushed to 0.
bool is_copy(std::span<const double> copy, DataType type, std::span<const double> weights) {
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const double rounded = round_to(type, weights[i]);
    if (copy[i] == rounded) continue;
    if (!(std::abs(copy[i] - rounded) <= std::numeric_limits<float>::min())) return false;
  }
  return true;
}

/// Gradients of filters that may be sums of parts, added in 16 bits in any order: if the operation
/// says so, or if it runs on a GPU and says nothing. Includes the tensors that they are converted
/// to.
std::set<ValueIndex> sums_in_16_bits(const Executor& executor, bool on_gpu) {
  const Graph& graph = executor.graph();
  std::set<ValueIndex> narrow;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& tensors = graph.nodes[i].tensors;
    if (graph.nodes[i].direction == "convert" && narrow.contains(tensors.at("src")))
      narrow.insert(tensors.at("dst"));
    const auto gradient = tensors.find("diff_weights");
    if (gradient == tensors.end() || size_of(graph.value(gradient->second).type) != 2) continue;
    const Execution execution = executor.execution(i);
    if (execution.numbers.contains(sums::partial_sums) ||
        (on_gpu && execution.evidence == "requested"))
      narrow.insert(gradient->second);
  }
  return narrow;
}

/// The approximate 2-norm of a step with second moments, divided by the rate.
double step_norm(UpdateRule rule, const Parameter& parameter, double of_weights) {
  const bool relative = rule == UpdateRule::lamb && parameter.decays && of_weights > 0;
  return relative ? of_weights : std::sqrt(static_cast<double>(parameter.elements()));
}

double ratio(double error, double whole) { return whole > 0 ? error / whole : error; }

}  // namespace

Trainer::Difference Trainer::difference(const State& state) const {
  return worst(differences(state));
}

std::vector<Trainer::Difference> Trainer::differences(const State& state) const {
  std::vector<Difference> all;
  const std::set<ValueIndex> narrow =
      sums_in_16_bits(*executor_, settings_.executor.device != "cpu");
  // If a gradient is near 0, an error of its moment decides the sign of the step. A relative error
  // e of the moments' norm affects about a part e of the elements, so the step's norm differs by
  // about sqrt(e).
  const auto add = [&](double relative, const char* what, const Parameter& parameter,
                       bool signs = false) {
    const double tolerance =
        compute_repeat_tolerance(settings_.precision, narrow.contains(parameter.gradient));
    all.push_back(
        {relative, signs ? std::sqrt(tolerance) : tolerance, what + (" of " + parameter.name)});
  };
  const UpdateRule rule = settings_.learning.rule;
  const double rate = numbers(graph().rate)[0];
  const bool moments = find_loop(rule) != UpdateLoop::momentum;
  const DataType type = graph().value(graph().weights).type;
  // They are in the order of state_values().
  const std::vector<Distance> velocity =
                                  distances(*executor_, graph().velocity, state.values[0], 0),
                              weights = distances(*executor_, graph().weights, state.values[1],
                                                  roundings_of_a_weight * unit_roundoff(type));
  std::vector<Distance> second;
  if (moments) second = distances(*executor_, graph().second, state.values.back(), 0);
  for (std::size_t i = 0; i < graph().parameters.size(); ++i) {
    const Parameter& parameter = graph().parameters[i];
    add(ratio(velocity[i].error, velocity[i].norm), "the velocity", parameter);
    if (moments) {
      add(ratio(second[i].error, second[i].norm) / 2, "the second moment", parameter);  // squares
      add(ratio(weights[i].error, rate * step_norm(rule, parameter, weights[i].norm)), "the update",
          parameter, true);
    } else {
      const double by = rule == UpdateRule::lars ? 1 : rate;
      add(ratio(weights[i].error, by * velocity[i].norm), "the update", parameter);
    }
    if (graph().stored == Graph::none) continue;
    const DataType narrow = graph().value(graph().stored).type;
    const bool rounded = is_copy(decode_elements(state.values[2], narrow, parameter), narrow,
                                 decode_elements(state.values[1], type, parameter));
    add(rounded ? 0 : std::numeric_limits<double>::infinity(), "the 16-bit copy", parameter);
  }
  return all;
}

}  // namespace assay
