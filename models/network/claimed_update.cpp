#include "models/network/claimed_update.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

/// An update rounds a few products and sums of each element, and its factors.
constexpr double roundings_of_update = 32;
constexpr double least_normal = std::numeric_limits<float>::min();

double read_option(const Settings& settings, const char* name, double usual) {
  const auto at = settings.find(name);
  return at == settings.end() ? usual : std::stod(at->second);
}

/// number / (sqrt(of * factor) + epsilon)
ClaimedNumber by_root(const ClaimedNumber& number, const ClaimedNumber& square, double factor,
                      double epsilon, double u) {
  const double root = std::sqrt(factor * square.value) + epsilon,
               low = std::sqrt(factor * std::max(0.0, square.value - square.error)) +
                     epsilon * (1 - 4 * u),
               ratio = number.value / root;
  return {ratio, number.error / low + std::abs(number.value) * (1 / low - 1 / root) +
                     roundings_of_update * u * std::abs(ratio)};
}

}  // namespace

ClaimedUpdate::ClaimedUpdate(const Settings& settings)
    : optimizer_(settings.at("optimizer")),
      moments_(optimizer_.find("adam") != std::string::npos || optimizer_ == "lamb"),
      rmsprop_(optimizer_.ends_with("rmsprop")),
      clips_(optimizer_.starts_with("larc")),
      decoupled_(optimizer_ == "adamw" || optimizer_ == "lamb"),
      beta1_(read_option(settings, "beta1", 0.9)),
      beta2_(read_option(settings, "beta2", 0.999)),
      alpha_(read_option(settings, "alpha", 0.99)),
      epsilon_(read_option(settings, "epsilon", 1e-8)) {
  if (rmsprop_) momentum_ = 0;
}

double ClaimedUpdate::direction(const ClaimedTensor& tensor, std::int64_t updates, double gradient,
                                double weight, double velocity, double second) const {
  ClaimedTensor alone = tensor;
  alone.directions = 0;
  // A step of rate 1 from the weight.
  return weight -
         element(alone, 1, updates, {gradient, 0}, weight, velocity, second, 0, 0).weight.value;
}

ClaimedElement ClaimedUpdate::element(const ClaimedTensor& tensor, double rate,
                                      std::int64_t updates, const ClaimedNumber& gradient,
                                      double weight, double velocity, double second, double u,
                                      double of_norms) const {
  const bool adapts = tensor.adapts && tensor.gradient > 0 && tensor.weights > 0;
  const double trust = trust_ * tensor.weights / (tensor.gradient + tensor.decay * tensor.weights);
  double factor = 1, step_factor = rate;  // lars has the rate in its velocities
  if (clips_ && adapts) factor = std::min(1.0, trust / rate);
  if (optimizer_ == "lars") {
    factor = adapts ? rate * trust : rate;
    step_factor = 1;
  }
  const double of_terms = roundings_of_update * u + of_norms, g = factor * gradient.value,
               w = decoupled_ ? 0 : factor * tensor.decay * weight;
  ClaimedNumber descent{g + w, factor * gradient.error + of_terms * (std::abs(g) + std::abs(w))};
  ClaimedElement after;
  ClaimedNumber step;
  if (has_second()) {
    descent.error += least_normal;  // a small epsilon enlarges this error
    const double decay = rmsprop_ ? alpha_ : beta2_,
                 more = (1 - decay) * descent.value * descent.value;
    after.second = {
        decay * second + more,
        roundings_of_update * u * (decay * second + more) + least_normal +
            (1 - decay) * (2 * std::abs(descent.value) + descent.error) * descent.error};
  }
  const double kept = (moments_ ? beta1_ : momentum_) * velocity;
  ClaimedNumber added = descent;
  if (moments_) {
    added.value *= 1 - beta1_;
    added.error *= 1 - beta1_;
  } else if (rmsprop_) {
    added = by_root(descent, after.second, 1, epsilon_, u);
  }
  after.velocity = {
      kept + added.value,
      added.error + of_terms * (std::abs(kept) + std::abs(added.value)) + least_normal};
  step = after.velocity;
  if (moments_) {
    // In long double: with a decay near 1, few digits of the difference would remain.
    const auto without = [n = updates](double decay) {
      return static_cast<double>(1 - std::pow(static_cast<long double>(decay), n));
    };
    const double first = 1 / without(beta1_);
    step = by_root({step.value * first, step.error * first}, after.second, 1 / without(beta2_),
                   epsilon_, u);
  }
  if (decoupled_) {
    step.value += tensor.decay * weight;
    step.error +=
        roundings_of_update * u * (std::abs(step.value) + std::abs(tensor.decay * weight));
  }
  if (is_lamb() && tensor.adapts && tensor.weights > 0 && tensor.directions > 0)
    step_factor *= tensor.weights / tensor.directions;
  const double off = step_factor * step.value;
  after.weight = {weight - off, step_factor * step.error +
                                    (roundings_of_update * u + of_norms) * std::abs(off) +
                                    2 * u * (std::abs(weight) + std::abs(off)) + least_normal};
  return after;
}

}  // namespace assay
