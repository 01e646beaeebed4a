#include "models/parallel/claimed_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/api/precision.hpp"
#include "models/parallel/device_memory.hpp"

namespace assay {
namespace {

constexpr std::int64_t compared = 16;  ///< compared elements of a parameter

/// Biases and normalizations neither decay nor adapt.
bool is_matrix(const Graph& graph, const std::string& parameter) {
  const std::string suffix = ".weight";
  if (!parameter.ends_with(suffix)) return false;
  const std::string layer = parameter.substr(0, parameter.size() - suffix.size());
  return std::ranges::none_of(
      graph.statistics, [&](const Statistics& statistics) { return statistics.name == layer; });
}

/// One parameter of the part.
class ParameterClaim {
 public:
  ParameterClaim(const ClaimedPartUpdate& update, const PartValues& before,
                 const Parameter& parameter)
      : update_(update),
        before_(before),
        parameter_(parameter),
        first_(static_cast<std::size_t>(parameter.offset - update.part.first)),
        count_(static_cast<std::size_t>(parameter.elements())),
        u_(unit_roundoff(update.graph.value(update.graph.weights).type)) {
    tensor_.adapts = is_matrix(update.graph, parameter.name);
    tensor_.decay = tensor_.adapts ? update.claims.weight_decay : 0;
    if (update.claims.update.reads_norms()) add_norms();
  }

  std::string fault(const PartValues& after, std::int64_t& checked) const {
    const std::size_t step = std::max<std::size_t>(1, count_ / compared);
    for (std::size_t i = 0; i < count_; i += step) {
      const double g = gradient(i);
      const std::size_t at = first_ + i;
      const ClaimedElement claimed = update_.claims.update.element(
          tensor_, update_.rate, update_.number, {g, 2 * u_ * std::abs(g)}, before_.weights[at],
          before_.velocity[at], before_.second.empty() ? 0 : before_.second[at], u_,
          update_.claims.update.reads_norms() ? 0x1p-53 * std::sqrt(static_cast<double>(count_))
                                              : 0);
      std::string why = fault("velocity", i, after.velocity[at], claimed.velocity);
      if (why.empty() && !after.second.empty())
        why = fault("second moment", i, after.second[at], claimed.second);
      if (why.empty()) why = fault("weights", i, after.weights[at], claimed.weight);
      if (!why.empty()) return why;
      ++checked;
    }
    return "";
  }

 private:
  double gradient(std::size_t i) const {
    return update_.gradient[static_cast<std::size_t>(parameter_.offset) + i] / update_.scale;
  }

  void add_norms() {
    const auto norm = [&](const auto& value) {
      long double sum = 0;
      for (std::size_t i = 0; i < count_; ++i) {
        const long double element = value(i);
        sum += element * element;
      }
      return static_cast<double>(std::sqrt(sum));
    };
    tensor_.gradient = norm([this](std::size_t i) { return gradient(i); });
    tensor_.weights = norm([this](std::size_t i) { return before_.weights[first_ + i]; });
    if (!update_.claims.update.is_lamb()) return;
    tensor_.directions = norm([this](std::size_t i) {
      return update_.claims.update.direction(
          tensor_, update_.number, gradient(i), before_.weights[first_ + i],
          before_.velocity[first_ + i], before_.second[first_ + i]);
    });
  }

  std::string fault(const char* what, std::size_t i, double actual,
                    const ClaimedNumber& expected) const {
    if (std::abs(actual - expected.value) <= expected.error) return "";
    return fmt::format(
        "element {} of the {} of {} is {} (expected {} within {:.3g}, from its gradient alone)", i,
        what, parameter_.name, actual, expected.value, expected.error);
  }

  const ClaimedPartUpdate& update_;
  const PartValues& before_;
  const Parameter& parameter_;
  std::size_t first_, count_;
  double u_;
  ClaimedTensor tensor_;
};

}  // namespace

PartValues PartValues::read(const PartUpdate& update) {
  PartValues all;
  std::vector<double>* const to[] = {&all.weights, &all.velocity, &all.second};
  const std::vector<Buffer> state = update.state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    to[i]->resize(static_cast<std::size_t>(state[i].count));
    decode(state[i].type, read_bytes(update.device(), state[i]).data(), *to[i]);
  }
  return all;
}

std::string find_fault_of_update(const ClaimedPartUpdate& update, const PartValues& before,
                                 const PartValues& after, std::int64_t& checked) {
  for (const Parameter& parameter : update.graph.parameters) {
    if (parameter.offset < update.part.first ||
        parameter.offset >= update.part.first + update.part.count)
      continue;
    if (std::string why = ParameterClaim(update, before, parameter).fault(after, checked);
        !why.empty())
      return why;
  }
  return "";
}

}  // namespace assay
