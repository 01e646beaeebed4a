#include "models/resnet50/resnet_problem.hpp"

#include <nlohmann/json.hpp>
#include <set>

namespace assay {

ResnetProblem::ResnetProblem(const ResnetShape& shape, std::int64_t batch, bool training)
    : shape_(shape), batch_(batch), training_(training) {}

nlohmann::json ResnetProblem::json() const {
  return {{"depth", shape_.depth},
          {"width", shape_.width},
          {"image_size", shape_.image},
          {"classes", shape_.classes},
          {"global_batch_size", batch_}};
}

double ResnetProblem::flops() const {
  const Graph of_one = training_ ? training_graph(shape_, 1, Precision::fp32, {})
                                 : inference_graph(shape_, 1, Precision::fp32);
  return of_one.flops() * static_cast<double>(batch_);
}

std::vector<double> ResnetProblem::operation_bytes(std::int64_t rank_batch,
                                                   Precision precision) const {
  const Graph graph = training_ ? training_graph(shape_, rank_batch, precision, {})
                                : inference_graph(shape_, rank_batch, precision);
  std::set<double> all;
  for (const GraphNode& node : graph.nodes) all.insert(node.problem->bytes());
  return {all.begin(), all.end()};
}

std::map<std::string, double> ResnetProblem::amounts() const {
  return {{"images_per_s", static_cast<double>(batch_)}, {"flops_per_s", flops()}};
}

}  // namespace assay
