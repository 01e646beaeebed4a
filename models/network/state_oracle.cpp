#include "models/network/state_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/api/random.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

/// MPI does not guarantee that a sum has equal bits on all ranks, and different kinds of processors
/// may round an update differently. Such differences do not grow, because all ranks apply the same
/// gradients.
constexpr double rounding_of_ranks = 1e-4;

constexpr int sampled = 32;

/// Element `at` of an array of this type.
double element(std::span<const std::byte> bytes, DataType type, std::int64_t at) {
  if (type == DataType::fp64) {
    double value = 0;
    std::memcpy(&value, bytes.data() + 8 * at, 8);
    return value;
  }
  if (type == DataType::fp32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * at, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + 2 * at, 2);
  if (type == DataType::bf16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, sign = (bits & 0x8000) != 0 ? -1 : 1;
  const double part = bits & 1023;
  return sign * (exponent == 0 ? std::ldexp(part, -24) : std::ldexp(part + 1024, exponent - 25));
}

/// The initial elements of a parameter: uniform in (-bound, bound), or `constant` if that is 0.
struct Initial {
  double bound = 0, constant = 0;
};

/// Filters have four dimensions; a matrix belongs to a dense layer.
Initial find_initial(const std::string& name, const NetworkDefinition& network) {
  const DefinedParameters& defined = network.parameters;
  const bool is_bias = name.ends_with(".bias");
  const auto entry = defined.find(name.substr(0, name.rfind('.')) + ".weight");
  const std::vector<std::int64_t>& weight =
      entry == defined.end() ? defined.at(name) : entry->second;
  if (weight.size() == 4 && is_bias) return {};
  if (const auto bound = network.bounds.find(name); bound != network.bounds.end())
    return {bound->second, 0};
  if (weight.size() == 4)  // He's rule, by fan-out
    return {std::sqrt(6.0 / static_cast<double>(weight[0] * weight[2] * weight[3])), 0};
  if (weight.size() == 2 && network.glorot)
    return {is_bias ? 0 : std::sqrt(6.0 / static_cast<double>(weight[0] + weight[1])), 0};
  if (weight.size() == 2) return {std::pow(static_cast<double>(weight[1]), -0.5), 0};
  return {0, name.ends_with(".weight") ? 1.0 : 0.0};
}

struct Weights {
  const Graph& graph;
  std::vector<std::byte> wide, rounded;
};

std::string fault_of_parameter(const Weights& weights, const Parameter& parameter,
                               const Initial& initial, std::uint64_t seed) {
  const Values values(Values::Kind::mantissa, seed, parameter.name, DataType::fp32, 0);
  std::mt19937_64 random(seed);
  const DataType wide = weights.graph.value(weights.graph.weights).type;
  for (int i = 0; i < sampled; ++i) {
    const auto at = i == 0 ? 0
                           : static_cast<std::int64_t>(
                                 random() % static_cast<std::uint64_t>(parameter.elements()));
    const double expected = initial.bound > 0 ? values(at) * initial.bound : initial.constant,
                 actual = element(weights.wide, wide, parameter.offset + at);
    if (std::fabs(actual - expected) > 0x1p-23 * std::fabs(expected))
      return fmt::format("element {} of {} begins as {} (expected {})", at, parameter.name, actual,
                         expected);
    if (weights.rounded.empty() || parameter.dims.size() < 2) continue;
    const DataType type = weights.graph.value(weights.graph.stored).type;
    const double copy = element(weights.rounded, type, parameter.offset + at);
    if (copy != round_to(type, actual))
      return fmt::format("the rounded copy of element {} of {} begins as {}, of {}", at,
                         parameter.name, copy, actual);
  }
  return "";
}

std::string fault_of_statistics(const Trainer& trainer) {
  std::vector<double> expected(trainer.running_statistics().size());
  for (const Statistics& statistics : trainer.graph().statistics)
    std::fill_n(expected.begin() + statistics.variance, statistics.channels, 1.0);
  return trainer.running_statistics() == expected
             ? ""
             : "the moving averages of a training begin with other numbers than 0 and 1";
}

}  // namespace

std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
  std::uint64_t lanes[4] = {1, 2, 3, 4};  // independent: computed in parallel
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32)
    for (std::size_t k = 0; k < 4; ++k) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at + 8 * k, 8);
      lanes[k] = std::rotl((lanes[k] ^ word) * odd, 31);
    }
  for (; at < bytes.size(); ++at)
    lanes[at % 4] =
        std::rotl((lanes[at % 4] ^ std::to_integer<std::uint64_t>(bytes[at])) * odd, 31);
  std::uint64_t all = bytes.size();
  for (const std::uint64_t lane : lanes) all = std::rotl((all ^ lane) * odd, 31);
  return all;
}

std::string format_fingerprint(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", fingerprint(bytes));
}

void add_fingerprints(std::span<const double> running, const LossScaleState& scale,
                      Fingerprints& fingerprints) {
  fingerprints["running statistics"] = format_fingerprint(std::as_bytes(running));
  fingerprints["loss scale"] = fmt::format("{} {} {} {} {}", scale.scale, scale.good_steps,
                                           scale.steps, scale.skipped, scale.skipped_in_row);
}

Fingerprints take_fingerprints(Trainer& trainer) {
  const Graph& graph = trainer.graph();
  Fingerprints fingerprints;
  const std::pair<const char*, ValueIndex> values[] = {{"velocity", graph.velocity},
                                                       {"weights", graph.weights},
                                                       {"rounded weights", graph.stored},
                                                       {"waiting gradients", graph.lagged},
                                                       {"second moments", graph.second}};
  for (const auto& [name, value] : values)
    if (value != Graph::none)
      fingerprints[name] = format_fingerprint(read_bytes(trainer.executor(), value));
  add_fingerprints(trainer.running_statistics(), trainer.loss_scale().state(), fingerprints);
  return fingerprints;
}

std::string difference(const Fingerprints& fingerprints, const Fingerprints& expected) {
  for (const auto& [name, text] : expected) {
    const auto own = fingerprints.find(name);
    if (own == fingerprints.end()) return fmt::format("there are no {}", name);
    if (own->second != text) return fmt::format("the {} are {}, not {}", name, own->second, text);
  }
  return "";
}

std::string find_fault_of_start(Trainer& trainer, const std::string& problem,
                                const NetworkDefinition& network, std::uint64_t seed) {
  const Graph& graph = trainer.graph();
  if (std::string fault = find_fault_of_layers(graph, problem, network); !fault.empty())
    return fault;
  Weights weights{graph, read_bytes(trainer.executor(), graph.weights), {}};
  if (graph.stored != Graph::none) weights.rounded = read_bytes(trainer.executor(), graph.stored);
  for (const Parameter& parameter : graph.parameters) {
    const Initial initial = find_initial(parameter.name, network);
    if (std::string fault = fault_of_parameter(weights, parameter, initial, seed); !fault.empty())
      return fault;
  }
  for (const auto& [value, what] :
       {std::pair{graph.velocity, "velocity"}, std::pair{graph.second, "second moment"}}) {
    if (value == Graph::none) continue;
    const std::vector<std::byte> state = read_bytes(trainer.executor(), value);
    const auto moved = std::find_if(state.begin(), state.end(),
                                    [](std::byte byte) { return byte != std::byte{0}; });
    if (moved != state.end())
      return fmt::format("the {} at byte {} of {} begins with another number than 0", what,
                         std::distance(state.begin(), moved), state.size());
  }
  return fault_of_statistics(trainer);
}

std::string find_fault_of_ranks(const Executor& executor, Communicator& ranks) {
  if (ranks.size() == 1) return "";
  for (const auto& [value, what] : {std::pair{executor.graph().weights, "weights"},
                                    std::pair{executor.graph().velocity, "velocities"},
                                    std::pair{executor.graph().second, "second moments"}}) {
    if (value == Graph::none) continue;
    const std::vector<double> mine = read_values(executor, value);
    const std::vector<std::string> all =
        ranks.allgather(format_fingerprint(std::as_bytes(std::span(mine))));
    if (std::ranges::count(all, all.front()) == std::ssize(all)) continue;
    std::vector<double> first = mine;
    RankCalls(ranks).broadcast(first);
    double differences[] = {relative_difference(mine, first)};
    if (!std::isfinite(differences[0])) differences[0] = std::numeric_limits<double>::max();
    ranks.allreduce_max(differences);
    if (differences[0] > rounding_of_ranks)
      return fmt::format("a rank has other {} than rank 0 (they differ by {:.3g} of the 2-norm)",
                         what, differences[0]);
  }
  return "";
}

}  // namespace assay
