#include "models/parallel/split_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/tolerance.hpp"
#include "models/parallel/device_memory.hpp"
#include "models/parallel/split_graph.hpp"
#include "models/parallel/split_network.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_parameters = 1 << 22;

std::vector<std::byte> bytes_in(const Executor& executor, ValueIndex value) {
  return read_bytes(executor.device(), find_memory(executor, value));
}

void put_bytes(const std::vector<std::byte>& bytes, const Executor& executor, ValueIndex value) {
  write_bytes(executor.device(), find_memory(executor, value), bytes.data());
}

/// The undivided network after a pass of random samples. Not collective.
std::unique_ptr<Executor> make_undivided(const Graph& graph, const ExecutorSettings& settings,
                                         std::uint64_t seed, Plugins& plugins) {
  const auto alone = make_serial_communicator();
  auto executor = Executor::make(graph, settings, plugins, *alone);
  if (const auto* const refusal = std::get_if<Unsupported>(&executor))
    throw CaseError("the undivided network cannot be computed in fp64: " + refusal->reason);
  auto whole = std::move(std::get<std::unique_ptr<Executor>>(executor));
  put_initial(*whole, seed);
  load_random(*whole, seed);
  whole->device().fill(whole->tensor(graph.loss_scale), 1);
  whole->run(Phase::forward);
  whole->run(Phase::backward);
  return whole;
}

/// Values that the ranks add in a pass.
std::ptrdiff_t count_sums(const Network& network, const Learning& learning, int ranks) {
  return std::ranges::count_if(split_pass(network, 1, Precision::fp64, learning, ranks).nodes,
                               [](const GraphNode& node) { return node.summed != Graph::none; });
}

}  // namespace

Network make_compared_form(const TrainerSettings& settings, int ranks) {
  const Network& network = settings.network;
  const Graph pass = make_gradient_graph(network, 1, Precision::fp64, settings.learning);
  if (pass.elements(pass.weights) <= most_parameters || !network.make_small) return network;
  Network small = network.make_small();
  return count_sums(small, settings.learning, ranks) ==
                 count_sums(network, settings.learning, ranks)
             ? small
             : network;
}

void compare_with_undivided(const TrainerSettings& settings, Plugins& plugins, Communicator& ranks,
                            Verification& verification) {
  const Network network = make_compared_form(settings, ranks.size());
  const std::int64_t batch = parity_batch(network);
  const Graph pass = make_gradient_graph(network, batch, Precision::fp64, settings.learning);
  ExecutorSettings executor_settings;
  executor_settings.backends = {"blas", "native", "onednn", "reference"};
  if (network.filters)
    executor_settings.backends = {"reference"};  // the only backend with convolutions in fp64
  executor_settings.threads = settings.executor.threads;
  std::unique_ptr<Executor> whole;
  throw_on_all(ranks,
               [&] { whole = make_undivided(pass, executor_settings, settings.seed, plugins); });
  const Graph graph = split_pass(network, batch, Precision::fp64, settings.learning, ranks.size());
  SplitNetwork split(graph, executor_settings, plugins, ranks, ranks);
  const PartsOfParameters parts(pass, graph, ranks.rank());
  std::vector<std::byte> own = bytes_in(split.executor(), graph.weights);
  parts.take(bytes_in(*whole, pass.weights), own, sizeof(double));
  put_bytes(own, split.executor(), graph.weights);
  for (ValueIndex Graph::*const data :
       {&Graph::images, &Graph::labels, &Graph::loss_scale, &Graph::passes})
    if (graph.*data != Graph::none)
      put_bytes(bytes_in(*whole, pass.*data), split.executor(), graph.*data);
  split.run(Phase::forward);
  split.run(Phase::backward);
  std::vector<std::byte> expected = bytes_in(split.executor(), graph.gradients);
  parts.take(bytes_in(*whole, pass.gradients), expected, sizeof(double));
  std::vector<double> should(expected.size() / sizeof(double));
  decode(DataType::fp64, expected.data(), should);
  const std::vector<double> is = read_values(split.executor(), graph.gradients);
  const NetworkTolerance allowed = network_tolerance(DataType::fp64);
  for (const Parameter& parameter : graph.parameters) {
    const auto first = static_cast<std::size_t>(parameter.offset),
               count = static_cast<std::size_t>(parameter.elements());
    verification.checked += parameter.elements();
    if (const double relative =
            relative_difference(std::span(is).subspan(first, count),
                                std::span<const double>(should).subspan(first, count));
        !(relative <= allowed.gradients))
      verification.fail(
          fmt::format("the gradient of {} differs in fp64 by {:.3g} of its 2-norm from that "
                      "of the undivided {}",
                      parameter.name, relative, network.descriptor));
  }
  // The statistics of the parts, put in their places in the whole.
  const std::vector<double> statistics = read_values(*whole, pass.batch_statistics);
  std::vector<double> own_statistics = read_values(split.executor(), graph.batch_statistics),
                      expected_statistics = own_statistics;
  parts.take_statistics(statistics, expected_statistics);
  verification.checked += std::ssize(own_statistics);
  if (!(relative_difference(own_statistics, expected_statistics) <= allowed.forward))
    verification.fail("the statistics of a part are not those of the undivided " +
                      network.descriptor);
  const double loss = relative_difference(read_values(split.executor(), graph.losses),
                                          read_values(*whole, pass.losses));
  if (!(loss <= allowed.forward))
    verification.fail(
        fmt::format("the losses differ in fp64 by {:.3g} from those of the undivided {}", loss,
                    network.descriptor));
}

}  // namespace assay
