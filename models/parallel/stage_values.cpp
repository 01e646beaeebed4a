#include "models/parallel/stage_values.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/api/host_device.hpp"

namespace assay {
namespace {

std::size_t count_bytes(const Graph& graph, ValueIndex value) {
  return static_cast<std::size_t>(graph.elements(value)) * size_of(graph.value(value).type);
}

/// Copies each parameter of a stage to its place in the undivided network.
void place_parameters(const std::vector<std::byte>& from, const Graph& stage, ValueIndex value,
                      const std::map<std::string, std::int64_t>& offsets,
                      std::vector<std::byte>& to) {
  const std::size_t size = size_of(stage.value(value).type);
  for (const Parameter& parameter : stage.parameters)
    std::memcpy(to.data() + static_cast<std::size_t>(offsets.at(parameter.name)) * size,
                from.data() + static_cast<std::size_t>(parameter.offset) * size,
                static_cast<std::size_t>(parameter.elements()) * size);
}

void place_statistics(const std::vector<double>& from, const Graph& stage, const Graph& whole,
                      std::vector<double>& to) {
  for (const Statistics& own : stage.statistics)
    for (const Statistics& all : whole.statistics) {
      if (all.name != own.name) continue;
      std::copy_n(from.begin() + own.mean, own.channels, to.begin() + all.mean);
      std::copy_n(from.begin() + own.variance, own.channels, to.begin() + all.variance);
    }
}

}  // namespace

void broadcast_bytes(std::span<std::byte> bytes, int root, Communicator& ranks) {
  if (bytes.empty()) return;
  HostStream stream;
  const Buffer all{bytes.data(), static_cast<std::int64_t>(bytes.size()), DataType::u8};
  const Call call{Collective::broadcast, all, all, ReduceOp::sum, root};
  ranks.prepare(call);
  ranks.run(call, stream);
}

const std::vector<ValueIndex Graph::*>& stage_values() {
  static const std::vector<ValueIndex Graph::*> values{
      &Graph::weights, &Graph::velocity, &Graph::second, &Graph::stored, &Graph::gradients};
  return values;
}

StageState read_state(const Executor& executor, const std::vector<double>& running) {
  StageState state{{}, running};
  executor.device().stream().wait();
  for (ValueIndex Graph::*const each : stage_values()) {
    std::vector<std::byte>& bytes = state.values.emplace_back();
    const ValueIndex value = executor.graph().*each;
    if (value == Graph::none) continue;
    bytes.resize(count_bytes(executor.graph(), value));
    executor.device().copy(bytes.data(), executor.memory(value).get(), bytes.size());
  }
  executor.device().stream().wait();
  return state;
}

StageState state_of_all(const StageState& own, const std::vector<Stage>& stages, const Graph& whole,
                        Communicator& ranks) {
  std::map<std::string, std::int64_t> offsets;
  for (const Parameter& parameter : whole.parameters) offsets[parameter.name] = parameter.offset;
  StageState all;
  for (ValueIndex Graph::*const each : stage_values()) {
    std::vector<std::byte>& to = all.values.emplace_back();
    if (whole.*each != Graph::none) to.resize(count_bytes(whole, whole.*each));
  }
  all.running.resize(static_cast<std::size_t>(whole.elements(whole.batch_statistics)));
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Graph& stage = stages[static_cast<std::size_t>(rank)].graph;
    for (std::size_t i = 0; i < stage_values().size(); ++i) {
      const ValueIndex value = stage.*stage_values()[i];
      if (value == Graph::none) continue;
      std::vector<std::byte> bytes(count_bytes(stage, value));
      if (rank == ranks.rank()) bytes = own.values[i];
      broadcast_bytes(bytes, rank, ranks);
      place_parameters(bytes, stage, value, offsets, all.values[i]);
    }
    std::vector<double> running(static_cast<std::size_t>(stage.elements(stage.batch_statistics)));
    if (rank == ranks.rank()) running = own.running;
    broadcast_bytes(std::as_writable_bytes(std::span(running)), rank, ranks);
    place_statistics(running, stage, whole, all.running);
  }
  return all;
}

void put_state(const StageState& state, Executor& executor) {
  const Graph& graph = executor.graph();
  for (std::size_t i = 0; i < stage_values().size(); ++i) {
    const ValueIndex value = graph.*stage_values()[i];
    if (value == Graph::none || value == graph.gradients) continue;
    executor.device().copy(executor.memory(value).get(), state.values[i].data(),
                           state.values[i].size());
  }
  executor.device().stream().wait();
}

}  // namespace assay
