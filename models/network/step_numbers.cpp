#include "models/network/step_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/measure/agreement.hpp"
#include "kernels/conv_norm/problem.hpp"
#include "kernels/convert/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "models/network/tolerance.hpp"

namespace assay {

namespace {

/// "each phase" if all are recorded, else the recorded phases ("forward, update each"); "" if none.
std::string list_recorded_phases(const Executor& executor) {
  std::vector<std::string> recorded;
  std::set<Phase> phases;
  for (const GraphNode& node : executor.graph().nodes) phases.insert(node.phase);
  for (const Phase phase : phases)
    if (executor.is_recorded(phase)) recorded.push_back(name(phase));
  if (recorded.size() == phases.size()) return "each phase";
  return join(recorded, ", ") + (recorded.size() > 1 ? " each" : "");
}

}  // namespace

void StepNumbers::add(const Trainer& trainer, double input_seconds, double seconds,
                      bool with_gaps) {
  control_messages_ = trainer.control_messages();
  input_ += input_seconds;
  seconds_ += seconds;
  const StepSeconds step = trainer.seconds();
  sum_.forward += step.forward;
  sum_.backward += step.backward;
  sum_.exposed_communication += step.exposed_communication;
  sum_.update += step.update;
  steps_seconds_.push_back(step);
  const double phases =
      input_seconds + step.forward + step.backward + step.exposed_communication + step.update;
  phases_ += phases;
  // A step does little between its phases, so a large gap is a fault.
  const double gap = seconds - phases, most = 0.02 * seconds + 50e-6;
  differing_ += gap < -most || (gap > most && !with_gaps) ? 1 : 0;
  ++steps_;
  concerns_.add(trainer);
}

std::string StepNumbers::why_not_whole() const {
  // Both are sums of the same numbers, in different orders.
  const double all =
      input_ + sum_.forward + sum_.backward + sum_.exposed_communication + sum_.update;
  if (std::abs(all - phases_) > 1e-9 * phases_)
    return fmt::format("the phases of all steps add up to {:.6g} s, those of each step to {:.6g} s",
                       all, phases_);
  // In a few steps, the thread may be interrupted between two phases.
  if (differing_ <= 1 + 0.1 * steps_) return "";
  return fmt::format(
      "the phases of {:.0f} of {:.0f} timed steps do not add up to the time of the step",
      differing_, steps_);
}

std::string StepNumbers::why_not_rate(double claim, double images) const {
  constexpr double tolerance = 1.05;
  if (seconds_ == 0 || claim <= tolerance * images * steps_ / seconds_) return why_not_whole();
  return fmt::format("mean_images_per_s is {:.4g}, but the steps have {:.4g}", claim,
                     images * steps_ / seconds_);
}

double StepNumbers::compute_median(double StepSeconds::*phase) const {
  std::vector<double> seconds;
  seconds.reserve(steps_seconds_.size());
  for (const StepSeconds& step : steps_seconds_) seconds.push_back(step.*phase);
  return median(std::move(seconds));
}

std::map<std::string, Metric> StepNumbers::metrics() const {
  if (steps_ == 0) return {};
  const double all =
      input_ + sum_.forward + sum_.backward + sum_.exposed_communication + sum_.update;
  std::map<std::string, Metric> all_metrics = concerns_.metrics();
  all_metrics.merge(std::map<std::string, Metric>{
      {"input_percent", {all > 0 ? 100 * input_ / all : 0, "%", "lower"}},
      {"forward_s", {compute_median(&StepSeconds::forward), "s", "lower"}},
      {"backward_s", {compute_median(&StepSeconds::backward), "s", "lower"}},
      {"update_s", {compute_median(&StepSeconds::update), "s", "lower"}},
      {"exposed_communication_percent",
       {all > 0 ? 100 * sum_.exposed_communication / all : 0, "%", "lower"}}});
  if (control_messages_ > 0)
    all_metrics["control_messages"] = {static_cast<double>(control_messages_), "", "lower"};
  return all_metrics;
}

namespace {

/// A median is at least the shortest run of its rank, so the largest median of all ranks is at
/// least this rank's shortest run.
std::string why_not_measured(const std::vector<LayerTime>& layers,
                             const std::vector<std::vector<double>>& runs) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& run : runs) least = std::min(least, run[i]);
    if (const double claim = layers[i].seconds * layers[i].runs; claim < (1 - 1e-9) * least)
      return fmt::format("{} {} takes {:.4g} s, but its shortest run took {:.4g} s",
                         layers[i].layer, layers[i].direction, claim, least);
  }
  return "";
}

/// The reason of the first rank that has one, for each node.
std::vector<std::string> hosts_included(const Executor& executor, Communicator& ranks) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < executor.graph().nodes.size(); ++i)
    reasons.push_back(executor.host_included(i));
  for (const nlohmann::json& its : allgather_json(reasons, ranks))
    for (std::size_t i = 0; i < reasons.size(); ++i)
      if (reasons[i].empty()) reasons[i] = its.at(i);
  return reasons;
}

}  // namespace

std::vector<LayerTime> list_layer_times(const Executor& executor,
                                        const std::vector<std::vector<double>>& runs, int passes,
                                        Communicator& ranks) {
  const std::vector<GraphNode>& nodes = executor.graph().nodes;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<double> of_node;
    for (const std::vector<double>& run : runs) of_node.push_back(run[i]);
    seconds.push_back(median(of_node));
  }
  ranks.allreduce_max(seconds);
  const std::vector<std::string> host_included = hosts_included(executor, ranks);
  std::vector<LayerTime> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    LayerTime layer;
    layer.layer = node.layer;
    layer.direction = node.direction;
    layer.operation = node.problem->kind();
    layer.problem = node.problem->canonical();
    layer.backend = executor.choice(i).backend;
    layer.execution = executor.execution(i);
    layer.runs = node.phase == Phase::update ? 1 : passes;
    layer.seconds = seconds[i] / layer.runs;
    layer.host_included = host_included[i];
    layer.flops = node.problem->flops();
    layer.bytes = node.problem->bytes();
    all.push_back(std::move(layer));
  }
  const std::string why = why_not_measured(all, runs);
  double wrong = why.empty() ? 0 : 1;  // on all ranks, since later calls are collective
  ranks.allreduce_max(std::span(&wrong, 1));
  if (wrong > 0) throw WrongResult(why.empty() ? "the layers of another rank are wrong" : why);
  return all;
}

std::map<std::string, Metric> operation_metrics(const std::vector<LayerTime>& layers) {
  std::map<std::string, Metric> all;
  for (const LayerTime& layer : layers) {
    if (layer.operation == "update") continue;
    // An operation with only one direction is named by its kind.
    Metric& sum =
        all[layer.layer == "loss" || layer.operation == "sum" || layer.operation == "convert"
                ? layer.operation + "_s"
                : fmt::format("{}_{}_s", layer.operation, layer.direction)];
    sum = {sum.value + layer.runs * layer.seconds, "s", "lower"};
  }
  return all;
}

Execution make_executed(const Executor& executor, const TrainerSettings& settings) {
  const Precision precision = settings.precision;
  std::map<std::string, int> nodes;
  for (const Choice& choice : executor.list_chosen()) ++nodes[choice.backend];
  // The types in which operations form products: some processors convert 16-bit operands first.
  std::map<std::string, int> products;
  int converted = 0, fused = 0, summed = 0;
  for (std::size_t i = 0; i < executor.graph().nodes.size(); ++i) {
    const Problem& problem = *executor.graph().nodes[i].problem;
    if (problem.flops() > 0) ++products[executor.execution(i).compute];
    if (problem.kind() == ConvertProblem::kind_name) ++converted;
    if (problem.kind() == ConvNormProblem::kind_name && !executor.choice(i).is_in_parts()) ++fused;
    if (problem.kind() == NormProblem::kind_name && executor.choice(i).has_sums()) ++summed;
  }
  std::vector<std::string> parts;
  for (const auto& [backend, count] : nodes)
    parts.push_back(
        fmt::format("{} of {} operations by {}", count, executor.graph().nodes.size(), backend));
  Execution ran;
  ran.algorithm = "direct";
  if (settings.executor.wide_products)
    ran.implementation =
        fmt::format("emulated {}: stored in it, computed in fp32; ", name(storage(precision)));
  ran.implementation += join(parts, ", ");
  if (summed > 0)
    ran.implementation +=
        fmt::format(", {} normalizations by sums that their convolutions make", summed);
  if (fused > 0)
    ran.implementation += fmt::format(", {} convolutions fused with their normalizations", fused);
  if (const std::string& why = executor.why_not_fused(); !why.empty())
    ran.implementation +=
        fmt::format(", {}not fused: {}", fused + summed > 0 ? "others " : "", why);
  ran.storage = std::string(name(storage(precision)));
  ran.accumulate = std::string(name(format(precision).accumulator));
  if (products.size() == 1) ran.compute = products.begin()->first;
  if (operand_type(precision) == DataType::bf16 || operand_type(precision) == DataType::fp16)
    for (const auto& [compute, count] : products)
      ran.implementation += fmt::format(", {} products of matrices in {}", count,
                                        compute.empty() ? "an unknown type" : compute);
  if (converted > 0)
    ran.implementation += fmt::format(", {} gradients of filters made in {} and converted",
                                      converted, name(storage(precision)));
  if (const std::string recorded = list_recorded_phases(executor); !recorded.empty())
    ran.implementation += fmt::format(", {} one CUDA graph", recorded);
  if (const std::string& why = executor.recordings().refusal(); !why.empty())
    ran.implementation += ", not recorded: " + why;
  if (const std::vector<std::string>& wrong = executor.left_out(); !wrong.empty()) {
    ran.implementation += fmt::format(", left out as wrong: {}", wrong.front());
    if (wrong.size() > 1) ran.implementation += fmt::format("; and {} more", wrong.size() - 1);
  }
  ran.layout = !executor.nhwc()                                      ? "nchw"
               : settings.network.filters && executor.filters_last() ? "nhwc_ohwi"
                                                                     : "nhwc";
  ran.workspace_bytes = executor.bytes();
  ran.evidence = "library";
  ran.numbers["threads"] = settings.executor.threads;
  return ran;
}

std::map<std::string, Metric> convergence_metrics(const Convergence& convergence) {
  std::map<std::string, Metric> all;
  const EpochResult& last = convergence.epochs.back();
  const std::string& quality = name(last.evaluation->quality);
  if (convergence.reached) {
    all["epochs"] = {static_cast<double>(last.epoch), "", "lower"};
    all["time_to_" + quality + "_s"] = {last.seconds, "s", "lower"};
  }
  all[quality] = {last.evaluation->score, "", "higher"};
  all["validation_loss"] = {last.evaluation->loss, "", "lower"};
  if (convergence.checkpoint_bytes > 0)
    all["checkpoint_bytes_per_s"] = {
        static_cast<double>(convergence.checkpoint_bytes) / convergence.checkpoint_seconds, "B/s",
        "higher"};
  return all;
}

std::vector<Epoch> epoch_numbers(const Convergence& convergence) {
  std::vector<Epoch> all;
  for (const EpochResult& result : convergence.epochs) {
    auto& measures = all.emplace_back(Epoch{result.epoch, result.seconds, result.started_unix_s,
                                            result.trained_unix_s, result.ended_unix_s})
                         .measures;
    if (result.evaluation) {
      measures["validation_loss"] = result.evaluation->loss;
      measures[name(result.evaluation->quality)] = result.evaluation->score;
    }
    if (!result.has_steps()) continue;  // continued after its last step: only validated
    measures["training_loss"] = result.training_loss;
    measures["images_per_s"] = result.images_per_s;
  }
  return all;
}

}  // namespace assay
