#include "models/network/reference_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"

namespace assay {
namespace {

constexpr double momentum_of_running = 0.1;
/// `--rate` is stated for this many images in a step.
constexpr double images_of_stated_rate = 256;

double compute_norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// Moves `average` a tenth of the way to `now`.
void follow(std::vector<double>& average, const std::vector<double>& now, double factor) {
  for (std::size_t i = 0; i < now.size(); ++i)
    average[i] = (1 - momentum_of_running) * average[i] + momentum_of_running * factor * now[i];
}

}  // namespace

ReferenceClaims::ReferenceClaims(const Settings& settings)
    : batch(std::stoll(settings.at("batch"))),
      passes(std::stoll(settings.at("accumulate"))),
      ranks(std::stoll(settings.at("ranks"))),
      optimizer(settings.at("optimizer")),
      rate(std::stod(settings.at("rate"))),
      smoothing(std::stod(settings.at("smoothing"))),
      lags(settings.at("lag") == "1") {
  if (optimizer.ends_with("rmsprop")) momentum = 0;
  for (const auto& [name, factor] :
       {std::pair{"beta1", &beta1}, std::pair{"beta2", &beta2}, std::pair{"alpha", &alpha},
        std::pair{"epsilon", &epsilon}, std::pair{"weight_decay", &decay}})
    if (settings.contains(name)) *factor = std::stod(settings.at(name));
  if (settings.at("scaling") == "linear")
    rate *= static_cast<double>(batch * passes * ranks) / images_of_stated_rate;
}

ReferenceTrainer::ReferenceTrainer(ReferenceNetwork network, const ReferenceClaims& claims,
                                   const ReferenceStart& start)
    : network_(std::move(network)),
      claims_(claims),
      start_(start),
      losses_(static_cast<std::size_t>(claims.ranks)),
      running_(static_cast<std::size_t>(claims.ranks)) {}

void ReferenceTrainer::step(const std::vector<std::vector<const ReferenceBatch*>>& batches) {
  std::map<const ReferenceBatch*, ReferencePass> passes;
  Gradients mean;
  for (std::size_t rank = 0; rank < batches.size(); ++rank) {
    losses_[rank] = 0;
    ReferenceMoment moment{steps_ * claims_.passes, static_cast<std::int64_t>(rank)};
    for (const ReferenceBatch* const batch : batches[rank]) {
      if (const auto known = passes.find(batch);
          known != passes.end() && known->second.depends_on_moment)
        passes.erase(known);
      const ReferencePass& pass =
          passes
              .try_emplace(batch, network_, start_, claims_.smoothing, *batch, parameters_, moment)
              .first->second;
      ++moment.passes;
      losses_[rank] += pass.loss / static_cast<double>(claims_.passes);
      for (const auto& [name, gradient] : pass.gradients) {
        std::vector<double>& sum = mean[name];
        sum.resize(gradient.size());
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] += gradient[i] / static_cast<double>(claims_.ranks * claims_.passes);
      }
      for (const auto& [layer, now] : pass.statistics) {
        ReferenceStatistics& average = running_[rank][layer];
        if (average.mean.empty())
          average = {std::vector<double>(now.mean.size(), 0),
                     std::vector<double>(now.mean.size(), 1), now.count};
        follow(average.mean, now.mean, 1);
        follow(average.variance, now.variance, now.count > 1 ? now.count / (now.count - 1) : 1);
      }
    }
  }
  ++steps_;
  if (claims_.lags) std::swap(mean, waiting_);  // the gradients of the previous step, if any
  if (!mean.empty()) update(mean);
}

/// Adam, AdamW and RMSprop as in PyTorch, LAMB as its paper's algorithm 2.
void ReferenceTrainer::update_by_moments(const std::string& name, ReferenceParameter& parameter,
                                         const std::vector<double>& g, double decay) {
  std::vector<double>&s = second_[name], step(g.size());
  s.resize(g.size());
  const bool rmsprop = claims_.optimizer.ends_with("rmsprop");
  const bool inside = rmsprop || claims_.optimizer.ends_with("adam");
  for (std::size_t i = 0; i < g.size(); ++i) {
    double& v = parameter.velocity[i];
    if (rmsprop) {
      s[i] = claims_.alpha * s[i] + (1 - claims_.alpha) * g[i] * g[i];
      step[i] = v = claims_.momentum * v + g[i] / (std::sqrt(s[i]) + claims_.epsilon);
      continue;
    }
    v = claims_.beta1 * v + (1 - claims_.beta1) * g[i];
    s[i] = claims_.beta2 * s[i] + (1 - claims_.beta2) * g[i] * g[i];
    const double mean = v / (1 - std::pow(claims_.beta1, updates_)),
                 square = s[i] / (1 - std::pow(claims_.beta2, updates_));
    step[i] = mean / (std::sqrt(square) + claims_.epsilon);
    if (!inside) step[i] += decay * parameter.values[i];
  }
  double rate = claims_.rate;
  if (claims_.optimizer == "lamb" && parameter.decays && compute_norm(step) > 0 &&
      compute_norm(parameter.values) > 0)
    rate *= compute_norm(parameter.values) / compute_norm(step);
  for (std::size_t i = 0; i < g.size(); ++i) parameter.values[i] -= rate * step[i];
}

/// SGD as in PyTorch; LARS and LARC as kernels/update/problem.hpp documents them.
void ReferenceTrainer::update(const Gradients& gradients) {
  ++updates_;
  const bool moments = claims_.optimizer.find("adam") != std::string::npos ||
                       claims_.optimizer.ends_with("rmsprop") || claims_.optimizer == "lamb";
  for (auto& [name, parameter] : parameters_) {
    std::vector<double> g = gradients.at(name);
    const double decay = parameter.decays ? claims_.decay : 0,
                 of_w = compute_norm(parameter.values), of_g = compute_norm(g);
    const bool adapts = parameter.decays && of_w > 0 && of_g > 0;
    const double trust = adapts ? claims_.trust * of_w / (of_g + decay * of_w) : 1;
    if (moments) {
      const bool clips = claims_.optimizer.starts_with("larc-");
      const bool into_gradient = claims_.optimizer != "adamw" && claims_.optimizer != "lamb";
      for (std::size_t i = 0; i < g.size() && into_gradient; ++i)
        g[i] = (clips && adapts ? std::min(trust / claims_.rate, 1.0) : 1) *
               (g[i] + decay * parameter.values[i]);
      update_by_moments(name, parameter, g, decay);
      continue;
    }
    for (std::size_t i = 0; i < g.size(); ++i) {
      double &w = parameter.values[i], &v = parameter.velocity[i];
      const double descent = g[i] + decay * w;
      if (claims_.optimizer == "lars") {
        v = claims_.momentum * v + claims_.rate * trust * descent;
        w -= v;
      } else if (claims_.optimizer == "larc") {
        v = claims_.momentum * v + (adapts ? std::min(trust / claims_.rate, 1.0) : 1) * descent;
        w -= claims_.rate * v;
      } else if (claims_.optimizer == "sgd") {
        v = claims_.momentum * v + descent;
        w -= claims_.rate * v;
      } else {
        throw CaseError("no update is known for the optimizer " + claims_.optimizer);
      }
    }
  }
}

}  // namespace assay
