#include "models/network/network_problem.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace assay {

NetworkProblem::NetworkProblem(std::string kind, Network network, std::int64_t batch, bool training)
    : kind_(std::move(kind)), network_(std::move(network)), batch_(batch), training_(training) {}

nlohmann::json NetworkProblem::json() const {
  nlohmann::json fields = network_.fields;
  fields["global_batch_size"] = batch_;
  return fields;
}

double NetworkProblem::flops() const {
  const Graph of_one = training_ ? training_graph(network_, 1, Precision::fp32, {})
                                 : inference_graph(network_, 1, Precision::fp32);
  return of_one.flops() * static_cast<double>(batch_);
}

std::vector<double> NetworkProblem::operation_bytes(std::int64_t rank_batch,
                                                    Precision precision) const {
  const Graph graph = training_ ? training_graph(network_, rank_batch, precision, {})
                                : inference_graph(network_, rank_batch, precision);
  std::set<double> all;
  for (const GraphNode& node : graph.nodes) all.insert(node.problem->bytes());
  return {all.begin(), all.end()};
}

std::map<std::string, double> NetworkProblem::amounts() const {
  return {{"images_per_s", static_cast<double>(batch_)}, {"flops_per_s", flops()}};
}

}  // namespace assay
