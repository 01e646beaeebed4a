#include "models/network/network_problem.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace assay {

NetworkProblem::NetworkProblem(std::string kind, Network network, std::int64_t batch, bool training,
                               std::int64_t steps, std::optional<StepTraffic> traffic)
    : kind_(std::move(kind)),
      network_(std::move(network)),
      batch_(batch),
      training_(training),
      steps_(steps),
      traffic_(std::move(traffic)) {}

nlohmann::json NetworkProblem::json() const {
  nlohmann::json fields = network_.fields;
  fields["global_batch_size"] = batch_;
  if (traffic_) fields["passes"] = passes();
  return fields;
}

double NetworkProblem::flops() const {
  const Graph of_one = training_ ? make_training_graph(network_, 1, Precision::fp32, {})
                                 : make_inference_graph(network_, 1, Precision::fp32);
  return of_one.flops() * static_cast<double>(batch_ * steps_);
}

/// Counts the reads and the writes of each phase: only the phase's own writes lie between them.
double NetworkProblem::passes() const {
  if (!training_) return 1;
  const auto accumulated = static_cast<double>(traffic_->accumulated);
  return accumulated * (accumulated > 1 ? 5 : 3) + 2;
}

double NetworkProblem::bytes() const {
  if (!traffic_) return std::numeric_limits<double>::quiet_NaN();  // not known
  const StepTraffic& traffic = *traffic_;
  const Graph graph = training_ ? make_training_graph(network_, 1, traffic.precision,
                                                      traffic.learning, traffic.accumulated > 1)
                                : make_inference_graph(network_, 1, traffic.precision);
  double elements = 0;  // without the padding between parameters
  for (const Parameter& parameter : graph.parameters)
    elements += static_cast<double>(parameter.elements());
  const auto of_all = [&](ValueIndex value) {
    return elements * static_cast<double>(size_of(graph.value(value).type));
  };
  double bytes = 0;
  for (const GraphNode& node : graph.nodes) {
    const std::string kind = node.problem->kind();
    const double runs =
        training_ && node.phase != Phase::update ? static_cast<double>(traffic.accumulated) : 1;
    if (kind == "conv" || kind == "gemm" || kind == "convert")
      for (const auto& [name, value] : node.tensors)
        if (graph.value(value).storage == Storage::part)
          bytes += runs * static_cast<double>(graph.elements(value)) *
                   static_cast<double>(size_of(graph.value(value).type));
    if (node.phase == Phase::accumulate)  // the sum is read and written
      bytes += runs * 3 * of_all(graph.gradients);
    if (node.phase == Phase::update) {
      bytes += of_all(graph.gradients) + 2 * of_all(graph.weights) + 2 * of_all(graph.velocity);
      if (graph.second != Graph::none) bytes += 2 * of_all(graph.second);
      if (graph.stored != Graph::none) bytes += of_all(graph.stored);
    }
  }
  return bytes * traffic.ranks;
}

std::vector<double> NetworkProblem::working_sets(std::int64_t rank_batch,
                                                 Precision precision) const {
  const Graph graph = training_ ? make_training_graph(network_, rank_batch, precision, {})
                                : make_inference_graph(network_, rank_batch, precision);
  std::set<double> all;
  for (const GraphNode& node : graph.nodes) all.insert(node.problem->bytes());
  if (traffic_) all.insert(bytes() / passes() / traffic_->ranks);
  return {all.begin(), all.end()};
}

std::map<std::string, double> NetworkProblem::amounts() const {
  return {{"images_per_s", static_cast<double>(batch_ * steps_)}, {"flops_per_s", flops()}};
}

}  // namespace assay
